//! A process on the cores of a timed machine.
//!
//! The core model requests one instruction of a thread at a time, when it could fetch it, and passes the current time.
//! Instructions and the kernel are the same as in [`Process::run`]; only the timing differs. Stores wait in the
//! [window](crate::memory::Window) until the machine performs them. Fences, atomic accesses and the kernel need a
//! *quiet* agent: nothing of its hardware thread is in flight.

mod execute;
mod kernel;

pub use kernel::SystemSpec;

use super::{End, Process, State};
use crate::{
    Tid,
    forward::Stage,
    memory::{Line, Touch},
};
use engine::Time;
use kernel::{Entry, Shootdown};
use mem::{Block, LINE, LineAddr, PhysAddr};
use std::{collections::VecDeque, rc::Rc};
use x86::trace::Outline;

/// The number of instructions between progress reports.
const TOLD: u64 = 4096;

/// An executed instruction, or an executed part of a repeated one.
#[derive(Clone, Debug)]
pub struct Step {
    pub outline: Rc<Outline>,
    pub rip: u64,
    pub code: PhysAddr,
    pub next: u64,
    pub taken: bool,
}

/// The result of advancing a thread.
#[derive(Clone, Debug)]
pub enum Advanced {
    /// It executed an instruction, whose accesses are in [`TimedProcess::touches`].
    Executed(Step),
    /// The next operation needs a quiet agent.
    Drain,
    /// The agent needs exclusive access to this line; advance again when it has it.
    Lock(Line),
    /// The newest bytes of this line must arrive first.
    Missing(Line),
    /// The kernel has worked for the agent: it takes this number of cycles, then these stores. Advance again when they
    /// have been performed.
    System { cycles: u64, stores: Vec<Touch> },
    /// Another agent is in the kernel; advance again when it has left ([`TimedProcess::turn`] changes then).
    Busy,
    /// The agent can't leave the kernel before its shootdown is complete; advance again after
    /// [`TimedProcess::shot_down`].
    Waiting,
    /// The thread waits or, for an idle agent, there is nothing to do.
    Blocked,
    /// The thread has ended.
    Gone,
    /// The process has ended.
    Ended,
}

/// A process whose threads are executed by timed cores, one instruction at a time.
pub struct TimedProcess {
    process: Process,
    spec: SystemSpec,
    /// The agent that is in the kernel.
    holder: Option<usize>,
    /// Agents waiting for the kernel, in order of arrival; the first is admitted next.
    wanting: VecDeque<usize>,
    /// Threads that can run only after the kernel has been left.
    held: Vec<Tid>,
    /// Changes whenever an agent leaves the kernel.
    turn: u64,
    /// The time of the next timer or driver event, on the machine's clock.
    deadline: Time,
    /// The time on the program's clock when the machine's clock started, after any functional part of the run.
    begun: Time,
    /// Whether a device has requested the driver's attention.
    interrupt: bool,
    /// Whether the machine has TLBs.
    has_tlbs: bool,
    /// The shootdown that must complete before the kernel is left.
    shootdown: Shootdown,
    /// Whether devices did anything when the kernel was last entered.
    worked: bool,
    /// How the process ended, once it has.
    end: Option<End>,
}

impl TimedProcess {
    /// Places a new or fast-forwarded process on this number of hardware threads.
    pub fn new(mut process: Process, agents: usize, spec: SystemSpec) -> Self {
        process.space.open_window(agents);
        process.space.huge_pages = spec.huge_pages;
        process.agents = agents;
        let (begun, end) = (process.clock.now(), process.end.take());
        process.clock.follow(begun);
        let forwarded = process.forward.is_some();
        let mut timed = Self {
            process,
            spec,
            holder: None,
            wanting: VecDeque::new(),
            held: Vec::new(),
            turn: 0,
            deadline: Time::NEVER,
            begun,
            // Kernels may have been waiting for the switch to the machine.
            interrupt: forwarded,
            has_tlbs: false,
            shootdown: Shootdown::Open,
            worked: false,
            end,
        };
        timed.deadline = timed.next_deadline();
        timed
    }

