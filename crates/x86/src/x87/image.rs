//! Memory images of the unit: environments (FNSTENV), whole states (FNSAVE) and the newer FXSAVE image. The older two
//! exist in the 16-bit and 32-bit formats of protected mode, which long mode kept.

use super::{Pointers, X87, bits};
use crate::f80::{Class, F80, Number};

/// A field of an image.
fn field<const N: usize>(image: &[u8], at: usize) -> [u8; N] {
    image[at..at + N].try_into().expect("the image's length was checked")
}

fn word(image: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(field(image, at))
}

fn put(image: &mut [u8], at: usize, bytes: &[u8]) {
    image[at..at + bytes.len()].copy_from_slice(bytes);
}

impl X87 {
    /// FLDCW.
    pub(super) fn load_control(&mut self, control: u16) {
        self.control = control & 0x1f3f | 0x40;
        self.summarise();
    }

    /// FNINIT.
    pub(super) fn initialise(&mut self) {
        let registers = self.registers;
        *self = X87 { registers, ..X87::default() };
    }

    /// FNCLEX.
    pub(super) fn clear_exceptions(&mut self) {
        self.status &= !(0x3f | bits::STACK_FAULT | bits::SUMMARY | bits::BUSY);
    }

    /// The tag word: two bits per register, for the kind of number it holds.
    fn tags(&self) -> u16 {
        (0..8).fold(0, |tags, register| tags | self.tag(register) << (2 * register))
    }

    fn tag(&self, register: usize) -> u16 {
        if self.full >> register & 1 == 0 {
            return 3;
        }
        match self.registers[register].class() {
            Class::Number(Number::Finite(_)) => 0,
            Class::Number(Number::Zero { .. }) => 1,
            _ => 2,
        }
    }

    fn set_tags(&mut self, tags: u16) {
        self.full = (0..8).fold(0, |full, register| full | u8::from(tags >> (2 * register) & 3 != 3) << register);
    }

    /// FNSTENV, 28 or 14 bytes. Masks all exceptions afterwards.
    pub(super) fn store_environment(&mut self, image: &mut [u8]) {
        let Pointers { opcode, instruction, operand } = self.pointers;
        let words = [self.control, self.status, self.tags()];
        if image.len() == 28 {
            for (at, word) in words.into_iter().enumerate() {
                put(image, 4 * at, &(0xffff_0000 | u32::from(word)).to_le_bytes());
            }
            put(image, 12, &(instruction as u32).to_le_bytes());
            put(image, 16, &(u32::from(opcode) << 16).to_le_bytes());
            put(image, 20, &(operand as u32).to_le_bytes());
            put(image, 24, &0xffff_0000u32.to_le_bytes());
        } else {
            for (at, word) in words.into_iter().enumerate() {
                put(image, 2 * at, &word.to_le_bytes());
            }
            put(image, 6, &(instruction as u16).to_le_bytes());
            put(image, 8, &0u16.to_le_bytes());
            put(image, 10, &(operand as u16).to_le_bytes());
            put(image, 12, &0u16.to_le_bytes());
        }
        self.control |= 0x3f;
        self.summarise();
    }

    /// FLDENV.
    pub(super) fn load_environment(&mut self, image: &[u8]) {
        let step = if image.len() == 28 { 4 } else { 2 };
        self.pointers = if image.len() == 28 {
            Pointers {
                opcode: word(image, 18) & 0x7ff,
                instruction: u64::from(u32::from_le_bytes(field(image, 12))),
                operand: u64::from(u32::from_le_bytes(field(image, 20))),
            }
        } else {
            Pointers { opcode: 0, instruction: word(image, 6).into(), operand: word(image, 10).into() }
        };
        self.control = word(image, 0) & 0x1f3f | 0x40;
        self.status = word(image, step);
        self.set_tags(word(image, 2 * step));
        self.summarise();
    }

    /// FNSAVE, 108 or 94 bytes: the environment, and the stack from its top. Initialises the unit afterwards.
    pub(super) fn store_state(&mut self, image: &mut [u8]) {
        let (environment, stack) = image.split_at_mut(image.len() - 80);
        self.store_environment(environment);
        for (i, bytes) in stack.chunks_exact_mut(10).enumerate() {
            bytes.copy_from_slice(&self.registers[self.register(i as u8)].to_bytes());
        }
        self.initialise();
    }

    /// FRSTOR.
    pub(super) fn load_state(&mut self, image: &[u8]) {
        let (environment, stack) = image.split_at(image.len() - 80);
        self.load_environment(environment);
        for (i, bytes) in stack.chunks_exact(10).enumerate() {
            let register = self.register(i as u8);
            self.registers[register] = F80::from_bytes(field(bytes, 0));
        }
    }

    /// Writes this unit's part of an `fxsave64` image: bytes 0 to 23 and 32 to 159.
    pub fn fxsave(&self, image: &mut [u8; 160]) {
        put(image, 0, &self.control.to_le_bytes());
        put(image, 2, &self.status.to_le_bytes());
        put(image, 4, &[self.full, 0]);
        put(image, 6, &self.pointers.opcode.to_le_bytes());
        put(image, 8, &self.pointers.instruction.to_le_bytes());
        put(image, 16, &self.pointers.operand.to_le_bytes());
        for i in 0..8 {
            let at = 32 + 16 * i;
            image[at..at + 16].fill(0);
            put(image, at, &self.registers[self.register(i as u8)].to_bytes());
        }
    }

    /// Restores this unit's part of an `fxsave64` image.
    pub fn fxrstor(&mut self, image: &[u8; 160]) {
        self.control = word(image, 0) & 0x1f3f | 0x40;
        self.status = word(image, 2);
        self.full = image[4];
        self.pointers = Pointers {
            opcode: word(image, 6) & 0x7ff,
            instruction: u64::from_le_bytes(field(image, 8)),
            operand: u64::from_le_bytes(field(image, 16)),
        };
        for i in 0..8 {
            let register = self.register(i as u8);
            self.registers[register] = F80::from_bytes(field(image, 32 + 16 * i));
        }
        self.summarise();
    }
}
