//! A process: its memory, its threads, its files, and the kernel that serves it.

mod clock;
mod end;
mod exit;
mod forward;
mod futex;
mod report;
mod run;
mod start;
mod thread;
mod timed;
mod wait;

use clock::Marked;
pub use clock::{Clock, TimeSpec};
pub use end::End;
pub use futex::WakeOp;
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
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeSet;
use x86::Blocks;

/// The number of the process; its first thread has the same.
pub const PID: u32 = 1000;

/// A Linux process inside the simulator.
pub struct Process {
    pub space: AddressSpace,
    blocks: Blocks<AddressSpace>,
    /// Those that have not ended, by the order in which they began. The first may have ended before others.
    pub(crate) threads: Vec<Thread>,
    next_tid: u32,
    /// Who has run last.
    turn: usize,
    next_futex_turn: u64,
    /// The running thread gave the rest of its turn away.
    pub(crate) yielded: bool,
    pub(crate) clock: Clock,
    pub(crate) files: Files,
    pub(crate) actions: Actions,
    /// Signals to the process that no thread has taken yet.
    pub(crate) pending: Vec<SigInfo>,
    pub(crate) heap: Heap,
    pub(crate) random: Pcg64Mcg,
    pub(crate) driver: Box<dyn Trap>,
    pub(crate) cpus: u32,
    /// When SIGALRM is due, and how long after that again.
    pub(crate) alarm: Option<Alarm>,
    pub(crate) end: Option<End>,
    /// Where somebody may ask for the end, and how many instructions he has been told of.
    pub(crate) monitor: Monitor,
    told: u64,
    /// The region of interest, if the program marks one.
    region: Marked,
    /// If it is fast-forwarded: how far it is.
    forward: Option<Forward>,
    limits: Limits,
    symbols: Symbols,
    /// Unknown system calls that have been named.
    pub(crate) named: BTreeSet<u64>,
    /// Paths of which it has been said that the program may not write them.
    pub(crate) refused: BTreeSet<String>,
    /// What has been said about the simulator's own limits.
    pub(crate) explained: BTreeSet<&'static str>,
    /// What `/proc/self/cmdline` holds.
    pub(crate) command_line: Vec<u8>,
    calls: u64,
}

/// The heap of `brk`.
#[derive(Clone, Copy, Debug)]
pub struct Heap {
    pub start: u64,
    pub end: u64,
}

/// A timer that sends SIGALRM.
#[derive(Clone, Copy, Debug)]
pub struct Alarm {
    pub at: engine::Time,
    pub every: engine::Time,
}

/// How far a process may go.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub instructions: u64,
    pub time: engine::Time,
}

/// What a run took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    pub instructions: u64,
    pub system_calls: u64,
    pub threads: u32,
    pub page_faults: u64,
    pub memory: Bytes,
    /// Simulated; of a run that was fast-forwarded, from its point on.
    pub time: engine::Time,
    /// Of which this much lies in the region of interest that the program marked.
    pub region: Option<engine::Time>,
    /// What ran without time before, if it was fast-forwarded.
    pub forwarded: Option<Forwarded>,
}

impl Process {
    /// What it has taken so far.
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

    /// Tells those who watch the run how far it is.
    fn tell(&mut self) {
        let instructions = self.clock.instructions() - self.told;
        self.told += instructions;
        self.monitor.add(Headway { instructions, ..Headway::default() });
    }

    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// The place of a living thread in the list.
    pub(crate) fn thread_index(&self, tid: Tid) -> Option<usize> {
        // They are numbered in the order in which they began.
        self.threads.binary_search_by_key(&tid, |thread| thread.tid).ok()
    }

    /// The next number for a thread.
    pub(crate) fn new_tid(&mut self) -> Tid {
        let tid = Tid(self.next_tid);
        self.next_tid += 1;
        tid
    }

    /// What [`Process::new_tid`] will give.
    pub(crate) fn peek_tid(&self) -> u32 {
        self.next_tid
    }

    pub(crate) fn new_futex_turn(&mut self) -> u64 {
        self.next_futex_turn += 1;
        self.next_futex_turn
    }
}
