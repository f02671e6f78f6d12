//! The kernel in a timed run: one agent at a time enters it, and leaves it when all its stores have been performed.
//!
//! The kernel has one lock. An agent that enters holds it until all stores of the kernel on its behalf have been
//! performed. Until then no other agent can enter, and no thread that was woken can run. System calls, faults and
//! interrupts take the time given by [`SystemSpec`] (`[giles 3.2.1, 3.2.2, 3.2.7]`). On machines with TLBs, an agent
//! leaves the kernel only after all TLBs have invalidated the translations that it changed.

use super::{Advanced, TimedProcess};
use crate::{
    Tid,
    errno::Errno,
    memory::{Line, Touch},
    process::{End, State},
    signal::{Detail, SigInfo, Signal},
};
use x86::{Exception, Reg};

/// Costs of the kernel, in cycles of the core that enters it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemSpec {
    /// Entry and exit: each system call, fault, signal and interrupt.
    pub trap: u64,
    /// Cycles for mapping or copying a page, in addition to the trap.
    pub soft_fault: u64,
    /// A page that is read from a file, in addition to the trap.
    pub hard_fault: u64,
    /// Each KiB that the kernel writes for the program, in addition to the time of its stores.
    pub copy_per_kib: u64,
    /// Whether anonymous memory gets pages of 2 MiB wherever they fit, and not only where a program asks for them.
    pub huge_pages: bool,
}

impl Default for SystemSpec {
    /// The papers don't give these values; a third of a microsecond is about what a trap takes in Linux on processors
    /// of that time.
    fn default() -> Self {
        SystemSpec { trap: 1_000, soft_fault: 1_000, hard_fault: 20_000, copy_per_kib: 64, huge_pages: false }
    }
}

/// The reason for entering the kernel.
pub(super) enum Entry {
    Call(usize),
    Fault(usize, Exception),
    SplitLock(usize, u64),
    Signal(usize),
    Interrupt,
}

/// Address ranges whose translation has changed.
type Ranges = Vec<(u64, u64)>;

/// The progress of a TLB shootdown after the kernel has changed translations.
pub(super) enum Shootdown {
    /// The changed ranges are not known yet.
    Open,
    /// These ranges must be shot down.
    Wanted(Ranges),
    /// The shootdown is in flight.
    UnderWay,
    /// All TLBs have invalidated the ranges.
    Over,
}

impl TimedProcess {
    /// Enters the kernel, if that is possible now.
    pub(super) fn enter(&mut self, agent: usize, entry: Entry, quiet: bool, tid: Option<Tid>) -> Advanced {
        if !quiet {
            return Advanced::Drain;
        }
        let lets_by = self.wanting.front().is_some_and(|first| *first != agent);
        if self.holder.is_some() || lets_by {
            return Advanced::Busy;
        }
        let process = &mut self.process;
        let Some(window) = process.space.window() else { return Advanced::Ended };
        window.enter_kernel(agent);
        process.agent = agent;
        let (faults, hard) = (process.space.faults(), process.space.hard_faults());
        let before: Vec<Tid> =
            process.threads.iter().filter(|thread| thread.can_run()).map(|thread| thread.tid).collect();
        self.worked = false;
        match entry {
            Entry::Call(index) => {
                if let Some(missing) = self.call(index) {
                    return Advanced::Missing(missing);
                }
            }
            Entry::Fault(index, exception) => {
                process.threads[index].exception = None;
                process.fault(index, exception);
            }
            Entry::SplitLock(index, address) => {
                let detail = Detail::Fault { address };
                process.force_signal(index, SigInfo { signal: Signal::BUS, code: SigInfo::BUS_ALIGNMENT, detail });
            }
            Entry::Signal(index) => process.deliver_signals(index),
            Entry::Interrupt => {
                self.interrupt = false;
                process.end_waits_that_are_due();
                self.worked = process.let_devices_work();
                let window = process.space.window();
                if let Some(missing) = window.and_then(|window| window.missing()) {
                    // The driver could not read what a kernel left: it tries again when the line has arrived.
                    self.interrupt = true;
                    if !self.worked && !self.has_stored() {
                        return Advanced::Missing(missing);
                    }
                }
            }
        }
        let process = &mut self.process;
        if let Some(report) = process.driver.broken() {
            process.end.get_or_insert(End::MachineBroken { report });
        }
        self.holder = Some(agent);
        let able = process.threads.iter().filter(|thread| thread.can_run()).map(|thread| thread.tid);
        self.held = able.filter(|other| !before.contains(other) && Some(*other) != tid).collect();
        let touched = process.space.window().map_or(&[][..], |window| window.touches());
        let stores: Vec<Touch> = touched.iter().filter(|touch| touch.store).copied().collect();
        let written: usize = stores.iter().map(|touch| touch.data.mask().len()).sum();
        let (faults, hard) = (process.space.faults() - faults, process.space.hard_faults() - hard);
        let SystemSpec { trap, soft_fault, hard_fault, copy_per_kib, .. } = self.spec;
        let paging = (faults - hard) * soft_fault + hard * hard_fault;
        Advanced::System { cycles: trap + paging + written as u64 * copy_per_kib / 1024, stores }
    }

