//! The kernel in time: one agent at a time enters it, and leaves it when all has been performed that it wrote.
//!
//! The kernel has one lock. An agent that enters it holds it until all that the kernel wrote for it has been performed: no other
//! agent can enter before, and no thread that was woken can run. System calls, faults and interrupts take the time that
//! [`SystemSpec`] says (`[giles 3.2.1, 3.2.2, 3.2.7]`). Where hardware remembers translations, the kernel is left only when all
//! have forgotten those that it changed.

use super::{Advanced, TimedProcess};
use crate::{
    Tid,
    errno::Errno,
    memory::{Line, Touch},
    process::{End, State},
    signal::{Detail, SigInfo, Signal},
};
use x86::{Exception, Reg};

/// What the kernel takes, in cycles of the core that enters it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemSpec {
    /// To the kernel and back: each system call, fault, signal and interrupt.
    pub trap: u64,
    /// A page that has to be brought in or copied, beside the trap.
    pub soft_fault: u64,
    /// The same if a file has to be read.
    pub hard_fault: u64,
    /// Each KiB that the kernel writes for the program, beside the time of its stores.
    pub copy_per_kib: u64,
}

impl Default for SystemSpec {
    /// The papers leave these open; a trap of about a third of a microsecond is what Linux takes on processors of that time.
    fn default() -> Self {
        SystemSpec { trap: 1_000, soft_fault: 1_000, hard_fault: 20_000, copy_per_kib: 64 }
    }
}

/// Why the kernel is entered.
pub(super) enum Entry {
    Call(usize),
    Fault(usize, Exception),
    SplitLock(usize, u64),
    Signal(usize),
    Interrupt,
}

/// Ranges of addresses whose translation has changed.
type Ranges = Vec<(u64, u64)>;

/// How far it has come that hardware forgets what the kernel has changed.
pub(super) enum Shootdown {
    /// It is not known yet what has changed.
    Open,
    /// Somebody is to be told of these.
    Wanted(Ranges),
    /// He has been told.
    UnderWay,
    /// All has been forgotten.
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
                    // The driver could not read what a kernel left: it looks again when that has come.
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
        let SystemSpec { trap, soft_fault, hard_fault, copy_per_kib } = self.spec;
        let paging = (faults - hard) * soft_fault + hard * hard_fault;
        Advanced::System { cycles: trap + paging + written as u64 * copy_per_kib / 1024, stores }
    }

    /// Whether anything has been stored since the window was turned to somebody.
    fn has_stored(&mut self) -> bool {
        self.touches().iter().any(|touch| touch.store)
    }

    /// Makes a system call. If it could not read a line that is with a device, it has not been made, and that is the line.
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
        // What it has stored (pages that it brought in) comes first; then it finds the line away again.
        (!stored).then_some(missing)
    }

    /// All that the kernel wrote has been performed: whether all who remember translations have forgotten what has changed.
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

    /// There is hardware that remembers translations: whatever the kernel changes, [`TimedProcess::take_shootdown`] will say.
    pub fn keep_tlbs(&mut self) {
        self.has_tlbs = true;
    }

    /// Takes the ranges of addresses whose translation has changed, once: all are to forget them, and when they have,
    /// [`TimedProcess::shot_down`] is to be called.
    pub fn take_shootdown(&mut self) -> Option<Vec<(u64, u64)>> {
        match std::mem::replace(&mut self.shootdown, Shootdown::UnderWay) {
            Shootdown::Wanted(ranges) => Some(ranges),
            other => {
                self.shootdown = other;
                None
            }
        }
    }

    /// All have forgotten.
    pub fn shot_down(&mut self) {
        self.shootdown = Shootdown::Over;
    }
}
