//! The dirty queue of rolling-update, and uploads in flight.
//!
//! The number of dirty runs of blocks is limited. When the limit is exceeded, the oldest run is sent to the device
//! while the program continues (`[gmac 4.3, the dotted line of Fig. 6]`). It stays readable. A store to it waits until
//! the upload has completed.

use super::{Host, access::unlock, lock};
use crate::{
    accel::Ticket,
    coherence::{Event, Plan},
    error::{Error, Result},
    memory::{Object, Run},
    stats::add,
    trace::What,
};
use std::{
    collections::VecDeque,
    ops::Range,
    sync::{Arc, MutexGuard},
    time::Instant,
};

/// Maximum number of uploads left in flight.
pub const MOST_LANDING: usize = 64;

/// Why blocks are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// They stay readable here. A store to them waits until the upload has completed, whatever kernel runs meanwhile.
    Kept,
    /// The next kernel may write them: no other thread waits for them.
    HandedOver,
}

/// Blocks in transfer to a device.
pub struct Landing {
    pub run: Run,
    pub device: usize,
    pub ticket: Ticket,
}

impl Host {
    /// Adds a run of blocks that has become dirty, and evicts the oldest runs beyond the limit.
    pub(super) fn note_dirty(&self, run: Run) {
        if !self.rules.can_roll() {
            return;
        }
        let limit = self.rolling_size();
        lock(&self.dirty).push(run);
        loop {
            let oldest = lock(&self.dirty).pop_over(limit);
            match oldest {
                Some(oldest) => self.roll(&oldest),
                None => return,
            }
        }
    }

    /// Sends those blocks of a run that are still dirty to the device that used the object last. They stay readable.
    fn roll(&self, run: &Run) {
        let object = &run.object;
        let mut from = run.blocks.start;
        while from < run.blocks.end {
            let mut end = from;
            while end < run.blocks.end && object.blocks[end].try_lock_in(self.rules.dirty) {
                end += 1;
            }
            // Blocks that could not be sent stay dirty: the next call sends them again and reports the error.
            if end > from && self.send_and_keep(object, from..end, self.rules.dirty, object.last()).is_err() {
                add(&self.stats.failed_evictions, 1);
            }
            from = end + 1;
        }
        self.land_what_has_arrived();
    }

    /// Sends locked blocks that are dirty or that this device lacks, and keeps them readable. A failure changes
    /// nothing.
    pub(super) fn send_and_keep(
        &self,
        object: &Arc<Object>,
        blocks: Range<usize>,
        state: u8,
        device: usize,
    ) -> Result<()> {
        let dirty = self.rules.dirty;
        let Plan::Go(steps) = self.rules.plan(dirty, Event::Roll) else {
            unlock(object, &blocks, state);
            return Err(self.no_answer(dirty, "an eviction"));
        };
        let (before, after) = (self.rules.protection(state), self.rules.protection(steps.next));
        // Closed to stores first, so that the bytes can't change during the transfer.
        if let Err(error) = object.protect(blocks.clone(), before, after) {
            unlock(object, &blocks, state);
            return Err(Error::system("closing a shared object")(error));
        }
        match self.upload(object, &blocks, device, Why::Kept) {
            Ok(ticket) => {
                let run = Run { object: Arc::clone(object), blocks: blocks.clone() };
                lock(&self.landing).push_back(Landing { run, device, ticket });
                add(&self.stats.evictions, 1);
                object.holders[blocks.clone()].iter().for_each(|holders| holders.add(device));
                unlock(object, &blocks, steps.next);
                Ok(())
            }
            Err(error) => {
                // Opening merges mappings, so it can't fail for lack of mappings.
                let _ = object.protect(blocks.clone(), after, before);
                unlock(object, &blocks, state);
                Err(error)
            }
        }
    }

    /// Starts the upload of locked blocks.
    pub(super) fn upload(&self, object: &Object, blocks: &Range<usize>, device: usize, why: Why) -> Result<Ticket> {
        let (offset, len) = object.bytes(blocks);
        let memory = object.place(device).expect("blocks are sent where the object has memory");
        let begin = Instant::now();
        let (accel, from) = (&self.accels[device], object.alias(offset));
        // SAFETY: the alias of blocks that are closed to stores until the ticket is done.
        let ticket = unsafe {
            match why {
                Why::Kept => accel.upload(&memory, offset, from, len),
                Why::HandedOver => accel.upload_for_kernel(&memory, offset, from, len),
            }
        }?;
        self.trace.span(What::Upload, begin, len);
        add(&self.stats.uploads, 1);
        add(&self.stats.upload_bytes, len as u64);
        Ok(ticket)
    }

    fn land_what_has_arrived(&self) {
        let mut landing = lock(&self.landing);
        while let Some(front) = landing.front() {
            let under_way = || matches!(self.accels[front.device].is_done(front.ticket), Ok(false));
            if landing.len() <= MOST_LANDING && under_way() {
                return;
            }
            self.land_front(&mut landing);
        }
    }

    /// Waits until a block is no longer in transfer to a device.
    pub(super) fn land_block(&self, object: &Arc<Object>, index: usize) {
        let waits = |l: &Landing| Arc::ptr_eq(&l.run.object, object) && l.run.blocks.contains(&index);
        self.land_while(|landing| landing.iter().any(waits));
    }

    /// Waits until no block of an object is in transfer to a device.
    pub(super) fn land_all_of(&self, object: &Arc<Object>) {
        self.land_while(|landing| landing.iter().any(|l| Arc::ptr_eq(&l.run.object, object)));
    }

    fn land_while(&self, waits: impl Fn(&VecDeque<Landing>) -> bool) {
        let mut landing = lock(&self.landing);
        while waits(&landing) {
            self.land_front(&mut landing);
        }
    }

    fn land_front(&self, landing: &mut MutexGuard<'_, VecDeque<Landing>>) {
        let Some(Landing { run: Run { object, blocks }, device, ticket }) = landing.pop_front() else { return };
        let arrived = self.accels[device].wait(ticket);
        for index in blocks {
            let word = &object.blocks[index];
            let state = word.lock();
            let Plan::Go(steps) = self.rules.plan(state, Event::Landed) else {
                word.unlock(state);
                continue;
            };
            if arrived.is_ok() {
                word.unlock(steps.next);
                continue;
            }
            // The upload failed: the block is dirty again.
            let (closed, open) = (self.rules.protection(state), self.rules.protection(self.rules.dirty));
            let _ = object.protect(index..index + 1, closed, open);
            object.holders[index].none();
            word.unlock(self.rules.dirty);
        }
        if arrived.is_err() {
            add(&self.stats.failed_evictions, 1);
        }
    }
}
