//! A program that is a hand-made list of instructions.

use crate::rig::{Latency, Report, finished, run_for};
use cpu::{CoreSpec, Executed, Fetch, Program, Touch};
use engine::{EventCount, RunOptions, Scope, Time, Value};
use mem::{Access, Block, Mask, PhysAddr, VirtAddr};
use smallvec::SmallVec;
use std::{
    collections::VecDeque,
    rc::Rc,
    sync::{Arc, Mutex},
};
use x86::trace::{Branch, Class, MicroOp, Order, Outline, RegisterSet, Work};

/// The next event of a thread.
#[derive(Clone, Debug)]
pub enum Step {
    Do(Insn),
    /// Waits for the completion of everything before it.
    Drain,
    Lock(u64),
    Missing(u64),
    System(u64, Vec<u64>),
}

/// An instruction. Without `at`, it follows the previous one in memory.
#[derive(Clone, Debug)]
pub struct Insn {
    pub outline: Outline,
    pub at: Option<u64>,
    pub next: Option<u64>,
    pub taken: bool,
    pub accesses: Vec<Touch>,
}

/// The length of every instruction, in bytes.
pub const LENGTH: u64 = 4;
const START: u64 = 0x10000;

fn set(register: u8) -> RegisterSet {
    RegisterSet(1 << register)
}

fn insn(micro_ops: Vec<MicroOp>, accesses: Vec<Touch>) -> Insn {
    let outline = Outline {
        length: LENGTH as u8,
        reads: micro_ops.iter().map(|op| op.reads).collect(),
        writes: micro_ops.iter().map(|op| op.writes).collect(),
        micro_ops,
        branch: Branch::No,
        order: Order::Any,
        repeats: false,
    };
    Insn { outline, at: None, next: None, taken: false, accesses }
}

fn op(work: Work, reads: RegisterSet, writes: RegisterSet) -> MicroOp {
    MicroOp { work, reads, writes }
}

/// `count` bytes at an address, within a line.
pub fn touch(store: bool, address: u64, count: usize) -> Touch {
    let mask = Mask::range(address as usize % 64, count);
    Touch { store, virt: VirtAddr(address), phys: PhysAddr(address), data: Block::zeros(mask) }
}

/// Computes `to` from itself and `from`.
pub fn compute(class: Class, to: u8, from: u8) -> Step {
    Step::Do(insn(vec![op(Work::Compute(class), set(to) | set(from), set(to))], Vec::new()))
}

/// Computes `to` from nothing.
pub fn fresh(class: Class, to: u8) -> Step {
    Step::Do(insn(vec![op(Work::Compute(class), RegisterSet::NONE, set(to))], Vec::new()))
}

/// Loads eight bytes; the address is in register `base`.
pub fn load(to: u8, base: u8, address: u64) -> Step {
    load_bytes(to, base, address, 8)
}

pub fn load_bytes(to: u8, base: u8, address: u64, count: usize) -> Step {
    Step::Do(insn(vec![op(Work::Load, set(base), set(to))], vec![touch(false, address, count)]))
}

/// Stores eight bytes of `from`; the address is in register `base`.
pub fn store(from: u8, base: u8, address: u64) -> Step {
    store_bytes(from, base, address, 8)
}

pub fn store_bytes(from: u8, base: u8, address: u64, count: usize) -> Step {
    let ops =
        vec![op(Work::StoreAddress, set(base), RegisterSet::NONE), op(Work::StoreData, set(from), RegisterSet::NONE)];
    Step::Do(insn(ops, vec![touch(true, address, count)]))
}

/// A branch at an address; it depends on register `from`.
pub fn branch(kind: Branch, from: u8, at: u64, next: u64) -> Step {
    let mut insn = insn(vec![op(Work::Compute(Class::Branch), set(from), RegisterSet::NONE)], Vec::new());
    insn.outline.branch = kind;
    insn.taken = next != at + LENGTH;
    (insn.at, insn.next) = (Some(at), Some(next));
    Step::Do(insn)
}

/// Places an instruction at an address.
pub fn at(place: u64, step: Step) -> Step {
    match step {
        Step::Do(insn) => Step::Do(Insn { at: Some(place), ..insn }),
        other => other,
    }
}

/// What the core reported to a thread, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The step with this number was executed, and whether the thread was quiet.
    Executed(usize, bool),
    Performed,
}

pub type Events = Arc<Mutex<Vec<(u64, Event)>>>;

pub struct Script {
    threads: Vec<Running>,
    events: Events,
    now: u64,
}