    /// Whether anything has been stored since the window was last assigned to an agent.
    fn has_stored(&mut self) -> bool {
        self.touches().iter().any(|touch| touch.store)
    }

    /// Executes a system call. If it failed because a line is held by a device, it is repeated later, and this returns
    /// the line.
    fn call(&mut self, index: usize) -> Option<Line> {
        let process = &mut self.process;
        let thread = &mut process.threads[index];
        let tid = thread.tid;
        thread.state = State::Running;
        process.do_call(index);
        let window = process.space.window()?;
        let missing = window.missing()?;
        let stored = window.touches().iter().any(|touch| touch.store);
        let index = process.thread_index(tid)?;
        let thread = &mut process.threads[index];
        if thread.state != State::Running || thread.cpu.gpr[Reg::Rax] != Errno::EFAULT.to_rax() {
            return None;
        }
        thread.state = State::Retrying;
        // Stores of the call (pages that it mapped) are performed first; the repeated call then finds the line missing
        // again.
        (!stored).then_some(missing)
    }

    /// Called when all stores of the kernel have been performed; returns whether the shootdown is complete.
    pub(super) fn may_leave(&mut self) -> bool {
        if matches!(self.shootdown, Shootdown::Open) {
            let changed = self.process.space.leave_kernel();
            self.shootdown = if changed.is_empty() { Shootdown::Over } else { Shootdown::Wanted(changed) };
        }
        matches!(self.shootdown, Shootdown::Over)
    }

    pub(super) fn leave(&mut self) {
        self.holder = None;
        self.held.clear();
        self.shootdown = Shootdown::Open;
        let process = &mut self.process;
        process.space.leave_kernel();
        self.end = self.end.take().or_else(|| process.end.take());
        self.deadline = self.next_deadline();
    }

    /// Enables shootdowns for machines with TLBs: [`TimedProcess::take_shootdown`] reports all changes of the kernel.
    pub fn keep_tlbs(&mut self) {
        self.has_tlbs = true;
    }

    /// Takes the address ranges whose translation has changed, once. The machine must invalidate them in all TLBs and
    /// then call [`TimedProcess::shot_down`].
    pub fn take_shootdown(&mut self) -> Option<Vec<(u64, u64)>> {
        match std::mem::replace(&mut self.shootdown, Shootdown::UnderWay) {
            Shootdown::Wanted(ranges) => Some(ranges),
            other => {
                self.shootdown = other;
                None
            }
        }
    }

    /// Called when all TLBs have invalidated the ranges.
    pub fn shot_down(&mut self) {
        self.shootdown = Shootdown::Over;
    }
}
