//! Early downloads: started before the program accesses the data, while it does something else.
//!
//! After a call, the blocks that the program read after each of the last few calls (`memory::Habit`) are fetched; when
//! faults are sequential, the blocks that come next. To the tables this is a load by the library itself: the block
//! waits in `ReadFault`, where all other events stall, until a thread that needs it ends the arrival. `ADSM_READ_BACK`
//! limits the bytes in flight that no thread waits for. A small block that is read every time is opened before the
//! program continues: waiting for it costs less than the fault.

use super::{
    Host,
    access::{lock_alike, unlock},
    call::Mode,
    lock,
};
use crate::{
    accel::Ticket,
    coherence::{Event, Plan},
    memory::{Object, Run},
    os::Access,
    stats::add,
    trace::What,
};
use std::{
    ops::Range,
    sync::{Arc, Mutex, atomic::Ordering},
    time::{Duration, Instant},
};

/// Blocks in transfer from a device.
pub struct Arriving {
    run: Run,
    pub device: usize,
    pub ticket: Ticket,
    /// Set by the first thread that ends the arrival.
    landed: Mutex<bool>,
}

/// Maximum number of bytes waited for before the program accesses them: their transfer takes as long as a fault.
const AT_ONCE: usize = 256 << 10;

impl Host {
    /// After the return of a call that wrote these objects: fetches the blocks that the program is expected to read.
    pub(super) fn fetch_expected(&self, objects: &[(Arc<Object>, Mode)]) {
        let begin = Instant::now();
        let mut trusted = Vec::new();
        self.start_expected(objects, &mut trusted);
        add(&self.stats.call_nanoseconds, begin.elapsed().as_nanos() as u64);
        for Run { object, blocks } in trusted {
            self.open_trusted(&object, blocks);
        }
    }

    /// Starts these downloads. Blocks to be opened without a fault are added to `trusted`.
    fn start_expected(&self, objects: &[(Arc<Object>, Mode)], trusted: &mut Vec<Run>) {
        let (mut budget, mut at_once) = (self.config.read_back, AT_ONCE);
        let written = objects.iter().filter(|(object, mode)| *mode == Mode::Writes && !object.is_pinned());
        for (object, _) in written {
            if object.in_flight.load(Ordering::SeqCst) > 1 {
                continue;
            }
            let candidates = object.habit.returned();
            let mut index = candidates.start;
            while index < candidates.end {
                let trust = object.habit.is_trusted(index);
                let alike = |&block: &usize| object.habit.expects(block) && object.habit.is_trusted(block) == trust;
                let expected = (index..candidates.end).take_while(alike).count();
                let most = (self.config.ahead / object.block).max(1);
                if expected == 0 {
                    index += 1;
                    continue;
                }
                let blocks = index..index + expected.min(most).min(budget / object.block);
                if blocks.is_empty() || !self.start_fetching(object, &blocks, 1) {
                    return;
                }
                let len = object.bytes(&blocks).1;
                budget -= len;
                index = blocks.end;
                if trust && len <= at_once {
                    at_once -= len;
                    trusted.push(Run { object: Arc::clone(object), blocks });
                }
            }
        }
    }

    /// Waits for blocks in transfer, and opens them.
    fn open_trusted(&self, object: &Arc<Object>, blocks: Range<usize>) {
        for index in blocks {
            let Some(arriving) = self.arriving(object, index) else { continue };
            let begin = Instant::now();
            let waited = self.land(&arriving);
            object.loads.reached(&arriving.run.blocks);
            object.habit.trust(arriving.run.blocks.clone());
            let long = begin.elapsed();
            add(&self.stats.fault_nanoseconds, long.as_nanos() as u64);
            add(&self.stats.fault_transfer_nanoseconds, waited.as_nanos() as u64);
            add(&self.stats.trust_nanoseconds, (long - waited).as_nanos() as u64);
        }
    }

    /// The transfer of a block from a device, if there is one.
    fn arriving(&self, object: &Arc<Object>, index: usize) -> Option<Arc<Arriving>> {
        let holds = |a: &&Arc<Arriving>| Arc::ptr_eq(&a.run.object, object) && a.run.blocks.contains(&index);
        lock(&self.arriving).iter().find(holds).cloned()
    }

    /// The program has reached these blocks: starts the download of those that follow, if faults are sequential.
    pub(super) fn read_on(&self, object: &Arc<Object>, blocks: &Range<usize>, access: Access) {
        let streak = if access == Access::Load { &object.loads } else { &object.stores };
        let limit = self.config.ahead.min(self.config.read_back) / object.block;
        let end = streak.next(blocks.end, limit).min(object.blocks.len());
        self.start_fetching(object, &(blocks.end..end), 0);
    }

