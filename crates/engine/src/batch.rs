//! The contexts that run in every cycle.
//!
//! A context that pauses for one cycle again and again is the most frequent case, so it stays in place: the batch holds
//! the tasks themselves, in the order in which they run. A context leaves the batch only when it asks for something
//! else.

use crate::{
    core::{Core, Gate, Task, request},
    domain::{Filing, nothing},
};
use std::task::{Context as PollContext, Waker};

pub(crate) struct Batch {
    tasks: Vec<Task>,
    /// The numbers of the contexts whose `tasks` these are.
    ids: Vec<u32>,
    /// Which of them need not run as long as a gate is closed. Empty until a context has a gate: most domains have none.
    gates: Vec<Option<Gate>>,
}

/// A context that asked for something other than a pause of one cycle: its place, whether it ended, and its request
/// word.
struct Leaver {
    place: usize,
    ended: bool,
    word: u64,
}

impl Batch {
    pub(crate) fn new() -> Batch {
        Batch { tasks: Vec::new(), ids: Vec::new(), gates: Vec::new() }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Adds a context at the end; it runs in the next cycle.
    #[inline]
    pub(crate) fn push(&mut self, task: Task, id: u32, gate: Option<Gate>) {
        if gate.is_some() || !self.gates.is_empty() {
            self.set_gate(self.ids.len(), gate);
        }
        self.tasks.push(task);
        self.ids.push(id);
    }

    /// Sets the gate of a place, which may be that of the next context to come.
    fn set_gate(&mut self, place: usize, gate: Option<Gate>) {
        if self.gates.len() <= place {
            self.gates.resize_with(self.ids.len().max(place + 1), || None);
        }
        self.gates[place] = gate;
    }

    /// Runs every context once. Contexts that leave the batch are filed.
    #[inline]
    pub(crate) fn run<const TRACE: bool>(&mut self, core: &Core, filing: &mut Filing, now: u64) {
        if let Some(leaver) = self.run_from::<TRACE>(0, core, filing, now) {
            self.close_ranks::<TRACE>(leaver, core, filing, now);
        }
    }

    /// Runs contexts from number `first` on until one leaves the batch. A separate function, so that its few variables
    /// stay in registers.
    #[inline(never)]
    fn run_from<const TRACE: bool>(
        &mut self,
        first: usize,
        core: &Core,
        filing: &mut Filing,
        now: u64,
    ) -> Option<Leaver> {
        match self.gates.is_empty() {
            true => self.run_gated::<TRACE, false>(first, core, filing, now),
            false => self.run_gated::<TRACE, true>(first, core, filing, now),
        }
    }

    /// Variant of [`run_from`](Self::run_from) in which the closed gates of contexts are obeyed, if there are any. A
    /// trace has every cycle.
    #[inline(always)]
    fn run_gated<const TRACE: bool, const GATES: bool>(
        &mut self,
        first: usize,
        core: &Core,
        filing: &mut Filing,
        now: u64,
    ) -> Option<Leaver> {
        let mut poll_context = PollContext::from_waker(Waker::noop());
        let mut place = first;
        while let (Some(task), Some(&id)) = (self.tasks.get_mut(place), self.ids.get(place)) {
            if GATES && !TRACE {
                let gate = &mut self.gates[place];
                if gate.as_ref().is_some_and(|gate| gate.is_closed(now)) {
                    place += 1;
                    continue;
                }
                *gate = None;
            }
            core.context.set(id);
            let ended = task.as_mut().poll(&mut poll_context).is_ready();
            let word = core.request.replace(request::NONE);
            if ended || word != 1 {
                return Some(Leaver { place, ended, word });
            }
            if core.has_gate.get() {
                let gate = core.take_gate();
                self.set_gate(place, gate);
                if !GATES {
                    // From now on, gates are looked at.
                    return self.run_from::<TRACE>(place + 1, core, filing, now);
                }
            }
            if TRACE {
                filing.file::<TRACE>(core, id, now, ended, word);
            }
            place += 1;
        }
        None
    }

    /// Files the first leaver and all later ones. The contexts that stay move up.
    fn close_ranks<const TRACE: bool>(&mut self, first: Leaver, core: &Core, filing: &mut Filing, now: u64) {
        let mut kept = first.place;
        let mut leaver = Some(first);
        while let Some(Leaver { place, ended, word }) = leaver {
            let (task, id) = (std::mem::replace(&mut self.tasks[place], nothing()), self.ids[place]);
            filing.park(task, id);
            filing.file::<TRACE>(core, id, now, ended, word);
            leaver = self.run_from::<TRACE>(place + 1, core, filing, now);
            let next = leaver.as_ref().map_or(self.ids.len(), |leaver| leaver.place);
            for stays in place + 1..next {
                self.tasks.swap(kept, stays);
                self.ids.swap(kept, stays);
                if !self.gates.is_empty() {
                    self.gates.swap(kept, stays);
                }
                kept += 1;
            }
        }
        self.tasks.truncate(kept);
        self.ids.truncate(kept);
        self.gates.truncate(kept);
    }
}
