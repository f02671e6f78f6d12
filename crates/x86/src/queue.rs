//! A private queue of stores, so that a core can run ahead.
//!
//! The core executes instructions before their stores may be seen by others: its stores wait here, its own loads see
//! them, and [`StoreQueue::commit`] performs them one by one, in the order of the program. That is what total store order
//! allows. Whether a store *can* be performed (its page is there and writable) is found when it is executed, so that faults
//! stay precise.

use crate::{Memory, Size, Stop};
use std::collections::VecDeque;

/// A store that has been executed but not performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingStore {
    /// Stores are numbered in program order, from 0.
    pub number: u64,
    pub address: u64,
    /// 1, 2, 4, 8 or 16.
    pub bytes: u8,
    pub value: u128,
}

impl PendingStore {
    /// The byte that this store puts at an address, if it does.
    fn byte_at(&self, address: u64) -> Option<u8> {
        let place = address.wrapping_sub(self.address);
        (place < self.bytes as u64).then(|| (self.value >> (8 * place)) as u8)
    }

    fn overlaps(&self, address: u64, bytes: u64) -> bool {
        address.wrapping_sub(self.address) < self.bytes as u64 || self.address.wrapping_sub(address) < bytes
    }
}

/// A memory behind a queue of stores.
pub struct StoreQueue<M> {
    memory: M,
    pending: VecDeque<PendingStore>,
    /// The number of the next store.
    next: u64,
}

impl<M: Memory> StoreQueue<M> {
    pub fn new(memory: M) -> Self {
        StoreQueue { memory, pending: VecDeque::new(), next: 0 }
    }

    /// The memory behind the queue, which does not know the stores in it.
    pub fn memory(&mut self) -> &mut M {
        &mut self.memory
    }

    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// The stores that wait, the oldest first.
    pub fn pending(&self) -> impl ExactSizeIterator<Item = &PendingStore> {
        self.pending.iter()
    }

    /// How many stores have been executed: the number of the next.
    pub fn executed(&self) -> u64 {
        self.next
    }

    /// Performs the oldest store and gives it back; nothing if none waits. If memory stops it, it stays the oldest.
    pub fn commit(&mut self) -> Result<Option<PendingStore>, Stop> {
        let Some(store) = self.pending.front().copied() else { return Ok(None) };
        // A store to code is made again.
        while let Err(stop) = self.perform(&store) {
            if stop != Stop::CodeWrite {
                return Err(stop);
            }
        }
        self.pending.pop_front();
        Ok(Some(store))
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

    /// Performs all stores.
    pub fn drain(&mut self) -> Result<(), Stop> {
        while self.commit()?.is_some() {}
        Ok(())
    }

    fn push(&mut self, address: u64, bytes: u64, value: u128) -> Result<(), Stop> {
        self.memory.probe_write(address, bytes)?;
        self.pending.push_back(PendingStore { number: self.next, address, bytes: bytes as u8, value });
        self.next += 1;
        Ok(())
    }

    /// The value at an address as the core sees it: what memory has, under what the stores put over it.
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

    /// The value if stores give all of it: then memory need not be asked.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Flat};

    fn queue() -> StoreQueue<Flat> {
        StoreQueue::new(Flat::new(0x1000, 0x1000))
    }

    #[test]
    fn a_store_is_seen_by_its_own_core_only_until_it_commits() {
        let mut queue = queue();
        queue.store(0x1010, Size::B4, 0x1234_5678).unwrap();
        assert_eq!(queue.load(0x1010, Size::B4), Ok(0x1234_5678));
        assert_eq!(queue.memory().load(0x1010, Size::B4), Ok(0));
        let committed = queue.commit().unwrap().unwrap();
        assert_eq!((committed.number, committed.address, committed.bytes), (0, 0x1010, 4));
        assert_eq!(queue.memory().load(0x1010, Size::B4), Ok(0x1234_5678));
        assert_eq!(queue.commit(), Ok(None));
    }

    #[test]
    fn a_load_takes_each_byte_from_the_youngest_store_that_wrote_it() {
        let mut queue = queue();
        queue.memory().store(0x1100, Size::B8, 0x8877_6655_4433_2211).unwrap();
        queue.store(0x1101, Size::B2, 0xaaaa).unwrap();
        queue.store(0x1102, Size::B2, 0xbbbb).unwrap();
        assert_eq!(queue.load(0x1100, Size::B8), Ok(0x8877_6655_bbbb_aa11));
        assert_eq!(queue.load(0x1103, Size::B1), Ok(0xbb));
        assert_eq!(queue.load128(0x10f8), Ok(0x8877_6655_bbbb_aa11 << 64));
    }

    #[test]
    fn stores_commit_in_program_order() {
        let mut queue = queue();
        for value in 1..=3 {
            queue.store(0x1000, Size::B1, value).unwrap();
        }
        assert_eq!(queue.pending().map(|store| store.value).collect::<Vec<_>>(), [1, 2, 3]);
        queue.commit().unwrap();
        assert_eq!((queue.memory().load(0x1000, Size::B1), queue.load(0x1000, Size::B1)), (Ok(1), Ok(3)));
        queue.drain().unwrap();
        assert_eq!((queue.is_empty(), queue.executed()), (true, 3));
    }

    #[test]
    fn a_store_that_could_never_commit_faults_when_it_is_executed() {
        let mut queue = queue();
        let fault = Stop::PageFault { address: 0x5000, access: Access::Write, present: false };
        assert_eq!(queue.store(0x5000, Size::B8, 1), Err(fault));
        assert!(queue.is_empty());
    }
}
