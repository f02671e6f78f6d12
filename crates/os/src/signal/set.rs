//! Signal sets, in the kernel's 64-bit representation.

use super::Signal;
use crate::state::state;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SigSet(pub u64);

state!(tuple SigSet);

impl SigSet {
    pub const EMPTY: SigSet = SigSet(0);

    fn bit(signal: Signal) -> u64 {
        1 << (signal.0 - 1)
    }

    pub fn has(self, signal: Signal) -> bool {
        self.0 & SigSet::bit(signal) != 0
    }

    pub fn with(self, signal: Signal) -> SigSet {
        SigSet(self.0 | SigSet::bit(signal))
    }

    pub fn union(self, other: SigSet) -> SigSet {
        SigSet(self.0 | other.0)
    }

    pub fn without(self, other: SigSet) -> SigSet {
        SigSet(self.0 & !other.0)
    }

    /// The subset that can be blocked: all but SIGKILL and SIGSTOP.
    pub fn blockable(self) -> SigSet {
        SigSet(self.0 & !(SigSet::bit(Signal::KILL) | SigSet::bit(Signal::STOP)))
    }
}
