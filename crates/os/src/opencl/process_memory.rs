//! A process's memory as functional kernels access it: directly, at the process's own addresses.
//!
//! Page lookups are cached in a small table for one turn of a kernel, during which no mapping can change. GPUs with
//! page tables of their own access what these map, and wait for other pages. One thread runs all kernels, so atomics
//! are plain reads and writes.

use gcn3::{
    error::{Access, Fault},
    exec::simd::distances_within,
    functional::Immediate,
    memop::{AtomicOp, Kind, MemOp, ScalarOp},
};
use mem::{FRAME, FrameId, PAGE, VirtAddr};
use std::collections::{BTreeMap, BTreeSet};

use super::functional::Table;
use crate::guest::GuestMemory;

const ENTRIES: usize = 512;

/// A cached page: its frame, and the offset in it.
#[derive(Clone, Copy)]
struct Page {
    number: u64,
    frame: FrameId,
    offset: u32,
    writable: bool,
}

/// The memory that GPUs with page tables of their own can reach.
pub struct Reach<'a> {
    pub tables: &'a [Table],
    /// Pages that a GPU can't get.
    pub denied: &'a BTreeSet<(usize, u64)>,
    /// The GPU that runs the kernel; none: work-group n runs on GPU n modulo the number of GPUs.
    pub gpu: Option<usize>,
    pub gpus: usize,
}

/// A process's memory during one turn of a kernel.
pub struct ProcessMemory<'a> {
    guest: &'a mut dyn GuestMemory,
    pages: Vec<Option<Page>>,
    reach: Option<Reach<'a>>,
    /// The GPU that currently accesses it.
    gpu: usize,
    /// Pages missing in the tables of GPUs, and whether they are needed for writing.
    missing: BTreeMap<(usize, u64), bool>,
}

impl<'a> ProcessMemory<'a> {
    pub fn new(guest: &'a mut dyn GuestMemory, reach: Option<Reach<'a>>) -> Self {
        let gpu = reach.as_ref().and_then(|reach| reach.gpu).unwrap_or(0);
        Self { guest, pages: vec![None; ENTRIES], reach, gpu, missing: BTreeMap::new() }
    }

    /// The pages that kernels wait for: GPU, page, and whether it is needed for writing.
    pub fn into_missing(self) -> impl Iterator<Item = (usize, u64, bool)> {
        self.missing.into_iter().map(|((gpu, page), write)| (gpu, page, write))
    }

    /// Records the missing pages of an access; returns whether there were any.
    fn misses(&mut self, address: u64, bytes: u64, write: bool) -> bool {
        let Some(reach) = &self.reach else { return false };
        let mut any = false;
        let [first, last] = [address, address.saturating_add(bytes - 1)].map(|at| at / PAGE);
        for number in first..=last {
            let cached = self.pages[number as usize % ENTRIES];
            if cached.is_some_and(|page| page.number == number && (page.writable || !write)) {
                continue;
            }
            let page = number * PAGE;
            let found = reach.tables[self.gpu].get(&page).is_some_and(|page| page.writable || !write);
            if !found && !reach.denied.contains(&(self.gpu, page)) {
                *self.missing.entry((self.gpu, page)).or_default() |= write;
                any = true;
            }
        }
        any
    }

    /// Whether an access must wait for pages. The pages of all lanes are recorded, and nothing is done before all are
    /// mapped, because an atomic access must not be done twice.
    fn waits(&mut self, op: &MemOp) -> bool {
        if self.reach.is_none() {
            return false;
        }
        let write = op.kind != Kind::Load;
        let (bytes, elements, stride) = (u64::from(op.element_bytes), u64::from(op.elements), u64::from(op.stride));
        let (bytes, elements) = (bytes.max(1), elements.max(1));
        let mut any = false;
        // The page of the lane before, if that lane does not wait. Neighbouring lanes mostly access one page.
        let mut known = None;
        for addresses in std::iter::once(&op.addresses).chain(op.more.iter()) {
            for lane in lanes(op.mask) {
                for element in 0..elements {
                    let address = addresses[lane].wrapping_add(element * stride);
                    let page = (address % PAGE + bytes <= PAGE).then_some(address / PAGE);
                    if page.is_some() && page == known {
                        continue;
                    }
                    let waits = self.misses(address, bytes, write);
                    known = page.filter(|_| !waits);
                    any |= waits;
                }
            }
        }
        any
    }

    /// The page of an address; none if the guest's memory gives no access to its frames.
    #[inline]
    fn page(&mut self, address: u64, write: bool) -> Option<Result<Page, ()>> {
        let number = address / PAGE;
        match self.pages[number as usize % ENTRIES] {
            Some(page) if page.number == number && (page.writable || !write) => Some(Ok(page)),
            _ => self.find_page(address, write),
        }
    }

