//! Release on a kernel call, acquire on its return.
//!
//! The paper's consistency model (`[gmac 3.3]`): a call releases the objects that the kernel uses to the accelerator,
//! and a synchronisation acquires them back. Objects that the kernel only reads stay readable here: the unnecessary
//! transfer that the paper mentions (4.3, last paragraph) is avoided.
//!
//! With several devices, blocks that the host has and the called device lacks count as dirty for that device and are
//! sent. Blocks that only another device has are transferred first (`migrate`). Calls on different devices wait for
//! each other if one writes an object that the other uses.

use super::{
    Host,
    access::{lock_alike, unlock},
    evict::Why,
    lock,
};
use crate::{
    accel::{Accelerator, Argument, DeviceError, KernelHandle, Ticket, Value},
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

/// How a kernel uses an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// It only reads the object.
    Reads,
    /// It may read and write the object.
    Writes,
}

/// An argument of a kernel, independent of the device.
#[derive(Clone)]
pub enum Given {
    /// A pointer to a byte of an object.
    Shared(Arc<Object>, usize),
    Value(Value),
}

/// A kernel, its launch parameters, and the objects it uses.
pub struct Launch<'a> {
    pub kernel: &'a KernelHandle,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub arguments: &'a [Given],
    pub objects: Vec<(Arc<Object>, Mode)>,
}

/// What a call has handed over so far, so that a failed call can be undone.
#[derive(Default)]
pub(super) struct Handed {
    /// Blocks being sent.
    sent: Vec<(Run, Ticket)>,
    /// Blocks that both sides had, and their previous state here.
    dropped: Vec<(Run, u8)>,
    /// Copies from other devices.
    pub copied: Vec<Ticket>,
}

/// A call that has not returned.
pub struct Flight {
    pub number: u64,
    /// The device on which it runs.
    pub device: usize,
    ticket: Ticket,
    objects: Vec<(Arc<Object>, Mode)>,
    /// Blocks sent with the call.
    sent: Mutex<Vec<(Run, Ticket)>>,
    begin: Instant,
    /// Its error, if it was seen before the call was finished.
    failed: Mutex<Option<DeviceError>>,
    /// Held by the thread that finishes the call.
    finishing: Mutex<()>,
    outcome: OnceLock<Result<(), DeviceError>>,
}

impl Flight {
    pub fn uses(&self, object: &Arc<Object>) -> bool {
        self.objects.iter().any(|(used, _)| Arc::ptr_eq(used, object))
    }

    /// Its result; `None` until the call is finished.
    pub fn outcome(&self) -> Option<Result<(), DeviceError>> {
        self.outcome.get().cloned()
    }

    /// Whether its kernel is still running.
    pub(super) fn is_running(&self, accel: &dyn Accelerator) -> bool {
        let mut failed = lock(&self.failed);
        if failed.is_some() || self.outcome.get().is_some() {
            return false;
        }
        accel.is_done(self.ticket).map(|done| !done).unwrap_or_else(|error| {
            *failed = Some(error);
            false
        })
    }

    /// Whether a call that uses `object` in this mode must wait for it.
    fn conflicts(&self, object: &Arc<Object>, mode: Mode) -> bool {
        let conflict = |(used, other): &(Arc<Object>, Mode)| {
            Arc::ptr_eq(used, object) && (mode == Mode::Writes || *other == Mode::Writes)
        };
        self.objects.iter().any(conflict)
    }
}

