//! A host outside the machine, as part of the model: it executes a program at one instruction per nanosecond.
//!
//! The host executes a turn of the program at once, and then waits until simulated time reaches the end of that turn.
//! Turns are short while kernels or transfers are in flight, because the program may be notified of their end. A call
//! that gives the GPUs work ends a turn. While all threads wait, the host waits for the next timer or for the GPUs.

use super::{Finish, ModelGpus};
use dram::HostBytes;
use engine::{Context, EventCount, Time};
use interconnect::Reporter;
use mem::{Block, Frames, LINE, LineAddr, PAGE, PhysAddr, Seen};
use os::{
    Process, Tid,
    opencl::{Usage, gpu::Gpus},
    process::{End, Turn},
};
use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::{Arc, Mutex},
};

/// Instructions of a turn while devices are busy.
const SHORT_TURN: u64 = 1000;

/// The host's process, shared with other elements of its partition. Clones refer to one process.
#[derive(Clone)]
pub struct OutsideProcess(Rc<RefCell<State>>);

struct State {
    process: Process,
    usage: Rc<RefCell<Usage>>,
    gpus: ModelGpus,
    finish: Arc<Mutex<Option<Finish>>>,
    drained: Arc<Mutex<Option<Drained>>>,
}

/// A run that has ended where it drains.
pub struct Drained {
    /// The state of the process; fails if it can't be saved.
    pub state: Result<Vec<u8>, String>,
    /// The memory of the process. Of GPUs' memories it may hold old bytes.
    pub frames: Frames,
    pub kernel_time: Time,
    /// Whether addresses of GPUs' memories begin at 0.
    pub apart: bool,
}

impl State {
    fn note(&mut self, end: End, threads: Vec<(Tid, String)>) {
        let (totals, usage) = (self.process.totals(), self.usage.borrow().clone());
        let mut finish = self.finish.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        finish.get_or_insert(Finish { end, totals, usage, kernel_time: self.gpus.kernel_time(), threads });
    }
}

impl Drop for State {
    /// A run that ends before the program does still has its totals.
    fn drop(&mut self) {
        let (time, threads) = (self.process.totals().time, self.process.whereabouts());
        self.note(End::Interrupted { time }, threads);
    }
}

impl OutsideProcess {
    pub fn new(
        process: Process,
        usage: Rc<RefCell<Usage>>,
        gpus: ModelGpus,
        finish: Arc<Mutex<Option<Finish>>>,
        drained: Arc<Mutex<Option<Drained>>>,
    ) -> Self {
        Self(Rc::new(RefCell::new(State { process, usage, gpus, finish, drained })))
    }

    /// Hands the drained process over to the next part of the run.
    fn hand_over(&self) {
        let mut state = self.0.borrow_mut();
        let (kernel_time, apart) = (state.gpus.kernel_time(), state.gpus.are_apart());
        let saved = state.process.save();
        let frames = std::mem::take(state.process.space.frames_mut());
        let mut drained = state.drained.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *drained = Some(Drained { state: saved, frames, kernel_time, apart });
    }

    /// Calls `look` with the process.
    pub fn with<T>(&self, look: impl FnOnce(&mut Process) -> T) -> T {
        look(&mut self.0.borrow_mut().process)
    }
}

/// The host's memory.
impl HostBytes for OutsideProcess {
    fn read(&self, at: PhysAddr, bytes: &mut [u8]) {
        self.with(|process| process.space.frames().read(at, bytes));
    }

    fn write(&self, at: PhysAddr, bytes: &[u8]) {
        self.with(|process| process.space.frames_mut().write(at, bytes));
    }
}

/// The host's memory, for elements that are built before the process is started.
#[derive(Default)]
pub struct HostMemory(OnceCell<OutsideProcess>);

impl HostMemory {
    pub fn is_of(&self, process: &OutsideProcess) {
        assert!(self.0.set(process.clone()).is_ok(), "a host has one process");
    }

    fn process(&self) -> &OutsideProcess {
        self.0.get().expect("the process is started before anything runs")
    }
}

impl HostBytes for HostMemory {
    fn read(&self, at: PhysAddr, bytes: &mut [u8]) {
        self.process().read(at, bytes);
    }

    fn write(&self, at: PhysAddr, bytes: &[u8]) {
        self.process().write(at, bytes);
    }
}

