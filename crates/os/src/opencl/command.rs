//! Enqueued commands: their steps, their dependencies, and how they execute.
//!
//! A command is a sequence of steps. Some steps are performed by a GPU, some by a thread of the program, some by the
//! driver. The first step starts when everything that the command waits for is complete, each further step when its
//! predecessor is done.
//!
//! What moves bytes depends on the machine. A DMA engine, if there is one, moves all of them. Otherwise, copies to and
//! from the program's memory are executed by a thread of the program, in the program's own code. Copies and fills
//! within device memory are done by the GPU's copy engine if the machine has one
//! ([`Costs::copy_engine`](super::Costs)), else also by a thread of the program. Such copies see the caches and take
//! the time of their instructions, like all other accesses of the program.

use crate::state::state;
use std::collections::{BTreeMap, VecDeque};

use engine::Time;
use mem::{Bytes, VirtAddr};

use super::{
    abi::{Action, Rect},
    cl,
    device_memory::Region,
    dma::{NotMoved, Side, Sides},
    driver::{DESCRIPTOR, Driver},
    error::{Cl, ensure},
    event::{Callback, Event},
    launch::Launch,
    pager::Job,
};
use crate::guest::{Fault, GuestMemory};

/// A step of a command.
#[derive(Debug)]
pub enum Step {
    /// An action of a thread of the program.
    Guest(Action),
    /// Transfers from device memory to the program's memory, and the reverse.
    Read(Rect),
    Write(Rect),
    /// A copy within device memory.
    Copy(Rect),
    /// Fills each row with a repeated pattern.
    Fill {
        pattern: Vec<u8>,
        rows: Rect,
    },
    /// Frees the pattern of a fill that the program has performed.
    FreePattern(VirtAddr),
    Kernel(Box<Launch>),
    /// Occupies the link between host and device for this number of bytes.
    Transfer(Bytes),
    /// Migrates pages to a GPU or (none) to the host.
    Migrate {
        regions: Vec<Region>,
        gpu: Option<usize>,
        undefined: bool,
    },
    /// Frees memory that the driver has mapped.
    Unmap(VirtAddr, Bytes),
    /// Frees shared virtual memory.
    FreeSvm(Vec<u64>),
}

impl Step {
    /// The bytes that the step moves, with the pattern if it is a fill.
    fn moves(&self) -> Option<(Rect, Sides, Option<&[u8]>)> {
        use Side::{Device, Host};
        match self {
            Self::Guest(Action::Copy(rect)) => Some((*rect, Sides { to: Host, from: Host }, None)),
            Self::Read(rect) => Some((*rect, Sides { to: Host, from: Device }, None)),
            Self::Write(rect) => Some((*rect, Sides { to: Device, from: Host }, None)),
            Self::Copy(rect) => Some((*rect, Sides { to: Device, from: Device }, None)),
            Self::Fill { pattern, rows } => Some((*rows, Sides { to: Device, from: Device }, Some(pattern))),
            _ => None,
        }
    }
}

/// An action that a thread of the program performs for the driver.
#[derive(Debug)]
pub struct Work {
    pub action: Action,
    /// The command that continues when the action is done.
    pub event: Option<u64>,
    /// An event that must not be freed before the action is done.
    pub held: Option<u64>,
}

state!(struct Work { action, event, held });

/// A command to be enqueued.
#[derive(Debug, Default)]
pub struct Command {
    pub kind: u64,
    pub steps: Vec<Step>,
    /// Memory objects in use.
    pub memories: Vec<u64>,
    /// The program whose code it runs, and the samplers in use.
    pub program: Option<u64>,
    pub samplers: Vec<u64>,
    /// Whether it waits for everything before it in the queue, and whether (`barrier`) everything after it waits for
    /// it.
    pub fence: bool,
    pub barrier: bool,
}

impl Driver {
    /// Reads and checks a wait list: the arguments `count` and `count + 1`.
    pub(super) fn wait_list(&self, call: &mut super::call::Call, count: usize, context: u64) -> Cl<Vec<u64>> {
        let list = call.list(count, count + 1, cl::INVALID_EVENT_WAIT_LIST)?;
        for event in &list {
            let event = self.events.get(*event).map_err(|_| cl::INVALID_EVENT_WAIT_LIST)?;
            ensure(event.context == context, cl::INVALID_CONTEXT)?;
        }
        Ok(list)
    }