impl Host {
    /// Releases the objects that the kernel uses to a device, and starts the kernel there.
    pub fn call(&self, device: usize, launch: Launch<'_>) -> Result<Arc<Flight>> {
        self.check_process()?;
        self.check_device(device)?;
        self.engine.refresh().map_err(Error::system("the handler of faults"))?;
        let _calling = lock(&self.calling);
        let begin = Instant::now();
        let Launch { kernel, grid, block, arguments, mut objects } = launch;
        objects.sort_by_key(|(object, mode)| (object.base(), *mode));
        // If an object is used twice, the stronger mode counts.
        objects.reverse();
        objects.dedup_by(|(a, _), (b, _)| Arc::ptr_eq(a, b));
        objects.reverse();
        self.wait_for_other_devices(device, &objects);
        // Before any block is handed over, so that a fault in between waits for the return.
        for (object, _) in &objects {
            object.in_flight.fetch_add(1, Ordering::SeqCst);
        }
        let mut handed = Handed::default();
        let started = objects
            .iter()
            .filter(|(object, _)| !object.is_pinned())
            .try_for_each(|(object, mode)| self.release(object, *mode, device, &mut handed))
            .and_then(|()| {
                let arguments: Vec<_> = arguments.iter().map(|given| resolve(given, device)).collect();
                Ok(self.accels[device].launch(kernel, grid, block, &arguments)?)
            });
        let number = self.call_number.fetch_add(1, Ordering::Relaxed);
        add(&self.stats.calls, 1);
        add(&self.stats.call_nanoseconds, begin.elapsed().as_nanos() as u64);
        self.trace.span(What::Call, begin, 0);
        match started {
            Ok(ticket) => {
                for (Run { object, blocks }, _) in &handed.dropped {
                    self.forget(object, blocks);
                }
                let flight = Arc::new(Flight {
                    number,
                    device,
                    ticket,
                    objects,
                    sent: Mutex::new(handed.sent),
                    begin: Instant::now(),
                    failed: Mutex::default(),
                    finishing: Mutex::default(),
                    outcome: OnceLock::new(),
                });
                lock(&self.flights).push(Arc::clone(&flight));
                Ok(flight)
            }
            Err(error) => {
                self.heed(device, &error);
                self.take_back(handed, device);
                for (object, _) in &objects {
                    object.in_flight.fetch_sub(1, Ordering::SeqCst);
                }
                Err(error)
            }
        }
    }

    /// Waits for calls on other devices that write objects this one uses, or use objects this one writes. If the
    /// protocol can't keep sent blocks readable, waits for all calls that use the same objects.
    fn wait_for_other_devices(&self, device: usize, objects: &[(Arc<Object>, Mode)]) {
        let weakest = if self.rules.can_roll() { Mode::Reads } else { Mode::Writes };
        let conflicts = |flight: &&Arc<Flight>| {
            flight.device != device && objects.iter().any(|(object, mode)| flight.conflicts(object, weakest.max(*mode)))
        };
        loop {
            let Some(flight) = lock(&self.flights).iter().find(conflicts).cloned() else { return };
            if self.finish(&flight, false) {
                self.note_unreported(&flight);
            }
        }
    }

    /// Keeps the error of a call that was finished where it can't be reported. The next synchronisation returns it.
    pub(super) fn note_unreported(&self, flight: &Flight) {
        if let Some(Err(error)) = flight.outcome() {
            lock(&self.unreported).get_or_insert(error);
        }
    }

    /// Whether a call in flight may write the object.
    pub fn is_being_written(&self, object: &Arc<Object>) -> bool {
        lock(&self.flights).iter().any(|flight| flight.conflicts(object, Mode::Reads))
    }

    /// Waits for one call.
    pub fn sync(&self, flight: &Arc<Flight>) -> Result<()> {
        self.finish(flight, true);
        flight.outcome().unwrap_or(Ok(())).map_err(Error::from)
    }

    /// Waits for all calls so far, and returns the first error that has not been reported.
    pub fn sync_all(&self) -> Result<()> {
        self.check_process()?;
        let mut result = lock(&self.unreported).take().map_or(Ok(()), |error| Err(error.into()));
        loop {
            let Some(flight) = lock(&self.flights).first().cloned() else { return result };
            result = result.and(self.sync(&flight));
        }
    }

    /// Waits for a call and acquires its objects, once; returns whether this call of `finish` did so. With `ahead`,
    /// early downloads are started, because the program will read the results.
    pub(super) fn finish(&self, flight: &Arc<Flight>, ahead: bool) -> bool {
        let _finishing = lock(&flight.finishing);
        if flight.outcome.get().is_some() {
            return false;
        }
        let begin = Instant::now();
        let seen = lock(&flight.failed).take();
        let waited = self.accels[flight.device].wait(flight.ticket).and(seen.map_or(Ok(()), Err));
        add(&self.stats.wait_nanoseconds, begin.elapsed().as_nanos() as u64);
        self.trace.kernel(flight.device, flight.begin);
        let sent = std::mem::take(&mut *lock(&flight.sent));
        self.land_sent(sent, flight.device, waited.is_ok());
        let returned = waited.and(self.acquire(flight).map_err(|error| match error {
            Error::Device(error) => error,
            other => {
                let device = self.accels[flight.device].name();
                DeviceError::Failed { device, what: "a return", why: other.to_string() }
            }
        }));
        if let Err(error) = &returned {
            self.heed(flight.device, &error.clone().into());
        } else if ahead {
            self.fetch_expected(&flight.objects);
        }
        let _ = flight.outcome.set(returned);
        lock(&self.flights).retain(|other| !Arc::ptr_eq(other, flight));
        for (object, _) in &flight.objects {
            object.in_flight.fetch_sub(1, Ordering::SeqCst);
        }
        true
    }

