//! The CPU's behaviour around instructions: faults without side effects, budgets, blocks and changed code, string
//! instructions in parts, traces for a timing model. The results of instructions are compared with the host's processor
//! in `tests/native`.

mod control;
mod data;
mod faults;
mod machine;
mod strings;
mod system;
mod trace;
mod traced;
