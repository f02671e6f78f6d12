//! What a model asks of its run, and when that takes effect: new regions of the statistics, and the end.
//!
//! What is asked for at time t takes effect at t + delay in all partitions ([`Model::control_delay`](crate::Model::control_delay)).
//! No window is longer than the delay, so no partition has passed that time when all learn of it, and from then on a window ends
//! there if it would pass it. The time of an edge follows from the model alone: neither from its cut, nor from threads or windows.

use crate::{core::Control, model::Outcome, time::Time};

/// What happens at a time that has been stated.
pub(crate) enum Edge {
    /// A region of this name begins.
    Region(String),
    /// The run ends.
    End(Outcome),
}

/// How the run is to end.
struct Ending {
    /// When that was asked for, or came about.
    asked: Time,
    /// Of two at one time, the lower counts.
    rank: u8,
    outcome: Outcome,
}

/// Edges that have been asked for and have not taken effect. Each thread has all of them.
pub(crate) struct Edges {
    delay: Time,
    until: Time,
    /// Each with the time at which it begins; the earliest last.
    regions: Vec<(Time, String)>,
    ending: Option<Ending>,
}

impl Edges {
    /// For a run that goes on until `until` at most.
    pub(crate) fn new(delay: Time, until: Time) -> Edges {
        Edges { delay, until, regions: Vec::new(), ending: None }
    }

    /// The model has asked for something.
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

    /// The run is to end so. What happened first counts; of two at one time, the one of lower rank.
    pub(crate) fn over(&mut self, asked: Time, rank: u8, outcome: &Outcome) {
        let before = |ending: &Ending| {
            (ending.asked, ending.rank, ending.outcome.to_string()) <= (asked, rank, outcome.to_string())
        };
        if !self.ending.as_ref().is_some_and(before) {
            self.ending = Some(Ending { asked, rank, outcome: outcome.clone() });
        }
    }

    /// How the run is to end, if it ends before that has been asked to take effect.
    pub(crate) fn outcome(&mut self) -> Option<Outcome> {
        self.ending.take().map(|ending| ending.outcome)
    }

    /// When the next edge takes effect. A run that was asked to end does so before its time limit.
    pub(crate) fn next(&self) -> Time {
        self.next_region().min(self.end())
    }

    fn next_region(&self) -> Time {
        self.regions.last().map_or(Time::NEVER, |(time, _)| *time)
    }

    fn end(&self) -> Time {
        self.ending.as_ref().map_or(Time::NEVER, |ending| (ending.asked + self.delay).min(self.until))
    }

    /// Takes the next edge, if it is not later than `by`, with its time.
    pub(crate) fn take(&mut self, by: Time) -> Option<(Time, Edge)> {
        let time = self.next();
        if time == Time::NEVER || time > by {
            return None;
        }
        // A region that begins with the end of the run is there, and empty.
        if self.next_region() == time {
            return self.regions.pop().map(|(_, name)| (time, Edge::Region(name)));
        }
        self.outcome().map(|outcome| (time, Edge::End(outcome)))
    }
}
