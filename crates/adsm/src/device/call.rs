//! Release on a kernel call, acquire on its return.
//!
//! The paper's consistency model (`004_8a0710c761bcf477.txt`, 3.3): a call releases the objects that the kernel uses to the
//! accelerator, a synchronisation acquires them back. What the kernel only reads stays readable here: the transfer that the
//! paper admits to (4.3, last paragraph) is not made.

use super::{Device, access::unlock, lock};
use crate::{
    accel::{Argument, DeviceError, KernelHandle, Ticket},
    coherence::{Event, Plan},
    error::{Error, Result},
    memory::{Object, Run},
    os::Protection,
    stats::add,
    trace::What,
};
use std::{
    ops::Range,
    sync::{Arc, Mutex, OnceLock, atomic::Ordering},
    time::Instant,
};

/// What a kernel does to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// It reads it.
    Reads,
    /// It may write it, and may read it.
    Writes,
}

/// A kernel, how it is launched, and what it uses.
pub struct Launch<'a> {
    pub kernel: &'a KernelHandle,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub arguments: &'a [Argument],
    pub objects: Vec<(Arc<Object>, Mode)>,
}

/// What a call has handed over so far.
#[derive(Default)]
struct Handed {
    /// Blocks that were sent.
    sent: Vec<(Run, Ticket)>,
    /// Blocks that both sides had, and the state they were in here.
    dropped: Vec<(Run, u8)>,
}

/// A call that has not returned.
pub struct Flight {
    pub number: u64,
    ticket: Ticket,
    objects: Vec<(Arc<Object>, Mode)>,
    /// Blocks that went over with the call.
    sent: Mutex<Vec<(Run, Ticket)>>,
    begin: Instant,
    /// Set by whoever finishes it first.
    finishing: Mutex<()>,
    outcome: OnceLock<Result<(), DeviceError>>,
}

impl Flight {
    pub fn uses(&self, object: &Arc<Object>) -> bool {
        self.objects.iter().any(|(used, _)| Arc::ptr_eq(used, object))
    }

    /// What became of it; a call that is not finished has no outcome.
    pub fn outcome(&self) -> Option<Result<(), DeviceError>> {
        self.outcome.get().cloned()
    }
}

impl Device {
    /// Hands over what the kernel uses, and starts it.
    pub fn call(&self, launch: Launch<'_>) -> Result<Arc<Flight>> {
        self.check_process()?;
        self.engine.refresh().map_err(Error::system("the handler of faults"))?;
        let _calling = lock(&self.calling);
        let Launch { kernel, grid, block, arguments, mut objects } = launch;
        objects.sort_by_key(|(object, mode)| (object.base(), *mode));
        // Used twice: the stronger use counts.
        objects.reverse();
        objects.dedup_by(|(a, _), (b, _)| Arc::ptr_eq(a, b));
        objects.reverse();
        // Before any block is handed over, so that a fault which comes in between waits for the return.
        for (object, _) in &objects {
            object.in_flight.fetch_add(1, Ordering::SeqCst);
        }
        let mut handed = Handed::default();
        let begin = Instant::now();
        let started = objects
            .iter()
            .filter(|_| !self.shares_memory)
            .try_for_each(|(object, mode)| self.release(object, *mode, &mut handed))
            .and_then(|()| Ok(self.accel.launch(kernel, grid, block, arguments)?));
        let number = self.call_number.fetch_add(1, Ordering::Relaxed);
        add(&self.stats.calls, 1);
        self.trace.span(What::Call, begin, 0);
        match started {
            Ok(ticket) => {
                for (Run { object, blocks }, _) in &handed.dropped {
                    self.forget(object, blocks);
                }
                let flight = Arc::new(Flight {
                    number,
                    ticket,
                    objects,
                    sent: Mutex::new(handed.sent),
                    begin: Instant::now(),
                    finishing: Mutex::default(),
                    outcome: OnceLock::new(),
                });
                lock(&self.flights).push(Arc::clone(&flight));
                Ok(flight)
            }
            Err(error) => {
                self.take_back(handed);
                for (object, _) in &objects {
                    object.in_flight.fetch_sub(1, Ordering::SeqCst);
                }
                Err(error)
            }
        }
    }

    /// Whether a call in flight may write the object.
    pub fn is_being_written(&self, object: &Arc<Object>) -> bool {
        let writes = |flight: &Arc<Flight>| {
            flight.objects.iter().any(|(used, mode)| Arc::ptr_eq(used, object) && *mode == Mode::Writes)
        };
        lock(&self.flights).iter().any(writes)
    }

