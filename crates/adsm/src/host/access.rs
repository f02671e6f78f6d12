//! Page faults: makes blocks accessible to the program.

use super::{Host, lock};
use crate::{
    accel::{DeviceError, sim::POISON},
    coherence::{Event, Plan, Steps},
    error::{Error, Result},
    memory::{Keeper, Object, Run},
    os::{Access, Protection},
    stats::add,
    trace::What,
};
use std::{
    io::Write,
    ops::Range,
    ptr,
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

impl Keeper for Host {
    fn serve(&self, object: &Arc<Object>, address: usize, access: Option<Access>) -> bool {
        let begin = Instant::now();
        let block = object.block_of(address);
        let served = self.check_process().and_then(|()| self.access(object, block..block + 1, access));
        add(&self.stats.fault_nanoseconds, begin.elapsed().as_nanos() as u64);
        self.trace.span(What::Fault, begin, 0);
        if let Err(error) = &served {
            let _ =
                writeln!(std::io::stderr(), "adsm: {address:#x} was accessed, but its data can't be fetched: {error}");
        }
        served.is_ok()
    }
}

impl Host {
    /// Makes the first of the `wanted` blocks accessible, and the following ones that are in the same state. `access`
    /// is `None` where the machine does not report its kind. Returns the first block that may not be accessible.
    pub fn access(&self, object: &Arc<Object>, wanted: Range<usize>, access: Option<Access>) -> Result<usize> {
        let index = wanted.start;
        // A block that was arriving is open for loads once it has arrived.
        let mut arrived = None;
        loop {
            // The table has no entry while a call is in flight (release consistency forbids it), so wait for the return
            // first.
            self.settle(object);
            let word = &object.blocks[index];
            let state = word.lock();
            object.handover.mark(&(index..index + 1));
            if object.is_in_flight() {
                word.unlock(state);
                continue;
            }
            let guess =
                || if self.rules.protection(state) == Protection::Closed { Access::Load } else { Access::Store };
            let access = access.unwrap_or_else(guess);
            match self.rules.plan(state, Event::from(access)) {
                Plan::Go(steps) => {
                    let faults =
                        if access == Access::Load { &self.stats.load_faults } else { &self.stats.store_faults };
                    add(faults, 1);
                    if arrived.is_some() && steps.next == state {
                        word.unlock(state);
                        return Ok(index + 1);
                    }
                    let wanted = index..wanted.end.max(arrived.unwrap_or_default());
                    return self.open(object, wanted, state, steps, access);
                }
                Plan::Stall => {
                    word.unlock(state);
                    arrived = self.end_arrival(object, index, Some(access)).or(arrived);
                    let begin = Instant::now();
                    self.land_block(object, index);
                    add(&self.stats.fault_transfer_nanoseconds, begin.elapsed().as_nanos() as u64);
                }
                Plan::Never => {
                    word.unlock(state);
                    let event = if access == Access::Load { "a load" } else { "a store" };
                    return Err(self.no_answer(state, event));
                }
            }
        }
    }

    pub(super) fn no_answer(&self, state: u8, event: &'static str) -> Error {
        let (protocol, state) = (self.rules.name(), self.rules.state_name(state));
        Error::Protocol { protocol, state, event }
    }

    /// Applies the table's steps to the first of the `wanted` blocks, which is locked, and to the following ones in the
    /// same state if they are wanted too or if faults are sequential. Returns the end of the opened blocks.
    fn open(
        &self,
        object: &Arc<Object>,
        wanted: Range<usize>,
        state: u8,
        steps: Steps,
        access: Access,
    ) -> Result<usize> {
        let blocks = self.widen(object, wanted, state, access);
        let mut next = steps.next;
        if steps.fetch {
            let begin = Instant::now();
            let fetched = self.fetch(object, &blocks);
            add(&self.stats.fault_transfer_nanoseconds, begin.elapsed().as_nanos() as u64);
            self.trace.span(What::Download, begin, object.bytes(&blocks).1);
            if let Err(error) = fetched {
                // A device still has the bytes: nothing has changed.
                unlock(object, &blocks, state);
                return Err(error.into());
            }
            let Plan::Go(filled) = self.rules.plan(next, Event::Data) else {
                unlock(object, &blocks, state);
                return Err(self.no_answer(next, "data"));
            };
            next = filled.next;
            // With userfaultfd the program continues as soon as the pages are open, so the next download is started
            // before that.
            object.habit.note(blocks.clone());
            self.read_on(object, &blocks, access);
        }
        let (from, to) = (self.rules.protection(state), self.rules.protection(next));
        if let Err(error) = object.protect(blocks.clone(), from, to) {
            unlock(object, &blocks, state);
            if error.raw_os_error() != Some(libc::ENOMEM) {
                return Err(Error::system("opening a shared object")(error));
            }
            return self.coarsen(object).map(|()| object.blocks.len());
        }
        if next == self.rules.dirty && state != next {
            self.own(object, &blocks);
            unlock(object, &blocks, next);
            self.note_dirty(Run { object: Arc::clone(object), blocks: blocks.clone() });
        } else {
            unlock(object, &blocks, next);
        }
        Ok(blocks.end)
    }

    /// Downloads locked invalid blocks, all with the same holders, from one of these devices.
    pub(super) fn fetch(&self, object: &Object, blocks: &Range<usize>) -> Result<(), DeviceError> {
        let (offset, len) = object.bytes(blocks);
        let mut result = Ok(());
        for device in object.holders[blocks.start].beginning_with(object.last()) {
            let memory = object.place(device).expect("a device that has a block has memory for it");
            // SAFETY: the alias of locked blocks, which the program can't reach while they are invalid.
            result = unsafe { self.accels[device].download(&memory, offset, object.alias(offset), len) };
            if result.is_ok() {
                add(&self.stats.downloads, 1);
                add(&self.stats.download_bytes, len as u64);
                break;
            }
        }
        result
    }

    /// Locks further blocks after the first of `wanted` that are in the same state and on the same devices, as far as
    /// they are wanted too or the sequence of faults makes them likely.
    fn widen(&self, object: &Object, wanted: Range<usize>, state: u8, access: Access) -> Range<usize> {
        let streak = if access == Access::Load { &object.loads } else { &object.stores };
        let most = self.config.ahead / object.block;
        let likely = wanted.start + streak.at(wanted.start, most);
        let end = wanted.end.min(wanted.start + most.max(1));
        if end > likely {
            streak.reached(&(wanted.start..end));
        }
        let blocks = lock_alike(object, wanted.start, likely.max(end).min(object.blocks.len()), state);
        object.handover.mark(&blocks);
        if blocks.len() > 1 && object.is_in_flight() {
            // A call has begun meanwhile. It waits for the first block, but may not have seen the marks of the others.
            unlock(object, &(blocks.start + 1..blocks.end), state);
            return blocks.start..blocks.start + 1;
        }
        blocks
    }

    /// Opens the whole object, which needs only one mapping, because the system's limit of mappings is reached. Blocks
    /// that were not written will be sent again, which costs time and does no harm.
    fn coarsen(&self, object: &Arc<Object>) -> Result<()> {
        let all = 0..object.blocks.len();
        let states: Vec<u8> = all.clone().map(|index| self.lock_landed(object, index)).collect();
        object.handover.mark(&all);
        let restore = || all.clone().for_each(|index| object.blocks[index].unlock(states[index]));
        for index in all.clone().filter(|&index| states[index] == self.rules.invalid) {
            if let Err(error) = self.fetch(object, &(index..index + 1)) {
                restore();
                return Err(error.into());
            }
        }
        if let Err(error) = object.protect(all.clone(), Protection::Closed, Protection::Open) {
            restore();
            return Err(Error::system("opening a shared object")(error));
        }
        self.own(object, &all);
        unlock(object, &all, self.rules.dirty);
        lock(&self.dirty).forget(object);
        add(&self.stats.coarsened, 1);
        Ok(())
    }

    /// Locks a block once it is not in transfer to or from a device.
    pub(super) fn lock_landed(&self, object: &Arc<Object>, index: usize) -> u8 {
        loop {
            let state = object.blocks[index].lock();
            match self.rules.plan(state, Event::Call) {
                Plan::Stall => {
                    object.blocks[index].unlock(state);
                    // A transfer that fails restores the previous state.
                    self.end_arrival(object, index, None);
                    self.land_block(object, index);
                }
                _ => return state,
            }
        }
    }

    /// Records that only the host has the newest version of some locked blocks.
    fn own(&self, object: &Object, blocks: &Range<usize>) {
        object.holders[blocks.clone()].iter().for_each(|holders| holders.none());
        if self.poisons {
            object.poison(blocks);
        }
    }

    /// Invalidates the host's copy of some locked blocks.
    pub(super) fn forget(&self, object: &Object, blocks: &Range<usize>) {
        if self.poisons {
            let (offset, len) = object.bytes(blocks);
            // SAFETY: the alias of locked blocks that the program can't reach.
            unsafe { ptr::write_bytes(object.alias(offset), POISON, len) };
        }
    }

    /// If a call that uses the object is in flight, waits for its return.
    pub fn settle(&self, object: &Arc<Object>) {
        while object.is_in_flight() {
            let using = |flight: &&Arc<super::Flight>| flight.uses(object);
            let flight = lock(&self.flights).iter().find(using).cloned();
            match flight {
                Some(flight) => {
                    if self.finish(&flight, true) {
                        self.stats.implicit_syncs.fetch_add(1, Ordering::Relaxed);
                        self.note_unreported(&flight);
                    }
                }
                // Another thread is about to launch the call, or has almost finished it.
                None => std::thread::yield_now(),
            }
        }
    }
}

/// Locks the blocks after the locked block `index`, up to `limit`, that are in the same state and on the same devices.
pub(super) fn lock_alike(object: &Object, index: usize, limit: usize, state: u8) -> Range<usize> {
    let holders = object.holders[index].set();
    let mut end = index + 1;
    while end < limit && object.blocks[end].try_lock_in(state) {
        if object.holders[end].set() != holders {
            object.blocks[end].unlock(state);
            break;
        }
        end += 1;
    }
    index..end
}

pub(super) fn unlock(object: &Object, blocks: &Range<usize>, state: u8) {
    for index in blocks.clone() {
        object.blocks[index].unlock(state);
    }
}
