//! The action of a process for each signal.

use super::{SigSet, Signal};
use crate::state::state;

/// The action for one signal, as `rt_sigaction` sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Action {
    /// The handler's address, or SIG_DFL or SIG_IGN.
    pub handler: u64,
    pub flags: u64,
    pub restorer: u64,
    pub mask: SigSet,
}

state!(struct Action { handler, flags, restorer, mask });

impl Action {
    const DEFAULT: u64 = 0;
    const IGNORE: u64 = 1;

    pub const ON_STACK: u64 = 0x0800_0000;
    pub const RESTART: u64 = 0x1000_0000;
    pub const NO_DEFER: u64 = 0x4000_0000;
    pub const RESET: u64 = 0x8000_0000;
    pub const RESTORER: u64 = 0x0400_0000;

    pub fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }
}

/// The effect of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    Ignore,
    Kill,
    Handle(Action),
}

/// The actions of a process.
pub struct Actions([Action; 64]);

state!(tuple Actions);

impl Default for Actions {
    fn default() -> Self {
        Actions([Action::default(); 64])
    }
}

impl Actions {
    pub fn get(&self, signal: Signal) -> Action {
        self.0[usize::from(signal.0) - 1]
    }

    pub fn set(&mut self, signal: Signal, action: Action) {
        self.0[usize::from(signal.0) - 1] = action;
    }

    pub fn disposition(&self, signal: Signal) -> Disposition {
        let action = self.get(signal);
        match action.handler {
            Action::DEFAULT if signal.ignored_by_default() => Disposition::Ignore,
            Action::DEFAULT => Disposition::Kill,
            Action::IGNORE => Disposition::Ignore,
            _ => Disposition::Handle(action),
        }
    }
}

/// The alternate signal stack of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AltStack {
    pub start: u64,
    pub flags: u32,
    pub size: u64,
}

state!(struct AltStack { start, flags, size });

impl AltStack {
    pub const ON_STACK: u32 = 1;
    pub const DISABLED: u32 = 2;

    /// Whether a stack pointer is inside this stack.
    pub fn holds(&self, pointer: u64) -> bool {
        self.flags & AltStack::DISABLED == 0 && pointer > self.start && pointer - self.start <= self.size
    }
}

impl Default for AltStack {
    fn default() -> Self {
        AltStack { start: 0, flags: AltStack::DISABLED, size: 0 }
    }
}
