//! The trace hook: what every context did, and why it waited, in simulated time.
//!
//! The domain notes pauses and waits itself, in a copy of its loop that exists only for runs with a trace; a run without
//! one takes the other copy. A context can add instants and spans of its own.

use crate::{context::Scope, core::Core, name::Name, time::Time};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};

/// Which trace is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceSpec {
    /// No more events than these, the first.
    pub events: usize,
    /// Only a part of the time; none: all of it.
    pub sample: Option<Sample>,
}

/// A part of the time: the first `length` of every `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// How long it is looked at.
    pub length: Time,
    /// From one look to the next.
    pub period: Time,
}

impl TraceSpec {
    /// The first so many events.
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
    /// It paused: it was occupied until then.
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
    /// A span of the model's own.
    Span {
        /// Its end.
        until: Time,
        /// What it was.
        name: String,
    },
    /// An instant of the model's own.
    Instant {
        /// What happened.
        name: String,
    },
}

/// A line of the trace as it is taken down, in cycles and short names.
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

/// Takes the trace of one partition down.
pub(crate) struct Recorder {
    notes: RefCell<Vec<Note>>,
    spec: TraceSpec,
    /// When the last note was taken down that the limit allows. Others of that time are kept too: which of them belong to the
    /// first depends on those of other partitions.
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

    /// The trace in readable form, each event with the time at which it was taken down.
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

/// Takes down a mark of the context whose place is `scope`, in its current cycle.
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

/// Puts the traces of all partitions together: the first `limit` events taken down, in the order (start, context).
/// No partition has dropped one of those, and neither order depends on where the model was cut.
pub(crate) fn merge(mut events: Vec<(Time, TraceEvent)>, limit: usize) -> Vec<TraceEvent> {
    events.sort_by(|(time, event), (time2, event2)| (time, &event.context).cmp(&(time2, &event2.context)));
    events.truncate(limit);
    let mut events: Vec<TraceEvent> = events.into_iter().map(|(_, event)| event).collect();
    events.sort_by(|a, b| (a.time, &a.context).cmp(&(b.time, &b.context)));
    events
}

/// The future end of a span, noted when this is dropped.
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
