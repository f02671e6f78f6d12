//! A model (clocks, links and partitions), the options of a run, and its result.

use crate::{
    deal::Share,
    journal::{self, Audit, Auditor, Journal},
    link::{self, LinkReceiver, LinkSender, LinkSpec, Placed},
    live::Attention,
    partition::Partition,
    pressure::Pressure,
    report::WaitReport,
    scaling::Scaling,
    stats::{Region, Statistics},
    time::{Clock, Hertz, Time},
    trace::{TraceEvent, TraceSpec},
    workers,
};
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// A clock of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockId(pub(crate) u32);

pub(crate) type Build = Box<dyn FnOnce(&Partition) + Send>;

/// A model to be run.
#[derive(Default)]
pub struct Model {
    pub(crate) clocks: Vec<Hertz>,
    pub(crate) links: Vec<Arc<dyn Placed>>,
    pub(crate) shortest_link: Option<Time>,
    pub(crate) control_delay: Option<Time>,
    pub(crate) partitions: Vec<Build>,
    /// One for each partition.
    pub(crate) shares: Vec<Share>,
    pub(crate) audits: Vec<Box<dyn Audit>>,
}

/// The options of a run.
#[derive(Clone)]
pub struct RunOptions {
    /// Number of threads. At most one per partition is started. If the operating system refuses to start some, the
    /// others take over their work.
    pub threads: usize,
    /// Time limit of the run.
    pub until: Time,
    /// Ends the run as stuck when contexts have run this many times since one of them last reported
    /// [`progress`](crate::Context::progress). Idle time does not count, however long it is.
    pub watchdog: Option<u64>,
    /// Number of wake-ups within one cycle of one clock domain that counts as a livelock.
    pub delta_limit: usize,
    /// Take a trace.
    pub trace: Option<TraceSpec>,
    /// Watches and stops the run from outside.
    pub monitor: Monitor,
    /// Compute an upper bound of the speedup for each of these numbers of threads ([`Run::scaling`]), whatever the
    /// number of threads of the run itself. Empty by default, because counting takes time.
    pub scaling: Vec<usize>,
    /// Whether the memory of the model is left to the operating system when the run has finished, instead of freed
    /// piece by piece: for a run at whose end the process ends, too. Nothing of the model is then dropped.
    pub leave: bool,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            threads: 1,
            until: Time::NEVER,
            watchdog: None,
            delta_limit: 1_000_000,
            trace: None,
            monitor: Monitor::default(),
            scaling: Vec::new(),
            leave: false,
        }
    }
}

/// A view of a run from outside: its current time, what waits for what, and ways to pause and to stop it. Clones are
/// handles to the same run.
#[derive(Clone, Default)]
pub struct Monitor(Arc<Watched>);

#[derive(Default)]
struct Watched {
    stop: AtomicBool,
    time: AtomicU64,
    /// When the next context runs, as of the last window.
    next: AtomicU64,
    /// Pieces of work, as contexts report them.
    expected: AtomicU64,
    done: AtomicU64,
    /// Work of programs, as the parts of the model that run them report it: instructions, wavefront instructions,
    /// kernels.
    programs: [AtomicU64; 3],
    attention: Attention,
}

/// Work that the programs of a run have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headway {
    /// Instructions of host code.
    pub instructions: u64,
    /// Wavefront instructions executed functionally, without timing.
    pub wave_instructions: u64,
    /// Kernels started.
    pub kernels: u64,
}

impl Monitor {
    /// Ends the run soon; what it has measured so far is kept.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// Whether [`stop`](Monitor::stop) has been called.
    pub fn is_stopped(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }

    /// The simulated time that the run has reached.
    pub fn time(&self) -> Time {
        Time(self.0.time.load(Ordering::Relaxed))
    }

    /// The time of the next event, if the model is idle until then.
    pub fn idle_until(&self) -> Option<Time> {
        let next = Time(self.0.next.load(Ordering::Relaxed));
        (next > self.time() && next != Time::NEVER).then_some(next)
    }

    /// Completed and expected pieces of work, as known so far.
    pub fn work(&self) -> (u64, u64) {
        (self.0.done.load(Ordering::Relaxed), self.0.expected.load(Ordering::Relaxed))
    }

    /// What the programs of the run have done so far.
    pub fn headway(&self) -> Headway {
        let [instructions, wave_instructions, kernels] = &self.0.programs;
        let read = |counted: &AtomicU64| counted.load(Ordering::Relaxed);
        let (instructions, wave_instructions) = (read(instructions), read(wave_instructions));
        Headway { instructions, wave_instructions, kernels: read(kernels) }
    }

    /// Adds work that a program has done since its last report.
    pub fn add(&self, Headway { instructions, wave_instructions, kernels }: Headway) {
        for (counted, more) in self.0.programs.iter().zip([instructions, wave_instructions, kernels]) {
            counted.fetch_add(more, Ordering::Relaxed);
        }
    }

    pub(crate) fn attention(&self) -> &Attention {
        &self.0.attention
    }

    pub(crate) fn expect(&self, pieces: u64) {
        self.0.expected.fetch_add(pieces, Ordering::Relaxed);
    }

    pub(crate) fn did(&self, pieces: u64) {
        self.0.done.fetch_add(pieces, Ordering::Relaxed);
    }

    pub(crate) fn note(&self, time: Time) {
        self.0.time.store(time.0, Ordering::Relaxed);
    }

