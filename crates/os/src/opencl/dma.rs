//! Transfers by an engine of the machine: the driver writes down what is to be moved, and hears when that is done.
//!
//! The program's thread pays for the call and for the descriptor, and goes on. Addresses are translated here, as the first access to
//! each page would; the engine is told of physical memory only. On machines without such an engine [`command`](super::command) says
//! who moves bytes.

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

/// A transfer that a command waits for.
#[derive(Debug)]
pub struct InTransfer {
    descriptor: VirtAddr,
    rows: Rect,
    pinned: Vec<PhysAddr>,
}

/// Whose memory an address means.
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

/// Why bytes are not moved.
pub enum NotMoved {
    Refused(String),
    Broken(Broken),
}

impl Driver {
    /// Has the engine move bytes for a command.
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

    /// The engine has done what a command asked of it.
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
    /// Finds the pages of a transfer. Gives those that lie in the host's memory, too.
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
        // Those that are written first: what is read only may lie elsewhere until then.
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

    /// Whether buffers have homes in memory of devices, which the host's tables do not know.
    fn has_homes(&self) -> bool {
        self.tables.is_split() && self.settings.policy == PolicyKind::Memcpy
    }

    /// Notes where the pages of a range lie; whether they are devices' is part of the key.
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
                    // Nobody has touched it yet.
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

/// Cuts a range of virtual memory into pieces that lie in one piece on either side, and adds them.
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
