//! Transfers and shootdowns that the driver starts for its own purposes, identified by numbers that no command has.

use super::{
    driver::Driver,
    gpu::{Cause, Ended, Piece, Ready, Transfer},
};
use crate::guest::GuestMemory;
use engine::Time;
use mem::{Bytes, PAGE, PhysAddr, Zone};

/// The driver's own numbers start here; smaller ones are events.
const OWN: u64 = 1 << 63;

/// How to continue when an operation has ended.
#[derive(Debug)]
pub enum After {
    /// Continue the pager's current job.
    Job,
    /// Start a kernel, whose data has arrived.
    Start { event: u64, ready: Box<Ready> },
    /// Finish an ended kernel, whose printed text has arrived at the host.
    Pulled(Ended),
}

/// An operation in flight.
#[derive(Debug)]
pub struct Numbered {
    after: After,
    pinned: Vec<PhysAddr>,
}

impl Driver {
    pub(super) fn number(&mut self, after: After, pinned: Vec<PhysAddr>) -> u64 {
        self.last_number = self.last_number.max(OWN) + 1;
        self.numbered.insert(self.last_number, Numbered { after, pinned });
        self.last_number
    }

    /// Transfers whole pages; each pair is destination and source. Returns the number of the operation; none if there
    /// is nothing to transfer, or the GPUs can't continue.
    pub(super) fn transfer_pages(
        &mut self,
        pairs: &[(PhysAddr, PhysAddr)],
        cause: Cause,
        after: After,
        guest: &mut dyn GuestMemory,
        now: Time,
    ) -> Option<u64> {
        let mut pieces: Vec<Piece> = Vec::new();
        for &(to, from) in pairs {
            match pieces.last_mut() {
                Some(last) if last.to + Bytes(last.bytes) == to && last.from + Bytes(last.bytes) == from => {
                    last.bytes += PAGE;
                }
                _ => pieces.push(Piece { to, from, bytes: PAGE }),
            }
        }
        let frames = pairs.iter().flat_map(|(to, from)| [*to, *from]);
        let pinned: Vec<PhysAddr> = frames.filter(|frame| Zone::of(*frame) == Zone::Host).collect();
        pinned.iter().for_each(|frame| guest.pin(*frame));
        let transfer = Transfer { pieces, pattern: None, descriptor: None, cause };
        self.count_transfer(&transfer);
        let number = self.number(after, pinned);
        if let Err(broken) = self.gpus.transfer(number, transfer, guest, now) {
            self.broken.get_or_insert(broken);
        }
        Some(number)
    }

    pub(super) fn count_transfer(&mut self, transfer: &Transfer) {
        self.usage.borrow_mut().paged.moved[transfer.cause as usize] += transfer.bytes().0;
    }

    /// Called when one of the driver's own operations has ended.
    pub(super) fn end_numbered(&mut self, ended: Ended, guest: &mut dyn GuestMemory, now: Time) {
        let Some(Numbered { after, pinned }) = self.numbered.remove(&ended.launch) else { return };
        pinned.into_iter().for_each(|frame| guest.unpin(frame));
        match after {
            After::Job => self.job_goes_on(ended),
            After::Start { event, ready } => self.start_pushed(event, *ready, guest, now),
            After::Pulled(kernel) => {
                if let Some(running) = self.running.get_mut(&kernel.launch) {
                    running.pulled = true;
                }
                self.end_kernel(kernel, guest, now);
            }
        }
    }
}

/// Whether a number belongs to the driver's own operations.
pub fn is_own(number: u64) -> bool {
    number >= OWN
}
