//! GCN3 (gfx803) machine code: decoder, disassembler, code objects and a functional GPU.
//!
//! Only `exec::simd` may use `unsafe`: it calls lane loops compiled for features that the host was found to have.
#![deny(unsafe_code)]

pub mod code;
pub mod decode;
mod disasm;
pub mod dispatch;
pub mod error;
pub mod exec;
pub mod functional;
pub mod inst;
pub mod memop;
pub mod object;
pub mod ops;
pub mod wave;
