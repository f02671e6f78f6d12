//! A machine that is given work by a host outside of it.
//!
//! It lives as long as a program does: caches keep what they hold from one kernel to the next. The model runs in threads of
//! its own. When its front end has nothing to do it waits, in the host's time and not in simulated time, for the next
//! command; everything in the machine is at rest then, so the host may look at its memory and change it. What the machine
//! does depends on the commands and their simulated times only.

use crate::{
    build::{self, Agents, Memories},
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

/// How a machine is run.
#[derive(Clone, Default)]
pub struct Options {
    /// Threads to run in; none are as good as one. The result does not depend on it.
    pub threads: usize,
    /// Compare every read with the golden image.
    pub check: bool,
    /// The trace to be taken.
    pub trace: Option<TraceSpec>,
    /// When the run ends if it is not over before.
    pub until: Option<Time>,
    /// Where the program's part in time begins; none: with its first instruction.
    pub forward: Option<FastForward>,
    /// To watch and stop the run from outside.
    pub monitor: Monitor,
    /// Numbers of threads of which the run is to tell how much faster than one they could be at most.
    pub scaling: Vec<usize>,
}

/// A kernel that is to run, its workgroups dealt over all GPUs in turn.
pub struct Launch {
    pub kernel: Kernel,
    /// What it may touch.
    pub map: Arc<AddressMap>,
    /// When the front end is given the command; in the past: at once.
    pub at: Time,
}

/// The region of the statistics in which caches are warmed, which is not measured. No kernel has this name.
pub const WARM_UP: &str = "warm-up";

/// When a kernel was started, and when everything it wrote was where the host can see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    pub start: Time,
    pub end: Time,
}

/// The run has come to an end before the kernel has.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the machine did not come to the kernel's end: {0}")]
pub struct Broken(pub Box<Outcome>);

/// What the front end is told.
pub(crate) struct Command {
    launch: Launch,
    /// What the host has written since the last one, for whoever checks the run.
    written: Vec<(LineAddr, Block<LINE>)>,
    /// Whether it has written anything.
    forget: bool,
}

/// The machine's side of the host.
pub(crate) struct Host {
    pub commands: Receiver<Command>,
    pub ended: Sender<Ended>,
    pub front_end: FrontEnd,
    /// Advanced when a kernel is over.
    pub over: EventCount,
    pub observer: Option<Reporter>,
}

/// A machine at rest, or (while [`Session::launch`] is called) at work.
pub struct Session {
    commands: Option<Sender<Command>>,
    ended: Receiver<Ended>,
    thread: Option<JoinHandle<Run>>,
    /// The run, if it is over already.
    over: Option<Run>,
    memories: Memories,
    check: Option<Kept>,
    written: Vec<(LineAddr, Block<LINE>)>,
    changed: bool,
    /// What kernels so far could touch, and caches may hold.
    touched: Touched,
}

/// A machine is stuck when its elements have run this many times since an instruction was last issued, a request of one answered,
/// or a line flushed. Each of these is followed by a bounded amount of work, which is much less even in the largest machines, and
/// waiting, however long, is no work.
const STUCK: u64 = 10_000_000;

/// How the engine is to run a machine.
pub(crate) fn run_options(options: &Options) -> RunOptions {
    RunOptions {
        threads: options.threads.max(1),
        watchdog: Some(STUCK),
        until: options.until.unwrap_or(Time::NEVER),
        trace: options.trace,
        monitor: options.monitor.clone(),
        scaling: options.scaling.clone(),
        ..RunOptions::default()
    }
}

/// Why some machines run programs only.
const COPIES: &str = "GPUs of this machine keep copies of the host's memory, which only the driver of a program takes back: run a program \
                      (`cohesim run`) instead of a kernel by itself";

impl Session {
    /// Builds the machine; its memory is empty.
    pub fn start(machine: &Machine, options: &Options) -> Self {
        let (commands, obeyed) = mpsc::channel();
        let (tell, ended) = mpsc::channel();
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

    /// Runs a kernel to its end.
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

    /// Copies bytes into the machine's memory. If caches may hold what was there they forget it before the next kernel starts.
    pub fn write(&mut self, address: PhysAddr, bytes: &[u8]) {
        self.memories.write(address, bytes);
        self.changed |= self.touched.meets(address.0, address.0 + bytes.len() as u64);
        if self.check.is_some() {
            self.written.extend(lines(address, bytes));
        }
    }

    /// Everything the machine's memory holds.
    pub fn memory(&self) -> Frames {
        self.memories.all()
    }

    /// Ends the run.
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

/// The run of a machine for which there is no thread.
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

/// Ranges of addresses: their starts, and their ends.
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

    /// Whether a line of these bytes lies in any range.
    fn meets(&self, start: u64, end: u64) -> bool {
        let line = LINE as u64;
        let (start, end) = (start / line * line, end.next_multiple_of(line));
        self.0.range(..end).next_back().is_some_and(|(_, ends)| *ends > start)
    }
}

/// Bytes cut at the borders of lines.
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
    /// Has kernels run, one at a time.
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

/// Lets simulated time pass.
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
    fn what_was_touched_grows_together() {
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
