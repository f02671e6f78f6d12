//! How waits end: by a wake-up or by a timeout.

use super::{Process, State, Wait, What};
use crate::{errno::Errno, guest::HostFault};
use mem::VirtAddr;
use x86::Reg;

impl Process {
    /// Ends a thread's system call with a result.
    pub(crate) fn finish(&mut self, index: usize, result: Result<u64, Errno>) {
        let thread = &mut self.threads[index];
        thread.cpu.gpr[Reg::Rax] = result.unwrap_or_else(Errno::to_rax);
        thread.state = State::Running;
    }

    /// Ends the wait of a thread whose deadline has passed.
    pub(super) fn time_out(&mut self, index: usize, what: What) {
        match what {
            What::Futex { .. } => self.finish(index, Err(Errno::ETIMEDOUT)),
            What::Sleep { .. } => self.finish(index, Ok(0)),
            What::Signal { .. } => self.finish(index, Err(Errno::EAGAIN)),
            What::Handler => self.finish(index, Err(Errno::EINTR)),
            What::Page { call: false } => self.threads[index].state = State::Running,
            What::Page { call: true } | What::Files { .. } | What::Driver => {
                self.threads[index].state = State::Retrying
            }
        }
    }

    /// Makes waiting threads repeat their calls after an event that they may wait for.
    pub(crate) fn retry(&mut self, waiting: impl Fn(What) -> bool) {
        for thread in &mut self.threads {
            if matches!(thread.state, State::Waiting(wait) if waiting(wait.what)) {
                thread.state = State::Retrying;
            }
        }
    }

    /// Makes threads that wait for the driver or its devices check again.
    pub(crate) fn retry_driver(&mut self) {
        self.retry(|what| matches!(what, What::Driver | What::Page { call: true }));
        for thread in &mut self.threads {
            if matches!(thread.state, State::Waiting(wait) if wait.what == What::Page { call: false }) {
                thread.state = State::Running;
            }
        }
    }

    /// Lets the driver handle an access of an instruction or a system call to a guarded page. Returns whether the
    /// access must be repeated, now or when the thread continues.
    pub(crate) fn repair(&mut self, index: usize, address: u64, write: bool, call: bool) -> bool {
        let (tid, now) = (self.threads[index].tid, self.clock.now());
        self.space.take_guarded();
        match self.driver.host_fault(VirtAddr(address), write, tid, &mut self.space, now) {
            HostFault::Repaired if call => self.threads[index].state = State::Retrying,
            HostFault::Repaired => {}
            HostFault::Wait { until } => {
                self.threads[index].state = State::Waiting(Wait { what: What::Page { call }, deadline: until });
            }
            HostFault::NotMine => return false,
        }
        true
    }
}
