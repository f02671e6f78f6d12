//! Accesses of threads, system calls and devices to a process's memory.
//!
//! The fast path is one lookup in the software TLB. An access that misses there, or crosses a page, takes the slow path
//! through the page tables, and through the areas if the tables have no entry.

use super::{AddressSpace, PAGE, area::Rights, space::Backed};
use crate::guest::{Fault, Guard, GuestMemory, NoRoom};
use mem::{Bytes, FrameId, Frames, PhysAddr, VirtAddr};
use x86::{Access, Memory, Size, Stop};

impl AddressSpace {
    /// Finds the frame and offset of an address in the page tables, and fills the TLB.
    #[inline(never)]
    fn locate(&mut self, address: u64, access: Access) -> Result<(FrameId, usize), Stop> {
        let leaf = self.leaf(address, access)?;
        let Backed { frame, offset, .. } = self.backed(leaf, address);
        let page = address / PAGE;
        match access {
            Access::Read => self.tlb.read.fill(page, frame, offset),
            Access::Execute => {
                self.note_code(page);
                self.tlb.execute.fill(page, frame, offset);
                // Code was fetched from this page, so writes to it must now take the slow path.
                self.tlb.write.forget_page(page);
            }
            Access::Write if self.holds_code(page) => {}
            Access::Write => self.tlb.write.fill(page, frame, offset),
        }
        Ok((frame, offset as usize + (address % PAGE) as usize))
    }

    /// Finds the frame and offset for a write, and invalidates decoded code if the page holds code.
    fn locate_write(&mut self, address: u64) -> Result<(FrameId, usize), Stop> {
        let place = self.locate(address, Access::Write)?;
        if self.holds_code(address / PAGE) {
            self.code_changed();
        }
        Ok(place)
    }

    fn load_slowly<const N: usize>(&mut self, address: u64) -> Result<[u8; N], Stop> {
        let mut bytes = [0; N];
        self.copy_out(address, &mut bytes)?;
        Ok(bytes)
    }

    fn store_slowly(&mut self, address: u64, bytes: &[u8]) -> Result<(), Stop> {
        self.probe(address, bytes.len() as u64)?;
        self.copy_in(address, bytes)
    }

    fn probe(&mut self, address: u64, bytes: u64) -> Result<(), Stop> {
        if self.has_window() {
            return self.probe_seen(address, bytes);
        }
        let mut at = address;
        let mut left = bytes;
        while left > 0 {
            self.locate(at, Access::Write)?;
            if self.holds_code(at / PAGE) {
                self.code_changed();
                return Err(Stop::CodeWrite);
            }
            let count = (PAGE - at % PAGE).min(left);
            at = at.wrapping_add(count);
            left -= count;
        }
        Ok(())
    }

    fn copy_out(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), Stop> {
        if self.has_window() {
            return self.load_seen(address, bytes);
        }
        let mut done = 0;
        while done < bytes.len() {
            let at = address.wrapping_add(done as u64);
            let count = ((PAGE - at % PAGE) as usize).min(bytes.len() - done);
            let (frame, place) = match self.tlb.read.find(at / PAGE) {
                Some(slot) => (slot.frame, slot.offset as usize + (at % PAGE) as usize),
                None => self.locate(at, Access::Read)?,
            };
            bytes[done..done + count].copy_from_slice(&self.physical.frames.bytes(frame)[place..place + count]);
            done += count;
        }
        Ok(())
    }

    fn copy_in(&mut self, address: u64, bytes: &[u8]) -> Result<(), Stop> {
        if self.has_window() {
            return self.store_seen(address, bytes);
        }
        let mut done = 0;
        while done < bytes.len() {
            let at = address.wrapping_add(done as u64);
            let count = ((PAGE - at % PAGE) as usize).min(bytes.len() - done);
            let (frame, place) = match self.tlb.write.find(at / PAGE) {
                Some(slot) => (slot.frame, slot.offset as usize + (at % PAGE) as usize),
                None => self.locate_write(at)?,
            };
            self.physical.frames.bytes_mut(frame)[place..place + count].copy_from_slice(&bytes[done..done + count]);
            done += count;
        }
        Ok(())
    }

    #[inline(always)]
    fn load_bytes<const N: usize>(&mut self, address: u64) -> Result<[u8; N], Stop> {
        let inside = (address % PAGE) as usize;
        if let Some(slot) = self.tlb.read.find(address / PAGE)
            && inside + N <= PAGE as usize
        {
            let place = slot.offset as usize + inside;
            let bytes = &self.physical.frames.bytes(slot.frame)[place..place + N];
            return Ok(bytes.try_into().expect("a slice of N bytes"));
        }
        self.load_slowly(address)
    }

    #[inline(always)]
    fn store_bytes<const N: usize>(&mut self, address: u64, bytes: [u8; N]) -> Result<(), Stop> {
        let inside = (address % PAGE) as usize;
        if let Some(slot) = self.tlb.write.find(address / PAGE)
            && inside + N <= PAGE as usize
        {
            let place = slot.offset as usize + inside;
            self.physical.frames.bytes_mut(slot.frame)[place..place + N].copy_from_slice(&bytes);
            return Ok(());
        }
        self.store_slowly(address, &bytes)
    }
}

impl Memory for AddressSpace {
    #[inline(always)]
    fn load(&mut self, address: u64, size: Size) -> Result<u64, Stop> {
        Ok(match size {
            Size::B1 => self.load_bytes::<1>(address)?[0].into(),
            Size::B2 => u16::from_le_bytes(self.load_bytes(address)?).into(),
            Size::B4 => u32::from_le_bytes(self.load_bytes(address)?).into(),
            Size::B8 => u64::from_le_bytes(self.load_bytes(address)?),
        })
    }

