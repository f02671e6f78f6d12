//! Attributes each cycle of a core to one cause, and counts events.
//!
//! As in the paper (`[giles 3.2.2]`), the reorder buffer decides. If nothing enters or leaves it because the load at
//! its head waits for memory, the cycle is a read stall; because stores wait for memory, a write stall. The paper
//! requires a full buffer; here another queue may be full instead, or fetch may wait for the same load. An empty buffer
//! with no other cause is a fetch stall. Every cycle has exactly one cause, so that they add up.

use super::{
    op::{Kind, State},
    thread::{Front, Thread},
};
use engine::{Counter, Level, Phases, Scope};

/// The causes. If several threads have different causes, the first in this order counts.
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

    /// Attributes this cycle and those until the next call. `moved` means that an entry has entered or left the reorder
    /// buffer.
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

/// What blocks a thread.
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
        Front::Drain if !thread.stores.is_empty() || thread.flushing > 0 => Phase::WriteStall,
        _ => Phase::FetchStall,
    }
}

/// The counters of a core.
pub struct Counts {
    /// Committed instructions and micro-operations.
    pub instructions: Counter,
    pub micro_ops: Counter,
    pub branches: Counter,
    /// Mispredicted branches by kind, and branches whose target was only known after decoding.
    pub directions: Counter,
    pub targets: Counter,
    pub returns: Counter,
    pub misfetches: Counter,
    /// Lines loaded from. Of these: forwarded from an older store; blocked until an older store was performed.
    pub loads: Counter,
    pub forwards: Counter,
    pub blocked: Counter,
    pub stores: Counter,
    pub prefetches: Counter,
    pub flushes: Counter,
    pub data_prefetches: Counter,
    pub wrong_path_lines: Counter,
    pub code_lines: Counter,
    /// How often fetch waited: for a drain, a lock, a missing line, the kernel.
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
            flushes: scope.counter("flushes"),
            data_prefetches: scope.counter("data_prefetches"),
            wrong_path_lines: scope.counter("wrong_path_lines"),
            code_lines: scope.counter("code_lines"),
            drains: fetch.counter("drain"),
            locks: fetch.counter("lock"),
            missing: fetch.counter("missing_line"),
            systems: fetch.counter("system"),
        }
    }
}
