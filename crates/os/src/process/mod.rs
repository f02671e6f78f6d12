//! A process: its memory, its threads, its files, and the kernel that serves it.

mod checkpoint;
mod clock;
mod cpus;
mod end;
mod exit;
mod forward;
mod futex;
mod random;
mod report;
mod run;
mod start;
mod thread;
mod timed;
mod wait;

use crate::state::state;
use clock::Marked;
pub use clock::{Clock, TimeSpec};
pub use cpus::CpuSet;
pub use end::End;
pub use futex::WakeOp;
use random::Random;
pub use run::Turn;
pub use start::{Options, StartError};
pub use thread::{Call, State, Thread, Wait, What};
pub use timed::{Advanced, Step, SystemSpec, TimedProcess};

use crate::{
    Tid, Trap,
    files::Files,
    forward::{Forward, Forwarded},
    memory::AddressSpace,
    program::Symbols,
    signal::{Actions, SigInfo},
};
use engine::{Headway, Monitor};
use mem::Bytes;
use std::collections::BTreeSet;
use x86::Blocks;

/// The process ID, which is also the ID of its first thread.
pub const PID: u32 = 1000;

/// A Linux process inside the simulator.
pub struct Process {
    pub space: AddressSpace,
    blocks: Blocks<AddressSpace>,
    /// Live threads, in order of creation. The first thread may have ended before others.
    pub(crate) threads: Vec<Thread>,
    next_tid: u32,
    /// The index of the thread that ran last.
    turn: usize,
    next_futex_turn: u64,
    /// Whether the running thread gave up the rest of its turn.
    pub(crate) yielded: bool,
    pub(crate) clock: Clock,
    pub(crate) files: Files,
    pub(crate) actions: Actions,
    /// Signals to the process that no thread has taken yet.
    pub(crate) pending: Vec<SigInfo>,
    pub(crate) heap: Heap,
    pub(crate) random: Random,
    pub(crate) driver: Box<dyn Trap>,
    pub(crate) cpus: u32,
    /// In a timed run: the number of hardware threads, and the one that is in the kernel.
    pub(crate) agents: usize,
    pub(crate) agent: usize,
    /// Whether a thread has ever been bound to CPUs.
    pub(crate) has_bound: bool,
    /// When SIGALRM is due, and its period.
    pub(crate) alarm: Option<Alarm>,
    pub(crate) end: Option<End>,
    /// Through which the run can be stopped, and the number of instructions already reported to it.
    pub(crate) monitor: Monitor,
    told: u64,
    /// The region of interest, if the program marks one.
    region: Marked,
    /// The state of a fast-forwarded run.
    forward: Option<Forward>,
    limits: Limits,
    symbols: Symbols,
    /// Unknown system calls that have been reported.
    pub(crate) named: BTreeSet<u64>,
    /// Paths for which a refused write has been reported.
    pub(crate) refused: BTreeSet<String>,
    /// Messages about the simulator's own limits that have been printed.
    pub(crate) explained: BTreeSet<&'static str>,
    /// The contents of `/proc/self/cmdline`.
    pub(crate) command_line: Vec<u8>,
    calls: u64,
}

/// The heap of `brk`.
#[derive(Clone, Copy, Debug)]
pub struct Heap {
    pub start: u64,
    pub end: u64,
}

state!(struct Heap { start, end });

/// A timer that sends SIGALRM.
#[derive(Clone, Copy, Debug)]
pub struct Alarm {
    pub at: engine::Time,
    pub every: engine::Time,
}

state!(struct Alarm { at, every });

/// Limits on the run of a process.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub instructions: u64,
    pub time: engine::Time,
}

/// Totals of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    pub instructions: u64,
    pub system_calls: u64,
    pub threads: u32,
    pub page_faults: u64,
    pub memory: Bytes,
    /// Simulated time; in a fast-forwarded run, since the point.
    pub time: engine::Time,
    /// The part of it inside the region of interest that the program marked.
    pub region: Option<engine::Time>,
    /// The functional part, in a fast-forwarded run.
    pub forwarded: Option<Forwarded>,
}

impl Process {
    /// The totals so far.
    pub fn totals(&self) -> Totals {
        let forwarded = self.forward.as_ref().map(Forward::outcome);
        // Nothing is measured before the point.
        let measured = forwarded.is_none_or(|forwarded| forwarded.reached);
        Totals {
            instructions: self.clock.instructions(),
            system_calls: self.calls,
            threads: self.next_tid - PID,
            page_faults: self.space.faults(),
            memory: self.space.used(),
            time: if measured { self.clock.measured() } else { engine::Time::ZERO },
            region: self.region.length().filter(|_| measured),
            forwarded,
        }
    }

    /// Reports progress to the monitor.
    fn tell(&mut self) {
        let instructions = self.clock.instructions() - self.told;
        self.told += instructions;
        self.monitor.add(Headway { instructions, ..Headway::default() });
    }

    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// The number of the CPU that the kernel reports to a thread as its own.
    pub(crate) fn cpu_of(&self, index: usize) -> u32 {
        self.threads[index].cpus.first_of(self.agent, self.agents, self.cpus).unwrap_or(0)
    }

    /// The index of a live thread.
    pub(crate) fn thread_index(&self, tid: Tid) -> Option<usize> {
        // Threads are sorted by ID, since they are numbered in order of creation.
        self.threads.binary_search_by_key(&tid, |thread| thread.tid).ok()
    }

    /// Allocates a thread ID.
    pub(crate) fn new_tid(&mut self) -> Tid {
        let tid = Tid(self.next_tid);
        self.next_tid += 1;
        tid
    }

    /// The next result of [`Process::new_tid`].
    pub(crate) fn peek_tid(&self) -> u32 {
        self.next_tid
    }

    pub(crate) fn new_futex_turn(&mut self) -> u64 {
        self.next_futex_turn += 1;
        self.next_futex_turn
    }
}