    /// The time on the program's clock when the machine's clock started.
    pub fn begun(&self) -> Time {
        self.begun
    }

    /// Whether the run is in its warm-up phase ([`crate::forward`]).
    pub fn is_warming_up(&self) -> bool {
        self.process.forward.as_ref().is_some_and(|forward| forward.stage() == Stage::WarmUp)
    }

    /// The time of the next timer or driver event, on the machine's clock.
    fn next_deadline(&self) -> Time {
        match self.process.next_deadline() {
            Time::NEVER => Time::NEVER,
            deadline => Time(deadline.0.saturating_sub(self.begun.0)),
        }
    }

    pub fn process(&self) -> &Process {
        &self.process
    }

    pub fn process_mut(&mut self) -> &mut Process {
        &mut self.process
    }

    /// How the process ended, once it has.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// The accesses of the last execution.
    pub fn touches(&mut self) -> &[Touch] {
        self.process.space.window().map_or(&[], |window| window.touches())
    }

    /// Called when an agent's oldest store has been performed.
    pub fn perform(&mut self, agent: usize, line: LineAddr, data: &Block<LINE>) {
        self.process.space.perform(agent, line, data);
    }

    /// Changes whenever an agent leaves the kernel: others may enter, and threads that it woke may run.
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// The time of the next timer or driver event; an agent must call `advance` or `idle` then.
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Requests the driver's attention for a device.
    pub fn interrupt(&mut self) {
        self.interrupt = true;
    }

    /// Whether an agent is in the kernel and may be changing the page tables.
    pub fn is_in_kernel(&self) -> bool {
        self.holder.is_some()
    }

    /// The IDs of the threads that can run.
    pub fn runnable(&self) -> impl Iterator<Item = Tid> {
        let able = self.process.threads.iter().filter(|thread| thread.can_run()).map(|thread| thread.tid);
        able.filter(|tid| !self.held.contains(tid))
    }

    /// Whether the thread that ran last gave up the rest of its time slice.
    pub fn take_yielded(&mut self) -> bool {
        std::mem::take(&mut self.process.yielded)
    }

    /// What was passed since the last call: the point of a fast-forwarded run, the begin and the end of the region of
    /// interest.
    pub fn take_marks(&mut self) -> [bool; 3] {
        let point = self.process.look_for_point();
        let [begin, end] = self.process.region.take_passed();
        [point, begin, end]
    }

    /// Whether this agent is in the kernel.
    pub fn in_kernel(&self, agent: usize) -> bool {
        self.holder == Some(agent)
    }

    /// Whether a thread has ever been bound to CPUs.
    pub fn has_bound(&self) -> bool {
        self.process.has_bound
    }

    /// Whether a thread may run on an agent.
    pub fn may_run(&self, tid: Tid, agent: usize) -> bool {
        let process = &self.process;
        let may = |index: usize| process.threads[index].cpus.first_of(agent, process.agents, process.cpus).is_some();
        !process.has_bound
            || process.thread_index(tid).is_none_or(|index| process.threads[index].cpus.is_any() || may(index))
    }

    /// Whether a thread is alive.
    pub fn exists(&self, tid: Tid) -> bool {
        self.process.thread_index(tid).is_some()
    }

    /// Whether a thread may be moved from its agent: not while the agent holds a locked line for it.
    pub fn can_be_taken(&self, tid: Tid) -> bool {
        self.process.thread_index(tid).is_none_or(|index| !self.process.threads[index].locked)
    }

    /// Advances a thread by one step.
    pub fn advance(&mut self, agent: usize, tid: Tid, quiet: bool, now: Time) -> Advanced {
        let advanced = self.go_on(agent, tid, quiet, now);
        self.note(agent, &advanced);
        advanced
    }

