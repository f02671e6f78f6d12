//! How often something happens in short spans of equal length, for a mean, a standard deviation and a maximum.
//!
//! A [`Series`](super::Series) has few spans, which get longer over time. Here spans keep their length, and only the
//! distribution of their counts is kept. Spans begin with the region; the last span of a region may be shorter.

use super::registry::{Counter, Histogram};
use crate::{core::Core, time::Time};
use std::{cell::Cell, rc::Rc};

/// Counts per span.
#[derive(Clone)]
pub struct Rate(Rc<RateCells>);

struct RateCells {
    core: Rc<Core>,
    span: Time,
    /// The start of the current span.
    since: Cell<Time>,
    count: Cell<u64>,
    counts: Histogram,
    /// The sum of the squares of the counts.
    squares: Counter,
}

impl Rate {
    pub(super) fn new(core: Rc<Core>, span: Time, counts: Histogram, squares: Counter) -> Rate {
        assert!(span > Time::ZERO, "a rate is counted in spans that last");
        Rate(Rc::new(RateCells { core, span, since: Cell::new(Time::ZERO), count: Cell::new(0), counts, squares }))
    }

    /// Adds `n` to the current span.
    pub fn count(&self, n: u64) {
        self.close_spans(self.0.core.time());
        self.0.count.set(self.0.count.get() + n);
    }

    /// Closes the spans that have ended by `now`.
    fn close_spans(&self, now: Time) {
        let cells = &*self.0;
        let over = (now.0 - cells.since.get().0) / cells.span.0;
        if over > 0 {
            self.close_span();
            cells.counts.record_zeros(over - 1);
            cells.since.set(Time(cells.since.get().0 + over * cells.span.0));
        }
    }

    fn close_span(&self) {
        let count = self.0.count.replace(0);
        self.0.counts.record(count);
        self.0.squares.add(count * count);
    }

    /// Closes the current span at the end of the region.
    pub(super) fn close_region(&self, end: Time) {
        self.close_spans(end);
        if end > self.0.since.get() {
            self.close_span();
        }
        self.0.since.set(end);
    }
}
