//! The driver: its objects, and how it answers the library's traps.
//!
//! A call executes when its record first arrives. After that it may wait for events, and the driver may have work that
//! only a thread of the program can do (copies, callbacks). Each trapping thread is given any work that is ready, no
//! matter which call caused it.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, VecDeque},
    rc::Rc,
};

use engine::Time;
use mem::{Bytes, VirtAddr};

use super::{
    Settings, Usage,
    abi::{self, Action, Record},
    call::{Call, Outcome},
    checkpoint::Drain,
    cl,
    command::Work,
    context::Context,
    device::Device,
    device_memory::{DeviceTables, Spread},
    dma::InTransfer,
    error::Code,
    event::Event,
    function::{Function, Returns, SERVE},
    functional::Functional,
    gpu::{Broken, Ended, Gpus},
    kernel::Kernel,
    launch::{Arena, Running},
    memory::MemObject,
    numbered::Numbered,
    pager::Pager,
    policy::{Hierarchy, MemoryPolicy},
    program::Program,
    queue::Queue,
    sampler::Sampler,
    slots::Slots,
    svm::Allocations,
    table::Table,
};
use crate::{
    compiler::Compiler,
    files::View,
    guest::{Answer, GuestMemory, HostFault, Tid, Trap},
    state::{Read, Reader},
};

/// A call that has not returned yet.
pub(super) struct Pending {
    pub function: Option<Function>,
    pub outcome: Outcome,
    /// The address for the status; null if the status is the return value.
    pub status_at: VirtAddr,
    pub actions: VecDeque<Action>,
    /// The work that the library is currently doing for the driver.
    pub work: Option<Work>,
    /// Memory that this work may be touching.
    pub touches: Vec<(VirtAddr, Bytes)>,
}

/// Space for a transfer descriptor, or for several repetitions of the longest fill pattern.
pub(super) const DESCRIPTOR: Bytes = Bytes(256);

/// The OpenCL driver of one process.
pub struct Driver {
    pub(super) settings: Settings,
    pub(super) policy: Box<dyn MemoryPolicy>,
    pub(super) compiler: Compiler,
    pub(super) devices: Vec<Device>,
    pub(super) contexts: Table<Context>,
    pub(super) queues: Table<Queue>,
    pub(super) memories: Table<MemObject>,
    pub(super) samplers: Table<Sampler>,
    pub(super) programs: Table<Program>,
    pub(super) kernels: Table<Kernel>,
    pub(super) events: Table<Event>,
    pub(super) svm: Allocations,
    /// Descriptors of images and samplers in memory.
    pub(super) slots: Slots,
    /// Transfer descriptors and fill patterns, and the transfers in flight by event.
    pub(super) descriptors: Slots,
    pub(super) transfers: BTreeMap<u64, InTransfer>,
    pub(super) gpus: Box<dyn Gpus>,
    /// Device memory; the pager, under a paging policy; and the driver's own transfers and shootdowns in flight.
    pub(super) tables: DeviceTables,
    pub(super) pager: Option<Pager>,
    pub(super) numbered: BTreeMap<u64, Numbered>,
    pub(super) last_number: u64,
    /// Shared virtual memory that the host has mapped for writing, by base address, with the number of maps.
    pub(super) svm_written: BTreeMap<u64, u32>,
    /// Whether a kernel has been launched.
    pub(super) has_launched: bool,
    /// Maps of shared virtual memory for writing: from the mapped address to the base address.
    pub(super) svm_maps: BTreeMap<u64, u64>,
    /// Running kernels by event.
    pub(super) running: BTreeMap<u64, Running>,
    /// Kernels that have ended and whose printed text is still being transferred.
    pub(super) postponed: Vec<Ended>,
    pub(super) arena: Arena,
    /// Memory that kernels can reach and that the host may have touched since the last kernel started.
    pub(super) touched: Vec<(VirtAddr, Bytes)>,
    pub(super) usage: Rc<RefCell<Usage>>,
    /// Set when the GPUs can't continue.
    pub(super) broken: Option<Broken>,
    /// Events whose next step can execute, with the time since when.
    pub(super) ready: VecDeque<(u64, Time)>,
    /// Events whose bytes are on the link, by arrival time.
    pub(super) in_transfer: BTreeSet<(Time, u64)>,
    pub(super) wire_free: Time,
    /// When the copy engine becomes free.
    pub(super) engine_free: Time,
    /// Work for threads of the program.
    pub(super) work: VecDeque<Work>,
    /// Whether a thread of the program serves the driver.
    pub(super) serving: bool,
    /// Memory objects and programs that commands no longer use.
    pub(super) let_go: Vec<u64>,
    pub(super) let_go_programs: Vec<u64>,
    /// Warnings about launches that the user has been given.
    pub(super) warned: BTreeSet<String>,
    pub(super) calls: BTreeMap<u64, Pending>,
    /// Calls in flight to the driver, with their arrival times.
    pub(super) entering: BTreeMap<u64, Time>,
    pub(super) last_call: u64,
    pub(super) waiting: BTreeMap<Tid, String>,
    pub(super) drain: Drain,
}

