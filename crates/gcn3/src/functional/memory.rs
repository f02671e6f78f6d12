//! Memory of the functional GPU: mapped regions of bytes, accessed at once, without a protocol.
//!
//! Workgroups may run on several threads, so memory consists of atomic words with relaxed ordering, which costs no more
//! than plain accesses. Words are 32 bits wide: a 64-bit atomic takes a lock that covers its address, and so does a
//! 64-bit load that the ISA marks as coherent. If only one thread accesses memory, the caller says so and avoids locked
//! instructions.
//!
//! Loads and stores need no alignment: gfx803 runs compute kernels in a mode that allows any alignment, and compilers
//! use it for packed structures. Atomics must be aligned to their size.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use mem::{Bytes, VirtAddr};
use thiserror::Error;

use crate::{
    error::{Access, Fault},
    exec::{
        active,
        simd::{Distances, distances_within},
    },
    memop::{AtomicOp, Kind, MemOp, ScalarOp},
};

/// Why memory could not be mapped, or not be accessed by the host.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MemoryError {
    #[error("{size} at {base} overlaps what is mapped at {other}")]
    Overlap { base: VirtAddr, size: Bytes, other: VirtAddr },
    #[error("{size} at {base}: a region starts at a multiple of 4 and ends below 2^64")]
    Shape { base: VirtAddr, size: Bytes },
    #[error("{size} is more memory than this computer can give")]
    TooLarge { size: Bytes },
    #[error("{size} at {address}: not all of it is mapped")]
    Unmapped { address: VirtAddr, size: Bytes },
}

struct Region {
    base: u64,
    words: Vec<AtomicU32>,
    writable: bool,
}

impl Region {
    fn len(&self) -> u64 {
        4 * self.words.len() as u64
    }

    /// The offset of an access in the region; none if it is not completely inside.
    #[inline(always)]
    fn offset(&self, address: u64, bytes: u64) -> Option<u64> {
        let offset = address.wrapping_sub(self.base);
        (offset < self.len() && bytes <= self.len() - offset).then_some(offset)
    }

    /// Reads up to four bytes at any offset inside.
    fn bytes(&self, offset: u64, count: u64) -> u32 {
        (0..count).fold(0, |value, n| {
            let at = offset + n;
            value | (self.words[at as usize / 4].load(Relaxed) >> (8 * (at & 3)) & 0xff) << (8 * n)
        })
    }

    fn set_bytes(&self, offset: u64, count: u64, value: u32, alone: bool) {
        if count == 4 && offset & 3 == 0 {
            self.words[offset as usize / 4].store(value, Relaxed);
            return;
        }
        // One read-modify-write per touched word.
        let mut done = 0;
        while done < count {
            let at = offset + done;
            let here = (4 - (at & 3)).min(count - done);
            let ones = u32::MAX >> (32 - 8 * here) << (8 * (at & 3));
            let bits = (value >> (8 * done)) << (8 * (at & 3));
            let word = &self.words[at as usize / 4];
            update32(word, alone, |old| old & !ones | bits & ones);
            done += here;
        }
    }
}

/// Replaces a word by a function of it, atomically unless `alone`; returns the old word.
#[inline(always)]
fn update32(word: &AtomicU32, alone: bool, f: impl Fn(u32) -> u32) -> u32 {
    let mut old = word.load(Relaxed);
    if alone {
        word.store(f(old), Relaxed);
        return old;
    }
    while let Err(now) = word.compare_exchange_weak(old, f(old), Relaxed, Relaxed) {
        old = now;
    }
    old
}

const LOCKS: usize = 64;

/// All memory that a GPU can access.
pub struct MappedMemory {
    /// Sorted by address.
    regions: Vec<Region>,
    locks: [Mutex<()>; LOCKS],
}

impl Default for MappedMemory {
    fn default() -> Self {
        Self { regions: Vec::new(), locks: std::array::from_fn(|_| Mutex::new(())) }
    }
}

impl std::fmt::Debug for MappedMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.regions.iter().map(|r| (VirtAddr(r.base), Bytes(r.len())))).finish()
    }
}

