//! A process on cores of a machine in time.
//!
//! Whoever models a core asks for one instruction of a thread after the other, whenever it could fetch it, and says what
//! time it is. Instructions and the kernel are those of [`Process::run`]; what differs is when. Stores wait in the
//! [window](crate::memory::Window) until the machine performs them. Fences, atomic accesses and the kernel need a *quiet*
//! agent: nothing of its hardware thread is in flight.
//!
//! The kernel has one lock. Who enters it holds it until all that the kernel wrote for him has been performed: no other
//! agent can enter before, and no thread that was woken can run. System calls, faults and interrupts take the time that
//! [`SystemSpec`] says (`[giles 3.2.1, 3.2.2, 3.2.7]`).
//!
//! A locked access that crosses the border of a line ends in SIGBUS, as under Linux with fatal split-lock detection.

use super::{End, Process, State};
use crate::{
    Tid,
    errno::Errno,
    forward::Stage,
    memory::{Line, Touch},
    signal::{Detail, SigInfo, Signal},
};
use engine::Time;
use mem::{Block, LINE, LineAddr, PhysAddr};
use std::{collections::VecDeque, rc::Rc};
use x86::{
    Exception, Exit, Fault, Reg, Stop,
    trace::{Branch, Order, Outline},
};

/// After how many instructions those who watch the run are told how far it is.
const TOLD: u64 = 4096;

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
    /// It executed an instruction; [`Driven::touches`] has its accesses.
    Executed(Step),
    /// What comes next needs a quiet agent.
    Drain,
    /// The agent needs this line for itself alone: ask again when it has it.
    Lock(Line),
    /// This line must come first.
    Missing(Line),
    /// The kernel has worked for the agent: so many cycles, then these stores. Ask again when these have been performed.
    System { cycles: u64, stores: Vec<Touch> },
    /// Somebody else is in the kernel: ask again when he has left ([`Driven::turn`] changes then).
    Busy,
    /// The agent can't leave the kernel before what it has changed in the tables has been forgotten everywhere: ask again when
    /// [`Driven::shot_down`] has been called.
    Waiting,
    /// It waits, or (asked of no thread) there is nothing to be done.
    Blocked,
    /// The thread has ended.
    Gone,
    /// The process has ended.
    Ended,
}

/// Why the kernel is entered.
enum Entry {
    Call(usize),
    Fault(usize, Exception),
    SplitLock(usize, u64),
    Signal(usize),
    Interrupt,
}

/// Ranges of addresses whose translation has changed.
type Ranges = Vec<(u64, u64)>;

/// How far it has come that hardware forgets what the kernel has changed.
enum Shootdown {
    /// It is not known yet what has changed.
    Open,
    /// Somebody is to be told of these.
    Wanted(Ranges),
    /// He has been told.
    UnderWay,
    /// All has been forgotten.
    Over,
}

