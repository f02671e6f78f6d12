//! Errors during the execution of a kernel, with their location.

use crate::{code::Code, dispatch::Places, object::Kernel};
use thiserror::Error;

/// The fault of an instruction.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Fault {
    #[error("the bytes at this address are not an instruction of gfx803: {0}")]
    Illegal(Box<str>),
    #[error("this instruction is not supported: {0}")]
    Unsupported(&'static str),
    #[error("the program counter left the loaded code ({start:#x} to {end:#x})")]
    OutsideCode { start: u64, end: u64 },
    #[error("{access} of {bytes} bytes at {address:#x}, where nothing is mapped")]
    Unmapped { access: Access, address: u64, bytes: u64, lane: Option<u8> },
    #[error("{access} of {bytes} bytes at {address:#x}, which is not aligned: {rule}")]
    Unaligned { access: Access, address: u64, bytes: u64, rule: &'static str, lane: Option<u8> },
    #[error("{access} at {address:#x}, which is read-only")]
    ReadOnly { access: Access, address: u64, lane: Option<u8> },
    #[error("a scratch access at offset {offset:#x} lies outside the work-item's {size} bytes")]
    OutsideScratch { offset: u64, size: u32, lane: u8 },
    #[error("{0}")]
    Descriptor(Box<str>),
    #[error("the kernel trapped (s_trap {0}); compilers emit this for abort() and unreachable code")]
    Trap(u32),
    /// The page is not available yet: nothing has been done, and the access must be repeated.
    #[error("the access must wait for its page")]
    Away,
    #[error("no end after {0} wavefront instructions, the limit given: probably an endless loop")]
    Limit(u64),
}

impl Fault {
    /// The faulting lane, if it is a single one.
    pub fn lane(&self) -> Option<u8> {
        match self {
            Self::Unmapped { lane, .. } | Self::Unaligned { lane, .. } | Self::ReadOnly { lane, .. } => *lane,
            Self::OutsideScratch { lane, .. } => Some(*lane),
            _ => None,
        }
    }
}

/// The kind of access, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Load,
    Store,
    Atomic,
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Load => "a load",
            Self::Store => "a store",
            Self::Atomic => "an atomic access",
        })
    }
}

/// A fault and its location.
#[derive(Clone, Debug, Error, PartialEq)]
#[error(
    "kernel '{kernel}', workgroup ({}, {}, {}), wavefront {wavefront}{}, at {pc:#x} (+{offset:#x}) `{text}`: {fault}",
    workgroup[0], workgroup[1], workgroup[2],
    .fault.lane().map(|lane| format!(", lane {lane}")).unwrap_or_default()
)]
pub struct ExecError {
    pub kernel: String,
    /// Address of the instruction, and its distance from the kernel's entry.
    pub pc: u64,
    pub offset: u64,
    /// The instruction in assembly language.
    pub text: String,
    pub workgroup: [u32; 3],
    pub wavefront: u32,
    pub fault: Fault,
}

/// The location of a fault in a launch.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub places: &'a Places,
    pub workgroup: [u32; 3],
    pub wavefront: u32,
    pub pc: u64,
}

impl ExecError {
    pub fn new(kernel: &Kernel, code: &Code, place: Place<'_>, fault: Fault) -> Self {
        let text = match code.instruction(place.pc) {
            Some(Ok(inst)) => inst.to_string(),
            _ => "?".into(),
        };
        let entry = place.places.image.0.wrapping_add(kernel.descriptor.entry.0);
        Self {
            kernel: kernel.name.clone(),
            pc: place.pc,
            offset: place.pc.wrapping_sub(entry),
            text,
            workgroup: place.workgroup,
            wavefront: place.wavefront,
            fault,
        }
    }
}
