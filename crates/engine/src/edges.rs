//! Control requests of a model and when they take effect: new regions of the statistics, and the end of the run.
//!
//! A request made at time t takes effect at t + delay in all partitions
//! ([`Model::control_delay`](crate::Model::control_delay)). No round is longer than the delay, so no partition has
//! passed that time when all threads learn of the request. From then on a round ends there if it would pass it.
//!
//! **Invariant**: the time of an edge follows from the model alone, not from its cut, its threads or its windows.

use crate::{core::Control, model::Outcome, time::Time};

/// An event at a stated time.
pub(crate) enum Edge {
    /// A region of this name begins.
    Region(String),
    /// The run ends.
    End(Outcome),
}

/// How the run will end.
struct Ending {
    /// When the end was requested or its cause happened.
    asked: Time,
    /// Of two endings at one time, the lower rank wins.
    rank: u8,
    outcome: Outcome,
}

/// Edges that have been requested and have not taken effect. Each thread has a full copy.
pub(crate) struct Edges {
    delay: Time,
    until: Time,
    /// Each region with the time at which it begins; the earliest is last.
    regions: Vec<(Time, String)>,
    ending: Option<Ending>,
}

impl Edges {
    /// For a run that ends at `until` at the latest.
    pub(crate) fn new(delay: Time, until: Time) -> Edges {
        Edges { delay, until, regions: Vec::new(), ending: None }
    }

    /// Adds a control request.
    pub(crate) fn ask(&mut self, asked: Time, control: &Control) {
        match control {
            Control::Region(name) if asked + self.delay < self.until => {
                self.regions.push((asked + self.delay, name.clone()));
                self.regions.sort_by(|one, other| other.cmp(one));
            }
            Control::Region(_) => {}
            Control::Stop => self.over(asked, 2, &Outcome::Stopped),
            Control::Fail { context, message } => {
                let (context, message) = (context.clone(), message.clone());
                self.over(asked, 0, &Outcome::Failed { time: asked, context, message });
            }
        }
    }

    /// Ends the run with this outcome. The earliest request wins; of two at one time, the one of lower rank.
    pub(crate) fn over(&mut self, asked: Time, rank: u8, outcome: &Outcome) {
        let before = |ending: &Ending| {
            (ending.asked, ending.rank, ending.outcome.to_string()) <= (asked, rank, outcome.to_string())
        };
        if !self.ending.as_ref().is_some_and(before) {
            self.ending = Some(Ending { asked, rank, outcome: outcome.clone() });
        }
    }

    /// Takes the outcome, if an end has been requested, without waiting for the time at which it takes effect.
    pub(crate) fn outcome(&mut self) -> Option<Outcome> {
        self.ending.take().map(|ending| ending.outcome)
    }

    /// When the next edge takes effect. An end that was requested takes effect before the run's time limit.
    pub(crate) fn next(&self) -> Time {
        self.next_region().min(self.end())
    }

    fn next_region(&self) -> Time {
        self.regions.last().map_or(Time::NEVER, |(time, _)| *time)
    }

    fn end(&self) -> Time {
        self.ending.as_ref().map_or(Time::NEVER, |ending| (ending.asked + self.delay).min(self.until))
    }

    /// Takes the next edge with its time, if it is not later than `by`.
    pub(crate) fn take(&mut self, by: Time) -> Option<(Time, Edge)> {
        let time = self.next();
        if time == Time::NEVER || time > by {
            return None;
        }
        // A region that begins together with the end of the run exists, and is empty.
        if self.next_region() == time {
            return self.regions.pop().map(|(_, name)| (time, Edge::Region(name)));
        }
        self.outcome().map(|outcome| (time, Edge::End(outcome)))
    }
}
