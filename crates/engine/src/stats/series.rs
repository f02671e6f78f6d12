//! A count or a level over time, in spans of equal length.
//!
//! Spans lie on a grid that begins with cycle 0, so spans of one region and of the next fit together. They are short at
//! first. When a region needs more than [`MOST`] spans, pairs of them are merged. So the size of a series is bounded,
//! and its contents depend only on what was measured.

use crate::{core::Core, time::Time};
use serde::{Deserialize, Serialize};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

/// Maximum number of spans of a series.
const MOST: usize = 128;
/// Number of cycles of a span at first.
const SHORTEST: u64 = 64;

/// The spans of a series. A sum divided by the cycles of a span is a rate (of a count) or an average (of a level).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spans {
    /// Number of cycles of a span, a power of two.
    pub span_cycles: u64,
    /// The number of the first span here; the span with cycle 0 is number 0.
    pub first: u64,
    /// For each span, the count or the sum of the level over its cycles; from the first to the last span that is not 0.
    pub sums: Vec<u64>,
}

impl Spans {
    fn starting(cycle: u64) -> Spans {
        Spans { span_cycles: SHORTEST, first: cycle / SHORTEST, sums: Vec::new() }
    }

    /// The first cycle of each span, and its sum.
    pub fn by_cycle(&self) -> impl Iterator<Item = (u64, u64)> {
        (self.first..).zip(&self.sums).map(|(number, sum)| (number * self.span_cycles, *sum))
    }

    /// Adds `n` to the span of `cycle`.
    fn add(&mut self, cycle: u64, n: u64) {
        // A shift divides, because `span_cycles` is a power of two.
        let number = |spans: &Spans| (cycle >> spans.span_cycles.trailing_zeros()).saturating_sub(spans.first);
        while number(self) >= MOST as u64 {
            self.halve();
        }
        let at = number(self) as usize;
        if at >= self.sums.len() {
            self.sums.resize(at + 1, 0);
        }
        self.sums[at] += n;
    }

    /// Adds a level that lasts from cycle `from` until cycle `until`.
    fn spread(&mut self, mut from: u64, until: u64, level: u64) {
        if level == 0 || from >= until {
            return;
        }
        self.add(until - 1, 0); // makes the spans as long as they must be
        while from < until {
            let end = until.min((from / self.span_cycles + 1) * self.span_cycles);
            self.add(from, (end - from) * level);
            from = end;
        }
    }

    /// Merges spans in pairs.
    fn halve(&mut self) {
        let (first, sums) = (self.first, std::mem::take(&mut self.sums));
        self.span_cycles *= 2;
        self.first = first / 2;
        for (number, sum) in (first..).zip(sums) {
            let at = (number / 2 - self.first) as usize;
            self.sums.resize(self.sums.len().max(at + 1), 0);
            self.sums[at] += sum;
        }
    }

    /// Adds the series of a later region of the same element.
    pub(super) fn join(&mut self, other: &Spans) {
        let mut other = other.clone();
        while self.span_cycles < other.span_cycles {
            self.halve();
        }
        while other.span_cycles < self.span_cycles {
            other.halve();
        }
        if self.sums.is_empty() {
            *self = other;
            return;
        }
        for (cycle, sum) in other.by_cycle().filter(|(_, sum)| *sum > 0) {
            self.add(cycle, sum);
        }
    }
}

/// A count or a level over time.
#[derive(Clone)]
pub struct Series(Rc<SeriesCells>);

struct SeriesCells {
    core: Rc<Core>,
    spans: RefCell<Spans>,
    level: Cell<u64>,
    /// The level is accounted for up to this cycle.
    since: Cell<u64>,
    /// The first cycle of the span in which something was counted last, and its length; 0: there is none.
    recent: Cell<(u64, u64)>,
    /// What has been counted in that span since, and is not in `spans` yet.
    counted: Cell<u64>,
}

