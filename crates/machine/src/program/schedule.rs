//! Scheduling: which thread runs on which hardware thread.
//!
//! An agent is a hardware thread of a core. It runs a thread until that thread waits. An idle agent prefers a thread
//! that it ran last, then one that has never run, then one whose last agent is busy; among equals, the one that began
//! first. If more threads are runnable than there are agents, a thread is preempted at the end of its time slice. No
//! thread runs on an agent that its affinity excludes.

use engine::Time;
use os::{Tid, process::TimedProcess};
use std::collections::BTreeMap;

/// The thread that runs on an agent.
#[derive(Clone, Copy, Debug)]
struct Turn {
    thread: Tid,
    /// When the thread is preempted if others wait.
    until: Time,
}

#[derive(Debug)]
pub struct Schedule {
    agents: Vec<Option<Turn>>,
    /// The last agent of each thread.
    last: BTreeMap<Tid, usize>,
    slice: Time,
}

impl Schedule {
    pub fn new(agents: usize, slice: Time) -> Self {
        Self { agents: vec![None; agents], last: BTreeMap::new(), slice }
    }

    pub fn agents(&self) -> usize {
        self.agents.len()
    }

    /// The thread that runs on an agent.
    pub fn running(&self, agent: usize) -> Option<Tid> {
        self.agents[agent].map(|turn| turn.thread)
    }

    /// Picks a thread for an idle agent.
    pub fn pick(&mut self, agent: usize, driven: &TimedProcess, now: Time) -> Option<Tid> {
        let free = |tid: &Tid| !self.agents.iter().flatten().any(|turn| turn.thread == *tid);
        let may = |tid: &Tid| driven.may_run(*tid, agent);
        let rank = |tid: &Tid| match self.last.get(tid) {
            Some(last) if *last == agent => 0,
            None => 1,
            Some(last) if !driven.may_run(*tid, *last) => 1,
            Some(last) if self.agents[*last].is_some() => 2,
            // Its own agent is about to run it.
            Some(_) => 3,
        };
        let thread = driven
            .runnable()
            .filter(free)
            .filter(may)
            .map(|tid| (rank(&tid), tid))
            .min()
            .filter(|(rank, _)| *rank < 3)?
            .1;
        self.agents[agent] = Some(Turn { thread, until: now + self.slice });
        self.last.insert(thread, agent);
        Some(thread)
    }

    /// The thread of an agent waits or has ended.
    pub fn release(&mut self, agent: usize) {
        self.agents[agent] = None;
    }

    /// Whether an agent's thread may not run there any more.
    pub fn must_go(&self, agent: usize, driven: &TimedProcess) -> bool {
        self.running(agent).is_some_and(|tid| !driven.may_run(tid, agent) && driven.can_be_taken(tid))
    }

    /// Drops the record of a thread that has ended.
    pub fn forget(&mut self, thread: Tid) {
        self.last.remove(&thread);
    }

    /// The thread of an agent yields the rest of its slice.
    pub fn give_way(&mut self, agent: usize, now: Time) {
        if let Some(turn) = &mut self.agents[agent] {
            turn.until = now;
        }
    }

    /// Whether an agent's thread must be preempted. If no thread waits, it gets another slice.
    pub fn is_over(&mut self, agent: usize, driven: &TimedProcess, now: Time) -> bool {
        let Some(turn) = self.agents[agent].filter(|turn| turn.until <= now) else { return false };
        let waits = |tid: Tid| !self.agents.iter().flatten().any(|turn| turn.thread == tid);
        let may = |tid: &Tid| driven.may_run(*tid, agent);
        if driven.can_be_taken(turn.thread) && driven.runnable().filter(may).any(waits) {
            return true;
        }
        self.agents[agent] = Some(Turn { until: now + self.slice, ..turn });
        false
    }

    /// Preempts an agent's thread and runs the next waiting thread.
    pub fn switch(&mut self, agent: usize, driven: &TimedProcess, now: Time) {
        let Some(old) = self.running(agent) else { return };
        let waits = |tid: &Tid| !self.agents.iter().flatten().any(|turn| turn.thread == *tid);
        let may = |tid: &Tid| driven.may_run(*tid, agent);
        let mut waiting: Vec<Tid> = driven.runnable().filter(waits).filter(may).collect();
        // Round robin: the next thread after the preempted one.
        waiting.sort_by_key(|tid| (*tid < old, *tid));
        if let Some(thread) = waiting.first() {
            self.agents[agent] = Some(Turn { thread: *thread, until: now + self.slice });
            self.last.insert(*thread, agent);
        }
    }
}