/// Reports the program's writes to the golden image, for pages of the host that kernels can access.
pub struct HostAudit {
    reporter: Reporter,
    /// The contents that the image knows.
    known: BTreeMap<PhysAddr, Vec<u8>>,
}

impl HostAudit {
    pub fn new(reporter: Reporter) -> Self {
        Self { reporter, known: BTreeMap::new() }
    }

    /// Takes over the contents of pages that the host has received from GPUs, which are not writes of the host.
    fn rebase(&mut self, process: &OutsideProcess, pages: &[PhysAddr]) {
        for page in pages {
            let known = self.known.entry(*page).or_insert_with(|| vec![0; PAGE as usize]);
            process.read(*page, known);
        }
    }

    /// Reports changes in these pages. `quiet`: no kernel runs, so the next kernel sees these writes.
    fn look(&mut self, process: &OutsideProcess, pages: &BTreeSet<PhysAddr>, quiet: bool) {
        let (mut bytes, mut told) = (vec![0; PAGE as usize], false);
        for page in pages {
            process.read(*page, &mut bytes);
            let known = self.known.entry(*page).or_insert_with(|| vec![0; PAGE as usize]);
            let (now, before) = (bytes.as_chunks::<LINE>().0, known.as_chunks::<LINE>().0);
            for (number, (now, _)) in now.iter().zip(before).enumerate().filter(|(_, (now, before))| now != before) {
                let line = LineAddr(page.0 + (number * LINE) as u64);
                [Seen::Wrote(Block::full(*now)), Seen::Landed(Block::full(*now))]
                    .into_iter()
                    .for_each(|seen| self.reporter.tell(line, seen));
                told = true;
            }
            known.copy_from_slice(&bytes);
        }
        if told && quiet {
            self.reporter.tell(LineAddr(0), Seen::Synchronised);
        }
    }
}

/// The element that executes the process.
pub struct Outside {
    process: OutsideProcess,
    gpus: ModelGpus,
    /// Advanced when a kernel or a transfer has ended.
    bell: EventCount,
    audit: Option<HostAudit>,
}

impl Outside {
    pub fn new(process: OutsideProcess, gpus: ModelGpus, bell: EventCount, audit: Option<HostAudit>) -> Self {
        gpus.ring(vec![bell.clone()]);
        gpus.begin(process.with(|process| process.now()));
        Self { process, gpus, bell, audit }
    }

    pub async fn run(mut self, cx: Context) {
        let begun = self.process.with(|process| process.now());
        loop {
            if self.process.with(|process| process.is_drained()) {
                self.gpus.drain().await;
                return self.process.hand_over();
            }
            let seen = self.bell.count();
            let (now, attention) = (begun + cx.time(), self.gpus.take_attention());
            let taken = self.gpus.take_taken();
            if let Some(audit) = &mut self.audit {
                audit.rebase(&self.process, &taken);
            }
            let most = if self.gpus.is_busy() { SHORT_TURN } else { u64::MAX };
            let turn = self.process.with(|process| {
                let stop = || self.gpus.has_orders();
                process.turn_at(now, most, attention, &stop)
            });
            match turn {
                Turn::Ran => {
                    let until = self.process.with(|process| process.now());
                    let cycles = self.cycles_until(until, begun, &cx);
                    if cycles > 0 {
                        cx.pause(cycles).await;
                    }
                    if let Some(audit) = self.audit.as_mut().filter(|_| self.gpus.has_orders()) {
                        self.gpus.with_host_pages(|pages, quiet| audit.look(&self.process, pages, quiet));
                    }
                    self.gpus.release_all();
                }
                Turn::Waits { until: Time::NEVER } => self.bell.wait(seen + 1).await,
                Turn::Waits { until } => match self.cycles_until(until, begun, &cx) {
                    0 => {}
                    cycles => _ = self.bell.wait_for(seen + 1, cycles).await,
                },
                Turn::Ended(end) => return self.process.0.borrow_mut().note(end, Vec::new()),
            }
        }
    }

    /// Cycles until the program's clock reaches `until`.
    fn cycles_until(&self, until: Time, begun: Time, cx: &Context) -> u64 {
        cx.cycle_at(Time(until.0.saturating_sub(begun.0))).0.saturating_sub(cx.now().0)
    }
}