impl Driver {
    /// A driver with functional GPUs, for settings that are known to be consistent.
    pub fn new(settings: Settings) -> Self {
        let gpus = Functional::for_settings(&settings);
        Self::with_gpus(settings, Box::new(gpus))
    }

    /// A driver with functional GPUs.
    ///
    /// # Errors If the settings are inconsistent.
    pub fn without_time(settings: Settings) -> Result<Self, String> {
        let gpus = Functional::for_settings(&settings);
        Self::on(settings, Box::new(gpus))
    }

    /// A driver of these GPUs.
    ///
    /// # Errors If they can't implement the memory policy; the text says why, and which policies they support.
    pub fn on(settings: Settings, gpus: Box<dyn Gpus>) -> Result<Self, String> {
        settings.policy.check(&gpus.memories(), settings.gpus.max(1) as usize, settings.spread)?;
        Ok(Self::with_gpus(settings, gpus))
    }

    /// A driver of GPUs that are known to support the policy.
    pub fn with_gpus(settings: Settings, gpus: Box<dyn Gpus>) -> Self {
        let devices = Device::all(&settings);
        let tables = DeviceTables::new(gpus.memories(), settings.gpus.max(1) as usize);
        let spread =
            settings.spread.unwrap_or(if settings.device_per_gpu { Spread::Device(0) } else { Spread::Ranges });
        let paging = settings.policy.paging(spread, settings.device_per_gpu, settings.blocks);
        let pager = match tables.memories.copies {
            Some(how) => Some(Pager::new(Box::new(Hierarchy::new(how)))),
            None => paging.filter(|_| tables.is_split()).map(Pager::new),
        };
        let usage = Usage { groups: vec![0; settings.gpus.max(1) as usize], ..Usage::default() };
        Self {
            policy: settings.policy.make_for(&tables.memories),
            compiler: Compiler::new(settings.compiler.clone(), &settings.monitor),
            gpus,
            tables,
            pager,
            numbered: BTreeMap::new(),
            last_number: 0,
            svm_written: BTreeMap::new(),
            has_launched: false,
            svm_maps: BTreeMap::new(),
            running: BTreeMap::new(),
            postponed: Vec::new(),
            arena: Arena::default(),
            touched: Vec::new(),
            usage: Rc::new(RefCell::new(usage)),
            broken: None,
            settings,
            devices,
            contexts: Table::new(2, cl::INVALID_CONTEXT),
            queues: Table::new(3, cl::INVALID_COMMAND_QUEUE),
            memories: Table::new(4, cl::INVALID_MEM_OBJECT),
            samplers: Table::new(5, cl::INVALID_SAMPLER),
            programs: Table::new(6, cl::INVALID_PROGRAM),
            kernels: Table::new(7, cl::INVALID_KERNEL),
            events: Table::new(8, cl::INVALID_EVENT),
            svm: Allocations::default(),
            slots: Slots::of(Bytes(64)),
            descriptors: Slots::of(DESCRIPTOR),
            transfers: BTreeMap::new(),
            ready: VecDeque::new(),
            in_transfer: BTreeSet::new(),
            wire_free: Time::ZERO,
            engine_free: Time::ZERO,
            work: VecDeque::new(),
            serving: false,
            let_go: Vec::new(),
            let_go_programs: Vec::new(),
            warned: BTreeSet::new(),
            calls: BTreeMap::new(),
            entering: BTreeMap::new(),
            last_call: 0,
            waiting: BTreeMap::new(),
            drain: Drain::default(),
        }
    }

    /// Shows a message to the user of the simulator.
    pub(super) fn say(&self, text: &str) {
        (self.settings.say)(text);
    }

