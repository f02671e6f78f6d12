//! Attributes each cycle of a compute unit to one cause.
//!
//! Every cycle has exactly one cause, so that they add up: an instruction was issued, or else the first cause in the
//! list that blocked a wavefront.

use engine::{Phases, Scope};

/// The causes, in order of priority.
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
    phases: Phases,
    reason: Reason,
    launching: bool,
}

impl Account {
    pub fn new(scope: &Scope) -> Self {
        let mut account = Self { phases: scope.phases(&NAMES), reason: Reason::NoWave, launching: false };
        account.turn(Reason::NoWave);
        account
    }

    /// Attributes this cycle and those until the next call to `reason`.
    fn turn(&mut self, reason: Reason) {
        self.phases.enter(reason as usize);
        self.reason = reason;
    }

    /// Records that a launch begins or ends.
    pub fn launching(&mut self, launching: bool) {
        self.launching = launching;
        match self.reason {
            Reason::NoWave if launching => self.turn(Reason::Launch),
            Reason::Launch if !launching => self.turn(Reason::NoWave),
            _ => {}
        }
    }

    /// Attributes this cycle. `vector`: a vector unit is busy. `coalescing`: an access is in the coalescer. `kept`: the
    /// number of wavefronts that each cause blocks.
    #[inline]
    pub fn cycle(&mut self, issued: bool, vector: bool, coalescing: bool, kept: &[u32; REASONS]) {
        // The most frequent case.
        if issued && self.reason == Reason::Issue {
            return;
        }
        let reason = match () {
            () if issued => Reason::Issue,
            () if vector => Reason::Vector,
            () if coalescing => Reason::VectorMemory,
            () => self.held_up(kept),
        };
        if reason != self.reason {
            self.turn(reason);
        }
    }

    fn held_up(&self, kept: &[u32; REASONS]) -> Reason {
        let order =
            [Reason::Vector, Reason::VectorMemory, Reason::Scalar, Reason::Local, Reason::Code, Reason::Barrier];
        let nobody = if self.launching { Reason::Launch } else { Reason::NoWave };
        order.into_iter().find(|reason| kept[*reason as usize] > 0).unwrap_or(nobody)
    }
}
