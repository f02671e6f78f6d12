//! GCN3 (gfx803) machine code: decoder, disassembler, code objects and a functional GPU.

pub mod decode;
pub mod dispatch;
pub mod inst;
pub mod object;
pub mod ops;
