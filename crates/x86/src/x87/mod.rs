//! The x87 floating-point unit.
//!
//! [`operation`] gives for an instruction the function that does it, and its kind says what the interpreter brings and
//! takes: it loads memory operands (2 to 10 bytes in a `u128`, or an environment), and probes memory before it calls a
//! function whose result it then stores, so that the stack may change inside the function.

use iced_x86::Code;

/// The state of the unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct X87 {
    pub control: u16,
    pub status: u16,
}

impl Default for X87 {
    fn default() -> Self {
        X87 { control: 0x37f, status: 0 }
    }
}

impl X87 {
    /// Writes the part of an `fxsave64` image that is this unit's: bytes 0 to 23 and 32 to 159.
    pub fn fxsave(&self, image: &mut [u8; 160]) {
        image[0..2].copy_from_slice(&self.control.to_le_bytes());
    }

    /// Takes that part over.
    pub fn fxrstor(&mut self, image: &[u8; 160]) {
        self.control = u16::from_le_bytes([image[0], image[1]]);
    }

    /// Whether an unmasked exception waits to be delivered by the next instruction that looks for it.
    pub fn pending(&self) -> bool {
        false
    }
}

/// What an instruction does with its operands. `i` is the number of the register st(i) that the instruction names
/// besides st(0) (or the only one that it names), 0 if there is none.
#[derive(Clone, Copy)]
pub enum Operation {
    /// On the stack alone: `f(x87, i)`.
    Stack(fn(&mut X87, u8)),
    /// From memory: `f(x87, bytes)`, the operand's bytes zero-extended.
    Load(fn(&mut X87, u128)),
    /// To memory: the operand's bytes, or nothing when an exception that is not masked keeps memory as it is.
    Store(fn(&mut X87) -> Option<u128>),
    /// To the flags: ZF, PF and CF at their places in RFLAGS, the others become zero; or nothing: `f(x87, i)`.
    Compare(fn(&mut X87, u8) -> Option<u64>),
    /// `fcmovcc`: `f(x87, i, condition)`; whether the condition holds, the interpreter asks the flags.
    Move(fn(&mut X87, u8, bool)),
    /// `fnstsw ax`.
    StatusToAx,
    /// An environment or a state from memory (28, 108 bytes).
    LoadImage { bytes: u8, run: fn(&mut X87, &[u8]) },
    /// An environment or a state to memory.
    StoreImage { bytes: u8, run: fn(&mut X87, &mut [u8]) },
}

/// The function of an instruction, or none if it is not one of this unit. `waits` (the second of the pair) says whether
/// it first delivers a pending exception.
pub fn operation(code: Code) -> Option<(Operation, bool)> {
    let _ = code;
    None
}
