//! The load of the engine itself: the number of contexts that ran, in all and per point in time.
//!
//! Table 2.1 of `[giles]` has these counts (2.6.2). They say how well a model can run in parallel and nothing about the
//! modelled hardware, so they are not statistics of the model.

use crate::Time;
use serde::{Deserialize, Serialize};

/// The events of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pressure {
    /// How many times a context ran.
    pub events: u64,
    /// The most context runs at one time in one partition, over simultaneous edges of all its clocks.
    pub most: u64,
}

impl Pressure {
    /// Adds the figures of another partition.
    pub(crate) fn add(&mut self, other: Pressure) {
        self.events += other.events;
        self.most = self.most.max(other.most);
    }
}

/// The events of consecutive cycles of one domain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    cycles: u64,
    first: u64,
    last: u64,
    most: u64,
}

impl Tally {
    #[inline(always)]
    pub(crate) fn cycle(&mut self, events: u64) {
        if self.cycles == 0 {
            self.first = events;
        }
        self.cycles += 1;
        self.last = events;
        self.most = self.most.max(events);
    }
}

/// The most events at one time, over domains that run in turn.
#[derive(Debug, Default)]
pub(crate) struct Peak {
    pub(crate) most: u64,
    /// The last time at which contexts ran, and how many.
    last: Option<(Time, u64)>,
}

impl Peak {
    /// Adds a domain's run from `first` (only given if there are several domains) to `last`.
    pub(crate) fn note(&mut self, first: Option<Time>, last: Time, tally: Tally) {
        let before = self.last.filter(|(time, _)| Some(*time) == first).map_or(0, |(_, events)| events);
        let begun = before + tally.first;
        self.most = self.most.max(tally.most).max(begun);
        self.last = Some((last, if tally.cycles > 1 { tally.last } else { begun }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(events: &[u64]) -> Tally {
        let mut tally = Tally::default();
        events.iter().for_each(|events| tally.cycle(*events));
        tally
    }

    #[test]
    fn edges_of_several_clocks_at_one_time_count_together() {
        let (mut peak, at) = (Peak::default(), |n| Time::nanos(n));
        peak.note(Some(at(1)), at(3), tally(&[4, 6, 2]));
        assert_eq!(peak.most, 6);
        // Two slower clocks have an edge at the time of the last of these cycles.
        peak.note(Some(at(3)), at(3), tally(&[3]));
        assert_eq!(peak.most, 6);
        peak.note(Some(at(3)), at(3), tally(&[2]));
        assert_eq!(peak.most, 7);
        peak.note(Some(at(4)), at(4), tally(&[5]));
        assert_eq!(peak.most, 7);
    }
}
