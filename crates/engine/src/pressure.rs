//! How busy the engine itself was: how many contexts ran, and how many at one time.
//!
//! That is what Table 2.1 of `[giles]` counts (2.6.2). It says how well a model can be run in parallel, and nothing
//! about what is modelled: it is no statistic.

use crate::Time;
use serde::{Deserialize, Serialize};

/// What ran in a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pressure {
    /// How many times a context ran.
    pub events: u64,
    /// The most that ran at one time in one partition, edges of all its clocks taken together.
    pub most: u64,
}

impl Pressure {
    /// Adds that of another partition.
    pub(crate) fn add(&mut self, other: Pressure) {
        self.events += other.events;
        self.most = self.most.max(other.most);
    }
}

/// Events of the cycles that a domain ran at a stretch.
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

/// The most events at one time, of domains that run in turn.
#[derive(Debug, Default)]
pub(crate) struct Peak {
    pub(crate) most: u64,
    /// The last time at which something ran, and how much.
    last: Option<(Time, u64)>,
}

impl Peak {
    /// A domain ran from `first` (known if there are several) to `last`.
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
        // A slower clock has an edge when the last of these cycles ran, a third one, too.
        peak.note(Some(at(3)), at(3), tally(&[3]));
        assert_eq!(peak.most, 6);
        peak.note(Some(at(3)), at(3), tally(&[2]));
        assert_eq!(peak.most, 7);
        peak.note(Some(at(4)), at(4), tally(&[5]));
        assert_eq!(peak.most, 7);
    }
}