    /// Where a thread of the program flushes what the host is about to use: the steps with these flushes before them.
    fn with_flushes(&self, steps: Vec<Step>) -> Vec<Step> {
        if !self.settings.flushes_buffers {
            return steps;
        }
        let flushed = |step: Step| {
            let ranges = match &step {
                Step::Read(rect) => vec![rect.ranges()[1]],
                Step::Write(rect) | Step::Fill { rows: rect, .. } => vec![rect.ranges()[0]],
                Step::Copy(rect) => rect.ranges().to_vec(),
                _ => Vec::new(),
            };
            // Devices hold nothing before they have run a kernel.
            let ranges = ranges.into_iter().filter(|_| self.has_launched);
            let flushes = ranges.map(|(address, size)| Step::Guest(Action::Flush { address, size }));
            flushes.chain([step]).collect::<Vec<_>>()
        };
        steps.into_iter().flat_map(flushed).collect()
    }

    /// The steps of a map, with a flush of what is mapped before them.
    pub(super) fn flushed_map(&self, address: VirtAddr, size: Bytes, steps: Vec<Step>) -> Vec<Step> {
        let flush = (self.settings.flushes_buffers && self.has_launched)
            .then_some(Step::Guest(Action::Flush { address, size }));
        flush.into_iter().chain(steps).collect()
    }

    /// Enqueues a command; returns its event, which the caller must hand to the program or release.
    pub(super) fn enqueue(&mut self, queue: u64, waits: &[u64], mut command: Command, now: Time) -> Cl<u64> {
        self.has_launched |= command.steps.iter().any(|step| matches!(step, Step::Kernel(_)));
        command.steps = self.with_flushes(command.steps);
        let record = self.queues.get(queue)?;
        let mut all: BTreeMap<u64, bool> = BTreeMap::new();
        // Dependencies by queue order. A failed predecessor does not by itself fail the commands after it.
        let before: Vec<u64> = match (record.out_of_order && !command.fence, record.barrier) {
            (false, _) if record.out_of_order => record.outstanding.iter().copied().collect(),
            (false, _) => record.outstanding.last().copied().into_iter().collect(),
            (true, barrier) => barrier.into_iter().collect(),
        };
        all.extend(before.into_iter().map(|event| (event, false)));
        all.extend(waits.iter().map(|event| (*event, true)));
        let mut doomed = false;
        all.retain(|event, listed| match self.events.held(*event).map_or(0, |event| event.status) {
            status if status > 0 => true,
            status => {
                doomed |= *listed && status < 0;
                false
            }
        });
        let (context, broken) = (record.context, record.broken);
        for memory in &command.memories {
            self.memories.hold(*memory);
        }
        for sampler in &command.samplers {
            self.samplers.hold(*sampler);
        }
        if let Some(program) = command.program {
            self.programs.hold(program);
        }
        self.queues.hold(queue);
        self.contexts.hold(context);
        let waits: Vec<u64> = all.keys().copied().collect();
        let event = self.events.insert(Event {
            context,
            queue: Some(queue),
            kind: command.kind,
            status: cl::QUEUED as i32,
            steps: command.steps.into(),
            waits: all,
            doomed,
            dependents: Vec::new(),
            times: [now; 4],
            callbacks: Vec::new(),
            memories: command.memories,
            program: command.program,
            samplers: command.samplers,
        });
        // The command itself holds its event until it is complete.
        self.events.hold(event);
        for other in &waits {
            if let Ok(other) = self.events.held_mut(*other) {
                other.dependents.push(event);
            }
        }
        let record = self.queues.held_mut(queue)?;
        record.outstanding.insert(event);
        if command.barrier {
            record.barrier = Some(event);
        }
        if waits.is_empty() {
            match (broken, doomed) {
                (true, _) => self.complete(event, cl::OUT_OF_RESOURCES.0, now),
                (_, true) => self.complete(event, cl::EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST.0, now),
                _ => self.submit(event, now),
            }
        }
        Ok(event)
    }