    /// Updates the queue of agents that wait for the kernel, so that they enter in order.
    fn note(&mut self, agent: usize, advanced: &Advanced) {
        if self.wanting.is_empty() && !matches!(advanced, Advanced::Busy) {
            return;
        }
        let place = self.wanting.iter().position(|other| *other == agent);
        if matches!(advanced, Advanced::Drain) {
            // The agent retries as soon as it is quiet, and keeps its place in the queue.
            return;
        }
        match (matches!(advanced, Advanced::Busy), place) {
            (true, None) => self.wanting.push_back(agent),
            (false, Some(place)) => {
                self.wanting.remove(place);
                // Wakes the agent that is first now, unless another one is in the kernel: that one wakes it when it
                // leaves.
                if place == 0 && self.holder.is_none() && !self.wanting.is_empty() {
                    self.turn += 1;
                }
            }
            _ => {}
        }
    }

    fn go_on(&mut self, agent: usize, tid: Tid, quiet: bool, now: Time) -> Advanced {
        if let Err(early) = self.begin(agent, quiet, now) {
            return early;
        }
        let Some(index) = self.process.thread_index(tid) else { return Advanced::Gone };
        if self.process.threads[index].locked {
            return self.execute(agent, index, quiet);
        }
        if self.is_interrupted(now) && self.holder.is_none() {
            return self.enter(agent, Entry::Interrupt, quiet, None);
        }
        if !self.held.is_empty() && self.held.contains(&tid) {
            return Advanced::Busy;
        }
        let thread = &self.process.threads[index];
        match thread.state {
            State::Waiting(_) => Advanced::Blocked,
            State::Retrying => self.enter(agent, Entry::Call(index), quiet, Some(tid)),
            State::Running => match thread.exception {
                Some(exception) => self.enter(agent, Entry::Fault(index, exception), quiet, Some(tid)),
                None if self.process.has_signal(index) => self.enter(agent, Entry::Signal(index), quiet, Some(tid)),
                None => self.execute(agent, index, quiet),
            },
        }
    }

    /// Called for an agent without a thread: it leaves the kernel if it was there, and serves timers and devices.
    pub fn idle(&mut self, agent: usize, quiet: bool, now: Time) -> Advanced {
        // An agent without a thread need not queue: the agents that do will leave the kernel and change `turn`.
        self.note(agent, &Advanced::Blocked);
        self.serve(agent, quiet, now)
    }

    fn serve(&mut self, agent: usize, quiet: bool, now: Time) -> Advanced {
        if let Err(early) = self.begin(agent, quiet, now) {
            return early;
        }
        if self.holder.is_some() || !self.wanting.is_empty() {
            return Advanced::Busy;
        }
        let nobody = !self.process.threads.iter().any(|thread| thread.can_run());
        if !nobody && !self.is_interrupted(now) {
            return Advanced::Blocked;
        }
        match self.enter(agent, Entry::Interrupt, quiet, None) {
            // There was nothing to do.
            Advanced::System { stores, .. } if stores.is_empty() && !self.worked && self.held.is_empty() => {
                self.leave();
                if nobody && self.deadline == Time::NEVER && !self.process.driver.is_busy() {
                    self.end = Some(self.process.deadlock());
                    return Advanced::Ended;
                }
                Advanced::Blocked
            }
            other => other,
        }
    }

    fn begin(&mut self, agent: usize, quiet: bool, now: Time) -> Result<(), Advanced> {
        if self.end.is_some() {
            return Err(Advanced::Ended);
        }
        self.process.clock.follow(self.begun + now);
        if self.in_kernel(agent) {
            if !quiet {
                return Err(Advanced::Drain);
            }
            if self.has_tlbs && !self.may_leave() {
                return Err(Advanced::Waiting);
            }
            self.leave();
            self.turn += 1;
        }
        if self.process.clock.instructions() - self.process.told >= TOLD {
            self.process.tell();
        }
        let limit = self.process.limits.instructions;
        if self.process.clock.instructions() >= limit {
            self.end = Some(End::InstructionLimit { instructions: limit });
        }
        if self.end.is_some() { Err(Advanced::Ended) } else { Ok(()) }
    }

    fn is_interrupted(&self, now: Time) -> bool {
        self.interrupt || self.deadline <= now
    }
}
