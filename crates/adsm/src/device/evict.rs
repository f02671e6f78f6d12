//! The dirty queue of rolling-update, and transfers that have not landed yet.
//!
//! At most so many runs of blocks are dirty; one more, and the oldest goes to the device while the program works on
//! (`004_8a0710c761bcf477.txt`, 4.3, the dotted line of Fig. 6). It stays readable. A store to it waits until it has landed.

use super::{Device, access::unlock, lock};
use crate::{
    accel::Ticket,
    coherence::{Event, Plan},
    error::Result,
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

/// More transfers than these are not left in flight.
pub const MOST_LANDING: usize = 64;

/// Blocks on their way to the device.
pub struct Landing {
    pub run: Run,
    pub ticket: Ticket,
}

impl Device {
    /// A run of blocks has become dirty: the oldest goes if there are too many.
    pub(super) fn note_dirty(&self, run: Run) {
        if !self.rules.can_roll() {
            return;
        }
        let limit = self.rolling_size().max(2);
        lock(&self.dirty).push(run);
        loop {
            let oldest = lock(&self.dirty).pop_over(limit);
            match oldest {
                Some(oldest) => self.roll(&oldest),
                None => return,
            }
        }
    }

    /// Sends those blocks of a run that are still dirty; they stay readable.
    fn roll(&self, run: &Run) {
        let object = &run.object;
        let mut from = run.blocks.start;
        while from < run.blocks.end {
            let mut end = from;
            while end < run.blocks.end && object.blocks[end].try_lock_in(self.rules.dirty) {
                end += 1;
            }
            if end > from {
                self.send_and_keep(object, from..end);
            }
            from = end + 1;
        }
        self.land_what_has_arrived();
    }

    /// Sends locked dirty blocks, which stay readable. A failure leaves them dirty: the next call sends them again and tells.
    pub(super) fn send_and_keep(&self, object: &Arc<Object>, blocks: Range<usize>) {
        let dirty = self.rules.dirty;
        let Plan::Go(steps) = self.rules.plan(dirty, Event::Roll) else {
            return unlock(object, &blocks, dirty);
        };
        let (before, after) = (self.rules.protection(dirty), self.rules.protection(steps.next));
        // Closed to stores first: what is sent must not change on its way.
        if object.protect(blocks.clone(), before, after).is_err() {
            add(&self.stats.failed_evictions, 1);
            return unlock(object, &blocks, dirty);
        }
        match self.upload(object, &blocks) {
            Ok(ticket) => {
                let run = Run { object: Arc::clone(object), blocks: blocks.clone() };
                lock(&self.landing).push_back(Landing { run, ticket });
                add(&self.stats.evictions, 1);
                unlock(object, &blocks, steps.next);
            }
            Err(_) => {
                add(&self.stats.failed_evictions, 1);
                // Opening merges mappings, so it can't fail for want of them.
                let _ = object.protect(blocks.clone(), after, before);
                unlock(object, &blocks, dirty);
            }
        }
    }

    /// Starts the upload of locked blocks.
    pub(super) fn upload(&self, object: &Object, blocks: &Range<usize>) -> Result<Ticket> {
        let (offset, len) = object.bytes(blocks);
        let begin = Instant::now();
        // SAFETY: the alias of blocks that are closed to stores until the ticket is done.
        let ticket = unsafe { self.accel.upload(&object.memory, offset, object.alias(offset), len) }?;
        self.trace.span(What::Upload, begin, len);
        add(&self.stats.uploads, 1);
        add(&self.stats.upload_bytes, len as u64);
        Ok(ticket)
    }

    fn land_what_has_arrived(&self) {
        let mut landing = lock(&self.landing);
        while let Some(front) = landing.front() {
            if landing.len() <= MOST_LANDING && matches!(self.accel.is_done(front.ticket), Ok(false)) {
                return;
            }
            self.land_front(&mut landing);
        }
    }

    /// Waits until a block is no longer on its way.
    pub(super) fn land_block(&self, object: &Arc<Object>, index: usize) -> Result<()> {
        let mut landing = lock(&self.landing);
        loop {
            let waits = |l: &Landing| Arc::ptr_eq(&l.run.object, object) && l.run.blocks.contains(&index);
            if !landing.iter().any(waits) {
                return Ok(());
            }
            self.land_front(&mut landing);
        }
    }

    /// Waits until nothing of an object is on its way.
    pub(super) fn land_all_of(&self, object: &Arc<Object>) {
        let mut landing = lock(&self.landing);
        while landing.iter().any(|l| Arc::ptr_eq(&l.run.object, object)) {
            self.land_front(&mut landing);
        }
    }

    fn land_front(&self, landing: &mut MutexGuard<'_, VecDeque<Landing>>) {
        let Some(Landing { run, ticket }) = landing.pop_front() else { return };
        let arrived = self.accel.wait(ticket);
        for index in run.blocks.clone() {
            let word = &run.object.blocks[index];
            let state = word.lock();
            let Plan::Go(steps) = self.rules.plan(state, Event::Landed) else {
                word.unlock(state);
                continue;
            };
            if arrived.is_ok() {
                word.unlock(steps.next);
                continue;
            }
            // It never arrived: dirty it is, as before.
            let (closed, open) = (self.rules.protection(state), self.rules.protection(self.rules.dirty));
            let _ = run.object.protect(index..index + 1, closed, open);
            word.unlock(self.rules.dirty);
        }
        if arrived.is_err() {
            add(&self.stats.failed_evictions, 1);
        }
    }
}