    /// Starts the download of those of some blocks that are invalid, unless more than `in_flight` calls use the object.
    /// Returns `false` if the device refuses.
    fn start_fetching(&self, object: &Arc<Object>, blocks: &Range<usize>, in_flight: u32) -> bool {
        let Plan::Go(steps) = self.rules.plan(self.rules.invalid, Event::Load) else { return true };
        let mut index = blocks.start;
        while index < blocks.end {
            if !object.blocks[index].try_lock_in(self.rules.invalid) {
                index += 1;
                continue;
            }
            let run = lock_alike(object, index, blocks.end, self.rules.invalid);
            index = run.end;
            object.handover.mark(&run);
            // A kernel may be writing the object. This check comes after the lock, because a call registers before it
            // checks the lock.
            if object.in_flight.load(Ordering::SeqCst) > in_flight {
                unlock(object, &run, self.rules.invalid);
                return true;
            }
            let Some(device) = object.holders[run.start].beginning_with(object.last()).next() else {
                unlock(object, &run, self.rules.invalid);
                continue;
            };
            let memory = object.place(device).expect("a device that has a block has memory for it");
            let (offset, len) = object.bytes(&run);
            // SAFETY: the alias of blocks that the program can't reach before they have arrived.
            match unsafe { self.accels[device].start_download(&memory, offset, object.alias(offset), len) } {
                Ok(ticket) => {
                    add(&self.stats.downloads, 1);
                    add(&self.stats.early_downloads, 1);
                    add(&self.stats.download_bytes, len as u64);
                    let run = Run { object: Arc::clone(object), blocks: run.clone() };
                    let landed = Mutex::new(false);
                    lock(&self.arriving).push(Arc::new(Arriving { run, device, ticket, landed }));
                }
                Err(_) => {
                    // The next access retries, and gets the error.
                    unlock(object, &run, self.rules.invalid);
                    return false;
                }
            }
            unlock(object, &run, steps.next);
        }
        true
    }

    /// Waits for the transfer of a block from a device, if there is one. If the program has `reached` the block, the
    /// next downloads are started meanwhile. Returns the end of the wanted blocks: of all that came with it, if it
    /// continues a sequence.
    pub(super) fn end_arrival(&self, object: &Arc<Object>, index: usize, reached: Option<Access>) -> Option<usize> {
        let arriving = self.arriving(object, index)?;
        let mut wanted = index + 1;
        if let Some(access) = reached {
            let blocks = &arriving.run.blocks;
            let streak = if access == Access::Load { &object.loads } else { &object.stores };
            if streak.continues_at(index) {
                wanted = blocks.end;
            }
            streak.reached(blocks);
            object.habit.note(blocks.clone());
            self.read_on(object, blocks, access);
        }
        let waited = self.land(&arriving);
        if reached.is_some() {
            add(&self.stats.fault_transfer_nanoseconds, waited.as_nanos() as u64);
        }
        Some(wanted)
    }

    /// Waits for all transfers of an object from a device.
    pub(super) fn end_arrivals_of(&self, object: &Arc<Object>) {
        loop {
            let of = |a: &&Arc<Arriving>| Arc::ptr_eq(&a.run.object, object);
            let Some(arriving) = lock(&self.arriving).iter().find(of).cloned() else { return };
            self.land(&arriving);
        }
    }

    /// Waits for a transfer and opens its blocks. Returns how long it waited.
    fn land(&self, arriving: &Arc<Arriving>) -> Duration {
        let mut landed = lock(&arriving.landed);
        if *landed {
            return Duration::ZERO;
        }
        let begin = Instant::now();
        let arrived = self.accels[arriving.device].wait(arriving.ticket);
        let waited = begin.elapsed();
        let Run { object, blocks } = &arriving.run;
        self.trace.span(What::Download, begin, object.bytes(blocks).1);
        // No other thread takes a block out of this state.
        let mut state = self.rules.invalid;
        for index in blocks.clone() {
            state = object.blocks[index].lock();
        }
        let mut next = self.rules.invalid;
        if let (Ok(()), Plan::Go(filled)) = (arrived, self.rules.plan(state, Event::Data)) {
            let (closed, open) = (self.rules.protection(state), self.rules.protection(filled.next));
            // If the limit of mappings is reached, the block stays closed, and the device still has it.
            if object.protect(blocks.clone(), closed, open).is_ok() {
                next = filled.next;
            }
        }
        unlock(object, blocks, next);
        lock(&self.arriving).retain(|other| !Arc::ptr_eq(other, arriving));
        *landed = true;
        waited
    }
}
