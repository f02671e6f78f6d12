//! Tests of the driver through its traps, without a CPU.

mod commands;
mod kernels;
mod objects;
mod support;
mod timing;
