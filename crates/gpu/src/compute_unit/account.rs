//! Where each cycle of a compute unit went.
//!
//! Every cycle has one reason, so that they add up: an instruction was issued, or what kept the wavefronts from it, the
//! first of the list that applies.

use engine::{Phases, Scope};

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

    /// The cycle that runs now, and those that follow until the next call, have this reason.
    fn turn(&mut self, reason: Reason) {
        self.phases.enter(reason as usize);
        self.reason = reason;
    }

    /// A launch begins or is over.
    pub fn launching(&mut self, launching: bool) {
        self.launching = launching;
        match self.reason {
            Reason::NoWave if launching => self.turn(Reason::Launch),
            Reason::Launch if !launching => self.turn(Reason::NoWave),
            _ => {}
        }
    }

    /// What this cycle is spent on: `vector` says whether a vector unit is busy, `coalescing` whether an access is on its way
    /// to becoming lines, `kept` how many wavefronts are kept by each reason.
    pub fn cycle(&mut self, issued: bool, vector: bool, coalescing: bool, kept: &[u32; REASONS]) {
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