    /// Waits for one call.
    pub fn sync(&self, flight: &Arc<Flight>) -> Result<()> {
        self.finish(flight);
        flight.outcome().unwrap_or(Ok(())).map_err(Error::from)
    }

    /// Waits for every call so far; the first error of any that nobody has been told.
    pub fn sync_all(&self) -> Result<()> {
        self.check_process()?;
        let mut result = lock(&self.unreported).take().map_or(Ok(()), |error| Err(error.into()));
        loop {
            let Some(flight) = lock(&self.flights).first().cloned() else { return result };
            result = result.and(self.sync(&flight));
        }
    }

    /// Waits for a call and takes its objects back, once; says whether this was the time.
    pub(super) fn finish(&self, flight: &Arc<Flight>) -> bool {
        let _finishing = lock(&flight.finishing);
        if flight.outcome.get().is_some() {
            return false;
        }
        let waited = self.accel.wait(flight.ticket);
        self.trace.span(What::Kernel, flight.begin, 0);
        let sent = std::mem::take(&mut *lock(&flight.sent));
        self.land_sent(sent);
        let returned = waited.and(self.acquire(&flight.objects).map_err(|error| match error {
            Error::Device(error) => error,
            other => DeviceError::Failed { device: self.accel.name(), what: "a return", why: other.to_string() },
        }));
        let _ = flight.outcome.set(returned);
        lock(&self.flights).retain(|other| !Arc::ptr_eq(other, flight));
        for (object, _) in &flight.objects {
            object.in_flight.fetch_sub(1, Ordering::SeqCst);
        }
        true
    }

    /// Hands an object over: dirty blocks go to the device; if the kernel may write it, ours no longer count.
    fn release(&self, object: &Arc<Object>, mode: Mode, handed: &mut Handed) -> Result<()> {
        if mode == Mode::Reads && self.rules.detects() {
            return self.release_for_reading(object, handed);
        }
        let mut index = 0;
        while index < object.blocks.len() {
            if self.rules.detects() && object.blocks[index].peek() == Some(self.rules.invalid) {
                index += 1;
                continue;
            }
            let state = object.blocks[index].lock();
            let steps = match self.rules.plan(state, Event::Call) {
                Plan::Go(steps) => steps,
                Plan::Stall => {
                    object.blocks[index].unlock(state);
                    self.land_block(object, index)?;
                    continue;
                }
                // Handed over by an earlier call that has not returned: the device has it.
                Plan::Never => {
                    object.blocks[index].unlock(state);
                    index += 1;
                    continue;
                }
            };
            let mut end = index + 1;
            while end < object.blocks.len() && object.blocks[end].try_lock_in(state) {
                end += 1;
            }
            let blocks = index..end;
            let (from, to) = (self.rules.protection(state), self.rules.protection(steps.next));
            object.protect(blocks.clone(), from, to).map_err(|error| {
                unlock(object, &blocks, state);
                Error::system("closing a shared object")(error)
            })?;
            if steps.send {
                self.send_over(object, &blocks, state, &mut handed.sent)?;
            } else if steps.drop {
                handed.dropped.push((Run { object: Arc::clone(object), blocks: blocks.clone() }, state));
            }
            unlock(object, &blocks, steps.next);
            index = end;
        }
        if object.blocks.len() > 1 {
            lock(&self.dirty).forget(object);
        }
        Ok(())
    }

    /// Sends locked and closed blocks. A failure opens them again, as they were.
    fn send_over(
        &self,
        object: &Arc<Object>,
        blocks: &Range<usize>,
        state: u8,
        sent: &mut Vec<(Run, Ticket)>,
    ) -> Result<()> {
        match self.upload(object, blocks) {
            Ok(ticket) => {
                sent.push((Run { object: Arc::clone(object), blocks: blocks.clone() }, ticket));
                Ok(())
            }
            Err(error) => {
                let _ = object.protect(blocks.clone(), Protection::Closed, self.rules.protection(state));
                unlock(object, blocks, state);
                Err(error)
            }
        }
    }