impl MappedMemory {
    /// Maps `size` bytes (rounded up to whole words) of zeros at `base`.
    pub fn map(&mut self, base: VirtAddr, size: Bytes, writable: bool) -> Result<(), MemoryError> {
        let rounded = size.0.checked_next_multiple_of(4).filter(|rounded| base.0.checked_add(*rounded).is_some());
        let Some(rounded) = rounded.filter(|_| base.0.is_multiple_of(4)) else {
            return Err(MemoryError::Shape { base, size });
        };
        let place = self.regions.partition_point(|region| region.base < base.0);
        let behind = self.regions.get(place).filter(|next| next.base < base.0 + rounded);
        let before = place.checked_sub(1).map(|n| &self.regions[n]).filter(|r| r.base + r.len() > base.0);
        if let Some(other) = behind.or(before) {
            return Err(MemoryError::Overlap { base, size, other: VirtAddr(other.base) });
        }
        let mut words = Vec::new();
        let count = usize::try_from(rounded / 4).map_err(|_| MemoryError::TooLarge { size })?;
        words.try_reserve_exact(count).map_err(|_| MemoryError::TooLarge { size })?;
        words.resize_with(count, || AtomicU32::new(0));
        self.regions.insert(place, Region { base: base.0, words, writable });
        Ok(())
    }

    /// The mapped regions by address: start, size, and whether they are writable.
    pub fn regions(&self) -> impl Iterator<Item = (VirtAddr, Bytes, bool)> {
        self.regions.iter().map(|region| (VirtAddr(region.base), Bytes(region.len()), region.writable))
    }

    /// The first address after all mapped regions.
    pub fn end(&self) -> VirtAddr {
        VirtAddr(self.regions.last().map_or(0, |last| last.base + last.len()))
    }

    /// Removes the region that starts at `base`; returns whether there was one.
    pub fn unmap(&mut self, base: VirtAddr) -> bool {
        let before = self.regions.len();
        self.regions.retain(|region| region.base != base.0);
        self.regions.len() < before
    }

    /// Copies bytes in, even to read-only regions.
    pub fn write(&mut self, address: VirtAddr, bytes: &[u8]) -> Result<(), MemoryError> {
        let size = bytes.len() as u64;
        let unmapped = MemoryError::Unmapped { address, size: Bytes(size) };
        let (region, offset) = self.find(address.0, size).ok_or(unmapped)?;
        if offset & 3 == 0 {
            let (words, rest) = bytes.as_chunks::<4>();
            for (word, bytes) in region.words[offset as usize / 4..].iter().zip(words) {
                word.store(u32::from_le_bytes(*bytes), Relaxed);
            }
            let done = offset + 4 * words.len() as u64;
            for (n, byte) in rest.iter().enumerate() {
                region.set_bytes(done + n as u64, 1, (*byte).into(), true);
            }
        } else {
            for (n, byte) in bytes.iter().enumerate() {
                region.set_bytes(offset + n as u64, 1, (*byte).into(), true);
            }
        }
        Ok(())
    }

