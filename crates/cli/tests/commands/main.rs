//! The commands from outside: what they print, write and reject.

mod cc;
mod disasm;
mod launch;
mod opencl;
mod repro;
mod run;
mod support;
mod sweep;
mod systems;
mod workloads;