impl Series {
    pub(super) fn new(core: Rc<Core>) -> Series {
        let (spans, level, since) = (RefCell::new(Spans::starting(0)), Cell::new(0), Cell::new(0));
        let (recent, counted) = (Cell::new((0, 0)), Cell::new(0));
        Series(Rc::new(SeriesCells { core, spans, level, since, recent, counted }))
    }

    /// Adds `n` to the count of this cycle.
    #[inline]
    pub fn count(&self, n: u64) {
        let (cycle, (start, length)) = (self.0.core.cycle(), self.0.recent.get());
        if cycle.wrapping_sub(start) < length {
            self.0.counted.set(self.0.counted.get() + n);
        } else {
            self.count_elsewhere(cycle, n);
        }
    }

    /// Adds `n` to the count of a cycle of another span than the last.
    fn count_elsewhere(&self, cycle: u64, n: u64) {
        self.add_counted();
        let spans = &mut *self.0.spans.borrow_mut();
        spans.add(cycle, n);
        self.0.recent.set((cycle & !(spans.span_cycles - 1), spans.span_cycles));
    }

    /// Puts what has been counted into its span.
    fn add_counted(&self) {
        match self.0.counted.take() {
            0 => {}
            n => self.0.spans.borrow_mut().add(self.0.recent.get().0, n),
        }
    }

    /// Sets the level from this cycle on.
    pub fn set(&self, level: u64) {
        self.account(self.0.core.cycle());
        self.0.level.set(level);
    }

    fn account(&self, cycle: u64) {
        let since = self.0.since.get();
        if cycle > since {
            self.0.spans.borrow_mut().spread(since, cycle, self.0.level.get());
            self.0.since.set(cycle);
        }
    }

    pub(super) fn read(&self, end: Time) -> Spans {
        self.account(self.0.core.clock.first_at(end));
        self.add_counted();
        let spans = self.0.spans.borrow();
        let used = |sum: &u64| *sum > 0;
        let (Some(first), Some(last)) = (spans.sums.iter().position(used), spans.sums.iter().rposition(used)) else {
            return Spans { sums: Vec::new(), ..*spans };
        };
        Spans { first: spans.first + first as u64, sums: spans.sums[first..=last].to_vec(), ..*spans }
    }

    pub(super) fn reset(&self, end: Time) {
        let cycle = self.0.core.clock.first_at(end);
        self.0.spans.replace(Spans::starting(cycle));
        self.0.recent.set((0, 0));
        self.0.counted.set(0);
        self.0.since.set(cycle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_gets_coarser_and_loses_nothing() {
        let mut spans = Spans::starting(1000);
        for cycle in 1000..101_000 {
            spans.add(cycle, 1);
        }
        assert_eq!((spans.span_cycles, spans.sums.iter().sum::<u64>()), (1024, 100_000));
        assert!(spans.sums.len() <= MOST);
        assert_eq!(spans.by_cycle().next(), Some((0, 24)));
        assert_eq!(spans.by_cycle().nth(1), Some((1024, 1024)));
    }

    #[test]
    fn a_level_is_spread_over_the_spans_it_lasts() {
        let mut spans = Spans::starting(0);
        spans.spread(32, 160, 3);
        assert_eq!(spans.sums, [96, 192, 96]);
        let mut far = Spans::starting(0);
        far.spread(10, 1 << 40, 1);
        assert_eq!(far.sums.iter().sum::<u64>(), (1 << 40) - 10);
        assert!(far.sums.len() <= MOST);
    }

    #[test]
    fn series_of_two_regions_fit_together_whatever_their_spans() {
        let (mut fine, mut coarse) = (Spans::starting(0), Spans::starting(6000));
        fine.spread(0, 6000, 1);
        coarse.spread(6000, 30_000, 1);
        assert_eq!((fine.span_cycles, coarse.span_cycles), (64, 256));
        fine.join(&coarse);
        assert_eq!((fine.span_cycles, fine.sums.iter().sum::<u64>()), (256, 30_000));
        assert!(fine.sums[..117].iter().all(|sum| *sum == 256), "no gap where they meet: {:?}", fine.sums);
    }
}
