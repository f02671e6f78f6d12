//! A process on cores: its threads, and the elements that it notifies of changes.

use super::{Guest, ModelGpus, Schedule, Timekeeper};
use cpu::{Executed, Fetch, Touch};
use engine::{EventCount, Time};
use mem::{Block, LINE, LineAddr};
use os::{
    Tid,
    memory::{Line, Look},
    opencl::Usage,
    process::{Advanced, End, Process, SystemSpec, TimedProcess, Totals},
};
use std::{
    cell::RefCell,
    rc::{Rc, Weak},
    sync::{Arc, Mutex},
};

#[derive(Clone, Copy, Debug)]
pub struct SoftwareSpec {
    pub cores: usize,
    /// Hardware threads per core.
    pub threads: usize,
    pub system: SystemSpec,
    /// Time slice of a thread while other threads wait.
    pub slice: Time,
}

/// The result of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finish {
    pub end: End,
    pub totals: Totals,
    /// The activity of the GPUs.
    pub usage: Usage,
    /// Total time in which at least one kernel ran, without launches, copies and warm-ups.
    pub kernel_time: Time,
    /// If the program was interrupted: what each thread waits for, and where it is.
    pub threads: Vec<(Tid, String)>,
}

/// Hardware that caches translations, as seen by the kernel.
pub trait Translations {
    /// The kernel is entered or left. While in the kernel, its writes may change page tables.
    fn in_kernel(&self, entered: bool);
    /// The translations of these address ranges have changed. [`Software::shot_down`] must be called after all hardware
    /// has dropped them.
    fn shoot(&self, ranges: Vec<(u64, u64)>);
}

/// A process on cores. Clones refer to one process.
#[derive(Clone)]
pub struct Software {
    state: Rc<RefCell<State>>,
}

/// A weak reference to a [`Software`], for objects that the process itself owns, so that no cycle keeps it alive.
pub struct KnownSoftware(Weak<RefCell<State>>);

impl KnownSoftware {
    pub fn get(&self) -> Option<Software> {
        self.0.upgrade().map(|state| Software { state })
    }
}

pub(super) struct State {
    pub driven: TimedProcess,
    schedule: Schedule,
    threads: usize,
    trap: u64,
    /// One event count per core.
    pub bells: Vec<EventCount>,
    /// Wakes the timekeeper when a deadline, a mark or the end of the program has changed.
    pub alert: EventCount,
    gpus: Option<ModelGpus>,
    translations: Option<Rc<dyn Translations>>,
    in_kernel: bool,
    /// Points that the program has passed: the end of the fast-forward, and begin and end of the region of interest.
    pub marks: [bool; 3],
    seen: (u64, Time),
    usage: Rc<RefCell<Usage>>,
    finish: Arc<Mutex<Option<Finish>>>,
}

impl Software {
    pub fn known(&self) -> KnownSoftware {
        KnownSoftware(Rc::downgrade(&self.state))
    }

    /// Places a process on cores with these event counts. `alert` belongs to the clock domain of the [`Timekeeper`];
    /// the result goes to `finish`. After this call, the process's frames hold the initial contents of memory.
    pub fn new(
        process: Process,
        spec: SoftwareSpec,
        bells: Vec<EventCount>,
        alert: EventCount,
        finish: Arc<Mutex<Option<Finish>>>,
    ) -> Self {
        let agents = spec.cores * spec.threads;
        let driven = TimedProcess::new(process, agents, spec.system);
        let state = State {
            driven,
            schedule: Schedule::new(agents, spec.slice),
            threads: spec.threads,
            trap: spec.system.trap,
            bells,
            alert,
            gpus: None,
            translations: None,
            in_kernel: false,
            marks: [false; 3],
            seen: (0, Time::NEVER),
            usage: Rc::default(),
            finish,
        };
        Self { state: Rc::new(RefCell::new(state)) }
    }

