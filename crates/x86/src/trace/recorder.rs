//! A memory that records accesses.

use crate::{Memory, Size, Stop};

/// A memory access of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemOp {
    pub kind: MemOpKind,
    pub address: u64,
    /// 1, 2, 4, 8 or 16.
    pub bytes: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemOpKind {
    Load,
    Store,
}

/// A memory, and the accesses of the last instruction to it. Failed accesses are not recorded.
pub struct Recorder<M> {
    memory: M,
    accesses: Vec<MemOp>,
}

impl<M> Recorder<M> {
    pub fn new(memory: M) -> Self {
        Recorder { memory, accesses: Vec::new() }
    }

    pub fn memory(&mut self) -> &mut M {
        &mut self.memory
    }

    pub fn accesses(&self) -> &[MemOp] {
        &self.accesses
    }

    pub(super) fn clear(&mut self) {
        self.accesses.clear();
    }

    #[inline(always)]
    fn note(&mut self, kind: MemOpKind, address: u64, bytes: u64) {
        self.accesses.push(MemOp { kind, address, bytes: bytes as u8 });
    }
}

impl<M: Memory> Memory for Recorder<M> {
    fn load(&mut self, address: u64, size: Size) -> Result<u64, Stop> {
        let value = self.memory.load(address, size)?;
        self.note(MemOpKind::Load, address, size.bytes());
        Ok(value)
    }

    fn store(&mut self, address: u64, size: Size, value: u64) -> Result<(), Stop> {
        self.memory.store(address, size, value)?;
        self.note(MemOpKind::Store, address, size.bytes());
        Ok(())
    }

    fn load128(&mut self, address: u64) -> Result<u128, Stop> {
        let value = self.memory.load128(address)?;
        self.note(MemOpKind::Load, address, 16);
        Ok(value)
    }

    fn store128(&mut self, address: u64, value: u128) -> Result<(), Stop> {
        self.memory.store128(address, value)?;
        self.note(MemOpKind::Store, address, 16);
        Ok(())
    }

    fn flush_line(&mut self, address: u64) -> Result<(), Stop> {
        self.memory.flush_line(address)?;
        self.note(MemOpKind::Load, address, 1);
        Ok(())
    }

    fn probe_write(&mut self, address: u64, bytes: u64) -> Result<(), Stop> {
        self.memory.probe_write(address, bytes)
    }

    fn fetch(&mut self, address: u64, bytes: &mut [u8]) -> Result<usize, Stop> {
        self.memory.fetch(address, bytes)
    }

    fn code_version(&self) -> u64 {
        self.memory.code_version()
    }
}
