//! The commands from outside: what they print, write and reject.

mod cc;
mod compare;
mod disasm;
mod launch;
mod opencl;
#[path = "../pages/mod.rs"]
mod pages;
mod pages_shown;
mod protocols;
mod repro;
mod run;
mod support;
mod sweep;
mod systems;
mod workloads;