    /// Releases an object to a device: sends what the device lacks. If the kernel may write the object, invalidates the
    /// host's copy.
    fn release(&self, object: &Arc<Object>, mode: Mode, device: usize, handed: &mut Handed) -> Result<()> {
        // Device memory is allocated only here, one call at a time; evictions go to a device that has it.
        object.take_place(device)?;
        object.used_by(device);
        if mode == Mode::Reads && self.rules.detects() {
            return self.release_for_reading(object, device, handed);
        }
        for look in object.handover.begin(device) {
            self.release_blocks(object, look, device, handed)?;
        }
        if object.blocks.len() > 1 {
            lock(&self.dirty).forget(object);
        }
        if self.rules.detects() {
            object.handover.end(device);
        }
        Ok(())
    }

    /// Hands over those of some blocks that are not already on this device alone.
    fn release_blocks(
        &self,
        object: &Arc<Object>,
        look: Range<usize>,
        device: usize,
        handed: &mut Handed,
    ) -> Result<()> {
        let mut index = look.start;
        while index < look.end {
            let holders = &object.holders[index];
            let handed_over = object.blocks[index].peek() == Some(self.rules.invalid) && holders.is_only(device);
            if self.rules.detects() && handed_over {
                index += 1;
                continue;
            }
            let state = object.blocks[index].lock();
            if state == self.rules.invalid && !holders.has(device) {
                let brought = self.bring(object, index, device, handed)?;
                index = brought.end;
                object.holders[brought.clone()].iter().for_each(|holders| holders.only(device));
                unlock(object, &brought, state);
                continue;
            }
            let steps = match self.rules.plan(self.seen_by(object, index, state, device), Event::Call) {
                Plan::Go(steps) => steps,
                Plan::Stall => {
                    object.blocks[index].unlock(state);
                    self.end_arrival(object, index, None);
                    self.land_block(object, index);
                    continue;
                }
                // Handed over by an earlier call on this device that has not returned.
                Plan::Never => {
                    object.blocks[index].unlock(state);
                    index += 1;
                    continue;
                }
            };
            let blocks = lock_alike(object, index, object.blocks.len(), state);
            let (from, to) = (self.rules.protection(state), self.rules.protection(steps.next));
            object.protect(blocks.clone(), from, to).map_err(|error| {
                unlock(object, &blocks, state);
                Error::system("closing a shared object")(error)
            })?;
            if steps.send {
                self.send_over(object, &blocks, state, device, &mut handed.sent)?;
            } else if steps.drop {
                handed.dropped.push((Run { object: Arc::clone(object), blocks: blocks.clone() }, state));
            }
            object.holders[blocks.clone()].iter().for_each(|holders| holders.only(device));
            unlock(object, &blocks, steps.next);
            index = blocks.end;
        }
        Ok(())
    }

    /// A block's state from the view of one device: a block that the host has and the device lacks is dirty.
    fn seen_by(&self, object: &Object, index: usize, state: u8, device: usize) -> u8 {
        if Some(state) == self.rules.read_only && !object.holders[index].has(device) { self.rules.dirty } else { state }
    }