    #[cold]
    fn find_page(&mut self, address: u64, write: bool) -> Option<Result<Page, ()>> {
        let number = address / PAGE;
        if let Some(reach) = &self.reach {
            let page = reach.tables[self.gpu].get(&(number * PAGE)).filter(|page| page.writable || !write);
            let Some(place) = page.map(|page| page.place) else { return Some(Err(())) };
            let frame = self.guest.frames()?.frame(place);
            let page = Page { number, frame, offset: (place.0 % FRAME as u64) as u32, writable: write };
            self.pages[number as usize % ENTRIES] = Some(page);
            return Some(Ok(page));
        }
        let found = match self.guest.physical(VirtAddr(number * PAGE), write)? {
            Ok(physical) => physical,
            Err(_) => return Some(Err(())),
        };
        let frame = self.guest.frames()?.frame(found);
        let page = Page { number, frame, offset: (found.0 % FRAME as u64) as u32, writable: write };
        self.pages[number as usize % ENTRIES] = Some(page);
        Some(Ok(page))
    }

    /// Reads up to eight bytes, which may cross a page.
    #[inline]
    fn read(&mut self, address: u64, count: usize) -> Result<u64, ()> {
        let inside = (address % PAGE) as usize;
        if inside + count <= PAGE as usize
            && let Some(page) = self.page(address, false)
        {
            let page = page?;
            let frames = self.guest.frames().ok_or(())?;
            let start = page.offset as usize + inside;
            let bytes = &frames.bytes(page.frame)[start..start + count];
            return Ok(match count {
                4 => u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).into(),
                _ => bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)),
            });
        }
        let mut bytes = [0; 8];
        if self.reach.is_some() {
            for (n, byte) in bytes[..count].iter_mut().enumerate() {
                *byte = self.read(address.wrapping_add(n as u64), 1)? as u8;
            }
            return Ok(u64::from_le_bytes(bytes));
        }
        self.guest.read(VirtAddr(address), &mut bytes[..count]).map_err(|_| ())?;
        Ok(u64::from_le_bytes(bytes))
    }

    #[inline]
    fn write(&mut self, address: u64, count: usize, value: u64) -> Result<(), ()> {
        let inside = (address % PAGE) as usize;
        if inside + count <= PAGE as usize
            && let Some(page) = self.page(address, true)
        {
            let page = page?;
            let frames = self.guest.frames().ok_or(())?;
            let start = page.offset as usize + inside;
            frames.bytes_mut(page.frame)[start..start + count].copy_from_slice(&value.to_le_bytes()[..count]);
            return Ok(());
        }
        if self.reach.is_some() {
            return (0..count).try_for_each(|n| self.write(address.wrapping_add(n as u64), 1, value >> (8 * n) & 0xff));
        }
        self.guest.write(VirtAddr(address), &value.to_le_bytes()[..count]).map_err(|_| ())
    }

    /// Classifies a failed access: not mapped, or not writable.
    fn fault(&mut self, access: Access, address: u64, bytes: u64, lane: Option<u8>) -> Fault {
        let mut byte = [0];
        let readable = match self.reach {
            Some(_) => self.read(address, 1),
            None => self.guest.read(VirtAddr(address), &mut byte).map(|()| 0).map_err(|_| ()),
        };
        match readable {
            Ok(_) if access != Access::Load => Fault::ReadOnly { access, address, lane },
            _ => Fault::Unmapped { access, address, bytes, lane },
        }
    }

    /// Performs a load or a store of words if all of it lies in one mapped page; returns whether it did. Most accesses
    /// are of this kind.
    fn perform_in_page(&mut self, op: &mut MemOp) -> bool {
        let (elements, stride, store) = (usize::from(op.elements), op.stride as usize, op.kind == Kind::Store);
        let span = elements.saturating_sub(1) * stride + 4;
        let plain = op.element_bytes == 4 && op.more.is_empty() && (store || op.kind == Kind::Load);
        if !plain || op.mask == 0 || span > PAGE as usize || op.data.len() < elements {
            return false;
        }
        let first = op.addresses[op.mask.trailing_zeros() as usize];
        let base = first / PAGE * PAGE;
        let Some(lane) = distances_within(&op.addresses, op.mask, base, PAGE - span as u64) else { return false };
        let Some(Ok(page)) = self.page(first, store) else { return false };
        let Some(frames) = self.guest.frames() else { return false };
        let inside = page.offset as usize..page.offset as usize + PAGE as usize;
        for (element, row) in op.data[..elements].iter_mut().enumerate() {
            let at = element * stride;
            if store {
                let bytes = &mut frames.bytes_mut(page.frame)[inside.clone()][at..];
                for active in lanes(op.mask) {
                    let to = lane.of[active] as usize;
                    bytes[to..to + 4].copy_from_slice(&row[active].to_le_bytes());
                }
            } else {
                let bytes = &frames.bytes(page.frame)[inside.clone()][at..];
                // Lanes that are off read the page's first word, which is not used.
                for (value, from) in row.iter_mut().zip(&lane.of) {
                    let from = *from as usize;
                    *value = u32::from_le_bytes([bytes[from], bytes[from + 1], bytes[from + 2], bytes[from + 3]]);
                }
            }
        }
        true
    }

    fn load(
        &mut self,
        mask: u64,
        addresses: &[u64; 64],
        distance: u64,
        bytes: u64,
        row: &mut [u32; 64],
    ) -> Result<(), Fault> {
        for lane in lanes(mask) {
            let address = addresses[lane].wrapping_add(distance);
            match self.read(address, bytes as usize) {
                Ok(value) => row[lane] = value as u32,
                Err(()) => return Err(self.fault(Access::Load, address, bytes, Some(lane as u8))),
            }
        }
        Ok(())
    }

    fn store(
        &mut self,
        mask: u64,
        addresses: &[u64; 64],
        distance: u64,
        bytes: u64,
        row: &[u32; 64],
    ) -> Result<(), Fault> {
        for lane in lanes(mask) {
            let address = addresses[lane].wrapping_add(distance);
            if self.write(address, bytes as usize, row[lane].into()).is_err() {
                return Err(self.fault(Access::Store, address, bytes, Some(lane as u8)));
            }
        }
        Ok(())
    }

    fn atomic(&mut self, op: &mut MemOp, atomic: AtomicOp) -> Result<(), Fault> {
        let wide = op.element_bytes == 8;
        let bytes = if wide { 8 } else { 4 };
        for lane in lanes(op.mask) {
            let address = op.addresses[lane];
            if !address.is_multiple_of(bytes) {
                let rule = "an atomic access needs a multiple of its size";
                return Err(Fault::Unaligned { access: Access::Atomic, address, bytes, rule, lane: Some(lane as u8) });
            }
            let at = |n: usize| op.data.get(n).map_or(0, |row| u64::from(row[lane]));
            let Ok(old) = self.read(address, bytes as usize) else {
                return Err(self.fault(Access::Atomic, address, bytes, Some(lane as u8)));
            };
            let new = match wide {
                true => atomic.apply64(old, at(0) | at(1) << 32, at(2) | at(3) << 32),
                false => atomic.apply32(old as u32, at(0) as u32, at(1) as u32).into(),
            };
            if self.write(address, bytes as usize, new).is_err() {
                return Err(self.fault(Access::Atomic, address, bytes, Some(lane as u8)));
            }
            op.data[0][lane] = old as u32;
            if wide {
                op.data[1][lane] = (old >> 32) as u32;
            }
        }
        Ok(())
    }
}

