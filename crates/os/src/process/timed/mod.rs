//! A process on cores of a machine in time.
//!
//! The model of a core asks for one instruction of a thread after the other, whenever it could fetch it, and says what
//! time it is. Instructions and the kernel are those of [`Process::run`]; what differs is when. Stores wait in the
//! [window](crate::memory::Window) until the machine performs them. Fences, atomic accesses and the kernel need a *quiet*
//! agent: nothing of its hardware thread is in flight.

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

/// After how many instructions those who watch the run are told how far it is.
const TOLD: u64 = 4096;

/// An instruction, or a part of a repeated one, that was executed.
#[derive(Clone, Debug)]
pub struct Step {
    pub outline: Rc<Outline>,
    pub rip: u64,
    pub code: PhysAddr,
    pub next: u64,
    pub taken: bool,
}

/// What became of a thread that was to go on.
#[derive(Clone, Debug)]
pub enum Advanced {
    /// It executed an instruction; [`TimedProcess::touches`] has its accesses.
    Executed(Step),
    /// What comes next needs a quiet agent.
    Drain,
    /// The agent needs this line for itself alone: ask again when it has it.
    Lock(Line),
    /// This line must come first.
    Missing(Line),
    /// The kernel has worked for the agent: so many cycles, then these stores. Ask again when these have been performed.
    System { cycles: u64, stores: Vec<Touch> },
    /// Somebody else is in the kernel: ask again when he has left ([`TimedProcess::turn`] changes then).
    Busy,
    /// The agent can't leave the kernel before what it has changed in the tables has been forgotten everywhere: ask again when
    /// [`TimedProcess::shot_down`] has been called.
    Waiting,
    /// It waits, or (asked of no thread) there is nothing to be done.
    Blocked,
    /// The thread has ended.
    Gone,
    /// The process has ended.
    Ended,
}

/// A process whose threads cores run, an instruction at a time.
pub struct TimedProcess {
    process: Process,
    spec: SystemSpec,
    /// The agent that is in the kernel.
    holder: Option<usize>,
    /// Agents that found it taken, in order: nobody else is let in before the first of them.
    wanting: VecDeque<usize>,
    /// Threads that can run as soon as the kernel has been left.
    held: Vec<Tid>,
    /// Changes whenever somebody leaves the kernel.
    turn: u64,
    /// When something happens by itself, by the machine's clock.
    deadline: Time,
    /// What the program's clock showed when the machine's began: what ran without time before.
    begun: Time,
    /// A device wants the driver's attention.
    interrupt: bool,
    /// Whether hardware remembers translations.
    has_tlbs: bool,
    /// What has become of translations that it must forget before the kernel is left.
    shootdown: Shootdown,
    /// Devices did something when the kernel was entered last.
    worked: bool,
    /// The end, when it is there for good.
    end: Option<End>,
}

impl TimedProcess {
    /// Puts a process on so many hardware threads: one that has not run, or one that was fast-forwarded.
    pub fn new(mut process: Process, agents: usize, spec: SystemSpec) -> Self {
        process.space.open_window(agents);
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
            // Kernels may have waited for the machine.
            interrupt: forwarded,
            has_tlbs: false,
            shootdown: Shootdown::Open,
            worked: false,
            end,
        };
        timed.deadline = timed.next_deadline();
        timed
    }

    /// What the program's clock showed when the machine's began.
    pub fn begun(&self) -> Time {
        self.begun
    }

    /// Whether what runs now only warms caches ([`crate::forward`]).
    pub fn is_warming_up(&self) -> bool {
        self.process.forward.as_ref().is_some_and(|forward| forward.stage() == Stage::WarmUp)
    }

    /// When something happens by itself, by the machine's clock.
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

    /// How it ended, once it has.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// The accesses of what was executed last.
    pub fn touches(&mut self) -> &[Touch] {
        self.process.space.window().map_or(&[], |window| window.touches())
    }

    /// An agent's oldest store has been performed.
    pub fn perform(&mut self, agent: usize, line: LineAddr, data: &Block<LINE>) {
        self.process.space.perform(agent, line, data);
    }

    /// Changes whenever somebody has left the kernel: others may enter, and whom he woke may run.
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// When something happens by itself; somebody must ask then.
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// A device wants attention.
    pub fn interrupt(&mut self) {
        self.interrupt = true;
    }

    /// Whether somebody is in the kernel, and may be changing the tables.
    pub fn is_in_kernel(&self) -> bool {
        self.holder.is_some()
    }

    /// The threads that can run, by number.
    pub fn runnable(&self) -> impl Iterator<Item = Tid> {
        let able = self.process.threads.iter().filter(|thread| thread.can_run()).map(|thread| thread.tid);
        able.filter(|tid| !self.held.contains(tid))
    }

    /// Whether the thread that ran last gave the rest of its time away.
    pub fn take_yielded(&mut self) -> bool {
        std::mem::take(&mut self.process.yielded)
    }

    /// What was passed since the last call: the point that the run was fast-forwarded to, begin and end of the region of
    /// interest.
    pub fn take_marks(&mut self) -> [bool; 3] {
        let point = self.process.look_for_point();
        let [begin, end] = self.process.region.take_passed();
        [point, begin, end]
    }

    /// Whether an agent is in the kernel.
    pub fn in_kernel(&self, agent: usize) -> bool {
        self.holder == Some(agent)
    }

    /// Whether a thread has not ended.
    pub fn exists(&self, tid: Tid) -> bool {
        self.process.thread_index(tid).is_some()
    }

    /// Whether a thread may be taken from its agent: not while that holds a line for it.
    pub fn can_be_taken(&self, tid: Tid) -> bool {
        self.process.thread_index(tid).is_none_or(|index| !self.process.threads[index].locked)
    }

    /// Lets a thread go on.
    pub fn advance(&mut self, agent: usize, tid: Tid, quiet: bool, now: Time) -> Advanced {
        let advanced = self.go_on(agent, tid, quiet, now);
        self.note(agent, &advanced);
        advanced
    }

    /// Notes who wants the kernel, so that all get it in turn.
    fn note(&mut self, agent: usize, advanced: &Advanced) {
        let place = self.wanting.iter().position(|other| *other == agent);
        if matches!(advanced, Advanced::Drain) {
            // It comes again as soon as it is quiet, for what it wanted.
            return;
        }
        match (matches!(advanced, Advanced::Busy), place) {
            (true, None) => self.wanting.push_back(agent),
            (false, Some(place)) => {
                self.wanting.remove(place);
                // Whoever is first now is to come, unless this one is in the kernel: then it is when that is left.
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

    /// An agent has no thread: it leaves the kernel if it was there, and serves timers and devices.
    pub fn idle(&mut self, agent: usize, quiet: bool, now: Time) -> Advanced {
        // Without a thread there is nothing to wait in line for: whoever does will leave the kernel, and say so.
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
            // Nothing was to be done.
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
