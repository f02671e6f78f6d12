//! How the CPU behaves around its instructions: faults that leave nothing behind, budgets, blocks and changed code, string
//! instructions in parts, what a timing model is told. What instructions compute is compared with the host's processor in
//! `tests/native`.

mod control;
mod data;
mod faults;
mod machine;
mod strings;
mod system;
mod trace;
mod traced;