    pub(crate) fn note_next(&self, time: Time) {
        self.0.next.store(time.0, Ordering::Relaxed);
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing is left to do, and no context is blocked.
    Finished,
    /// The model requested the end.
    Stopped,
    /// The time set by [`RunOptions::until`] is reached.
    TimeLimit,
    /// Stopped from outside, by [`Monitor::stop`].
    Interrupted,
    /// Nothing can run, and a context is blocked.
    Deadlock(WaitReport),
    /// Contexts wake each other without end in one cycle.
    Livelock {
        /// When it happened.
        time: Time,
        /// The paths of the contexts.
        contexts: Vec<String>,
    },
    /// Contexts keep running, but none has reported progress.
    Stuck(WaitReport),
    /// A context or an auditor reported an error.
    Failed {
        /// When the error was reported.
        time: Time,
        /// The path of the context, or the name of the auditor.
        context: String,
        /// Describes the error.
        message: String,
    },
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Finished => write!(f, "finished"),
            Outcome::Stopped => write!(f, "stopped by the model"),
            Outcome::TimeLimit => write!(f, "stopped at the time limit"),
            Outcome::Interrupted => write!(f, "interrupted"),
            Outcome::Deadlock(report) => write!(f, "deadlock: {report}"),
            Outcome::Livelock { time, contexts } => {
                write!(f, "livelock: at {time}, these wake each other without end: {}", contexts.join(", "))
            }
            Outcome::Stuck(report) => write!(f, "no progress: {report}"),
            Outcome::Failed { time, context, message } => write!(f, "{context} failed at {time}: {message}"),
        }
    }
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// How it ended.
    pub outcome: Outcome,
    /// The first instant that was not simulated.
    pub end: Time,
    /// The regions of the run, in order.
    pub regions: Vec<Region>,
    /// The trace, if the options request one.
    pub trace: Vec<TraceEvent>,
    /// How many times a context has run.
    pub events: u64,
    /// `events` and the peak load of each region.
    pub pressure: Vec<Pressure>,
    /// Upper bounds of the speedup, one for each number of threads in [`RunOptions::scaling`].
    #[serde(default)]
    pub scaling: Vec<Scaling>,
}

impl Run {
    /// The statistics of all regions together.
    pub fn total(&self) -> Statistics {
        let mut regions = self.regions.iter().map(|region| &region.statistics);
        let mut total = regions.next().cloned().unwrap_or_default();
        regions.for_each(|statistics| total.add(statistics));
        total
    }
}

impl Model {
    /// An empty model.
    pub fn new() -> Model {
        Model::default()
    }

    /// Declares a clock. Among simultaneous edges, clocks declared first run first.
    pub fn clock(&mut self, rate: Hertz) -> ClockId {
        _ = Clock::new(rate);
        self.clocks.push(rate);
        ClockId(self.clocks.len() as u32 - 1)
    }

    /// Declares a link and returns its ends, to be placed in the partitions they belong to. Among simultaneous
    /// deliveries, links declared first deliver first.
    pub fn link<T: Send + 'static>(
        &mut self,
        name: impl Into<String>,
        spec: LinkSpec,
    ) -> (LinkSender<T>, LinkReceiver<T>) {
        let (sender, receiver, placed) = link::link(name.into(), self.links.len() as u32, spec);
        self.links.push(placed);
        self.shortest_link = Some(self.shortest_link.map_or(spec.latency, |shortest| shortest.min(spec.latency)));
        (sender, receiver)
    }

    /// Sets the delay until a new region, a stop or a failure takes effect after the request
    /// ([`Context::region`](crate::Context::region)). No partition runs longer than this without synchronising with the
    /// others. The default is the latency of the shortest link of the model; without links, one cycle of the fastest
    /// clock.
    ///
    /// # Panics
    ///
    /// If the delay is 0: no partition could learn in time what another has requested.
    pub fn control_delay(&mut self, delay: Time) {
        assert!(delay > Time::ZERO, "control requests of a model take effect after a delay, which must not be 0");
        self.control_delay = Some(delay);
    }

    /// Declares the auditor of a journal. Its name appears in the outcome of a run that it ends. Pass the journal to
    /// the scopes that write into it ([`Scope::pen`](crate::Scope::pen)).
    pub fn audit<T: Send + 'static>(
        &mut self,
        name: impl Into<String>,
        journal: Journal<T>,
        auditor: impl Auditor<T> + 'static,
    ) {
        self.audits.push(journal::audited(name.into(), journal, auditor));
    }

    /// Adds a partition; `build` is called in the thread that will run it.
    pub fn partition(&mut self, build: impl FnOnce(&Partition) + Send + 'static) {
        self.partition_with(Share::default(), build);
    }

    /// Adds a partition with its share of the work, by which partitions are dealt to threads.
    pub fn partition_with(&mut self, share: Share, build: impl FnOnce(&Partition) + Send + 'static) {
        self.partitions.push(Box::new(build));
        self.shares.push(share);
    }

    /// Builds and runs the model. If the builder of a partition [gives up](Partition::give_up), nothing runs and the
    /// outcome is [`Outcome::Stopped`].
    ///
    /// # Panics
    ///
    /// If a context panics, or the model is built wrong: a link with a loose end, two statistics of one name.
    pub fn run(self, options: &RunOptions) -> Run {
        workers::run(self, options)
    }
}