    /// The kernel only reads it: what is dirty goes over and stays readable here.
    fn release_for_reading(&self, object: &Arc<Object>, handed: &mut Handed) -> Result<()> {
        let dirty = self.rules.dirty;
        let mut index = 0;
        while index < object.blocks.len() {
            if object.blocks[index].peek().is_some_and(|state| state != dirty) {
                index += 1;
                continue;
            }
            let state = object.blocks[index].lock();
            if state != dirty {
                object.blocks[index].unlock(state);
                index += 1;
                continue;
            }
            let mut end = index + 1;
            while end < object.blocks.len() && object.blocks[end].try_lock_in(dirty) {
                end += 1;
            }
            let blocks = index..end;
            if self.rules.can_roll() {
                let before = self.stats.failed_evictions.load(Ordering::Relaxed);
                self.send_and_keep(object, blocks);
                if self.stats.failed_evictions.load(Ordering::Relaxed) != before {
                    return Err(DeviceError::Failed {
                        device: self.accel.name(),
                        what: "an upload",
                        why: "the device refused it; the object is unchanged".to_owned(),
                    }
                    .into());
                }
            } else {
                // Lazy-update has no way to keep what it sends (Fig. 6 b without the dotted line).
                unlock(object, &blocks, dirty);
                return self.release(object, Mode::Writes, handed);
            }
            index = end;
        }
        Ok(())
    }

    /// The kernel never started: everything is as it was before the call, whatever the device has of it.
    fn take_back(&self, handed: Handed) {
        for (Run { object, blocks }, ticket) in handed.sent {
            // An upload may still be reading.
            let _ = self.accel.wait(ticket);
            self.reopen(&object, &blocks, self.rules.dirty);
        }
        for (Run { object, blocks }, state) in handed.dropped {
            self.reopen(&object, &blocks, state);
        }
    }

    /// Blocks whose host copy counts again.
    fn reopen(&self, object: &Object, blocks: &Range<usize>, state: u8) {
        for index in blocks.clone() {
            let now = object.blocks[index].lock();
            let _ = object.protect(index..index + 1, self.rules.protection(now), self.rules.protection(state));
            object.blocks[index].unlock(state);
        }
    }

    /// After the device was lost: what the CPU last had of an object counts again. Answers with how many bytes are older than
    /// what the device had.
    pub fn salvage(&self, object: &Arc<Object>) -> usize {
        self.settle(object);
        let mut old = 0;
        for index in 0..object.blocks.len() {
            if object.blocks[index].peek() == Some(self.rules.invalid) {
                self.reopen(object, &(index..index + 1), self.rules.dirty);
                old += object.bytes(&(index..index + 1)).1;
            }
        }
        old
    }

    /// What went over with a call has arrived (a kernel starts after its uploads), or never will.
    fn land_sent(&self, sent: Vec<(Run, Ticket)>) {
        for (Run { object, blocks }, ticket) in sent {
            let arrived = self.accel.wait(ticket).is_ok();
            for index in blocks {
                let state = object.blocks[index].lock();
                let Plan::Go(steps) = self.rules.plan(state, Event::Landed) else {
                    object.blocks[index].unlock(state);
                    continue;
                };
                if arrived {
                    self.forget(&object, &(index..index + 1));
                    object.blocks[index].unlock(steps.next);
                } else {
                    let open = self.rules.protection(self.rules.dirty);
                    let _ = object.protect(index..index + 1, Protection::Closed, open);
                    object.blocks[index].unlock(self.rules.dirty);
                }
            }
        }
    }

    /// Takes objects back: nothing moves but in batch-update, which fetches everything.
    fn acquire(&self, objects: &[(Arc<Object>, Mode)]) -> Result<()> {
        if self.rules.detects() || self.shares_memory {
            return Ok(());
        }
        // The last of several calls brings it back.
        for (object, _) in objects.iter().filter(|(object, _)| object.in_flight.load(Ordering::SeqCst) == 1) {
            let state = object.blocks[0].lock();
            let Plan::Go(steps) = self.rules.plan(state, Event::Return) else {
                object.blocks[0].unlock(state);
                continue;
            };
            let (offset, len) = object.bytes(&(0..1));
            // SAFETY: the alias of a locked object; between call and return the program leaves it alone.
            let fetched = unsafe { self.accel.download(&object.memory, offset, object.alias(offset), len) };
            match (fetched, self.rules.plan(steps.next, Event::Data)) {
                (Ok(()), Plan::Go(filled)) => {
                    add(&self.stats.downloads, 1);
                    add(&self.stats.download_bytes, len as u64);
                    object.blocks[0].unlock(filled.next);
                }
                (Err(error), _) => {
                    object.blocks[0].unlock(state);
                    return Err(error.into());
                }
                (Ok(()), _) => object.blocks[0].unlock(state),
            }
        }
        Ok(())
    }
}
