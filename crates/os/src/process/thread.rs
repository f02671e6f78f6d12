//! A thread of a process, and what it waits for.

use crate::{
    Tid,
    signal::{AltStack, SigInfo, SigSet, TrapState},
};
use engine::Time;
use x86::{Cpu, Exception, Reg};

/// A system call in progress: what it was asked, so that it can be made again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Call {
    pub number: u64,
    pub args: [u64; 6],
    /// When it gives up, once that has been worked out from a relative time-out.
    pub deadline: Option<Time>,
    /// Bytes that it has moved before it came to a page that a driver guards.
    pub done: u64,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A `FUTEX_WAKE`. Of several, the one with the lowest `turn` goes first.
    Futex { address: u64, bits: u32, turn: u64 },
    /// Time; what remains is stored at `remaining` if a signal comes first.
    Sleep { remaining: u64 },
    /// Something happening on a pipe: then the call is made again. `restart`: whether a signal restarts it (SA_RESTART).
    Files { restart: bool },
    /// The driver: then the call is made again.
    Driver,
    /// The driver, which brings a page: then the instruction is executed again, or the call made again. No signal ends it.
    Page { call: bool },
    /// A signal that has a handler (`pause`, `sigsuspend`).
    Handler,
    /// One of a set of signals (`sigtimedwait`), whose information goes to `info`.
    Signal { set: SigSet, info: u64 },
}

/// A wait, and when it ends in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub what: What,
    pub deadline: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Running,
    Waiting(Wait),
    /// Its wait is over: the system call is to be made again.
    Retrying,
}

/// A thread.
pub struct Thread {
    pub tid: Tid,
    pub cpu: Cpu,
    pub state: State,
    pub call: Call,
    pub blocked: SigSet,
    /// The mask to go back to after the next handler (`sigsuspend`).
    pub mask_after: Option<SigSet>,
    pub pending: Vec<SigInfo>,
    pub alt_stack: AltStack,
    pub trap: TrapState,
    /// Set to zero, with a wake-up, when the thread ends.
    pub clear_at_exit: u64,
    pub robust_list: u64,
    pub name: [u8; 16],
    /// On a machine in time: its core holds the line that its next instruction, a locked one, is about.
    pub locked: bool,
    /// The same: what its next instruction did wrong, until the kernel looks into it.
    pub exception: Option<Exception>,
}

impl Thread {
    pub fn new(tid: Tid, cpu: Cpu) -> Thread {
        Thread {
            tid,
            cpu,
            state: State::Running,
            call: Call::default(),
            blocked: SigSet::EMPTY,
            mask_after: None,
            pending: Vec::new(),
            alt_stack: AltStack::default(),
            trap: TrapState::default(),
            clear_at_exit: 0,
            robust_list: 0,
            name: [0; 16],
            locked: false,
            exception: None,
        }
    }

    /// Takes down the system call that its registers hold.
    pub fn note_call(&mut self) {
        use Reg::{R8, R9, R10, Rax, Rdi, Rdx, Rsi};
        let gpr = &self.cpu.gpr;
        let args = [Rdi, Rsi, Rdx, R10, R8, R9].map(|register| gpr[register]);
        self.call = Call { number: gpr[Rax], args, deadline: None, done: 0 };
    }

    pub fn can_run(&self) -> bool {
        matches!(self.state, State::Running | State::Retrying)
    }

    /// When the wait of this thread ends by itself.
    pub fn deadline(&self) -> Time {
        match self.state {
            State::Waiting(wait) => wait.deadline,
            _ => Time::NEVER,
        }
    }

    /// Its name as text.
    pub fn name(&self) -> String {
        let end = self.name.iter().position(|byte| *byte == 0).unwrap_or(self.name.len());
        String::from_utf8_lossy(&self.name[..end]).into_owned()
    }
}