impl Immediate for ProcessMemory<'_> {
    fn turn_to(&mut self, workgroup: u64) {
        let Some(reach) = &self.reach else { return };
        let gpu = reach.gpu.unwrap_or((workgroup % reach.gpus as u64) as usize);
        if gpu != self.gpu {
            self.gpu = gpu;
            self.pages.fill(None);
        }
    }

    fn perform(&mut self, op: &mut MemOp) -> Result<(), Fault> {
        if self.perform_in_page(op) {
            return Ok(());
        }
        if self.waits(op) {
            return Err(Fault::Away);
        }
        if let Kind::Atomic { op: atomic, .. } = op.kind {
            return self.atomic(op, atomic);
        }
        let store = op.kind == Kind::Store;
        let (bytes, elements, stride) = (u64::from(op.element_bytes), usize::from(op.elements), u64::from(op.stride));
        let MemOp { addresses, more, data, mask, .. } = op;
        for (place, addresses) in std::iter::once(&*addresses).chain(more.iter()).enumerate() {
            for element in 0..elements {
                let Some(row) = data.get_mut(place * elements + element) else { continue };
                let distance = element as u64 * stride;
                match store {
                    false => self.load(*mask, addresses, distance, bytes, row)?,
                    true => self.store(*mask, addresses, distance, bytes, row)?,
                }
            }
        }
        Ok(())
    }

    fn perform_scalar(&mut self, op: &mut ScalarOp) -> Result<(), Fault> {
        let wanted = (0..usize::from(op.words)).filter(|n| op.out_of_range >> n & 1 == 0);
        let missing = wanted.filter(|n| self.misses(op.address.wrapping_add(4 * *n as u64), 4, op.store)).count();
        if missing > 0 {
            return Err(Fault::Away);
        }
        for n in (0..usize::from(op.words)).filter(|n| op.out_of_range >> n & 1 == 0) {
            let address = op.address.wrapping_add(4 * n as u64);
            let (done, access) = match op.store {
                true => (self.write(address, 4, op.data[n].into()), Access::Store),
                false => (self.read(address, 4).map(|value| op.data[n] = value as u32), Access::Load),
            };
            if done.is_err() {
                return Err(self.fault(access, address, 4, None));
            }
        }
        Ok(())
    }
}

/// The lanes of a mask.
fn lanes(mask: u64) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lane = (left != 0).then(|| left.trailing_zeros() as usize)?;
        left &= left - 1;
        Some(lane)
    })
}
