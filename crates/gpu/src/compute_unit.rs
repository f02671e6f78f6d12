//! A compute unit, thin: wavefronts that take turns, one instruction a cycle, and a path to memory.
//!
//! Three contexts share the unit's state. `issue` steps the next wavefront that is ready; a wavefront that asked for
//! memory waits until it has been answered. `memory` takes the accesses in order, sets slots aside for all lines of
//! one, and sends a request a cycle. `returns` takes the answers, in any order, and completes the instruction.
//! Left out so far: SIMDs, instruction fetch, the scalar cache, time for local memory.

use crate::{
    gather::{Op, Part},
    kernel::Kernel,
    map::AddressMap,
};
use engine::{Context, Counter, Credits, Cycles, EventCount, Inlet, Lane, Outlet, Queue, Scope};
use gcn3::{
    error::{ExecError, Fault, Place},
    exec::{Group, Step},
    wave::Wavefront,
};
use interconnect::{HEADER, Wire};
use mem::{Access, Asid, Block, PhysAddr, Reply, Request, RequestId, VirtAddr};
use std::{cell::RefCell, rc::Rc, sync::Arc};

/// From the machine file.
#[derive(Clone, Copy, Debug)]
pub struct ComputeUnitSpec {
    /// How many wavefronts it can hold.
    pub wavefronts: usize,
    /// From issuing an instruction of a wavefront until its next one can be issued.
    pub issue: Cycles,
    /// How many lines may be asked for at a time. An access takes slots for all its lines before the first is asked for.
    pub line_slots: u64,
    /// How many accesses may wait for their slots.
    pub memory_queue: usize,
}

/// Lines of one access that can be told apart in the number of a request.
const PARTS: u64 = 1 << 16;

struct Wave {
    wavefront: Wavefront,
    group: usize,
    waits: Option<Waits>,
    ready_at: u64,
    /// Where the instruction stands that is under way, for error reports.
    pc: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    Memory,
    Barrier,
}

struct Workgroup {
    kernel: Rc<Kernel>,
    id: [u32; 3],
    shared: Group,
    /// Wavefronts that have not ended, and those of them at the barrier.
    left: usize,
    at_barrier: usize,
}

struct AccessUnderWay {
    wave: usize,
    op: Op,
    parts: Vec<Part>,
    left: usize,
}

struct State {
    number: usize,
    spec: ComputeUnitSpec,
    map: Arc<AddressMap>,
    waves: Vec<Option<Wave>>,
    groups: Vec<Option<Workgroup>>,
    accesses: Vec<Option<AccessUnderWay>>,
    /// The slot that was issued last.
    turn: usize,
    /// Wavefronts that have ended, to be used again.
    spare: Vec<Wavefront>,
}

/// What came of a turn.
enum Turn {
    Issued,
    /// An access was asked for; its number.
    Memory(usize),
    /// Nothing can be issued before this cycle, or before something happens.
    Idle(Option<u64>),
    /// A workgroup has ended with this instruction.
    GroupEnded,
}

/// What the dispatcher holds of a compute unit.
#[derive(Clone)]
pub struct ComputeUnit {
    state: Rc<RefCell<State>>,
    bell: EventCount,
}

/// What counts at a compute unit.
struct Counts {
    instructions: Counter,
    accesses: Counter,
    lines: Counter,
    idle: Counter,
}

impl ComputeUnit {
    /// Builds compute unit `number` at `scope`. `memory` leads to its first-level cache; `ended` is advanced whenever a
    /// workgroup has ended.
    pub fn new(
        spec: ComputeUnitSpec,
        number: usize,
        map: Arc<AddressMap>,
        memory: Wire<Reply, Request>,
        ended: EventCount,
        scope: &Scope,
    ) -> Self {
        let state = State {
            number,
            spec,
            map,
            waves: (0..spec.wavefronts).map(|_| None).collect(),
            groups: Vec::new(),
            accesses: Vec::new(),
            turn: 0,
            spare: Vec::new(),
        };
        let state = Rc::new(RefCell::new(state));
        let bell = scope.eventcount("work");
        let counts = Counts {
            instructions: scope.counter("wave_instructions"),
            accesses: scope.counter("memory_accesses"),
            lines: scope.counter("lines_requested"),
            idle: scope.counter("idle_cycles"),
        };
        let queue = scope.queue("accesses", spec.memory_queue);
        let slots = scope.credits("line_slots", spec.line_slots);
        let unit = Self { state, bell };
        let (lines, accesses) = (counts.lines.clone(), queue.clone());
        let issue = unit.clone();
        scope.serve("issue", |cx| issue.issue(accesses, counts, ended, cx));
        let (sender, free) = (unit.clone(), slots.clone());
        scope.serve("memory", |cx| sender.memory(queue, free, lines, memory.to, cx));
        let receiver = unit.clone();
        scope.serve("returns", |cx| receiver.returns(memory.from, slots, cx));
        unit
    }