    /// A live view of the GPUs' activity.
    pub fn usage(&self) -> Rc<RefCell<Usage>> {
        self.usage.clone()
    }

    /// Executes the function of a new call. `None` if it needs bytes that are still in flight from a device: a function
    /// that fails has changed nothing, so it can be executed again.
    fn begin(&mut self, record: &Record, guest: &mut dyn GuestMemory, now: Time) -> Option<Pending> {
        let mut pending = Pending {
            function: Function::by_number(record.function),
            outcome: Outcome::default(),
            status_at: VirtAddr(0),
            actions: VecDeque::new(),
            work: None,
            touches: Vec::new(),
        };
        let Some(function) = pending.function else {
            pending.outcome = Outcome::word(cl::INVALID_OPERATION.0 as u64);
            return Some(pending);
        };
        let mut call = Call { arguments: record.arguments, guest, now };
        let (outcome, status) = match self.dispatch(function, &mut call) {
            Ok(outcome) => (outcome.clone(), outcome.status.unwrap_or(cl::SUCCESS)),
            Err(_) if call.guest.is_waiting() => return None,
            Err(code) => (Outcome::default(), code),
        };
        pending.outcome = outcome;
        pending.actions = std::mem::take(&mut pending.outcome.actions).into();
        match function.returns() {
            Returns::Status => pending.outcome.word = status.0 as u64,
            Returns::Pointer => {}
            Returns::Through(n) => {
                pending.status_at = VirtAddr(record.arguments[n]);
                put_status(guest, pending.status_at, status);
            }
        }
        Some(pending)
    }

    /// Decides what the library does next for a call.
    fn go_on(
        &mut self,
        record: &Record,
        token: u64,
        mut pending: Pending,
        guest: &mut dyn GuestMemory,
        thread: Tid,
        now: Time,
    ) -> Answer {
        self.touched.append(&mut pending.touches);
        if let Some(work) = pending.work.take() {
            self.finish_work(work, now);
        }
        let moved = self.pump(guest, now);
        let next = pending.actions.pop_front().or_else(|| {
            let work = self.work.pop_front()?;
            let action = work.action.clone();
            pending.work = Some(work);
            Some(action)
        });
        if let Some(action) = next {
            // A kernel may start during this copy, and another one after it: record the range at both times.
            if let Action::Copy(rect) = &action {
                self.touched.extend(rect.ranges());
                pending.touches.extend(rect.ranges());
            }
            let answer = record
                .set_token(guest, token)
                .and_then(|()| record.set_action(guest, &action, self.settings.copy_width));
            self.calls.insert(token, pending);
            return Answer::Return(answer.unwrap_or(abi::REFUSED));
        }
        if record.function == SERVE || !self.all_over(&pending.outcome.until) {
            let _ = record.set_token(guest, token);
            self.waiting.insert(thread, self.describe_wait(record.function, &pending.outcome.until));
            self.calls.insert(token, pending);
            return Answer::Wait { until: Time::NEVER, moved };
        }
        self.waiting.remove(&thread);
        let result = self.end(pending, guest);
        match record.set_result(guest, result) {
            Ok(()) => Answer::Return(abi::RETURN),
            Err(_) => Answer::Return(abi::REFUSED),
        }
    }

    /// Computes the return value of a call at its end.
    fn end(&mut self, pending: Pending, guest: &mut dyn GuestMemory) -> u64 {
        let failed = pending.outcome.failed.filter(|_| {
            let failed = |event: &u64| self.events.held(*event).is_ok_and(|event| event.status < 0);
            pending.outcome.until.iter().any(failed)
        });
        let mut word = pending.outcome.word;
        if let (Some(code), Some(function)) = (failed, pending.function) {
            match function.returns() {
                Returns::Status => word = code.0 as u64,
                Returns::Pointer => word = 0,
                Returns::Through(_) => {
                    put_status(guest, pending.status_at, code);
                    word = 0;
                }
            }
        }
        for event in pending.outcome.until {
            self.unhold_event(event);
        }
        word
    }

    fn all_over(&self, events: &[u64]) -> bool {
        events.iter().all(|event| self.events.held(*event).map_or(true, |event| event.status <= 0))
    }

