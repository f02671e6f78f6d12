//! How waits end: by whoever wakes the thread, or by their deadline.

use super::{Process, State, What};
use crate::errno::Errno;
use x86::Reg;

impl Process {
    /// Ends a thread's system call with a result.
    pub(crate) fn finish(&mut self, index: usize, result: Result<u64, Errno>) {
        let thread = &mut self.threads[index];
        thread.cpu.gpr[Reg::Rax] = result.unwrap_or_else(Errno::to_rax);
        thread.state = State::Running;
    }

    /// The wait of a thread has lasted as long as it may.
    pub(super) fn time_out(&mut self, index: usize, what: What) {
        match what {
            What::Futex { .. } => self.finish(index, Err(Errno::ETIMEDOUT)),
            What::Sleep { .. } => self.finish(index, Ok(0)),
            What::Signal { .. } => self.finish(index, Err(Errno::EAGAIN)),
            What::Handler => self.finish(index, Err(Errno::EINTR)),
            What::Files { .. } | What::Driver => self.threads[index].state = State::Retrying,
        }
    }

    /// Something happened that threads may wait for: those look again.
    pub(crate) fn retry(&mut self, waiting: impl Fn(What) -> bool) {
        for thread in &mut self.threads {
            if matches!(thread.state, State::Waiting(wait) if waiting(wait.what)) {
                thread.state = State::Retrying;
            }
        }
    }
}