    fn submit(&mut self, event: u64, now: Time) {
        self.set_status(event, cl::SUBMITTED as i32, now);
        self.ready.push_back((event, now));
    }

    /// Executes every step that can be executed now; returns whether there was one.
    pub(super) fn pump(&mut self, guest: &mut dyn GuestMemory, now: Time) -> bool {
        let mut moved = false;
        while let Some((time, event)) = self.in_transfer.first().copied().filter(|(time, _)| *time <= now) {
            self.in_transfer.pop_first();
            self.ready.push_back((event, time));
        }
        loop {
            while let Some((event, time)) = self.ready.pop_front() {
                moved = true;
                self.advance(event, guest, time);
            }
            if !self.pump_jobs(guest, now) {
                break;
            }
            moved = true;
        }
        for memory in std::mem::take(&mut self.let_go) {
            self.unhold_memory(memory, guest);
        }
        for program in std::mem::take(&mut self.let_go_programs) {
            self.unhold_program(program, guest);
        }
        moved
    }

    /// Executes the steps of a command until one takes time.
    fn advance(&mut self, handle: u64, guest: &mut dyn GuestMemory, now: Time) {
        loop {
            let Ok(event) = self.events.held_mut(handle) else { return };
            if event.status <= 0 {
                return;
            }
            let queue = event.queue;
            let step = event.steps.pop_front();
            if event.status > cl::RUNNING as i32 {
                self.set_status(handle, cl::RUNNING as i32, now);
            }
            if queue.is_some_and(|queue| self.queues.held(queue).is_ok_and(|queue| queue.broken)) {
                return self.complete(handle, cl::OUT_OF_RESOURCES.0, now);
            }
            if let Some(Step::Copy(rect) | Step::Fill { rows: rect, .. }) = &step {
                self.touched.extend(rect.ranges());
            }
            let by_engine = self.gpus.transfers() && !self.is_paged();
            if let Some((rows, sides, pattern)) = step.as_ref().filter(|_| by_engine).and_then(Step::moves) {
                return match self.start_transfer(handle, (rows, sides), pattern, guest, now) {
                    Ok(()) => {}
                    Err(NotMoved::Refused(text)) => self.fail(handle, &text, now),
                    Err(NotMoved::Broken(broken)) => _ = self.broken.get_or_insert(broken),
                };
            }
            let done = match step {
                None => return self.complete(handle, cl::COMPLETE as i32, now),
                Some(Step::Read(rect) | Step::Write(rect)) => {
                    self.work.push_back(Work { action: Action::Copy(rect), event: Some(handle), held: None });
                    return;
                }
                Some(Step::Migrate { regions, gpu, undefined }) => {
                    self.queue_job(Job::Migrate { event: handle, regions, gpu, undefined });
                    return;
                }
                Some(Step::Guest(action)) => {
                    self.work.push_back(Work { action, event: Some(handle), held: None });
                    return;
                }
                Some(Step::Kernel(launch)) => {
                    match self.is_paged() {
                        true => self.queue_job(Job::Call { event: handle, launch }),
                        false => self.start_or_fail(handle, *launch, guest, now),
                    }
                    return;
                }
                Some(Step::Transfer(size)) => match self.settings.costs.transfer(size) {
                    // The engine models its own time, and under a paging policy pages are moved on demand.
                    _ if by_engine || self.is_paged() => Ok(()),
                    Time::ZERO => Ok(()),
                    length => {
                        // Transfers are serialised: there is one link.
                        self.wire_free = self.wire_free.max(now) + length;
                        self.in_transfer.insert((self.wire_free, handle));
                        return;
                    }
                },
                Some(Step::Copy(rect)) => match self.settings.costs.copy_engine.filter(|_| !self.is_paged()) {
                    Some(_) => match copy(guest, rect) {
                        Ok(()) if self.in_engine(handle, rect, now) => return,
                        done => done.map_err(|fault| fault.to_string()),
                    },
                    None => {
                        self.work.push_back(Work { action: Action::Copy(rect), event: Some(handle), held: None });
                        return;
                    }
                },
                Some(Step::Fill { pattern, rows }) => {
                    match self.settings.costs.copy_engine.filter(|_| !self.is_paged()) {
                        Some(_) => match fill(guest, &pattern, rows) {
                            Ok(()) if self.in_engine(handle, rows, now) => return,
                            done => done.map_err(|fault| fault.to_string()),
                        },
                        None => self.fill_by_program(handle, &pattern, rows, guest),
                    }
                }
                Some(Step::FreePattern(place)) => {
                    self.descriptors.take(place);
                    Ok(())
                }
                Some(Step::Unmap(address, size)) => {
                    guest.unmap(address, size);
                    Ok(())
                }
                Some(Step::FreeSvm(pointers)) => {
                    for pointer in pointers {
                        self.free_svm(pointer, guest);
                    }
                    Ok(())
                }
            };
            if let Err(text) = done {
                return self.fail(handle, &text, now);
            }
        }
    }