    fn describe_wait(&self, function: u32, until: &[u64]) -> String {
        if function == SERVE {
            return "something to do for the OpenCL driver".into();
        }
        let name = Function::by_number(function).map_or_else(|| "?".into(), |function| format!("cl{function:?}"));
        let open: Vec<String> = until
            .iter()
            .filter_map(|event| self.events.held(*event).ok().filter(|event| event.status > 0))
            .map(|event| event.to_string())
            .collect();
        format!("{name}, which waits for {}", open.join(", "))
    }
}

fn put_status(guest: &mut dyn GuestMemory, at: VirtAddr, status: Code) {
    if at.0 != 0 {
        // A status pointer that is not mapped is ignored: there is no other way to report it.
        let _ = guest.write(at, &status.0.to_le_bytes());
    }
}

impl Trap for Driver {
    fn see(&mut self, files: View) {
        self.compiler.see(files);
    }

    fn trap(&mut self, args: [u64; 6], thread: Tid, guest: &mut dyn GuestMemory, now: Time) -> Answer {
        let [address, version, ..] = args;
        if version != abi::VERSION {
            self.say(&format!(
                "the program's libOpenCL.a speaks version {version} of the interface to the driver, this cohesim \
                 version {}: link the program with the library that `cohesim sdk DIR` writes",
                abi::VERSION
            ));
            return Answer::Return(abi::REFUSED);
        }
        let Ok(record) = Record::read(guest, VirtAddr(address)) else {
            return if guest.is_waiting() { Answer::Away } else { Answer::Return(abi::REFUSED) };
        };
        let mut token = record.token;
        if token == 0 {
            self.last_call += 1;
            token = self.last_call;
            // The serving thread's call pays no latency: it has been waiting in the driver.
            let length = if record.function == SERVE { Time::ZERO } else { self.settings.costs.call };
            self.entering.insert(token, now + length);
        }
        if let Some(until) = self.entering.get(&token).copied() {
            if now < until {
                return match record.set_token(guest, token) {
                    Ok(()) => Answer::Wait { until, moved: false },
                    Err(_) => Answer::Return(abi::REFUSED),
                };
            }
            if self.holds_back(record.function) {
                return match record.set_token(guest, token) {
                    Ok(()) => {
                        self.waiting
                            .insert(thread, "all commands to end, for the checkpoint before this kernel".into());
                        Answer::Wait { until: Time::NEVER, moved: false }
                    }
                    Err(_) => Answer::Return(abi::REFUSED),
                };
            }
            self.entering.remove(&token);
            return match self.begin(&record, guest, now) {
                Some(pending) => self.go_on(&record, token, pending, guest, thread, now),
                None => {
                    // A call whose record has no token yet starts over.
                    if record.token != 0 {
                        self.entering.insert(token, now);
                    }
                    Answer::Away
                }
            };
        }
        match self.calls.remove(&token) {
            Some(pending) => self.go_on(&record, token, pending, guest, thread, now),
            None => Answer::Return(abi::REFUSED),
        }
    }

    fn work(&mut self, guest: &mut dyn GuestMemory, now: Time, budget: u64) -> u64 {
        let moved = self.pump(guest, now);
        let (executed, ended) = self.run_kernels(guest, now, budget);
        let moved = self.pump(guest, now) || moved || ended;
        executed.max(moved.into())
    }

    fn host_fault(
        &mut self,
        address: VirtAddr,
        write: bool,
        _: Tid,
        guest: &mut dyn GuestMemory,
        now: Time,
    ) -> HostFault {
        self.serve_host(address, write, guest, now)
    }

    fn next_event(&self) -> Time {
        let transfer = self.in_transfer.first().map_or(Time::NEVER, |(time, _)| *time);
        let pages = self.pager.as_ref().map_or(Time::NEVER, Pager::next_event);
        transfer.min(pages).min(self.gpus.next_end())
    }

    fn is_busy(&self) -> bool {
        self.gpus.is_busy()
    }

    fn drain_before(&mut self, kernel: u64) {
        self.drain.before = Some(kernel);
    }

    fn is_drained(&self) -> bool {
        self.is_at_rest()
    }

    fn save(&self, to: &mut Vec<u8>) -> Result<(), String> {
        self.save_state(to)
    }

    fn load(&mut self, from: &mut Reader) -> Read<()> {
        self.load_state(from)
    }

    fn broken(&self) -> Option<String> {
        self.broken.as_ref().map(|Broken(text)| text.clone())
    }

    fn waits_for(&self, thread: Tid) -> String {
        self.waiting.get(&thread).cloned().unwrap_or_else(|| "the OpenCL driver".into())
    }
}