    #[inline(always)]
    fn store(&mut self, address: u64, size: Size, value: u64) -> Result<(), Stop> {
        match size {
            Size::B1 => self.store_bytes(address, [value as u8]),
            Size::B2 => self.store_bytes(address, (value as u16).to_le_bytes()),
            Size::B4 => self.store_bytes(address, (value as u32).to_le_bytes()),
            Size::B8 => self.store_bytes(address, value.to_le_bytes()),
        }
    }

    #[inline(always)]
    fn load128(&mut self, address: u64) -> Result<u128, Stop> {
        Ok(u128::from_le_bytes(self.load_bytes(address)?))
    }

    #[inline(always)]
    fn store128(&mut self, address: u64, value: u128) -> Result<(), Stop> {
        self.store_bytes(address, value.to_le_bytes())
    }

    fn flush_line(&mut self, address: u64) -> Result<(), Stop> {
        match self.has_window() {
            true => self.flush_seen(address),
            false => self.load(address, Size::B1).map(drop),
        }
    }

    #[inline(always)]
    fn probe_write(&mut self, address: u64, bytes: u64) -> Result<(), Stop> {
        let fast = address % PAGE + bytes <= PAGE && self.tlb.write.find(address / PAGE).is_some();
        if fast { Ok(()) } else { self.probe(address, bytes) }
    }

    fn fetch(&mut self, address: u64, bytes: &mut [u8]) -> Result<usize, Stop> {
        if self.has_window() {
            return self.fetch_seen(address, bytes);
        }
        let mut done = 0;
        while done < bytes.len() {
            let at = address.wrapping_add(done as u64);
            let found = match self.tlb.execute.find(at / PAGE) {
                Some(slot) => Ok((slot.frame, slot.offset as usize + (at % PAGE) as usize)),
                None => self.locate(at, Access::Execute),
            };
            let (frame, place) = match found {
                Ok(found) => found,
                Err(stop) if done == 0 => return Err(stop),
                Err(_) => break,
            };
            let count = ((PAGE - at % PAGE) as usize).min(bytes.len() - done);
            bytes[done..done + count].copy_from_slice(&self.physical.frames.bytes(frame)[place..place + count]);
            done += count;
        }
        Ok(done)
    }

    #[inline(always)]
    fn code_version(&self) -> u64 {
        self.code_version
    }
}

/// Converts a failed access for a driver or a system call.
fn fault(stop: Stop, at: VirtAddr, write: bool) -> Fault {
    match stop {
        Stop::PageFault { address, .. } => Fault { address: VirtAddr(address), write },
        // The window has recorded the missing line; the call is repeated once the line has arrived.
        Stop::Wait | Stop::CodeWrite => Fault { address: at, write },
    }
}

impl GuestMemory for AddressSpace {
    fn read(&mut self, address: VirtAddr, bytes: &mut [u8]) -> Result<(), Fault> {
        self.copy_out(address.0, bytes).map_err(|stop| fault(stop, address, false))
    }

    fn write(&mut self, address: VirtAddr, bytes: &[u8]) -> Result<(), Fault> {
        self.copy_in(address.0, bytes).map_err(|stop| fault(stop, address, true))
    }

    fn map_anonymous(&mut self, size: Bytes) -> Result<VirtAddr, NoRoom> {
        self.map_zeros(size.0, Rights::READ_WRITE).map(VirtAddr).map_err(|_| NoRoom { size })
    }

    fn populate(&mut self, address: VirtAddr, size: Bytes) {
        if self.for_cores {
            self.bring_in_all(address.0, size.0, Access::Write);
        }
    }

    fn unmap(&mut self, address: VirtAddr, size: Bytes) {
        // An invalid range holds no mapping, so the error can be ignored.
        let _ = AddressSpace::unmap(self, address.0, size.0);
    }

    fn physical(&mut self, address: VirtAddr, write: bool) -> Option<Result<PhysAddr, Fault>> {
        if write && self.holds_code(address.0 / PAGE) {
            self.code_changed();
        }
        let leaf = self.leaf(address.0, if write { Access::Write } else { Access::Read });
        Some(leaf.map_err(|stop| fault(stop, address, write)).map(|leaf| leaf.place(address)))
    }

    fn is_waiting(&self) -> bool {
        self.guarded.is_some() || self.physical.window.as_ref().is_some_and(|window| window.missing().is_some())
    }

    fn guard(&mut self, address: VirtAddr, size: Bytes, guard: Guard) {
        self.set_guard(address.0, size.0, guard);
    }

    fn beneath(&mut self, address: VirtAddr) -> Option<Result<PhysAddr, Fault>> {
        Some(self.frame_beneath(address.0).map_err(|_| Fault { address, write: true }))
    }

    fn share(&mut self, page: PhysAddr) {
        if let Some(window) = self.window() {
            window.share(page);
        }
    }

    fn pin(&mut self, page: PhysAddr) {
        if let Some(window) = self.window() {
            window.pin(page);
        }
    }

    fn unpin(&mut self, page: PhysAddr) {
        if let Some(window) = self.window() {
            window.unpin(page);
        }
    }

    /// None while there is a window: then the frames lack the pending stores.
    fn frames(&mut self) -> Option<&mut Frames> {
        (!self.has_window()).then(|| self.frames_mut())
    }
}
