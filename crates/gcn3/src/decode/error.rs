//! Decoding errors.

use std::fmt;

use crate::ops::Op;

/// Bytes that are not a known instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub struct DecodeError {
    /// Where the instruction starts, in bytes from the start of the code.
    pub offset: usize,
    /// The instruction's first word, unless the code ends before it does.
    pub first: Option<u32>,
    /// The word after it, which may or may not belong to the instruction.
    pub second: Option<u32>,
    #[source]
    pub reason: Reason,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no instruction at offset {:#x}", self.offset)?;
        match (self.first, self.second) {
            (Some(first), Some(second)) => write!(f, " (words {first:#010x} {second:#010x})")?,
            (Some(first), None) => write!(f, " (word {first:#010x}, the last of the code)")?,
            (None, _) => (),
        }
        write!(f, ": {}", self.reason)
    }
}

/// The error in an encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Reason {
    #[error("the code ends after {have} bytes of it")]
    Truncated { have: usize },
    #[error("GCN3 has no encoding that starts with these bits")]
    UnknownEncoding,
    #[error("{encoding} has no opcode {opcode:#x}")]
    UnknownOpcode { encoding: &'static str, opcode: u32 },
    #[error("{mnemonic} belongs to graphics pipelines, which are not simulated")]
    Graphics { mnemonic: &'static str },
    #[error("{} has {field} {code}, which {why}", op.mnemonic())]
    Operand { op: Op, field: &'static str, code: u16, why: &'static str },
    #[error("{} {what}", op.mnemonic())]
    Modifier { op: Op, what: &'static str },
}
