//! Sets of registers.

use crate::Reg;
use iced_x86::Register;
use std::fmt;
use std::ops::{BitOr, BitOrAssign, Sub};

/// Registers that cause dependencies between instructions: general registers (bits 0 to 15), xmm registers (16 to 31),
/// the arithmetic flags, the x87 stack as a whole, and temporary values inside one instruction.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct RegisterSet(pub u64);

impl RegisterSet {
    pub const NONE: RegisterSet = RegisterSet(0);
    /// The arithmetic flags.
    pub const FLAGS: RegisterSet = RegisterSet(1 << 32);
    /// The x87 stack and its status.
    pub const X87: RegisterSet = RegisterSet(1 << 33);
    /// The values that loads provide to other micro-operations of the instruction; there are two.
    pub const LOADED: [RegisterSet; 2] = [RegisterSet(1 << 40), RegisterSet(1 << 41)];
    /// The result that an operation provides to the store of its instruction.
    pub const RESULT: RegisterSet = RegisterSet(1 << 42);

    pub const fn gpr(register: Reg) -> RegisterSet {
        RegisterSet(1 << register as u8)
    }

    pub const fn xmm(number: u8) -> RegisterSet {
        RegisterSet(1 << (16 + (number & 15)))
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub const fn contains(self, other: RegisterSet) -> bool {
        self.0 & other.0 == other.0
    }

    /// The architectural registers, without the temporary values.
    pub const fn architectural(self) -> RegisterSet {
        RegisterSet(self.0 & ((1 << 40) - 1))
    }

    /// The set of one register of any class; empty for segment and instruction pointer registers.
    pub(super) fn of(register: Register) -> RegisterSet {
        let full = register.full_register();
        if full.is_gpr() {
            RegisterSet(1 << full.number())
        } else if register.is_xmm() {
            RegisterSet::xmm(register.number() as u8)
        } else if register.is_st() || register.is_mm() {
            RegisterSet::X87
        } else {
            RegisterSet::NONE
        }
    }
}

impl BitOr for RegisterSet {
    type Output = RegisterSet;

    fn bitor(self, other: RegisterSet) -> RegisterSet {
        RegisterSet(self.0 | other.0)
    }
}

impl BitOrAssign for RegisterSet {
    fn bitor_assign(&mut self, other: RegisterSet) {
        self.0 |= other.0;
    }
}

/// The registers in the first set but not in the second.
impl Sub for RegisterSet {
    type Output = RegisterSet;

    fn sub(self, other: RegisterSet) -> RegisterSet {
        RegisterSet(self.0 & !other.0)
    }
}

impl FromIterator<RegisterSet> for RegisterSet {
    fn from_iter<I: IntoIterator<Item = RegisterSet>>(sets: I) -> RegisterSet {
        sets.into_iter().fold(RegisterSet::NONE, |all, set| all | set)
    }
}

impl fmt::Debug for RegisterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const GPRS: [&str; 16] = [
            "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
            "r15",
        ];
        let name = |bit: usize| match bit {
            0..16 => GPRS[bit].to_owned(),
            16..32 => format!("xmm{}", bit - 16),
            32 => "flags".to_owned(),
            33 => "x87".to_owned(),
            40 | 41 => format!("loaded{}", bit - 40),
            42 => "result".to_owned(),
            other => format!("?{other}"),
        };
        let names: Vec<_> = (0..64).filter(|bit| self.0 >> bit & 1 != 0).map(name).collect();
        write!(f, "{{{}}}", names.join(" "))
    }
}