/// A process whose threads are driven one by one.
pub struct Driven {
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

impl Driven {
    /// Puts a process on so many hardware threads: one that has not run, or one that was fast-forwarded.
    pub fn new(mut process: Process, agents: usize, spec: SystemSpec) -> Self {
        process.space.open_window(agents);
        let (begun, end) = (process.clock.now(), process.end.take());
        process.clock.follow(begun);
        let forwarded = process.forward.is_some();
        let mut driven = Self {
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
        driven.deadline = driven.next_deadline();
        driven
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

    /// There is hardware that remembers translations: whatever the kernel changes, [`Driven::take_shootdown`] will say.
    pub fn keep_tlbs(&mut self) {
        self.has_tlbs = true;
    }

    /// Takes the ranges of addresses whose translation has changed, once: all are to forget them, and when they have,
    /// [`Driven::shot_down`] is to be called.
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

    /// Enters the kernel, if that is possible now.
    fn enter(&mut self, agent: usize, entry: Entry, quiet: bool, tid: Option<Tid>) -> Advanced {
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
    fn may_leave(&mut self) -> bool {
        if matches!(self.shootdown, Shootdown::Open) {
            let changed = self.process.space.leave_kernel();
            self.shootdown = if changed.is_empty() { Shootdown::Over } else { Shootdown::Wanted(changed) };
        }
        matches!(self.shootdown, Shootdown::Over)
    }

    fn leave(&mut self) {
        self.holder = None;
        self.held.clear();
        self.shootdown = Shootdown::Open;
        let process = &mut self.process;
        process.space.leave_kernel();
        self.end = self.end.take().or_else(|| process.end.take());
        self.deadline = self.next_deadline();
    }

    /// Executes an instruction.
    fn execute(&mut self, agent: usize, index: usize, quiet: bool) -> Advanced {
        let process = &mut self.process;
        let thread = &mut process.threads[index];
        let tid = thread.tid;
        let Some(window) = process.space.window() else { return Advanced::Ended };
        window.execute(agent);
        let rip = thread.cpu.rip;
        let outline = process.blocks.outline(&mut process.space, rip).map(Rc::clone);
        let found = outline.and_then(|outline| Ok((outline, process.space.code_place(rip)?)));
        let (outline, code) = match found {
            Ok(found) => found,
            Err(stop) => {
                let exception = fetch_fault(rip, stop);
                thread.exception = Some(exception);
                return self.enter(agent, Entry::Fault(index, exception), quiet, Some(tid));
            }
        };
        // A system call waits when it is to be made.
        if outline.order != Order::Any && outline.branch != Branch::Syscall && !quiet {
            return Advanced::Drain;
        }
        if outline.order == Order::Atomic && !thread.locked {
            return self.lock(agent, index);
        }
        thread.locked = false;
        let cpu = &mut thread.cpu;
        let before = cpu.instructions;
        cpu.tsc_offset = process.clock.time_stamp().wrapping_sub(before);
        let stepped = cpu.step(&mut process.space, &mut process.blocks);
        process.clock.executed(cpu.instructions - before);
        process.region.note(&mut cpu.marks);
        let taken = match stepped {
            Ok(stepped) => stepped.jumped,
            Err(Exit::Syscall) => {
                thread.note_call();
                thread.state = State::Retrying;
                false
            }
            // Elements of a string instruction before the one that could not be done.
            Err(_) if process.space.window().is_some_and(|window| window.touches().iter().any(|touch| touch.store)) => {
                false
            }
            Err(Exit::Wait | Exit::Limit | Exit::Mark) => {
                let missing = process.space.window().and_then(|window| window.missing());
                return Advanced::Missing(missing.expect("an access waits for nothing but a line"));
            }
            Err(Exit::Fault(exception)) => {
                thread.exception = Some(exception);
                return self.enter(agent, Entry::Fault(index, exception), quiet, Some(tid));
            }
        };
        Advanced::Executed(Step { outline, rip, code, next: thread.cpu.rip, taken })
    }

    /// Finds the line that a locked instruction accesses.
    fn lock(&mut self, agent: usize, index: usize) -> Advanced {
        let process = &mut self.process;
        let Some(window) = process.space.window() else { return Advanced::Ended };
        window.peek(agent);
        let thread = &mut process.threads[index];
        let tid = thread.tid;
        let mut cpu = thread.cpu.clone();
        match cpu.step(&mut process.space, &mut process.blocks) {
            Err(Exit::Fault(exception)) => {
                thread.exception = Some(exception);
                self.enter(agent, Entry::Fault(index, exception), true, Some(tid))
            }
            _ => match process.space.window().and_then(|window| window.peeked()) {
                Some((line, true)) => self.enter(agent, Entry::SplitLock(index, line.virt.0), true, Some(tid)),
                Some((line, false)) => {
                    thread.locked = true;
                    Advanced::Lock(line)
                }
                // It accesses nothing: then it needs no lock.
                None => {
                    thread.locked = true;
                    self.execute(agent, index, true)
                }
            },
        }
    }
}

/// An instruction that can't be fetched.
fn fetch_fault(rip: u64, stop: Stop) -> Exception {
    match stop {
        Stop::PageFault { address, access, present } => {
            Exception { rip, fault: Fault::Page { address, access, present } }
        }
        Stop::Wait | Stop::CodeWrite => unreachable!("code is fetched from the image, whoever else may write it"),
    }
}
