//! Where each cycle of a compute unit went.
//!
//! Every cycle has one reason, so that they add up: an instruction was issued, or what kept the wavefronts from it, the
//! first of the list that applies.

use super::wave::{Busy, Waits, Wave};
use engine::{Counter, Scope};
use std::collections::VecDeque;

/// The reasons, in the order in which they are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
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

const NAMES: [&str; 9] =
    ["issue", "vector", "vector_memory", "scalar", "local", "code", "barrier", "no_wave", "launch"];

pub struct Account {
    counters: [Counter; 9],
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

    pub fn cycle(
        &mut self,
        now: u64,
        issued: bool,
        waves: &[Option<Wave>],
        vector_free: &[u64],
        coalescing: &VecDeque<(u64, usize)>,
    ) {
        let reason = if issued {
            Reason::Issue
        } else if vector_free.iter().any(|free| *free > now) {
            Reason::Vector
        } else {
            self.held_up(waves, coalescing)
        };
        if reason != self.reason || reason == Reason::Issue {
            self.turn(now, reason);
        }
    }

    fn held_up(&self, waves: &[Option<Wave>], coalescing: &VecDeque<(u64, usize)>) -> Reason {
        if !coalescing.is_empty() {
            return Reason::VectorMemory;
        }
        let mut found = [false; 9];
        for wave in waves.iter().flatten() {
            let reason = match wave.waits {
                Some(Waits::Count { .. } | Waits::End) if !wave.vector.is_empty() => Reason::VectorMemory,
                Some(Waits::Count { .. } | Waits::End) => Reason::Scalar,
                Some(Waits::Coalescer) => Reason::VectorMemory,
                Some(Waits::Code) => Reason::Code,
                Some(Waits::Barrier) => Reason::Barrier,
                None => match wave.kind_of_wait {
                    Busy::Vector => Reason::Vector,
                    Busy::Scalar => Reason::Scalar,
                    Busy::Local => Reason::Local,
                    Busy::Memory => Reason::VectorMemory,
                },
            };
            found[reason as usize] = true;
        }
        let order =
            [Reason::Vector, Reason::VectorMemory, Reason::Scalar, Reason::Local, Reason::Code, Reason::Barrier];
        let nobody = if self.launching { Reason::Launch } else { Reason::NoWave };
        order.into_iter().find(|reason| found[*reason as usize]).unwrap_or(nobody)
    }
}
