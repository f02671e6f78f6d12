//! The trace hook: what every context did, and why it waited, in simulated time.
//!
//! The domain records pauses and waits itself, in a copy of its loop that is compiled for runs with a trace. A run
//! without a trace uses the other copy. A context can add instants and spans of its own.

use crate::{context::Scope, core::Core, name::Name, time::Time};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};

/// What a trace contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceSpec {
    /// Maximum number of events; later ones are dropped.
    pub events: usize,
    /// Trace only a part of the time; `None`: all of it.
    pub sample: Option<Sample>,
}

/// A periodic sample: the first `length` of every `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The length of a sample.
    pub length: Time,
    /// From the start of one sample to the start of the next.
    pub period: Time,
}

impl TraceSpec {
    /// A trace of the first `events` events.
    pub const fn of(events: usize) -> TraceSpec {
        TraceSpec { events, sample: None }
    }
}

impl Sample {
    fn has(&self, time: Time) -> bool {
        time.0.checked_rem(self.period.0).is_none_or(|into| into < self.length.0)
    }
}

/// Something that a context did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceEvent {
    /// When it began.
    pub time: Time,
    /// The path of the context.
    pub context: String,
    /// What it did.
    pub what: Activity,
}

/// What a context did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// It paused, that is, it was busy.
    Busy {
        /// The end of the pause.
        until: Time,
    },
    /// It waited for an eventcount.
    Waiting {
        /// The end of the wait.
        until: Time,
        /// The path of the eventcount: the reason for waiting.
        on: String,
    },
    /// A span that the model recorded.
    Span {
        /// Its end.
        until: Time,
        /// The name of the span.
        name: String,
    },
    /// An instant that the model recorded.
    Instant {
        /// The name of the event.
        name: String,
    },
}

/// A trace record in compact form, with cycles and short names.
pub(crate) enum Mark {
    Busy { cycles: u64 },
    Waited { since: u64, on: Name },
    Instant(&'static str),
    Span { since: u64, what: &'static str },
}

struct Note {
    domain: u32,
    cycle: u64,
    context: Name,
    mark: Mark,
}

/// Records the trace of one partition.
pub(crate) struct Recorder {
    notes: RefCell<Vec<Note>>,
    spec: TraceSpec,
    /// The time of the last event that the limit allows. Other events of that time are kept too: which of them are
    /// within the limit depends on the events of other partitions.
    full_at: Cell<Time>,
}

impl Recorder {
    pub(crate) fn new(spec: TraceSpec) -> Recorder {
        Recorder { notes: RefCell::default(), spec, full_at: Cell::new(Time::NEVER) }
    }

    pub(crate) fn record(&self, core: &Core, context: Name, cycle: u64, mark: Mark) {
        let mut notes = self.notes.borrow_mut();
        let time = core.clock.edge(cycle);
        let sampled = self.spec.sample.is_none_or(|sample| sample.has(time));
        if sampled && (notes.len() < self.spec.events || time == self.full_at.get()) {
            notes.push(Note { domain: core.index, cycle, context, mark });
            if notes.len() == self.spec.events {
                self.full_at.set(time);
            }
        }
    }

    /// The trace in readable form, each event with the time at which it was recorded.
    pub(crate) fn events(
        &self,
        edge: impl Fn(u32, u64) -> Time,
        path: impl Fn(Name) -> String,
    ) -> Vec<(Time, TraceEvent)> {
        let event = |note: &Note| {
            let at = |cycle| edge(note.domain, cycle);
            let (start, what) = match note.mark {
                Mark::Busy { cycles } => (note.cycle, Activity::Busy { until: at(note.cycle + cycles) }),
                Mark::Waited { since, on } => (since, Activity::Waiting { until: at(note.cycle), on: path(on) }),
                Mark::Instant(what) => (note.cycle, Activity::Instant { name: what.to_owned() }),
                Mark::Span { since, what } => (since, Activity::Span { until: at(note.cycle), name: what.to_owned() }),
            };
            (at(note.cycle), TraceEvent { time: at(start), context: path(note.context), what })
        };
        self.notes.borrow().iter().map(event).collect()
    }
}

/// Records a mark for the context at `scope`, in its current cycle.
#[cold]
fn record(scope: &Scope, mark: Mark) {
    if let Some(recorder) = &scope.core.shared.recorder {
        recorder.record(&scope.core, scope.name, scope.core.cycle(), mark);
    }
}

#[cold]
pub(crate) fn instant(scope: &Scope, what: &'static str) {
    record(scope, Mark::Instant(what));
}

/// Merges the traces of all partitions: the first `limit` recorded events, in the order (start, context). No partition
/// has dropped one of those, and neither order depends on where the model was cut.
pub(crate) fn merge(mut events: Vec<(Time, TraceEvent)>, limit: usize) -> Vec<TraceEvent> {
    events.sort_by(|(time, event), (time2, event2)| (time, &event.context).cmp(&(time2, &event2.context)));
    events.truncate(limit);
    let mut events: Vec<TraceEvent> = events.into_iter().map(|(_, event)| event).collect();
    events.sort_by(|a, b| (a.time, &a.context).cmp(&(b.time, &b.context)));
    events
}

/// An open span, recorded when it is dropped.
#[must_use = "a span ends when it is dropped"]
pub struct Span<'a> {
    scope: &'a Scope,
    what: &'static str,
    since: u64,
}

impl<'a> Span<'a> {
    #[inline]
    pub(crate) fn new(scope: &'a Scope, what: &'static str) -> Span<'a> {
        Span { scope, what, since: scope.core.now.get() }
    }
}

impl Drop for Span<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.scope.core.tracing {
            record(self.scope, Mark::Span { since: self.since, what: self.what });
        }
    }
}
