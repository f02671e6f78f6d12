//! Where each cycle of a core went, and what is counted.
//!
//! As in the paper (`[giles 3.2.2]`), the reorder buffer tells: if nothing enters it and nothing leaves it
//! because a load at its head waits for memory, that is a read stall; because stores wait for memory, a write
//! stall. The paper asks for the buffer to be full; here it may also be another queue that is, or fetch that waits for the same
//! load. Nothing in it, and nothing to come, is a fetch stall. Every cycle has one reason, so that they add up.

use super::{
    op::{Kind, State},
    thread::{Front, Thread},
};
use engine::{Counter, Level, Phases, Scope};

/// The reasons; of several threads the first in this order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Busy,
    System,
    ReadStall,
    WriteStall,
    FetchStall,
    Idle,
}

const NAMES: [&str; 6] = ["busy", "system", "read_stall", "write_stall", "fetch_stall", "idle"];

pub struct Account {
    phases: Phases,
    phase: Phase,
    rob: Level,
    in_rob: u64,
}

impl Account {
    pub fn new(scope: &Scope) -> Self {
        let phases = scope.scope("cycles").phases(&NAMES);
        phases.enter(Phase::Idle as usize);
        Self { phases, phase: Phase::Idle, rob: scope.level("rob"), in_rob: 0 }
    }

    /// What this cycle, and those that follow until the next call, are spent on; `moved` says whether the reorder buffer
    /// has taken something or let something go.
    pub fn cycle(&mut self, threads: &[Thread], moved: bool) {
        let phase = match threads {
            _ if moved => Phase::Busy,
            [only] => reason(only),
            several => several.iter().map(reason).min().unwrap_or(Phase::Idle),
        };
        if phase != self.phase {
            self.phases.enter(phase as usize);
            self.phase = phase;
        }
        let in_rob = threads.iter().map(|thread| thread.dispatched - thread.committed).sum();
        if in_rob != self.in_rob {
            self.rob.set(in_rob);
            self.in_rob = in_rob;
        }
    }
}

/// What holds up a thread.
fn reason(thread: &Thread) -> Phase {
    if thread.committed < thread.dispatched {
        let head = thread.op(thread.committed);
        return match (head.kind, head.state) {
            (Kind::Load, State::Accessing) => Phase::ReadStall,
            _ if thread.lacks_stores => Phase::WriteStall,
            _ => Phase::Busy,
        };
    }
    match thread.front {
        _ if thread.lacks_stores => Phase::WriteStall,
        Front::System(_) | Front::Waiting(_) => Phase::System,
        Front::Idle(_) => Phase::Idle,
        Front::Missing => Phase::ReadStall,
        Front::Turn | Front::Lock => Phase::WriteStall,
        Front::Drain if !thread.stores.is_empty() => Phase::WriteStall,
        _ => Phase::FetchStall,
    }
}

/// What is counted.
pub struct Counts {
    /// Instructions and micro-operations that were committed.
    pub instructions: Counter,
    pub micro_ops: Counter,
    pub branches: Counter,
    /// Branches predicted wrong, and those whose target was found by decoding them.
    pub directions: Counter,
    pub targets: Counter,
    pub returns: Counter,
    pub misfetches: Counter,
    /// Lines loaded from; of these, those that an older store gave, and those that had to wait for one to be performed.
    pub loads: Counter,
    pub forwards: Counter,
    pub blocked: Counter,
    pub stores: Counter,
    pub prefetches: Counter,
    pub code_lines: Counter,
    /// Times fetch waited for everything before, for a lock, for a line, for the kernel.
    pub drains: Counter,
    pub locks: Counter,
    pub missing: Counter,
    pub systems: Counter,
}

impl Counts {
    pub fn new(scope: &Scope) -> Self {
        let mispredicted = scope.scope("mispredicted");
        let fetch = scope.scope("fetch_waits");
        Self {
            instructions: scope.counter("instructions"),
            micro_ops: scope.counter("micro_ops"),
            branches: scope.counter("branches"),
            directions: mispredicted.counter("direction"),
            targets: mispredicted.counter("target"),
            returns: mispredicted.counter("return"),
            misfetches: scope.counter("misfetches"),
            loads: scope.counter("loads"),
            forwards: scope.counter("loads_forwarded"),
            blocked: scope.counter("loads_blocked"),
            stores: scope.counter("stores"),
            prefetches: scope.counter("store_prefetches"),
            code_lines: scope.counter("code_lines"),
            drains: fetch.counter("drain"),
            locks: fetch.counter("lock"),
            missing: fetch.counter("missing_line"),
            systems: fetch.counter("system"),
        }
    }
}
