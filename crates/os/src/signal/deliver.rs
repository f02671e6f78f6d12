//! Delivers signals to a thread that is about to run.

use super::{Action, Disposition, SigInfo, SigSet, Signal};
use crate::process::{End, Process, Thread};

impl Process {
    /// Whether a signal is pending that the thread does not block.
    pub(crate) fn has_signal(&self, index: usize) -> bool {
        let thread = &self.threads[index];
        if thread.pending.is_empty() && self.pending.is_empty() {
            return false;
        }
        let open = |info: &SigInfo| !thread.blocked.has(info.signal);
        thread.pending.iter().any(open) || self.pending.iter().any(open)
    }

    /// Delivers the pending, unblocked signal with the lowest number.
    pub(crate) fn deliver_signals(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        let blocked = thread.blocked;
        let Some(info) = take(&mut thread.pending, blocked).or_else(|| take(&mut self.pending, blocked)) else {
            return;
        };
        match self.actions.disposition(info.signal) {
            Disposition::Ignore => {}
            Disposition::Kill => self.kill(index, info),
            Disposition::Handle(action) => self.call_handler(index, info, action),
        }
    }

    /// Delivers a signal that can't be deferred, because the instruction that caused it would fail again. If the thread
    /// blocks or ignores it, the process ends.
    pub(crate) fn force_signal(&mut self, index: usize, info: SigInfo) {
        match self.actions.disposition(info.signal) {
            Disposition::Handle(action) if !self.threads[index].blocked.has(info.signal) => {
                self.call_handler(index, info, action);
            }
            _ => self.kill(index, info),
        }
    }

    fn call_handler(&mut self, index: usize, info: SigInfo, action: Action) {
        let thread = &mut self.threads[index];
        let mask = thread.mask_after.take().unwrap_or(thread.blocked);
        if self.push_frame(index, &info, &action, mask).is_err() {
            // There is no room for the frame, so a SIGSEGV handler could not run either.
            let report = self.stack_report(index, info.signal);
            self.end = Some(End::Killed { signal: Signal::SEGV.0, report });
            return;
        }
        if action.has(Action::RESET) {
            self.actions.set(info.signal, Action::default());
        }
        let own = if action.has(Action::NO_DEFER) { SigSet::EMPTY } else { SigSet::EMPTY.with(info.signal) };
        let thread: &mut Thread = &mut self.threads[index];
        thread.blocked = thread.blocked.union(action.mask).union(own).blockable();
    }

    fn kill(&mut self, index: usize, info: SigInfo) {
        let report = self.kill_report(index, &info);
        self.end = Some(End::Killed { signal: info.signal.0, report });
    }
}

/// Removes the unblocked signal with the lowest number from a queue.
fn take(list: &mut Vec<SigInfo>, blocked: SigSet) -> Option<SigInfo> {
    let open = list.iter().enumerate().filter(|(_, info)| !blocked.has(info.signal));
    let (place, _) = open.min_by_key(|(place, info)| (info.signal, *place))?;
    Some(list.remove(place))
}