    /// Attaches the GPUs that the process's driver uses, and the record of what they do.
    pub fn attach(&self, gpus: &ModelGpus, usage: Rc<RefCell<Usage>>) {
        let mut state = self.state.borrow_mut();
        gpus.ring(state.bells.clone());
        gpus.begin(state.driven.begun());
        state.gpus = Some(gpus.clone());
        state.usage = usage;
        // A program that was fast-forwarded may already have ended.
        state.end();
    }

    /// Sets the function that says where the newest bytes of a line are, for lines that GPUs may write.
    pub fn set_look(&self, look: Look) {
        if let Some(window) = self.state.borrow_mut().driven.process_mut().space.window() {
            window.set_look(look);
        }
    }

    /// Sets the hardware to notify of changed translations. Must be called before anything runs.
    pub fn set_translations(&self, translations: Rc<dyn Translations>) {
        let mut state = self.state.borrow_mut();
        state.driven.keep_tlbs();
        state.translations = Some(translations);
    }

    /// All hardware has dropped the changed translations.
    pub fn shot_down(&self) {
        let mut state = self.state.borrow_mut();
        state.driven.shot_down();
        state.bells.iter().for_each(EventCount::advance);
    }

    /// The part of the process that a core runs.
    pub fn guest(&self, core: usize) -> Guest {
        let first = core * self.state.borrow().threads;
        Guest { state: Rc::clone(&self.state), first }
    }

    /// The first-level cache of a core has performed the oldest store of one of its hardware threads: from now on the
    /// store is visible to the whole CPU. Empty stores, such as prefetches, are ignored.
    pub fn perform(&self, core: usize, thread: usize, line: LineAddr, data: &Block<LINE>) {
        let mut state = self.state.borrow_mut();
        let agent = core * state.threads + thread;
        state.driven.perform(agent, line, data);
    }

    /// A line has arrived from a GPU that had changed it.
    pub fn arrived(&self, line: LineAddr, data: &Block<LINE>) {
        self.state.borrow_mut().driven.process_mut().space.arrived(line, data);
    }

    /// Calls `look` with the process.
    pub fn with_process<T>(&self, look: impl FnOnce(&mut Process) -> T) -> T {
        look(self.state.borrow_mut().driven.process_mut())
    }

    /// The element that keeps the timers and ends the run.
    pub fn timekeeper(&self) -> Timekeeper {
        Timekeeper { state: Rc::clone(&self.state) }
    }
}

impl State {
    /// The next instruction of an agent (a hardware thread), or what else it has to do.
    pub fn next(&mut self, agent: usize, quiet: bool, executed: &mut Executed, now: Time) -> Fetch {
        if self.gpus.as_ref().is_some_and(ModelGpus::take_attention) {
            self.driven.interrupt();
        }
        let fetch = self.find_next(agent, quiet, executed, now);
        self.tell();
        fetch
    }

