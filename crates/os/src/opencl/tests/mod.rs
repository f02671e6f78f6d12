//! The driver at the level of its traps, without a processor.

mod commands;
mod kernels;
mod objects;
mod support;
mod timing;
