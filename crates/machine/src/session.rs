//! A machine that executes kernels for a host outside it.
//!
//! The machine lives as long as the host's program: caches keep their lines from one kernel to the next. The model runs
//! on its own threads. When the front end is idle it waits for the next command in the host's time, not in simulated
//! time. The whole machine is then at rest, so the host may read and write its memory. The machine's behaviour depends
//! only on the commands and their simulated times.

use crate::{
    build::{self, Agents, Memories},
    checkpoint::Checkpoints,
    golden::Kept,
    program::{FrontEnd, Job},
    spec::Machine,
};
use engine::{Context, EventCount, Monitor, Outcome, Run, RunOptions, Time, TraceSpec};
use gpu::{AddressMap, Kernel};
use interconnect::Reporter;
use mem::{Block, Frames, LINE, LineAddr, PhysAddr, Seen};
use os::forward::FastForward;
use std::{
    cell::Cell,
    collections::BTreeMap,
    panic::resume_unwind,
    rc::Rc,
    sync::{
        Arc,
        mpsc::{self, Receiver, Sender},
    },
    thread::{self, JoinHandle},
};

#[derive(Clone, Default)]
pub struct Options {
    /// Number of threads; 0 means 1. Results do not depend on it.
    pub threads: usize,
    /// Compare every read with the golden image.
    pub check: bool,
    /// The trace to record.
    pub trace: Option<TraceSpec>,
    /// Simulated time at which the run is stopped, if it is not over before.
    pub until: Option<Time>,
    /// Where the timed part of the program begins; `None`: at its first instruction.
    pub forward: Option<FastForward>,
    /// Observes and stops the run from outside.
    pub monitor: Monitor,
    /// The kernels before which the run drains, and the checkpoint from which it starts ([`crate::run_in_parts`]).
    pub checkpoints: Checkpoints,
    /// Thread counts for which the run reports an upper bound of the speed-up over one thread.
    pub scaling: Vec<usize>,
    /// Whether the process ends after this run, so that the memory of the model need not be freed.
    pub last: bool,
}

/// A kernel to run. Its workgroups are distributed over all GPUs in turn.
pub struct Launch {
    pub kernel: Kernel,
    /// The memory regions that the kernel may access.
    pub map: Arc<AddressMap>,
    /// When the front end receives the command; a time in the past means now.
    pub at: Time,
}

/// Name of the statistics region that warms the caches and is not measured. No kernel has this name.
pub const WARM_UP: &str = "warm-up";

/// When a kernel was started, and when all its writes were visible to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    pub start: Time,
    pub end: Time,
}

/// The run ended before the kernel did.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the run ended before the kernel did: {0}")]
pub struct Broken(pub Box<Outcome>);

/// A command to the front end.
pub(crate) struct Command {
    launch: Launch,
    /// The lines that the host has written since the last command, for the golden image.
    written: Vec<(LineAddr, Block<LINE>)>,
    /// Whether caches must invalidate lines because the host has changed them.
    forget: bool,
}

/// The machine's side of the connection to the host.
pub(crate) struct Host {
    pub commands: Receiver<Command>,
    pub ended: Sender<Ended>,
    pub front_end: FrontEnd,
    /// Advanced when a kernel has ended.
    pub over: EventCount,
    pub observer: Option<Reporter>,
}

/// A machine that is idle between calls of [`Session::launch`].
pub struct Session {
    commands: Option<Sender<Command>>,
    ended: Receiver<Ended>,
    thread: Option<JoinHandle<Run>>,
    /// The run, if it is already over.
    over: Option<Run>,
    memories: Memories,
    check: Option<Kept>,
    written: Vec<(LineAddr, Block<LINE>)>,
    changed: bool,
    /// Regions that kernels could access so far, whose lines caches may hold.
    touched: Touched,
}

/// Watchdog limit: Number of steps of the model's elements, without an instruction issued, a request answered or a line
/// flushed, after which the run counts as stuck. Each of these events causes a bounded amount of work, far below this
/// limit even in the largest machines. Waiting takes no steps, however long it lasts.
const STUCK: u64 = 10_000_000;