    /// Starts a workgroup, if there are slots for its wavefronts. `Err`: it can never start here.
    pub fn try_start(&self, kernel: &Rc<Kernel>, index: u64) -> Result<bool, String> {
        let started = self.state.borrow_mut().start(kernel, index)?;
        if started {
            self.bell.advance();
        }
        Ok(started)
    }

    async fn issue(self, accesses: Queue<usize>, counts: Counts, ended: EventCount, cx: Context) {
        loop {
            let (seen, now) = (self.bell.count(), cx.now().0);
            let turn = self.state.borrow_mut().turn(now);
            match turn {
                Ok(Turn::Idle(until)) => {
                    match until {
                        Some(cycle) => _ = self.bell.wait_for(seen + 1, cycle - now).await,
                        None => self.bell.wait(seen + 1).await,
                    }
                    counts.idle.add(cx.now().0 - now);
                    continue;
                }
                Ok(Turn::Issued) => {}
                Ok(Turn::Memory(access)) => {
                    counts.accesses.increment();
                    accesses.send(access).await;
                }
                Ok(Turn::GroupEnded) => {
                    cx.progress();
                    ended.advance();
                }
                Err(error) => return cx.fail(error.to_string()),
            }
            counts.instructions.increment();
            cx.pause(1).await;
        }
    }

    async fn memory(self, queue: Queue<usize>, slots: Credits, lines: Counter, to: Outlet<Request>, cx: Context) {
        loop {
            let number = queue.recv().await;
            let count = self.state.borrow().accesses[number].as_ref().expect("it is under way").parts.len();
            for _ in 0..count {
                slots.acquire().await;
            }
            for part in 0..count {
                let request = self.state.borrow().request(number, part);
                to.send(Lane::Request, request, HEADER + request.data.mask().len() as u64).await;
                lines.increment();
                cx.pause(1).await;
            }
        }
    }

    async fn returns(self, from: Inlet<Reply>, slots: Credits, cx: Context) {
        loop {
            let reply = from.recv(Lane::Reply).await;
            slots.release();
            let completed = self.state.borrow_mut().answered(&reply, cx.now().0);
            match completed {
                Ok(true) => self.bell.advance(),
                Ok(false) => {}
                Err(error) => return cx.fail(error.to_string()),
            }
        }
    }
}

impl State {
    fn start(&mut self, kernel: &Rc<Kernel>, index: u64) -> Result<bool, String> {
        let id = kernel.group_id(index);
        let count = kernel.dispatch.waves(id) as usize;
        if count > self.waves.len() {
            let have = self.waves.len();
            return Err(format!(
                "a workgroup of '{}' has {count} wavefronts, a compute unit {have} slots",
                kernel.name()
            ));
        }
        let free: Vec<usize> = (0..self.waves.len()).filter(|slot| self.waves[*slot].is_none()).take(count).collect();
        if free.len() < count {
            return Ok(false);
        }
        let mut shared = Group::default();
        shared.lds.reset(kernel.dispatch.lds_size());
        let workgroup = Workgroup { kernel: Rc::clone(kernel), id, shared, left: count, at_barrier: 0 };
        let group = put(&mut self.groups, workgroup);
        for (number, &slot) in free.iter().enumerate() {
            let scratch = (self.number * self.waves.len() + slot) as u32;
            let init = kernel.dispatch.wave_init(&kernel.places, id, number as u32, scratch);
            let init = init.map_err(|error| error.to_string())?;
            let mut wavefront = self.spare.pop().unwrap_or_default();
            wavefront.reset(kernel.code.vgprs());
            wavefront.begin(number as u32, &init);
            let pc = wavefront.pc;
            self.waves[slot] = Some(Wave { wavefront, group, waits: None, ready_at: 0, pc });
        }
        Ok(true)
    }

    /// Issues an instruction of the next wavefront that is ready.
    fn turn(&mut self, now: u64) -> Result<Turn, Box<ExecError>> {
        let count = self.waves.len();
        let mut soonest = None;
        for step in 1..=count {
            let slot = (self.turn + step) % count;
            match &self.waves[slot] {
                Some(wave) if wave.waits.is_none() && wave.ready_at <= now => {
                    self.turn = slot;
                    return self.step(slot, now);
                }
                Some(wave) if wave.waits.is_none() => {
                    soonest = Some(soonest.map_or(wave.ready_at, |at: u64| at.min(wave.ready_at)));
                }
                _ => {}
            }
        }
        Ok(Turn::Idle(soonest))
    }