struct Running {
    steps: VecDeque<Step>,
    done: usize,
    rip: u64,
    asked: bool,
}

impl Program for Script {
    fn next(&mut self, thread: usize, quiet: bool, executed: &mut Executed, now: Time) -> Fetch {
        self.now = now.0 / Time::nanos(1).0;
        let running = &mut self.threads[thread];
        let asked = std::mem::take(&mut running.asked);
        let Some(step) = running.steps.front().cloned() else { return Fetch::Idle };
        match step {
            Step::Do(insn) => {
                let rip = insn.at.unwrap_or(running.rip);
                running.rip = insn.next.unwrap_or(rip + LENGTH);
                *executed = Executed {
                    outline: Rc::new(insn.outline),
                    rip,
                    code: PhysAddr(rip),
                    next: running.rip,
                    taken: insn.taken,
                    accesses: SmallVec::from_vec(insn.accesses),
                };
                running.steps.pop_front();
                let event = Event::Executed(running.done, quiet);
                running.done += 1;
                self.events.lock().expect("no thread panicked").push((self.now, event));
                return Fetch::Executed;
            }
            Step::Drain if !quiet => return Fetch::Drain,
            Step::Lock(_) if !quiet => return Fetch::Drain,
            Step::System(..) if !quiet => return Fetch::Drain,
            Step::Lock(line) if !asked => {
                running.asked = true;
                return Fetch::Lock { virt: VirtAddr(line), phys: PhysAddr(line) };
            }
            Step::Missing(line) if !asked => {
                running.asked = true;
                return Fetch::Missing { virt: VirtAddr(line), phys: PhysAddr(line) };
            }
            Step::System(cycles, stores) if !asked => {
                running.asked = true;
                let stores = stores.into_iter().map(|address| touch(true, address, 8)).collect();
                return Fetch::System { cycles, stores };
            }
            _ => _ = running.steps.pop_front(),
        }
        running.done += 1;
        self.next(thread, quiet, executed, now)
    }

    fn performed(&mut self, _: usize) {
        self.events.lock().expect("no thread panicked").push((self.now, Event::Performed));
    }
}

impl Report {
    pub fn all_cycles(&self) -> u64 {
        self.cycles() + self.phase("idle")
    }

    /// The accesses of the ordered lane, in order: kind, line, mask.
    pub fn ordered(&self) -> Vec<(Access, u64, u64)> {
        let ordered = self.log.iter().filter(|performed| performed.ordered).map(|performed| performed.request);
        ordered.map(|request| (request.access, request.line().0, request.data.mask().0)).collect()
    }

    /// The highest level of the reorder buffer.
    pub fn most_in_rob(&self) -> u64 {
        match self.run.total().0.get("core.rob") {
            Some(Value::Level { max, .. }) => *max,
            _ => 0,
        }
    }
}

/// Runs a list of instructions for each hardware thread until all are done. Also returns what was reported to the
/// threads.
pub fn play_all(spec: &CoreSpec, latency: Latency, scripts: Vec<Vec<Step>>) -> (Report, Vec<(u64, Event)>) {
    play_for(spec, latency, scripts, RunOptions::default())
}

/// Variant of [`play_all`] with options of the engine.
pub fn play_for(
    spec: &CoreSpec,
    latency: Latency,
    mut scripts: Vec<Vec<Step>>,
    options: RunOptions,
) -> (Report, Vec<(u64, Event)>) {
    scripts.iter_mut().for_each(|steps| steps.push(Step::Drain));
    let events = Events::default();
    let (own, threads) = (Arc::clone(&events), scripts.len());
    let program = move |_: &Scope, _: &EventCount| {
        let start = |(number, steps): (usize, Vec<Step>)| Running {
            steps: steps.into(),
            done: 0,
            rip: START * (number as u64 + 1),
            asked: false,
        };
        Script { threads: scripts.into_iter().enumerate().map(start).collect(), events: own, now: 0 }
    };
    let report = run_for(spec, threads, latency, program, options);
    let events = events.lock().expect("no thread panicked").clone();
    (finished(report), events)
}

/// Runs a list of instructions.
pub fn play(spec: &CoreSpec, latency: Latency, steps: Vec<Step>) -> Report {
    play_all(spec, latency, vec![steps]).0
}

/// How many more cycles one list takes than another.
pub fn difference(spec: &CoreSpec, latency: Latency, longer: Vec<Step>, shorter: Vec<Step>) -> u64 {
    play(spec, latency, longer).cycles() - play(spec, latency, shorter).cycles()
}