/// The engine's options for running a machine.
pub(crate) fn run_options(options: &Options) -> RunOptions {
    RunOptions {
        threads: options.threads.max(1),
        watchdog: Some(STUCK),
        until: options.until.unwrap_or(Time::NEVER),
        trace: options.trace,
        monitor: options.monitor.clone(),
        scaling: options.scaling.clone(),
        leave: options.last,
        ..RunOptions::default()
    }
}

impl Options {
    /// The machine, cut for the largest number of threads that the run is about.
    pub(crate) fn cut(&self, machine: &Machine) -> Machine {
        machine.cut_for(self.scaling.iter().copied().fold(self.threads, usize::max))
    }
}

/// Why some machines can run only whole programs.
const COPIES: &str = "GPUs of this machine keep copies of the host's memory, which only the driver of a program takes back: run a program \
                      (`cohesim run`) instead of a kernel by itself";

impl Session {
    /// Builds the machine, with empty memory.
    pub fn start(machine: &Machine, options: &Options) -> Self {
        let (commands, obeyed) = mpsc::channel();
        let (tell, ended) = mpsc::channel();
        let machine = &options.cut(machine);
        let memories = Memories::new(machine);
        let kept = options.check.then(Kept::default);
        let model = build::build(machine, &memories, kept.clone(), Agents::Host(obeyed, tell));
        let run_options = run_options(options);
        let refuse = |message| (None, Some(refused(message)));
        let (thread, over) = match machine.serves_rust_hosts() {
            false => refuse(COPIES.to_owned()),
            true => match thread::Builder::new().spawn(move || model.run(&run_options)) {
                Ok(thread) => (Some(thread), None),
                Err(error) => {
                    refuse(format!("the operating system refuses to start a thread for the machine: {error}"))
                }
            },
        };
        let (commands, written) = (thread.is_some().then_some(commands), Vec::new());
        Self {
            commands,
            ended,
            thread,
            over,
            memories,
            check: kept,
            written,
            changed: false,
            touched: Touched::default(),
        }
    }

    /// Runs a kernel to completion.
    pub fn launch(&mut self, launch: Launch) -> Result<Ended, Broken> {
        let (written, forget) = (std::mem::take(&mut self.written), std::mem::take(&mut self.changed));
        launch.map.regions().for_each(|(start, end)| self.touched.add(start, end));
        let command = Command { launch, written, forget };
        let told = self.commands.as_ref().is_some_and(|commands| commands.send(command).is_ok());
        match self.ended.recv() {
            Ok(ended) if told => Ok(ended),
            _ => Err(Broken(Box::new(self.join().outcome.clone()))),
        }
    }

    /// Copies bytes out of the machine's memory.
    pub fn read(&self, address: PhysAddr, bytes: &mut [u8]) {
        self.memories.read(address, bytes);
    }

    /// Copies bytes into the machine's memory. Caches that may hold these lines invalidate them before the next kernel
    /// starts.
    pub fn write(&mut self, address: PhysAddr, bytes: &[u8]) {
        self.memories.write(address, bytes);
        self.changed |= self.touched.meets(address.0, address.0 + bytes.len() as u64);
        if self.check.is_some() {
            self.written.extend(lines(address, bytes));
        }
    }

    /// The contents of the machine's memory.
    pub fn memory(&self) -> Frames {
        self.memories.all()
    }

    pub fn finish(mut self) -> Run {
        let mut run = self.join().clone();
        if run.outcome == Outcome::Finished
            && let Some(Err(message)) = self.check.as_ref().map(|kept| kept.compare(&self.memory()))
        {
            run.outcome = Outcome::Failed { time: run.end, context: "check".to_owned(), message };
        }
        run
    }

