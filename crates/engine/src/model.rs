//! A model: clocks, links and partitions; how it is to be run, and what a run brings.

use crate::{
    deal::Share,
    journal::{self, Audit, Auditor, Journal},
    link::{self, LinkReceiver, LinkSender, LinkSpec, Placed},
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
    /// Of each partition.
    pub(crate) shares: Vec<Share>,
    pub(crate) audits: Vec<Box<dyn Audit>>,
}

/// How a model is to be run.
#[derive(Clone)]
pub struct RunOptions {
    /// How many threads. More than there are partitions do not help and are not started; if the operating system refuses to
    /// start some, the others do their work.
    pub threads: usize,
    /// Where to end, if the model goes on that long.
    pub until: Time,
    /// End the run as stuck when contexts have run this many times since one of them last said
    /// [`progress`](crate::Context::progress). Time in which none runs does not count: it is skipped, however long.
    pub watchdog: Option<u64>,
    /// How many wake-ups within one cycle of one clock domain are a livelock.
    pub delta_limit: usize,
    /// Take a trace.
    pub trace: Option<TraceSpec>,
    /// To watch and stop the run from outside.
    pub monitor: Monitor,
    /// Work out for these numbers of threads how much faster than one they could be at most ([`Run::scaling`]), whatever the number of
    /// threads of the run itself. None by default: to count takes time.
    pub scaling: Vec<usize>,
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
        }
    }
}

/// A view of a run from outside: how far it is, and a way to stop it. Clones watch the same run.
#[derive(Clone, Default)]
pub struct Monitor(Arc<Watched>);

#[derive(Default)]
struct Watched {
    stop: AtomicBool,
    time: AtomicU64,
    /// When the next context runs, as of the last window.
    next: AtomicU64,
    /// Pieces of work, as contexts tell them.
    expected: AtomicU64,
    done: AtomicU64,
    /// What programs have done, as those who run them tell: instructions, instructions of wavefronts, kernels.
    programs: [AtomicU64; 3],
}

/// What programs of a run have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headway {
    /// Instructions of host code.
    pub instructions: u64,
    /// Instructions of wavefronts that ran without time.
    pub wave_instructions: u64,
    /// Kernels that have been started.
    pub kernels: u64,
}

impl Monitor {
    /// Lets the run end soon, with what it has.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the end has been asked for.
    pub fn is_stopped(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }

    /// How far the run is.
    pub fn time(&self) -> Time {
        Time(self.0.time.load(Ordering::Relaxed))
    }

    /// Until when nothing happens in the model, if it is idle now.
    pub fn idle_until(&self) -> Option<Time> {
        let next = Time(self.0.next.load(Ordering::Relaxed));
        (next > self.time() && next != Time::NEVER).then_some(next)
    }

    /// Of the pieces of work that are known so far: how many are done, and how many there are.
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

    /// A program has done this since it told last.
    pub fn add(&self, Headway { instructions, wave_instructions, kernels }: Headway) {
        for (counted, more) in self.0.programs.iter().zip([instructions, wave_instructions, kernels]) {
            counted.fetch_add(more, Ordering::Relaxed);
        }
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
    /// Nothing is left to do, and nobody is held up.
    Finished,
    /// The model asked for the end.
    Stopped,
    /// The time set by [`RunOptions::until`] is reached.
    TimeLimit,
    /// Stopped from outside, by [`Monitor::stop`].
    Interrupted,
    /// Nothing can run, and somebody is held up.
    Deadlock(WaitReport),
    /// Contexts wake each other without end in one cycle.
    Livelock {
        /// When.
        time: Time,
        /// The paths of the contexts.
        contexts: Vec<String>,
    },
    /// Contexts run on and on, but none has said that it makes progress.
    Stuck(WaitReport),
    /// A context said that something is wrong.
    Failed {
        /// When.
        time: Time,
        /// The path of the context.
        context: String,
        /// What is wrong.
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

/// What a run brought.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// How it ended.
    pub outcome: Outcome,
    /// The first instant that was not simulated.
    pub end: Time,
    /// The regions of the run, in order.
    pub regions: Vec<Region>,
    /// The trace, if one was asked for.
    pub trace: Vec<TraceEvent>,
    /// How many times a context has run.
    pub events: u64,
    /// The same of each region.
    pub pressure: Vec<Pressure>,
    /// Bounds of the speedup, for each number of threads that [`RunOptions::scaling`] asks for.
    #[serde(default)]
    pub scaling: Vec<Scaling>,
}

impl Run {
    /// The statistics of all regions together.
    pub fn total(&self) -> Statistics {
        let mut total = Statistics::default();
        self.regions.iter().for_each(|region| total.add(&region.statistics));
        total
    }
}

impl Model {
    /// A model with nothing in it.
    pub fn new() -> Model {
        Model::default()
    }

    /// Declares a clock. Of edges at one time, those of clocks declared first run first.
    pub fn clock(&mut self, rate: Hertz) -> ClockId {
        _ = Clock::new(rate);
        self.clocks.push(rate);
        ClockId(self.clocks.len() as u32 - 1)
    }

    /// Declares a link; take its ends to the partitions they belong to. Of deliveries at one time, those of links
    /// declared first come first.
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

    /// How long after it is asked for a new region, a stop or a failure takes effect ([`Context::region`](crate::Context::region)).
    /// No partition runs longer than this without the others. Unless it is stated, it is the latency of the shortest link of the
    /// model; without links, a cycle of the fastest clock.
    ///
    /// # Panics
    ///
    /// If there is no delay: no partition could learn in time what another has asked for.
    pub fn control_delay(&mut self, delay: Time) {
        assert!(
            delay > Time::ZERO,
            "what a model asks of its run takes effect later, not at once: the delay must not be 0"
        );
        self.control_delay = Some(delay);
    }

    /// Declares the auditor of a journal, whose name stands in the outcome of a run that it ends. Take the journal to the scopes
    /// that write into it.
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

    /// Adds a partition and says what share of the work it has: threads are dealt partitions by that.
    pub fn partition_with(&mut self, share: Share, build: impl FnOnce(&Partition) + Send + 'static) {
        self.partitions.push(Box::new(build));
        self.shares.push(share);
    }

    /// Builds and runs the model. If the builder of a partition [gives up](Partition::give_up), nothing runs and the outcome is
    /// [`Outcome::Stopped`].
    ///
    /// # Panics
    ///
    /// If a context panics, or the model is built wrong: a link with a loose end, two statistics of one name.
    pub fn run(self, options: &RunOptions) -> Run {
        workers::run(self, options)
    }
}
