//! Transfers by a DMA engine of the machine: the driver writes a descriptor, and is notified when the transfer is done.
//!
//! The program's thread pays for the call and for writing the descriptor, and continues. Addresses are translated here,
//! with the effects of a first access to each page; the engine gets physical addresses only. On machines without such
//! an engine [`command`](super::command) decides what moves bytes.

use super::{
    abi::Rect,
    device_memory::Spread,
    driver::Driver,
    gpu::{Broken, Cause, Ended, Piece, Transfer},
    policy::PolicyKind,
};
use crate::guest::{Fault, GuestMemory};
use engine::Time;
use mem::{Bytes, PAGE, PhysAddr, VirtAddr, Zone};
use std::collections::{BTreeMap, btree_map::Entry};

/// A transfer in flight, which a command waits for.
#[derive(Debug)]
pub struct InTransfer {
    descriptor: VirtAddr,
    rows: Rect,
    pinned: Vec<PhysAddr>,
}

/// The memory that an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Host,
    Device,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sides {
    pub to: Side,
    pub from: Side,
}

/// Why a transfer was not started.
pub enum NotMoved {
    Refused(String),
    Broken(Broken),
}

impl Driver {
    /// Starts a transfer by the engine for a command.
    pub(super) fn start_transfer(
        &mut self,
        event: u64,
        (rows, sides): (Rect, Sides),
        pattern: Option<&[u8]>,
        guest: &mut dyn GuestMemory,
        now: Time,
    ) -> Result<(), NotMoved> {
        let words = rows.words();
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(pattern.unwrap_or_default());
        let refused = |text: String| NotMoved::Refused(text);
        let place = self.descriptors.put_bytes(guest, &bytes).map_err(|code| refused(code.to_string()))?;
        let descriptor = (place, Bytes(bytes.len() as u64));
        let (transfer, pinned) = match self.resolve(rows, sides, pattern, descriptor, guest) {
            Ok(resolved) => resolved,
            Err(fault) => {
                self.descriptors.take(place);
                return Err(refused(fault.to_string()));
            }
        };
        pinned.iter().for_each(|page| guest.pin(*page));
        self.count_transfer(&transfer);
        self.transfers.insert(event, InTransfer { descriptor: place, rows, pinned });
        self.gpus.transfer(event, transfer, guest, now).map_err(NotMoved::Broken)
    }

    /// Called when the engine has completed a transfer.
    pub(super) fn end_transfer(&mut self, ended: Ended, transfer: InTransfer, guest: &mut dyn GuestMemory) {
        transfer.pinned.into_iter().for_each(|page| guest.unpin(page));
        self.touched.extend(transfer.rows.ranges());
        let Ended { launch: event, start, end, .. } = ended;
        self.descriptors.take(transfer.descriptor);
        if let Ok(event) = self.events.held_mut(event) {
            event.started(start);
        }
        self.ready.push_back((event, end));
    }
}

impl Driver {
    /// Finds the pages of a transfer; also returns those that are in the host's memory.
    fn resolve(
        &mut self,
        rows: Rect,
        sides: Sides,
        pattern: Option<&[u8]>,
        descriptor: (VirtAddr, Bytes),
        guest: &mut dyn GuestMemory,
    ) -> Result<(Transfer, Vec<PhysAddr>), Fault> {
        let mut pages = BTreeMap::new();
        let bytes = Bytes(rows.size[0]);
        // Written pages first: the write may give a page another frame (copy on write).
        for (to, _) in rows.rows() {
            self.find_pages(&mut pages, guest, sides.to, (to, bytes), true)?;
        }
        if pattern.is_none() {
            for (_, from) in rows.rows() {
                self.find_pages(&mut pages, guest, sides.from, (from, bytes), false)?;
            }
        }
        self.find_pages(&mut pages, guest, Side::Host, descriptor, false)?;
        let split = self.has_homes();
        let place =
            |side: Side, at: VirtAddr| pages[&(split && side == Side::Device, at.0 / PAGE * PAGE)] + Bytes(at.0 % PAGE);
        let (to_place, from_place) = (|at| place(sides.to, at), |at| place(sides.from, at));
        let mut pieces = Vec::new();
        for (to, from) in rows.rows() {
            match pattern {
                Some(_) => cut(&mut pieces, bytes, (to, to_place), (VirtAddr(0), |at| PhysAddr(at.0))),
                None => cut(&mut pieces, bytes, (to, to_place), (from, from_place)),
            }
        }
        let descriptor = Some((place(Side::Host, descriptor.0), descriptor.1));
        let transfer = Transfer { pieces, pattern: pattern.map(<[u8]>::to_vec), descriptor, cause: Cause::Copy };
        let host = pages.into_values().filter(|page| Zone::of(*page) == Zone::Host);
        Ok((transfer, host.collect()))
    }

    /// Whether buffers have homes in device memory, which the host's page tables don't map.
    fn has_homes(&self) -> bool {
        self.tables.is_split() && self.settings.policy == PolicyKind::Memcpy
    }

    /// Records the frames of a range's pages; the key includes whether they are the devices'.
    fn find_pages(
        &mut self,
        pages: &mut BTreeMap<(bool, u64), PhysAddr>,
        guest: &mut dyn GuestMemory,
        side: Side,
        (start, size): (VirtAddr, Bytes),
        write: bool,
    ) -> Result<(), Fault> {
        let end = start.0.saturating_add(size.0);
        let device = self.has_homes() && side == Side::Device;
        for page in (start.0 / PAGE * PAGE..end).step_by(PAGE as usize) {
            if let Entry::Vacant(entry) = pages.entry((device, page)) {
                if device && self.tables.home(page).is_none() {
                    // A page that has not been touched yet gets a home.
                    self.tables.settle(
                        (VirtAddr(page), Bytes(PAGE)),
                        Spread::Device((page / PAGE) as usize % self.tables.gpus),
                    );
                }
                let place = match device {
                    true => self.tables.home(page),
                    false => guest.physical(VirtAddr(page), write).and_then(Result::ok),
                };
                entry.insert(place.ok_or(Fault { address: VirtAddr(page.max(start.0)), write })?);
            }
        }
        Ok(())
    }
}

/// Splits a virtual range into pieces that are physically contiguous on both sides, and appends them.
pub fn cut(
    pieces: &mut Vec<Piece>,
    size: Bytes,
    (to, to_place): (VirtAddr, impl Fn(VirtAddr) -> PhysAddr),
    (from, from_place): (VirtAddr, impl Fn(VirtAddr) -> PhysAddr),
) {
    let mut done = 0;
    while done < size.0 {
        let (at, source) = (to + Bytes(done), from + Bytes(done));
        let bytes = (PAGE - at.0 % PAGE).min(PAGE - source.0 % PAGE).min(size.0 - done);
        let piece = Piece { to: to_place(at), from: from_place(source), bytes };
        match pieces.last_mut().filter(|_| done > 0) {
            Some(last) if last.to + Bytes(last.bytes) == piece.to && last.from + Bytes(last.bytes) == piece.from => {
                last.bytes += bytes;
            }
            _ => pieces.push(piece),
        }
        done += bytes;
    }
}
