//! Tests of the commands as users run them: their output, the files that they write, and their errors for wrong input.

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
