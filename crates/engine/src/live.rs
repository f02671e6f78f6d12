//! Snapshots of a run in progress, taken from another thread: which context waits for what, and how full its queues are.
//!
//! The threads of the run answer at the start of a round, each for its own partitions, so the answers in a snapshot may
//! be a round apart. A snapshot reads the model and changes nothing: the statistics are those of a run without
//! snapshots. Without a request for one, the cost is two reads of shared flags per round.

use crate::{
    model::Monitor,
    partition::Partition,
    report::{Knowledge, WaitReport},
    time::Time,
};
use serde::Serialize;
use std::{
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// The state of a run at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Snapshot {
    /// Simulated time that the run had reached.
    pub time: Time,
    /// Contexts that are held up. Unlike at the end of a run, contexts are not asked what they need.
    pub waits: WaitReport,
    /// How often contexts have run.
    pub events: u64,
    /// Levels above zero, such as the fill of queues, by path.
    pub levels: Vec<(String, u64)>,
}

/// Requests from outside that threads of a run attend to between rounds.
#[derive(Default)]
pub(crate) struct Attention {
    paused: AtomicBool,
    /// The number of the latest snapshot requested.
    asked: AtomicU64,
    answers: Mutex<Answers>,
    arrived: Condvar,
    /// Held while a snapshot is taken: one at a time.
    looking: Mutex<()>,
}

#[derive(Default)]
struct Answers {
    /// The number of the snapshot that these answers are for.
    look: u64,
    /// Partitions that have not answered yet; none before the first answer, which tells how many there are.
    missing: Option<usize>,
    time: Time,
    events: u64,
    knowledge: Vec<Knowledge>,
    levels: Vec<(String, u64)>,
}

/// Interval at which a paused thread checks whether it may continue.
const NAP: Duration = Duration::from_millis(10);

impl Attention {
    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Monitor {
    /// Halts the run between two rounds, until [`resume`](Monitor::resume) or [`stop`](Monitor::stop).
    pub fn pause(&self) {
        self.attention().paused.store(true, Ordering::Relaxed);
    }

    /// Lets a paused run go on.
    pub fn resume(&self) {
        self.attention().paused.store(false, Ordering::Relaxed);
    }

    /// Whether the run is paused, or will be at the end of its round.
    pub fn is_paused(&self) -> bool {
        self.attention().paused.load(Ordering::Relaxed)
    }

    /// The state of the run between two rounds, if all its threads answer within `patience`. `None` before the run has
    /// begun and after it has ended.
    pub fn look(&self, patience: Duration) -> Option<Snapshot> {
        let attention = self.attention();
        let _one_at_a_time = attention.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answers = attention.answers();
        let look = answers.look + 1;
        *answers = Answers { look, ..Answers::default() };
        attention.asked.store(look, Ordering::Relaxed);
        let open = |answers: &mut Answers| answers.missing != Some(0);
        let waited = attention.arrived.wait_timeout_while(answers, patience, open);
        let (mut answers, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            return None;
        }
        let mut levels = std::mem::take(&mut answers.levels);
        levels.sort();
        let waits = WaitReport::new(answers.time, std::mem::take(&mut answers.knowledge));
        Some(Snapshot { time: answers.time, waits, events: answers.events, levels })
    }

    /// Called by each thread of a run between rounds, with its partitions out of `all`: answers a request for a
    /// snapshot that it has not `answered`, and returns when the run is not paused.
    pub(crate) fn attend(&self, partitions: &[Partition], all: usize, answered: &mut u64) {
        let attention = self.attention();
        loop {
            let asked = attention.asked.load(Ordering::Relaxed);
            if asked != *answered {
                *answered = asked;
                self.answer(partitions, all, asked);
            }
            if !self.is_paused() || self.is_stopped() {
                return;
            }
            thread::sleep(NAP);
        }
    }

    #[cold]
    fn answer(&self, partitions: &[Partition], all: usize, look: u64) {
        let attention = self.attention();
        let mut answers = attention.answers();
        // The requester may have given up and asked again.
        if answers.look != look {
            return;
        }
        for partition in partitions {
            answers.time = answers.time.max(partition.reached());
            answers.events += partition.events();
            answers.knowledge.push(partition.held_up());
            partition.levels(&mut answers.levels);
        }
        let missing = answers.missing.unwrap_or(all) - partitions.len();
        answers.missing = Some(missing);
        if missing == 0 {
            attention.arrived.notify_all();
        }
    }
}