    /// Turns a fill into copies by a thread of the program, from a buffer of repeated patterns that the driver writes.
    fn fill_by_program(
        &mut self,
        handle: u64,
        pattern: &[u8],
        rows: Rect,
        guest: &mut dyn GuestMemory,
    ) -> Result<(), String> {
        let row = DESCRIPTOR.0.min(rows.size[0]) as usize;
        let bytes: Vec<u8> = pattern.iter().copied().cycle().take(row).collect();
        let place = self.descriptors.put_bytes(guest, &bytes).map_err(|code| code.to_string())?;
        let event = self.events.held_mut(handle).map_err(|code| code.to_string())?;
        event.steps.push_front(Step::FreePattern(place));
        for copy in fill_copies(rows, place, DESCRIPTOR.0).into_iter().rev() {
            event.steps.push_front(Step::Guest(Action::Copy(copy)));
        }
        Ok(())
    }

    /// Makes a command wait for the copy engine; returns whether that takes time. All commands share one engine.
    fn in_engine(&mut self, handle: u64, rows: Rect, now: Time) -> bool {
        let length = self.settings.costs.copy(Bytes(rows.size.iter().product()));
        if length > Time::ZERO {
            self.engine_free = self.engine_free.max(now) + length;
            self.in_transfer.insert((self.engine_free, handle));
        }
        length > Time::ZERO
    }

    /// Fails a command, and marks its queue as unusable.
    pub(super) fn fail(&mut self, handle: u64, text: &str, now: Time) {
        let Ok(event) = self.events.held(handle) else { return };
        self.say(&format!("{event} failed: {text}"));
        if let Some(queue) = event.queue.and_then(|queue| self.queues.held_mut(queue).ok()) {
            queue.broken = true;
        }
        self.complete(handle, cl::OUT_OF_RESOURCES.0, now);
    }

    /// Called when the library has performed an action for the driver.
    pub(super) fn finish_work(&mut self, work: Work, now: Time) {
        if let Some(event) = work.event {
            self.ready.push_back((event, now));
        }
        if let Some(event) = work.held {
            self.unhold_event(event);
        }
    }

    /// Completes a command. If it failed, the commands that have it in their wait list fail too.
    pub(super) fn complete(&mut self, handle: u64, status: i32, now: Time) {
        let mut over = VecDeque::from([(handle, status)]);
        while let Some((handle, status)) = over.pop_front() {
            self.set_status(handle, status, now);
            let Ok(event) = self.events.held_mut(handle) else { continue };
            event.steps.clear();
            let (queue, memories, program) = (event.queue, std::mem::take(&mut event.memories), event.program.take());
            let dependents = std::mem::take(&mut event.dependents);
            let samplers = std::mem::take(&mut event.samplers);
            for dependent in dependents {
                let Ok(other) = self.events.held_mut(dependent) else { continue };
                let listed = other.waits.remove(&handle);
                other.doomed |= status < 0 && listed == Some(true);
                if other.waits.is_empty() && other.status > 0 {
                    match other.doomed {
                        true => over.push_back((dependent, cl::EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST.0)),
                        false => self.submit(dependent, now),
                    }
                }
            }
            if let Some(queue) = queue.and_then(|queue| self.queues.held_mut(queue).ok()) {
                queue.outstanding.remove(&handle);
                queue.barrier = queue.barrier.filter(|barrier| *barrier != handle);
                queue.failed |= status < 0;
            }
            self.let_go.extend(memories);
            for sampler in samplers {
                self.unhold_sampler(sampler);
            }
            self.let_go_programs.extend(program);
            // The driver holds no reference to user events, which are not commands.
            if queue.is_some() {
                self.unhold_event(handle);
            }
        }
    }

