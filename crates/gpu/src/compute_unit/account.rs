//! Where each cycle of a compute unit went.
//!
//! Every cycle has one reason, so that they add up: an instruction was issued, or what kept the wavefronts from it, the
//! first of the list that applies.

use engine::{Counter, Scope};

/// The reasons, in the order in which they are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Issue,
    Vector,
    VectorMemory,
    Scalar,
    Local,
    Code,
    Barrier,
    NoWave,
    Launch,
}

pub const REASONS: usize = 9;

const NAMES: [&str; REASONS] =
    ["issue", "vector", "vector_memory", "scalar", "local", "code", "barrier", "no_wave", "launch"];

pub struct Account {
    counters: [Counter; REASONS],
    /// The reason of the cycles from here on.
    since: u64,
    reason: Reason,
    launching: bool,
}

impl Account {
    pub fn new(scope: &Scope) -> Self {
        let counters = NAMES.map(|name| scope.counter(name));
        Self { counters, since: 0, reason: Reason::NoWave, launching: false }
    }

    /// The cycle that runs now, and those that follow until the next call, have this reason.
    fn turn(&mut self, now: u64, reason: Reason) {
        self.counters[self.reason as usize].add(now - self.since);
        (self.since, self.reason) = (now, reason);
    }

    /// A launch begins or is over.
    pub fn launching(&mut self, launching: bool, now: u64) {
        self.launching = launching;
        let reason = match self.reason {
            Reason::NoWave | Reason::Launch if launching => Reason::Launch,
            Reason::NoWave | Reason::Launch => Reason::NoWave,
            other => other,
        };
        self.turn(now, reason);
    }

    pub fn is_launching(&self) -> bool {
        self.launching
    }

    /// What cycle `now` was spent on: `vector` says whether a vector unit is busy, `coalescing` whether an access is on its way
    /// to becoming lines, `kept` how many wavefronts are kept by each reason.
    pub fn cycle(&mut self, now: u64, issued: bool, vector: bool, coalescing: bool, kept: &[u32; REASONS]) {
        let reason = match () {
            () if issued => Reason::Issue,
            () if vector => Reason::Vector,
            () if coalescing => Reason::VectorMemory,
            () => self.held_up(kept),
        };
        if reason != self.reason || reason == Reason::Issue {
            self.turn(now, reason);
        }
    }

    fn held_up(&self, kept: &[u32; REASONS]) -> Reason {
        let order =
            [Reason::Vector, Reason::VectorMemory, Reason::Scalar, Reason::Local, Reason::Code, Reason::Barrier];
        let nobody = if self.launching { Reason::Launch } else { Reason::NoWave };
        order.into_iter().find(|reason| kept[*reason as usize] > 0).unwrap_or(nobody)
    }
}
