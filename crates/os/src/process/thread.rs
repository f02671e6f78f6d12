//! A thread of a process, and its wait states.

use super::CpuSet;
use crate::state::state;
use crate::{
    Tid,
    signal::{AltStack, SigInfo, SigSet, TrapState},
};
use engine::Time;
use x86::{Cpu, Exception, Reg};

/// A system call in progress, with its arguments so that it can be repeated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Call {
    pub number: u64,
    pub args: [u64; 6],
    /// When it times out, once computed from a relative timeout.
    pub deadline: Option<Time>,
    /// Bytes already transferred when it reached a page that a driver guards.
    pub done: u64,
}

state!(struct Call { number, args, deadline, done });

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A `FUTEX_WAKE`. Among several waiters, the one with the lowest `turn` is woken first.
    Futex { address: u64, bits: u32, turn: u64 },
    /// A point in time; if a signal comes first, the remaining time is stored at `remaining`.
    Sleep { remaining: u64 },
    /// A change on a pipe, after which the call is repeated. `restart`: whether a signal restarts the call
    /// (SA_RESTART).
    Files { restart: bool },
    /// The driver, after which the call is repeated.
    Driver,
    /// A page from the driver, after which the instruction or the call is repeated. Signals don't interrupt this wait.
    Page { call: bool },
    /// A signal with a handler (`pause`, `sigsuspend`).
    Handler,
    /// A signal of a set (`sigtimedwait`), whose information is stored at `info`.
    Signal { set: SigSet, info: u64 },
}

state!(enum What { 0 Futex { address, bits, turn }, 1 Sleep { remaining }, 2 Files { restart }, 3 Driver, 4 Page { call }, 5 Handler, 6 Signal { set, info } });

/// A wait, and its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub what: What,
    pub deadline: Time,
}

state!(struct Wait { what, deadline });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Running,
    Waiting(Wait),
    /// The wait is over, and the system call must be repeated.
    Retrying,
}

state!(enum State { 0 Running, 1 Waiting(wait), 2 Retrying });

pub struct Thread {
    pub tid: Tid,
    pub cpu: Cpu,
    pub state: State,
    pub call: Call,
    pub blocked: SigSet,
    /// The signal mask to restore after the next handler (`sigsuspend`).
    pub mask_after: Option<SigSet>,
    pub pending: Vec<SigInfo>,
    pub alt_stack: AltStack,
    pub trap: TrapState,
    /// An address to clear, with a futex wake-up, when the thread ends.
    pub clear_at_exit: u64,
    pub robust_list: u64,
    pub name: [u8; 16],
    /// The CPUs on which the thread may run.
    pub cpus: CpuSet,
    /// In a timed run: whether the core holds the line that the thread's next instruction, a locked one, accesses.
    pub locked: bool,
    /// In a timed run: the exception of the thread's next instruction, until the kernel handles it.
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
            cpus: CpuSet::default(),
            locked: false,
            exception: None,
        }
    }

    /// Records the system call in its registers.
    pub fn note_call(&mut self) {
        use Reg::{R8, R9, R10, Rax, Rdi, Rdx, Rsi};
        let gpr = &self.cpu.gpr;
        let args = [Rdi, Rsi, Rdx, R10, R8, R9].map(|register| gpr[register]);
        self.call = Call { number: gpr[Rax], args, deadline: None, done: 0 };
    }

    pub fn can_run(&self) -> bool {
        matches!(self.state, State::Running | State::Retrying)
    }

    /// When the thread's wait times out.
    pub fn deadline(&self) -> Time {
        match self.state {
            State::Waiting(wait) => wait.deadline,
            _ => Time::NEVER,
        }
    }

    /// The thread's name as text.
    pub fn name(&self) -> String {
        let end = self.name.iter().position(|byte| *byte == 0).unwrap_or(self.name.len());
        String::from_utf8_lossy(&self.name[..end]).into_owned()
    }
}
