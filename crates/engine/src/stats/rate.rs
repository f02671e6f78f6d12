//! How much happens in each of many short spans of equal length: what a mean, a deviation and a maximum are taken of.
//!
//! A [`Series`](super::Series) has few spans and gets coarser; here they keep their length, and only how their counts are spread is
//! kept. Spans begin with the region; its last may be shorter.

use super::registry::{Counter, Histogram};
use crate::{core::Core, time::Time};
use std::{cell::Cell, rc::Rc};

/// Counts, span by span.
#[derive(Clone)]
pub struct Rate(Rc<RateCells>);

struct RateCells {
    core: Rc<Core>,
    span: Time,
    /// When the span began in which is counted now.
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

    /// Counts so many now.
    pub fn count(&self, n: u64) {
        self.close_spans(self.0.core.time());
        self.0.count.set(self.0.count.get() + n);
    }

    /// Closes the spans that are over.
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

    /// The region ends: so does the span that is not over.
    pub(super) fn close_region(&self, end: Time) {
        self.close_spans(end);
        if end > self.0.since.get() {
            self.close_span();
        }
        self.0.since.set(end);
    }
}
