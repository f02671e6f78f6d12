//! A flat memory behind a private store queue, for a core that executes ahead of its stores. Its own loads see the
//! queued stores, and [`StoreQueue::commit`] performs them one by one, in program order.

use std::collections::VecDeque;
use x86::{Memory, Size, Stop};

/// A store that has been executed but not performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingStore {
    pub address: u64,
    /// 1, 2, 4, 8 or 16.
    pub bytes: u8,
    pub value: u128,
}

impl PendingStore {
    /// The byte that this store writes at an address, if any.
    fn byte_at(&self, address: u64) -> Option<u8> {
        let place = address.wrapping_sub(self.address);
        (place < self.bytes as u64).then(|| (self.value >> (8 * place)) as u8)
    }

    fn overlaps(&self, address: u64, bytes: u64) -> bool {
        address.wrapping_sub(self.address) < self.bytes as u64 || self.address.wrapping_sub(address) < bytes
    }
}

/// A memory behind a store queue.
pub struct StoreQueue<M> {
    memory: M,
    pending: VecDeque<PendingStore>,
}

impl<M: Memory> StoreQueue<M> {
    pub fn new(memory: M) -> Self {
        StoreQueue { memory, pending: VecDeque::new() }
    }

    /// The memory behind the queue, without the queued stores.
    pub fn memory(&mut self) -> &mut M {
        &mut self.memory
    }

    /// The pending stores, the oldest first.
    pub fn pending(&self) -> impl ExactSizeIterator<Item = &PendingStore> {
        self.pending.iter()
    }

    /// Performs the oldest store.
    pub fn commit(&mut self) {
        let store = self.pending.pop_front().expect("a store waits");
        // A store to code is retried.
        while let Err(stop) = self.perform(&store) {
            assert_eq!(stop, Stop::CodeWrite, "whether it can be performed was found when it was executed");
        }
    }

    fn perform(&mut self, store: &PendingStore) -> Result<(), Stop> {
        match store.bytes {
            16 => self.memory.store128(store.address, store.value),
            8 => self.memory.store(store.address, Size::B8, store.value as u64),
            4 => self.memory.store(store.address, Size::B4, store.value as u64),
            2 => self.memory.store(store.address, Size::B2, store.value as u64),
            _ => self.memory.store(store.address, Size::B1, store.value as u64),
        }
    }

    fn push(&mut self, address: u64, bytes: u64, value: u128) -> Result<(), Stop> {
        self.memory.probe_write(address, bytes)?;
        self.pending.push_back(PendingStore { address, bytes: bytes as u8, value });
        Ok(())
    }

    /// The value at an address as the core sees it: memory, overlaid with the pending stores.
    fn merge(&self, address: u64, bytes: u64, from_memory: u128) -> u128 {
        let mut value = from_memory;
        // Oldest first, so that the youngest wins.
        for store in self.pending.iter().filter(|store| store.overlaps(address, bytes)) {
            for place in 0..bytes {
                if let Some(byte) = store.byte_at(address.wrapping_add(place)) {
                    value = value & !(0xff << (8 * place)) | (byte as u128) << (8 * place);
                }
            }
        }
        value
    }

    /// The value if the youngest overlapping store covers all of it, so that memory is not read.
    fn forwarded(&self, address: u64, bytes: u64) -> Option<u128> {
        let youngest = self.pending.iter().rev().find(|store| store.overlaps(address, bytes))?;
        let place = address.wrapping_sub(youngest.address);
        let covers = place < youngest.bytes as u64 && youngest.bytes as u64 - place >= bytes;
        let mask = if bytes == 16 { u128::MAX } else { (1 << (8 * bytes)) - 1 };
        covers.then(|| youngest.value >> (8 * place) & mask)
    }
}

impl<M: Memory> Memory for StoreQueue<M> {
    fn load(&mut self, address: u64, size: Size) -> Result<u64, Stop> {
        if let Some(value) = self.forwarded(address, size.bytes()) {
            return Ok(value as u64);
        }
        let value = self.memory.load(address, size)?;
        Ok(self.merge(address, size.bytes(), value as u128) as u64)
    }

    fn store(&mut self, address: u64, size: Size, value: u64) -> Result<(), Stop> {
        self.push(address, size.bytes(), (value & size.mask()) as u128)
    }

    fn load128(&mut self, address: u64) -> Result<u128, Stop> {
        if let Some(value) = self.forwarded(address, 16) {
            return Ok(value);
        }
        let value = self.memory.load128(address)?;
        Ok(self.merge(address, 16, value))
    }

    fn store128(&mut self, address: u64, value: u128) -> Result<(), Stop> {
        self.push(address, 16, value)
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