    /// Sends locked and closed blocks. On failure they are opened again, as before.
    fn send_over(
        &self,
        object: &Arc<Object>,
        blocks: &Range<usize>,
        state: u8,
        device: usize,
        sent: &mut Vec<(Run, Ticket)>,
    ) -> Result<()> {
        match self.upload(object, blocks, device, Why::HandedOver) {
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

    /// Releases an object that the kernel only reads: sends what the device lacks, and keeps it readable here.
    fn release_for_reading(&self, object: &Arc<Object>, device: usize, handed: &mut Handed) -> Result<()> {
        let mut index = 0;
        while index < object.blocks.len() {
            // No thread is changing the block, and any thread that would change it from now on sees the call in flight.
            if object.blocks[index].peek().is_some() && object.holders[index].has(device) {
                index += 1;
                continue;
            }
            let state = self.lock_landed(object, index);
            if object.holders[index].has(device) {
                object.blocks[index].unlock(state);
                index += 1;
            } else if state == self.rules.invalid {
                let brought = self.bring(object, index, device, handed)?;
                unlock(object, &brought, state);
                index = brought.end;
            } else if self.rules.can_roll() {
                let blocks = lock_alike(object, index, object.blocks.len(), state);
                index = blocks.end;
                self.send_and_keep(object, blocks, state, device)?;
            } else {
                // Lazy-update can't keep what it sends (Fig. 6 b without the dotted line).
                object.blocks[index].unlock(state);
                return self.release(object, Mode::Writes, device, handed);
            }
        }
        Ok(())
    }

    /// Undoes a call whose kernel never started: restores the states from before the call, whatever the device has
    /// received.
    fn take_back(&self, handed: Handed, device: usize) {
        let accel = &self.accels[device];
        for ticket in handed.copied {
            let _ = accel.wait(ticket);
        }
        for (Run { object, blocks }, ticket) in handed.sent {
            // An upload may still be reading.
            let _ = accel.wait(ticket);
            self.reopen(&object, &blocks, self.rules.dirty);
        }
        for (Run { object, blocks }, state) in handed.dropped {
            self.reopen(&object, &blocks, state);
        }
    }

    /// Makes the host's copy of blocks valid again.
    fn reopen(&self, object: &Object, blocks: &Range<usize>, state: u8) {
        object.handover.mark(blocks);
        for index in blocks.clone() {
            let now = object.blocks[index].lock();
            let _ = object.protect(index..index + 1, self.rules.protection(now), self.rules.protection(state));
            if state == self.rules.dirty {
                object.holders[index].none();
            }
            object.blocks[index].unlock(state);
        }
    }

    /// After the loss of a device: fetches what other devices have of an object, and makes the host's last copy valid
    /// for the rest. Returns the number of bytes that are older than what the lost device had.
    pub fn salvage(&self, object: &Arc<Object>) -> usize {
        self.settle(object);
        self.end_arrivals_of(object);
        let mut old = 0;
        for index in 0..object.blocks.len() {
            let block = index..index + 1;
            let state = object.blocks[index].lock();
            let lacked = state == self.rules.invalid && self.fetch(object, &block).is_err();
            object.blocks[index].unlock(state);
            if state == self.rules.invalid {
                self.reopen(object, &block, self.rules.dirty);
                old += if lacked { object.bytes(&block).1 } else { 0 };
            }
        }
        old
    }

    /// Completes the transfers sent with a call: they have arrived (a kernel that `ended` without error started after
    /// its uploads), or never will.
    fn land_sent(&self, sent: Vec<(Run, Ticket)>, device: usize, ended: bool) {
        for (Run { object, blocks }, ticket) in sent {
            let arrived = ended || self.accels[device].wait(ticket).is_ok();
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
                    object.handover.mark(&(index..index + 1));
                    object.holders[index].none();
                    object.blocks[index].unlock(self.rules.dirty);
                }
            }
        }
    }

    /// Acquires the objects of a call. Only batch-update transfers data here: it fetches everything.
    fn acquire(&self, flight: &Flight) -> Result<()> {
        if self.rules.detects() {
            return Ok(());
        }
        // If several calls use an object, the last one fetches it.
        let last = |object: &Object| object.in_flight.load(Ordering::SeqCst) == 1;
        for (object, _) in flight.objects.iter().filter(|(object, _)| !object.is_pinned() && last(object)) {
            let state = object.blocks[0].lock();
            let Plan::Go(steps) = self.rules.plan(state, Event::Return) else {
                object.blocks[0].unlock(state);
                continue;
            };
            match (self.fetch(object, &(0..1)), self.rules.plan(steps.next, Event::Data)) {
                (Ok(()), Plan::Go(filled)) => {
                    object.holders[0].none();
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

/// The device's form of an argument.
///
/// # Panics
/// If an object among the arguments is not among those that the call uses: a bug in the code that built the launch.
fn resolve(given: &Given, device: usize) -> Argument {
    match given {
        Given::Shared(object, offset) => {
            let memory = object.place(device).expect("a call hands over every object among its arguments");
            Argument::Memory { memory, offset: *offset }
        }
        Given::Value(value) => Argument::Value(*value),
    }
}