    /// Sets a status and its time stamp, and queues the callbacks that are due.
    pub(super) fn set_status(&mut self, handle: u64, status: i32, now: Time) {
        let Ok(event) = self.events.held_mut(handle) else { return };
        event.status = status;
        match status {
            status if status <= 0 => event.times[3] = now,
            status => event.times[3 - status as usize] = now,
        }
        for n in (3 - status.max(0)) as usize..4 {
            event.times[n] = event.times[n].max(now);
        }
        let (due, later) = std::mem::take(&mut event.callbacks)
            .into_iter()
            .partition::<Vec<Callback>, _>(|callback| status <= callback.when as i32);
        event.callbacks = later;
        for callback in due {
            self.call_back(handle, callback, status);
        }
    }

    /// Queues a callback about an event, for a thread of the program to run.
    pub(super) fn call_back(&mut self, handle: u64, callback: Callback, status: i32) {
        self.events.hold(handle);
        let told = if status < 0 { status } else { callback.when as i32 };
        let arguments = [handle, told as u32 as u64, callback.data, 0];
        let action = Action::Call { function: callback.function, arguments };
        self.work.push_back(Work { action, event: None, held: Some(handle) });
    }

    pub(super) fn unhold_event(&mut self, handle: u64) {
        if let Some(event) = self.events.unhold(handle) {
            self.drop_event(event);
        }
    }
}

/// The copies that fill rows from a buffer at `from` with `longest` bytes of repeated pattern. Each row of a copy has
/// at most `longest` bytes, and all rows have the same source.
fn fill_copies(rows: Rect, from: VirtAddr, longest: u64) -> Vec<Rect> {
    let Rect { to, size: [bytes, count, slices], to_pitch, .. } = rows;
    let from_pitch = [0, 0];
    if bytes <= longest {
        return vec![Rect { from, from_pitch, ..rows }];
    }
    // First the part of each row that consists of whole pieces, then the remainders of all rows.
    let (whole, rest) = (bytes / longest, bytes % longest);
    let slice = |n: u64| to + Bytes(n * to_pitch[1]);
    let piece = |n: u64| Rect {
        to: slice(n),
        from,
        size: [longest, whole, count],
        to_pitch: [longest, to_pitch[0]],
        from_pitch,
    };
    let mut copies: Vec<Rect> = (0..slices).map(piece).collect();
    if rest > 0 {
        let to = to + Bytes(whole * longest);
        copies.push(Rect { to, from, size: [rest, count, slices], to_pitch, from_pitch });
    }
    copies
}

/// Copies rows functionally, through a buffer of the simulator.
fn copy(guest: &mut dyn GuestMemory, rect: Rect) -> Result<(), Fault> {
    const PIECE: u64 = 1 << 20;
    for (to, from) in rect.rows() {
        let mut done = 0;
        while done < rect.size[0] {
            let count = PIECE.min(rect.size[0] - done);
            let mut bytes = vec![0; count as usize];
            guest.read(from + Bytes(done), &mut bytes)?;
            guest.write(to + Bytes(done), &bytes)?;
            done += count;
        }
    }
    Ok(())
}

fn fill(guest: &mut dyn GuestMemory, pattern: &[u8], rows: Rect) -> Result<(), Fault> {
    let bytes: Vec<u8> = pattern.iter().copied().cycle().take(rows.size[0].min(1 << 16) as usize).collect();
    for (to, _) in rows.rows() {
        let mut done = 0;
        while done < rows.size[0] {
            // Each write starts at a multiple of the pattern's size.
            let count = (bytes.len() as u64).min(rows.size[0] - done);
            guest.write(to + Bytes(done), &bytes[..count as usize])?;
            done += count;
        }
    }
    Ok(())
}