    fn find_next(&mut self, agent: usize, quiet: bool, executed: &mut Executed, now: Time) -> Fetch {
        loop {
            let thread = self.schedule.running(agent);
            if thread.is_some() && self.schedule.is_over(agent, &self.driven, now) && !self.driven.in_kernel(agent) {
                if !quiet {
                    return Fetch::Drain;
                }
                self.schedule.switch(agent, &self.driven, now);
                return Fetch::System { cycles: self.trap, stores: Vec::new() };
            }
            let bound = self.driven.has_bound() && !self.driven.in_kernel(agent);
            if bound && self.schedule.must_go(agent, &self.driven) {
                if !quiet {
                    return Fetch::Drain;
                }
                self.schedule.release(agent);
                self.bells.iter().for_each(EventCount::advance);
                return Fetch::System { cycles: self.trap, stores: Vec::new() };
            }
            // A runnable thread can start at once.
            let free = thread.is_none() && !self.driven.in_kernel(agent);
            if free && self.schedule.pick(agent, &self.driven, now).is_some() {
                continue;
            }
            let advanced = match thread {
                Some(thread) => self.driven.advance(agent, thread, quiet, now),
                None => self.driven.idle(agent, quiet, now),
            };
            return match (advanced, thread) {
                (Advanced::Executed(step), _) => {
                    executed.outline = step.outline;
                    (executed.rip, executed.code, executed.next) = (step.rip, step.code, step.next);
                    executed.taken = step.taken;
                    executed.accesses.clear();
                    for access in self.driven.touches() {
                        executed.accesses.push(touch(access));
                    }
                    Fetch::Executed
                }
                (Advanced::Drain, _) => Fetch::Drain,
                (Advanced::Lock(Line { virt, phys }), _) => Fetch::Lock { virt, phys },
                (Advanced::Missing(Line { virt, phys }), _) => Fetch::Missing { virt, phys },
                (Advanced::System { cycles, stores }, _) => {
                    if self.driven.take_yielded() {
                        self.schedule.give_way(agent, now);
                    }
                    Fetch::System { cycles, stores: stores.iter().map(touch).collect() }
                }
                (Advanced::Blocked | Advanced::Gone, Some(thread)) => {
                    self.schedule.release(agent);
                    if !self.driven.exists(thread) {
                        self.schedule.forget(thread);
                    }
                    self.schedule.pick(agent, &self.driven, now);
                    continue;
                }
                (Advanced::Blocked | Advanced::Gone, None) => match self.schedule.pick(agent, &self.driven, now) {
                    Some(_) => continue,
                    None => Fetch::Idle,
                },
                (Advanced::Busy, Some(_)) | (Advanced::Waiting, _) => Fetch::Waiting,
                (Advanced::Busy, None) => Fetch::Idle,
                (Advanced::Ended, _) => {
                    self.end();
                    Fetch::Idle
                }
            };
        }
    }

    /// Notifies the elements that wait for what has changed.
    fn tell(&mut self) {
        let mut passed = self.driven.take_marks();
        if self.driven.is_warming_up() {
            // The warm-up is one region; marks of the program in it are ignored.
            passed = [false; 3];
        }
        self.marks.iter_mut().zip(passed).for_each(|(mark, passed)| *mark |= passed);
        let now = (self.driven.turn(), self.driven.deadline());
        let turned = std::mem::replace(&mut self.seen, now).0 != now.0;
        if let Some(gpus) = &self.gpus {
            gpus.release(now.0);
        }
        if let Some(translations) = &self.translations {
            let in_kernel = self.driven.is_in_kernel();
            if std::mem::replace(&mut self.in_kernel, in_kernel) != in_kernel {
                translations.in_kernel(in_kernel);
            }
            if let Some(ranges) = self.driven.take_shootdown() {
                translations.shoot(ranges);
            }
        }
        if turned {
            self.bells.iter().for_each(EventCount::advance);
        }
        if turned || passed.contains(&true) {
            self.alert.advance();
        }
    }

    /// Records the program's end, once.
    fn end(&mut self) {
        let Some(end) = self.driven.end().cloned() else { return };
        self.note(end, Vec::new());
        self.alert.advance();
    }

    fn note(&mut self, end: End, threads: Vec<(Tid, String)>) {
        let (totals, usage) = (self.driven.process().totals(), self.usage.borrow().clone());
        let kernel_time = self.gpus.as_ref().map_or(Time::ZERO, ModelGpus::kernel_time);
        let mut finish = self.finish.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        finish.get_or_insert(Finish { end, totals, usage, kernel_time, threads });
    }
}

impl Drop for State {
    /// A run that ends before the program does still has its totals.
    fn drop(&mut self) {
        let process = self.driven.process();
        let (time, threads) = (process.totals().time, process.whereabouts());
        self.note(End::Interrupted { time }, threads);
    }
}

fn touch(touch: &os::memory::Touch) -> Touch {
    let os::memory::Touch { store, virt, phys, data } = *touch;
    Touch { store, virt, phys, data }
}