    /// Copies bytes out.
    pub fn read(&self, address: VirtAddr, bytes: &mut [u8]) -> Result<(), MemoryError> {
        let size = bytes.len() as u64;
        let unmapped = MemoryError::Unmapped { address, size: Bytes(size) };
        let (region, offset) = self.find(address.0, size).ok_or(unmapped)?;
        if offset & 3 == 0 {
            for (word, bytes) in region.words[offset as usize / 4..].iter().zip(bytes.chunks_mut(4)) {
                bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes()[..bytes.len()]);
            }
        } else {
            for (n, byte) in bytes.iter_mut().enumerate() {
                *byte = region.bytes(offset + n as u64, 1) as u8;
            }
        }
        Ok(())
    }

    /// The region that contains the whole access, and the offset in it.
    #[inline(always)]
    fn find(&self, address: u64, bytes: u64) -> Option<(&Region, u64)> {
        let place = self.regions.partition_point(|region| region.base <= address);
        let region = self.regions.get(place.checked_sub(1)?)?;
        Some((region, region.offset(address, bytes)?))
    }

    fn locate(&self, access: Access, lane: Option<u8>, address: u64, bytes: u64) -> Result<(&Region, u64), Fault> {
        let (region, offset) = self.find(address, bytes).ok_or(Fault::Unmapped { access, address, bytes, lane })?;
        if access != Access::Load && !region.writable {
            return Err(Fault::ReadOnly { access, address, lane });
        }
        Ok((region, offset))
    }

    fn lock(&self, address: u64) -> std::sync::MutexGuard<'_, ()> {
        self.locks[(address / 8) as usize % LOCKS].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs a scalar access.
    pub fn perform_scalar(&self, op: &mut ScalarOp) -> Result<(), Fault> {
        let access = if op.store { Access::Store } else { Access::Load };
        if op.out_of_range == 0 && !op.store {
            let (region, offset) = self.locate(access, None, op.address, 4 * u64::from(op.words))?;
            let first = offset as usize / 4;
            for (word, cell) in op.data.iter_mut().zip(&region.words[first..first + usize::from(op.words)]) {
                *word = cell.load(Relaxed);
            }
            return Ok(());
        }
        for word in 0..usize::from(op.words) {
            if op.out_of_range >> word & 1 == 1 {
                continue;
            }
            let (region, offset) = self.locate(access, None, op.address + 4 * word as u64, 4)?;
            let cell = &region.words[offset as usize / 4];
            if op.store {
                cell.store(op.data[word], Relaxed);
            } else {
                op.data[word] = cell.load(Relaxed);
            }
        }
        Ok(())
    }

    /// Performs a vector access. `alone`: no other thread accesses this memory at the same time.
    pub fn perform(&self, op: &mut MemOp, alone: bool) -> Result<(), Fault> {
        if op.mask == 0 {
            return Ok(());
        }
        if let Kind::Atomic { op: atomic, .. } = op.kind {
            return match op.element_bytes {
                8 => self.atomic64(op, atomic, alone),
                _ => self.atomic32(op, atomic, alone),
            };
        }
        let store = op.kind == Kind::Store;
        let (bytes, elements, stride) = (u64::from(op.element_bytes), usize::from(op.elements), u64::from(op.stride));
        let coherent = !alone && op.scope.glc && !store && bytes == 4 && elements == 2;
        let MemOp { addresses, more, data, mask, .. } = op;
        let places = std::iter::once(&*addresses).chain(more.iter());
        for (place, addresses) in places.enumerate() {
            if coherent {
                self.load_pairs(*mask, addresses, &mut data[2 * place..])?;
                continue;
            }
            for element in 0..elements {
                let Some(row) = data.get_mut(place * elements + element) else { continue };
                let distance = element as u64 * stride;
                match store {
                    false => self.load(*mask, addresses, distance, bytes, row)?,
                    true => self.store(*mask, addresses, distance, bytes, row, alone)?,
                }
            }
        }
        Ok(())
    }

    /// The region of the first active lane, and the offsets of all active lanes; none unless all accesses are in this
    /// region and aligned.
    #[inline(always)]
    fn together(&self, mask: u64, addresses: &[u64; 64], distance: u64, bytes: u64) -> Option<(&Region, Distances)> {
        let first = addresses[mask.trailing_zeros() as usize].wrapping_add(distance);
        let (region, _) = self.find(first, bytes)?;
        let offsets = distances_within(addresses, mask, region.base.wrapping_sub(distance), region.len() - bytes)?;
        let unaligned = offsets.of.iter().fold(0, |bad, offset| bad | offset & (bytes as u32 - 1));
        (unaligned == 0).then_some((region, offsets))
    }

    #[inline(always)]
    fn load(
        &self,
        mask: u64,
        addresses: &[u64; 64],
        distance: u64,
        bytes: u64,
        row: &mut [u32; 64],
    ) -> Result<(), Fault> {
        if let Some((region, offsets)) = self.together(mask, addresses, distance, bytes) {
            let first = offsets.of[0] as usize / 4;
            match bytes {
                4 if offsets.consecutive => {
                    for (value, word) in row.iter_mut().zip(&region.words[first..first + 64]) {
                        *value = word.load(Relaxed);
                    }
                }
                4 => {
                    for (value, offset) in row.iter_mut().zip(&offsets.of) {
                        *value = region.words[*offset as usize / 4].load(Relaxed);
                    }
                }
                _ => {
                    let ones = u32::MAX >> (32 - 8 * bytes);
                    for (value, offset) in row.iter_mut().zip(&offsets.of) {
                        *value = region.words[*offset as usize / 4].load(Relaxed) >> (8 * (offset & 3)) & ones;
                    }
                }
            }
            return Ok(());
        }
        for (lane, value) in row.iter_mut().enumerate().filter(|(lane, _)| mask >> lane & 1 == 1) {
            let address = addresses[lane].wrapping_add(distance);
            let (region, offset) = self.locate(Access::Load, Some(lane as u8), address, bytes)?;
            *value = region.bytes(offset, bytes);
        }
        Ok(())
    }

    #[inline(always)]
    fn store(
        &self,
        mask: u64,
        addresses: &[u64; 64],
        distance: u64,
        bytes: u64,
        row: &[u32; 64],
        alone: bool,
    ) -> Result<(), Fault> {
        if let Some((region, offsets)) = self.together(mask, addresses, distance, bytes).filter(|(r, _)| r.writable) {
            let first = offsets.of[0] as usize / 4;
            if offsets.consecutive && bytes == 4 {
                for (value, word) in row.iter().zip(&region.words[first..first + 64]) {
                    word.store(*value, Relaxed);
                }
            } else if mask == !0 && bytes == 4 {
                for (value, offset) in row.iter().zip(&offsets.of) {
                    region.words[*offset as usize / 4].store(*value, Relaxed);
                }
            } else {
                for lane in active(mask) {
                    region.set_bytes(offsets.of[lane].into(), bytes, row[lane], alone);
                }
            }
            return Ok(());
        }
        for (lane, value) in row.iter().enumerate().filter(|(lane, _)| mask >> lane & 1 == 1) {
            let address = addresses[lane].wrapping_add(distance);
            let (region, offset) = self.locate(Access::Store, Some(lane as u8), address, bytes)?;
            region.set_bytes(offset, bytes, *value, alone);
        }
        Ok(())
    }

    /// 64-bit loads that must not see half of an atomic.
    fn load_pairs(&self, mask: u64, addresses: &[u64; 64], data: &mut [crate::exec::simd::Row]) -> Result<(), Fault> {
        for lane in active(mask) {
            let (region, offset) = self.locate(Access::Load, Some(lane as u8), addresses[lane], 8)?;
            let _guard = self.lock(addresses[lane]);
            for (n, row) in data.iter_mut().take(2).enumerate() {
                row[lane] = region.bytes(offset + 4 * n as u64, 4);
            }
        }
        Ok(())
    }

    fn atomic32(&self, op: &mut MemOp, atomic: AtomicOp, alone: bool) -> Result<(), Fault> {
        let together = self.together(op.mask, &op.addresses, 0, 4).filter(|(region, _)| region.writable);
        for lane in active(op.mask) {
            let (region, offset) = match &together {
                Some((region, offsets)) => (*region, u64::from(offsets.of[lane])),
                None => self.locate_atomic(lane, op.addresses[lane], 4)?,
            };
            let (data, second) = (op.data[0][lane], op.data.get(1).map_or(0, |row| row[lane]));
            let word = &region.words[offset as usize / 4];
            op.data[0][lane] = update32(word, alone, |old| atomic.apply32(old, data, second));
        }
        Ok(())
    }

    fn atomic64(&self, op: &mut MemOp, atomic: AtomicOp, alone: bool) -> Result<(), Fault> {
        for lane in active(op.mask) {
            let address = op.addresses[lane];
            let (region, offset) = self.locate_atomic(lane, address, 8)?;
            let at = |n: usize| op.data.get(n).map_or(0, |row| u64::from(row[lane]));
            let (data, second) = (at(0) | at(1) << 32, at(2) | at(3) << 32);
            let _guard = (!alone).then(|| self.lock(address));
            let [low, high] = [0, 1].map(|n| &region.words[offset as usize / 4 + n]);
            let old = u64::from(low.load(Relaxed)) | u64::from(high.load(Relaxed)) << 32;
            let new = atomic.apply64(old, data, second);
            low.store(new as u32, Relaxed);
            high.store((new >> 32) as u32, Relaxed);
            op.data[0][lane] = old as u32;
            op.data[1][lane] = (old >> 32) as u32;
        }
        Ok(())
    }

    fn locate_atomic(&self, lane: usize, address: u64, bytes: u64) -> Result<(&Region, u64), Fault> {
        if !address.is_multiple_of(bytes) {
            let rule = "an atomic access needs a multiple of its size";
            return Err(Fault::Unaligned { access: Access::Atomic, address, bytes, rule, lane: Some(lane as u8) });
        }
        self.locate(Access::Atomic, Some(lane as u8), address, bytes)
    }
}