    fn step(&mut self, slot: usize, now: u64) -> Result<Turn, Box<ExecError>> {
        let wave = self.waves[slot].as_mut().expect("a wavefront that is ready is there");
        let workgroup = self.groups[wave.group].as_mut().expect("a wavefront belongs to a workgroup");
        workgroup.shared.clock = now;
        wave.pc = wave.wavefront.pc;
        wave.ready_at = now + self.spec.issue.0;
        let step = wave.wavefront.step(&workgroup.kernel.code, &mut workgroup.shared);
        let op = match step.map_err(|fault| located(wave, workgroup, fault))? {
            Step::Done | Step::Lds => return Ok(Turn::Issued),
            Step::Mem(op) => Op::Vector(op),
            Step::Scalar(op) => Op::Scalar(op),
            Step::Barrier => {
                wave.waits = Some(Waits::Barrier);
                workgroup.at_barrier += 1;
                let group = wave.group;
                self.open_barrier(group, now);
                return Ok(Turn::Issued);
            }
            Step::End => return Ok(self.end(slot, now)),
        };
        let parts = op.lines(&self.map).map_err(|fault| located(wave, workgroup, fault))?;
        if parts.is_empty() {
            // No lane takes part.
            complete(wave, workgroup, op, &parts).map_err(|fault| located(wave, workgroup, fault))?;
            return Ok(Turn::Issued);
        }
        wave.waits = Some(Waits::Memory);
        let left = parts.len();
        Ok(Turn::Memory(put(&mut self.accesses, AccessUnderWay { wave: slot, op, parts, left })))
    }

    fn end(&mut self, slot: usize, now: u64) -> Turn {
        let wave = self.waves[slot].take().expect("it has just been stepped");
        self.spare.push(wave.wavefront);
        let workgroup = self.groups[wave.group].as_mut().expect("a wavefront belongs to a workgroup");
        workgroup.left -= 1;
        if workgroup.left == 0 {
            self.groups[wave.group] = None;
            return Turn::GroupEnded;
        }
        // Those at the barrier do not wait for wavefronts that have ended.
        self.open_barrier(wave.group, now);
        Turn::Issued
    }

    fn open_barrier(&mut self, group: usize, now: u64) {
        let workgroup = self.groups[group].as_mut().expect("somebody of it has just been stepped");
        if workgroup.at_barrier < workgroup.left {
            return;
        }
        workgroup.at_barrier = 0;
        for wave in self.waves.iter_mut().flatten() {
            if wave.group == group && wave.waits == Some(Waits::Barrier) {
                wave.waits = None;
                wave.ready_at = now + self.spec.issue.0;
            }
        }
    }

    fn request(&self, number: usize, part: usize) -> Request {
        let access = self.accesses[number].as_ref().expect("it is under way");
        let Part { line, mask, .. } = access.parts[part];
        let store = access.op.is_store();
        Request {
            id: RequestId(number as u64 * PARTS + part as u64),
            access: if store { Access::Store } else { Access::Load },
            scope: mem::Scope::Group,
            asid: Asid::default(),
            virt: VirtAddr(line.0),
            // There is no translation: addresses are what memory knows them by.
            phys: Some(PhysAddr(line.0)),
            data: if store { access.parts[part].block() } else { Block::of([0; mem::LINE], mask) },
        }
    }

    /// Takes an answer; says whether an instruction is complete with it.
    fn answered(&mut self, reply: &Reply, now: u64) -> Result<bool, Box<ExecError>> {
        let (number, part) = ((reply.id.0 / PARTS) as usize, (reply.id.0 % PARTS) as usize);
        let access = self.accesses[number].as_mut().expect("what is answered was asked");
        for byte in reply.data.mask().iter() {
            access.parts[part].bytes[byte] = reply.data.bytes()[byte];
        }
        access.left -= 1;
        if access.left > 0 {
            return Ok(false);
        }
        let access = self.accesses[number].take().expect("it was there a moment ago");
        let wave = self.waves[access.wave].as_mut().expect("a wavefront waits for its memory");
        let workgroup = self.groups[wave.group].as_mut().expect("a wavefront belongs to a workgroup");
        wave.waits = None;
        wave.ready_at = wave.ready_at.max(now + 1);
        complete(wave, workgroup, access.op, &access.parts).map_err(|fault| located(wave, workgroup, fault))?;
        Ok(true)
    }
}

fn complete(wave: &mut Wave, workgroup: &mut Workgroup, mut op: Op, parts: &[Part]) -> Result<(), Fault> {
    op.fill(parts);
    match op {
        Op::Scalar(op) => wave.wavefront.complete_scalar(&op),
        Op::Vector(op) => {
            wave.wavefront.complete(&op)?;
            workgroup.shared.recycle(op);
        }
    }
    Ok(())
}

fn located(wave: &Wave, workgroup: &Workgroup, fault: Fault) -> Box<ExecError> {
    let kernel = &workgroup.kernel;
    let place = Place { places: &kernel.places, workgroup: workgroup.id, wavefront: wave.wavefront.id, pc: wave.pc };
    Box::new(ExecError::new(kernel.dispatch.kernel(), &kernel.code, place, fault))
}

/// Puts an item in the first free place; its number.
fn put<T>(places: &mut Vec<Option<T>>, item: T) -> usize {
    match places.iter().position(Option::is_none) {
        Some(free) => {
            places[free] = Some(item);
            free
        }
        None => {
            places.push(Some(item));
            places.len() - 1
        }
    }
}
