//! Signals: their actions, their delivery, and the frame of a handler.

mod action;
mod deliver;
mod fault;
mod frame;
mod info;
mod send;
mod set;

use crate::state::state;
pub use action::{Action, Actions, AltStack, Disposition};
pub use fault::TrapState;
pub(crate) use frame::{ORDER, stack_flags};
pub use info::{Detail, SigInfo};
pub use set::SigSet;

/// The number of a signal, 1 to 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signal(u8);

state!(tuple Signal);

impl Signal {
    pub const ILL: Signal = Signal(4);
    pub const TRAP: Signal = Signal(5);
    pub const BUS: Signal = Signal(7);
    pub const FPE: Signal = Signal(8);
    pub const KILL: Signal = Signal(9);
    pub const SEGV: Signal = Signal(11);
    pub const PIPE: Signal = Signal(13);
    pub const ALRM: Signal = Signal(14);
    pub const STOP: Signal = Signal(19);

    pub fn new(number: u64) -> Option<Signal> {
        (1..=64).contains(&number).then_some(Signal(number as u8))
    }

    pub fn number(self) -> u8 {
        self.0
    }

    pub fn name(self) -> String {
        const NAMES: [&str; 31] = [
            "SIGHUP",
            "SIGINT",
            "SIGQUIT",
            "SIGILL",
            "SIGTRAP",
            "SIGABRT",
            "SIGBUS",
            "SIGFPE",
            "SIGKILL",
            "SIGUSR1",
            "SIGSEGV",
            "SIGUSR2",
            "SIGPIPE",
            "SIGALRM",
            "SIGTERM",
            "SIGSTKFLT",
            "SIGCHLD",
            "SIGCONT",
            "SIGSTOP",
            "SIGTSTP",
            "SIGTTIN",
            "SIGTTOU",
            "SIGURG",
            "SIGXCPU",
            "SIGXFSZ",
            "SIGVTALRM",
            "SIGPROF",
            "SIGWINCH",
            "SIGIO",
            "SIGPWR",
            "SIGSYS",
        ];
        NAMES.get(usize::from(self.0) - 1).map_or_else(|| format!("signal {}", self.0), |name| (*name).into())
    }

    /// Whether its default action is to do nothing. Stopping a process is not modelled, so stop signals count too.
    fn ignored_by_default(self) -> bool {
        matches!(self.0, 17..=23 | 28)
    }
}
