//! Transfers and shootdowns that the driver orders on its own account, by numbers that no command has.

use super::{
    driver::Driver,
    gpu::{Cause, Ended, Piece, Ready, Transfer},
};
use crate::guest::GuestMemory;
use engine::Time;
use mem::{Bytes, PAGE, PhysAddr, Zone};

/// Numbers of the driver's own begin here; those below are events.
const OWN: u64 = 1 << 63;

/// What goes on when something has ended.
#[derive(Debug)]
pub enum After {
    /// The job of the pager.
    Job,
    /// A kernel is started, for what it needs is where it needs it.
    Start { event: u64, ready: Box<Ready> },
    /// A kernel's end, whose text is with the host now.
    Pulled(Ended),
}

/// Something that is under way by its number.
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

    /// Moves whole pages, each to the first frame from the second. Gives the number by which the end is told; none if there is nothing
    /// to move, or nothing can be moved any more.
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

    /// Something of the driver's own has ended.
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

/// Whether a number is the driver's own.
pub fn is_own(number: u64) -> bool {
    number >= OWN
}
