//! Why a CPU returned to its caller.

use crate::{Access, Stop};
use thiserror::Error;

/// Why [`Cpu::run`](crate::Cpu::run) ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// A `syscall`, which is complete for the CPU: `rip` and `rcx` are the address after it, `r11` holds the flags.
    Syscall,
    /// An instruction could not be executed. `rip` is its address, and it has had no effect.
    Fault(Exception),
    /// The instruction budget is exhausted.
    Limit,
    /// Memory returned [`Stop::Wait`]: run again when the line has arrived.
    Wait,
    /// The next instruction is the begin marker of a region of interest, and
    /// [`stops_at_mark`](crate::Cpu::stops_at_mark) is set.
    Mark,
}

/// An instruction that could not be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{fault} at rip {rip:#x}")]
pub struct Exception {
    /// The address of the instruction; for a breakpoint, the address after it.
    pub rip: u64,
    pub fault: Fault,
}

/// A processor exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    #[error("division by zero, or a quotient too large")]
    Divide,
    #[error("breakpoint")]
    Breakpoint,
    #[error("instruction [{}] is undefined or not supported", hex(&bytes[..*length as usize]))]
    InvalidOpcode { bytes: [u8; 15], length: u8 },
    /// Like [`Fault::GeneralProtection`], for a stack access: the address is not canonical.
    #[error("stack fault")]
    Stack,
    #[error("general protection fault")]
    GeneralProtection,
    #[error("page fault: {access:?} of {address:#x}, page {}", if *present { "present" } else { "not present" })]
    Page { address: u64, access: Access, present: bool },
    #[error("x87 floating-point exception")]
    X87,
    #[error("SIMD floating-point exception")]
    Simd,
}

impl Fault {
    /// The exception's vector number, as `ucontext` reports it (REG_TRAPNO).
    pub fn vector(&self) -> u8 {
        match self {
            Fault::Divide => 0,
            Fault::Breakpoint => 3,
            Fault::InvalidOpcode { .. } => 6,
            Fault::Stack => 12,
            Fault::GeneralProtection => 13,
            Fault::Page { .. } => 14,
            Fault::X87 => 16,
            Fault::Simd => 19,
        }
    }

    /// The exception's error code, as `ucontext` reports it (REG_ERR). For page faults bit 0 means that the page was
    /// present, bit 1 write, bit 2 user mode, bit 4 instruction fetch. For the kernel's half of the address space,
    /// Linux always reports the page as present.
    pub fn error_code(&self) -> u64 {
        match *self {
            Fault::Page { address, access, present } => {
                let present = present || address >> 63 != 0;
                let access = match access {
                    Access::Read => 0,
                    Access::Write => 2,
                    Access::Execute => 16,
                };
                4 | access | present as u64
            }
            _ => 0,
        }
    }
}

/// Why an instruction did not complete, before its address is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    Fault(Fault),
    /// Bits 47 to 63 of an address are not equal: the segment determines which fault that is.
    NotCanonical,
    Wait,
    /// The instruction writes code: it must be executed again at once, and afterwards all code decoded again.
    CodeWrite,
    Syscall,
    Mark,
}

impl From<Stop> for Trouble {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::PageFault { address, access: Access::Read | Access::Write, .. } if !canonical(address) => {
                Trouble::NotCanonical
            }
            Stop::PageFault { address, access, present } => Trouble::Fault(Fault::Page { address, access, present }),
            Stop::Wait => Trouble::Wait,
            Stop::CodeWrite => Trouble::CodeWrite,
        }
    }
}

/// Whether bits 47 to 63 of an address are equal.
#[inline(always)]
pub(crate) fn canonical(address: u64) -> bool {
    ((address << 16) as i64 >> 16) as u64 == address
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_instruction_names_its_bytes_and_address() {
        let mut bytes = [0; 15];
        bytes[..2].copy_from_slice(&[0x0f, 0x0b]);
        let exception = Exception { rip: 0x401000, fault: Fault::InvalidOpcode { bytes, length: 2 } };
        assert_eq!(exception.to_string(), "instruction [0f 0b] is undefined or not supported at rip 0x401000");
    }
}
