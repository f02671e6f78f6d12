//! GCN3 (gfx803) machine code: decoder, disassembler, code objects and a functional GPU.
#![forbid(unsafe_code)]

pub mod dispatch;
pub mod object;