    fn join(&mut self) -> &Run {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            self.over = Some(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        self.over.as_ref().expect("a run that has no thread is over")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !thread::panicking()
        {
            panic!("the machine's thread has panicked");
        }
    }
}

/// The result of a run that never started.
fn refused(message: String) -> Run {
    let outcome = Outcome::Failed { time: Time::ZERO, context: "host".to_owned(), message };
    Run {
        outcome,
        end: Time::ZERO,
        regions: Vec::new(),
        trace: Vec::new(),
        events: 0,
        pressure: Vec::new(),
        scaling: Vec::new(),
    }
}

/// Address ranges: start to end.
#[derive(Default)]
struct Touched(BTreeMap<u64, u64>);

impl Touched {
    fn add(&mut self, start: u64, end: u64) {
        let (mut low, mut high) = (start, end);
        while let Some((&other, &ends)) = self.0.range(..=high).next_back().filter(|(_, ends)| **ends >= low) {
            self.0.remove(&other);
            (low, high) = (low.min(other), high.max(ends));
        }
        self.0.insert(low, high);
    }

    /// Whether any line that these bytes touch overlaps a range.
    fn meets(&self, start: u64, end: u64) -> bool {
        let line = LINE as u64;
        let (start, end) = (start / line * line, end.next_multiple_of(line));
        self.0.range(..end).next_back().is_some_and(|(_, ends)| *ends > start)
    }
}

/// The bytes, split at line boundaries.
fn lines(address: PhysAddr, bytes: &[u8]) -> impl Iterator<Item = (LineAddr, Block<LINE>)> {
    let first = address.0 / LINE as u64 * LINE as u64;
    (first..address.0 + bytes.len() as u64).step_by(LINE).map(move |line| {
        let mut block = Block::EMPTY;
        for place in line.max(address.0)..(line + LINE as u64).min(address.0 + bytes.len() as u64) {
            block.set((place - line) as usize, bytes[(place - address.0) as usize]);
        }
        (LineAddr(line), block)
    })
}

impl Host {
    /// Executes kernels, one at a time.
    pub async fn run(self, cx: Context) {
        let mut launched = 0;
        while let Ok(Command { launch, written, forget }) = self.commands.recv() {
            wait_until(launch.at, &cx).await;
            if !written.is_empty() {
                for (line, block) in written {
                    self.tell(line, Seen::Wrote(block));
                    self.tell(line, Seen::Landed(block));
                }
                self.tell(LineAddr(0), Seen::Synchronised);
            }
            let Launch { kernel, map, .. } = launch;
            let (over, ended) = (self.over.clone(), Rc::new(Cell::new(None)));
            let told = Rc::clone(&ended);
            self.front_end.submit(Job {
                kernel,
                maps: vec![map],
                gpu: None,
                others_wrote: forget,
                touched: Vec::new(),
                reached: Vec::new(),
                flushes: false,
                warm_up: false,
                over: Box::new(move |start, end| {
                    told.set(Some(Ended { start, end }));
                    over.advance();
                }),
            });
            launched += 1;
            self.over.wait(launched).await;
            let ended = ended.get().expect("its end has been told");
            if self.ended.send(ended).is_err() {
                return;
            }
        }
    }

    fn tell(&self, line: LineAddr, seen: Seen) {
        if let Some(observer) = &self.observer {
            observer.tell(line, seen);
        }
    }
}

/// Waits until this simulated time.
async fn wait_until(at: Time, cx: &Context) {
    let cycles = cx.cycle_at(at).0.saturating_sub(cx.now().0);
    if cycles > 0 {
        cx.pause(cycles).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_that_meet_are_merged() {
        let mut touched = Touched::default();
        for (start, end) in [(0x1000, 0x2000), (0x4000, 0x5000), (0x2000, 0x3000), (0x4800, 0x6000)] {
            touched.add(start, end);
        }
        assert_eq!(touched.0.into_iter().collect::<Vec<_>>(), [(0x1000, 0x3000), (0x4000, 0x6000)]);
    }

    #[test]
    fn a_write_to_a_line_of_which_a_byte_was_touched_meets_it() {
        let mut touched = Touched::default();
        touched.add(0x1004, 0x1008);
        assert!(touched.meets(0x1000, 0x1001) && touched.meets(0x103f, 0x1040) && touched.meets(0, 0x10000));
        assert!(!touched.meets(0x1040, 0x2000) && !touched.meets(0, 0x1000));
    }
}
