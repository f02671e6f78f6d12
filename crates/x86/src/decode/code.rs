//! Fetches and decodes instructions in order.

use crate::{Memory, Stop};
use iced_x86::{Decoder, DecoderError, DecoderOptions, Instruction};

/// The maximum length of an instruction.
const LONGEST: usize = 15;

/// The machine code of one instruction, with zeros after it.
pub(crate) type Bytes = [u8; 16];

/// Reads instructions from an address on.
pub(crate) struct Code {
    /// Where the next instruction is.
    pub address: u64,
    /// Bytes from `at` on; only the first `length` are valid.
    buffer: [u8; 256],
    at: u64,
    length: usize,
}

impl Code {
    pub fn new(address: u64) -> Self {
        Code { address, buffer: [0; 256], at: address, length: 0 }
    }

    /// The next instruction. Undefined encodings are returned as invalid instructions.
    pub fn next<M: Memory>(&mut self, memory: &mut M) -> Result<(Instruction, Bytes), Stop> {
        if self.left().len() < LONGEST {
            self.at = self.address;
            self.length = memory.fetch(self.address, &mut self.buffer)?;
        }
        // Prefetches, `endbr64` and other reserved no-operations are all treated alike.
        let options = DecoderOptions::FORCE_RESERVED_NOP;
        let mut decoder = Decoder::with_ip(64, self.left(), self.address, options);
        let instruction = decoder.decode();
        if decoder.last_error() == DecoderError::NoMoreBytes && self.left().len() < LONGEST {
            // The instruction continues where code can't be fetched: report that fault.
            memory.fetch(self.at.wrapping_add(self.length as u64), &mut [0])?;
        }
        let mut bytes = [0; 16];
        let length = instruction.len().min(self.left().len());
        bytes[..length].copy_from_slice(&self.left()[..length]);
        self.address = self.address.wrapping_add(instruction.len() as u64);
        Ok((instruction, bytes))
    }

    fn left(&self) -> &[u8] {
        let done = self.address.wrapping_sub(self.at) as usize;
        self.buffer.get(done..self.length).unwrap_or(&[])
    }
}
