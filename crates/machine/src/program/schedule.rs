//! Which thread runs where.
//!
//! An agent, a hardware thread of a core, runs a thread until that waits. It takes a thread up again that it ran last, else
//! one that nobody has run yet, else one whose last agent has something else to do; of several, the one that began first. If
//! more threads can run than there are agents, a thread gives way when its slice of time is over.

use engine::Time;
use os::{Tid, process::TimedProcess};
use std::collections::BTreeMap;

/// What runs on an agent.
#[derive(Clone, Copy, Debug)]
struct Turn {
    thread: Tid,
    /// When others get their turn, if there are any.
    until: Time,
}

#[derive(Debug)]
pub struct Schedule {
    agents: Vec<Option<Turn>>,
    /// Where threads ran last.
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

    /// The thread of an agent.
    pub fn running(&self, agent: usize) -> Option<Tid> {
        self.agents[agent].map(|turn| turn.thread)
    }

    /// Finds a thread for an agent that has none.
    pub fn pick(&mut self, agent: usize, driven: &TimedProcess, now: Time) -> Option<Tid> {
        let free = |tid: &Tid| !self.agents.iter().flatten().any(|turn| turn.thread == *tid);
        let rank = |tid: &Tid| match self.last.get(tid) {
            Some(last) if *last == agent => 0,
            None => 1,
            Some(last) if self.agents[*last].is_some() => 2,
            // Its own agent is about to take it.
            Some(_) => 3,
        };
        let thread = driven.runnable().filter(free).map(|tid| (rank(&tid), tid)).min().filter(|(rank, _)| *rank < 3)?.1;
        self.agents[agent] = Some(Turn { thread, until: now + self.slice });
        self.last.insert(thread, agent);
        Some(thread)
    }

    /// The thread of an agent waits, or has ended.
    pub fn release(&mut self, agent: usize) {
        self.agents[agent] = None;
    }

    /// A thread has ended.
    pub fn forget(&mut self, thread: Tid) {
        self.last.remove(&thread);
    }

    /// The thread of an agent gives the rest of its slice away.
    pub fn give_way(&mut self, agent: usize, now: Time) {
        if let Some(turn) = &mut self.agents[agent] {
            turn.until = now;
        }
    }

    /// Whether an agent's thread is to give way to one that has none. If nobody waits, it gets another slice.
    pub fn is_over(&mut self, agent: usize, driven: &TimedProcess, now: Time) -> bool {
        let Some(turn) = self.agents[agent].filter(|turn| turn.until <= now) else { return false };
        let waits = |tid: Tid| !self.agents.iter().flatten().any(|turn| turn.thread == tid);
        if driven.can_be_taken(turn.thread) && driven.runnable().any(waits) {
            return true;
        }
        self.agents[agent] = Some(Turn { until: now + self.slice, ..turn });
        false
    }

    /// Takes the thread from an agent and gives it the one that has waited longest.
    pub fn switch(&mut self, agent: usize, driven: &TimedProcess, now: Time) {
        let Some(old) = self.running(agent) else { return };
        let waits = |tid: &Tid| !self.agents.iter().flatten().any(|turn| turn.thread == *tid);
        let mut waiting: Vec<Tid> = driven.runnable().filter(waits).collect();
        // In turn: the next behind the one that gives way.
        waiting.sort_by_key(|tid| (*tid < old, *tid));
        if let Some(thread) = waiting.first() {
            self.agents[agent] = Some(Turn { thread: *thread, until: now + self.slice });
            self.last.insert(*thread, agent);
        }
    }
}
