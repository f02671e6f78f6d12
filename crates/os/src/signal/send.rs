//! Sends signals to threads and to the process.

use super::{Action, Disposition, SigInfo, Signal};
use crate::{
    errno::Errno,
    guest::GuestMemory,
    process::{Alarm, Process, State, TimeSpec, What},
};
use engine::Time;
use mem::VirtAddr;
use x86::Reg;

/// From this number on signals queue up; of lower ones at most one is pending.
const FIRST_REAL_TIME: u8 = 32;
const MOST_QUEUED: usize = 1024;

impl Process {
    /// Sends a signal to one thread.
    pub(crate) fn send_to_thread(&mut self, index: usize, info: SigInfo) -> Result<(), Errno> {
        if self.drops(info.signal, index) {
            return Ok(());
        }
        if queue(&mut self.threads[index].pending, info)? {
            self.interrupt(index, info.signal);
        }
        Ok(())
    }

    /// Sends a signal to the process. A thread that does not block it takes it, preferably the caller.
    pub(crate) fn send_to_process(&mut self, caller: usize, info: SigInfo) -> Result<(), Errno> {
        let candidates = std::iter::once(caller).chain(0..self.threads.len());
        let waiting = |state| matches!(state, State::Waiting(wait) if matches!(wait.what, What::Signal { set, .. } if set.has(info.signal)));
        let taker = candidates
            .filter(|index| *index < self.threads.len())
            .find(|index| !self.threads[*index].blocked.has(info.signal) || waiting(self.threads[*index].state));
        if self.drops(info.signal, taker.unwrap_or(0)) {
            return Ok(());
        }
        match taker {
            Some(index) => self.send_to_thread(index, info),
            None => queue(&mut self.pending, info).map(|_| ()),
        }
    }

    /// Whether a signal is discarded. A blocked one stays pending, since its action may change.
    fn drops(&self, signal: Signal, index: usize) -> bool {
        let blocked = self.threads.get(index).is_some_and(|thread| thread.blocked.has(signal));
        !blocked && self.actions.disposition(signal) == Disposition::Ignore
    }

    /// Called when a thread starts to wait: a signal that arrived before then ends the wait at once.
    pub(crate) fn notice_signals(&mut self, index: usize) {
        let thread = &self.threads[index];
        let waiting = thread.pending.iter().chain(&self.pending).map(|info| info.signal);
        if let Some(signal) = waiting.filter(|signal| !thread.blocked.has(*signal)).min() {
            self.interrupt(index, signal);
        }
    }

    /// Ends the wait of a thread because of a signal.
    fn interrupt(&mut self, index: usize, signal: Signal) {
        let State::Waiting(wait) = self.threads[index].state else { return };
        if let What::Signal { set, info } = wait.what
            && set.has(signal)
        {
            let result = self.take_waited(index, set.0, info);
            self.finish(index, result);
            return;
        }
        if self.threads[index].blocked.has(signal) {
            return;
        }
        let restart =
            matches!(self.actions.disposition(signal), Disposition::Handle(action) if action.has(Action::RESTART));
        let again = match wait.what {
            What::Page { .. } => return,
            What::Futex { .. } | What::Driver => restart,
            What::Files { restart: may } => restart && may,
            What::Sleep { remaining } => {
                self.store_remaining(remaining, wait.deadline);
                false
            }
            What::Handler | What::Signal { .. } => false,
        };
        if again {
            let thread = &mut self.threads[index];
            // Go back over the two bytes of the `syscall` instruction.
            thread.cpu.rip -= 2;
            thread.cpu.gpr[Reg::Rax] = thread.call.number;
            thread.state = State::Running;
        } else {
            self.finish(index, Err(Errno::EINTR));
        }
    }

    fn store_remaining(&mut self, at: u64, deadline: Time) {
        if at != 0 {
            let left = TimeSpec::of(Time(deadline.0.saturating_sub(self.clock.now().0)));
            // The pointer was checked when the call was made.
            let _ = self.space.write_u64(VirtAddr(at), left.seconds);
            let _ = self.space.write_u64(VirtAddr(at.wrapping_add(8)), left.nanoseconds);
        }
    }

    /// Takes a pending signal of a set for `sigtimedwait`: stores its information and returns its number.
    pub(crate) fn take_waited(&mut self, index: usize, set: u64, info: u64) -> Result<u64, Errno> {
        let wanted = super::SigSet(set);
        let first = |list: &mut Vec<SigInfo>| {
            let place = list.iter().position(|info| wanted.has(info.signal))?;
            Some(list.remove(place))
        };
        let found = first(&mut self.threads[index].pending).or_else(|| first(&mut self.pending));
        let found = found.ok_or(Errno::EAGAIN)?;
        if info != 0 {
            self.space.write(VirtAddr(info), &found.bytes())?;
        }
        Ok(found.signal.0.into())
    }

    /// Called when the alarm is due.
    pub(crate) fn ring(&mut self, alarm: Alarm) {
        self.alarm = (alarm.every > Time::ZERO).then(|| Alarm { at: alarm.at + alarm.every, ..alarm });
        // If the signal queue is full, it already holds this signal.
        let _ = self.send_to_process(0, SigInfo::from_kernel(Signal::ALRM));
    }
}

/// Queues a signal; returns whether it was added.
fn queue(list: &mut Vec<SigInfo>, info: SigInfo) -> Result<bool, Errno> {
    if info.signal.0 < FIRST_REAL_TIME && list.iter().any(|other| other.signal == info.signal) {
        return Ok(false);
    }
    if list.len() >= MOST_QUEUED {
        return Err(Errno::EAGAIN);
    }
    list.push(info);
    Ok(true)
}
