//! Fetch: the program executes instructions, here they become micro-operations.
//!
//! One thread a cycle fetches up to a width of instructions from one line of code. Fetch waits where the program says so, and
//! from a branch that was predicted wrong until that has been executed: the wrong path takes the time it takes, and is
//! not run. Lines are asked for as they are needed; decode waits for them.

use super::{
    Pipeline,
    memory::For,
    op::{Kind, Load, MOST_OPS, Op, Store},
    thread::{Front, Instruction, Thread},
    units::{ADDRESS, NO_UNIT},
};
use crate::{
    Executed, Fetch,
    predictor::{Jump, Prediction},
};
use engine::{Lane, Time};
use interconnect::HEADER;
use mem::{Access, Asid, Block, Bytes, LINE, Mask, PhysAddr, Request, Scope, VirtAddr};
use x86::trace::{Branch, RegisterSet, Work};

const LINE_BYTES: Bytes = Bytes(LINE as u64);
const PAGE: u64 = 4096;

impl Pipeline {
    /// The bell has rung so often.
    pub(super) fn fetch(&mut self, rung: u64, now: u64, time: Time) {
        let count = self.threads.len();
        for t in (self.fetch_turn..count).chain(0..self.fetch_turn) {
            if let Front::System(until) = self.threads[t].front
                && until <= now
            {
                // The kernel is done; fetch goes on when what it stored has been performed.
                self.threads[t].front = Front::Drain;
            }
            if self.can_fetch(t, rung, now) {
                self.fetch_turn = if t + 1 == count { 0 } else { t + 1 };
                return self.fetch_group(t, rung, now, time);
            }
        }
    }

    fn can_fetch(&self, t: usize, rung: u64, now: u64) -> bool {
        let thread = &self.threads[t];
        let goes_on = match thread.front {
            Front::From(cycle) => cycle <= now,
            Front::Drain => thread.is_quiet(),
            Front::Idle(heard) => heard < rung,
            Front::Branch(_) | Front::Decode(_) | Front::Lock | Front::Missing | Front::System(_) => false,
        };
        goes_on && thread.fetch_queue.len() < self.shares.fetch_queue && thread.has_room()
    }

    fn fetch_group(&mut self, t: usize, rung: u64, now: u64, time: Time) {
        let mut line = None;
        self.threads[t].front = Front::From(now);
        for _ in 0..self.spec.fetch_width {
            let quiet = self.threads[t].is_quiet();
            let fetched = self.program.borrow_mut().next(t, quiet, &mut self.executed, time);
            if !matches!(fetched, Fetch::Executed) {
                return self.wait(t, fetched, rung, now);
            }
            self.active = true;
            if !self.threads[t].locked.is_empty() {
                self.let_go_by_store(t);
            }
            let last = self.threads[t].take(&self.executed, &self.units);
            self.ask_for_code(t);
            let goes_on = self.predict(t, last);
            let next_line = self.executed.next / LINE as u64;
            let same_line = *line.get_or_insert(self.executed.rip / LINE as u64) == next_line;
            if !goes_on || self.executed.taken || !same_line {
                break;
            }
            let thread = &self.threads[t];
            if thread.fetch_queue.len() >= self.shares.fetch_queue || !thread.has_room() {
                break;
            }
        }
        if let Some(delay) = self.delay()
            && let Front::From(cycle) = &mut self.threads[t].front
        {
            *cycle = now + delay;
        }
    }

    /// Fetch can't go on with the next instruction.
    fn wait(&mut self, t: usize, fetched: Fetch, rung: u64, now: u64) {
        self.active |= fetched != Fetch::Idle;
        let front = match fetched {
            Fetch::Executed => Front::From(now),
            Fetch::Drain => {
                self.counts.drains.increment();
                Front::Drain
            }
            Fetch::Lock { virt, phys } => {
                self.counts.locks.increment();
                let line = line(virt, phys);
                self.threads[t].locked.push((line.virt.0, line.line));
                self.request(Lane::Coherence, For::Fetch.id(t), Access::Lock, line, Block::EMPTY);
                Front::Lock
            }
            Fetch::Missing { virt, phys } => {
                self.counts.missing.increment();
                let line = line(virt, phys);
                self.request(Lane::Request, For::Fetch.id(t), Access::Load, line, Block::zeros(line.mask));
                Front::Missing
            }
            Fetch::System { cycles, stores } => {
                self.counts.systems.increment();
                self.let_go(t, now);
                for touch in stores {
                    let to = line(touch.virt, touch.phys);
                    self.store_at_once(t, to.virt, to.line, touch.data, 1);
                }
                // They are sent when the kernel is done.
                self.threads[t].send_from = now + cycles;
                Front::System(now + cycles)
            }
            Fetch::Idle => {
                self.let_go(t, now);
                Front::Idle(rung)
            }
        };
        self.threads[t].front = front;
    }

    /// Lines that are held and that the instruction does not store to are let go by an empty store, as part of it.
    fn let_go_by_store(&mut self, t: usize) {
        for (virt, phys) in std::mem::take(&mut self.threads[t].locked) {
            let stores = |touch: &crate::Touch| touch.store && touch.phys.align_down(LINE_BYTES) == phys;
            if !self.executed.accesses.iter().any(stores) {
                let touch = crate::Touch { store: true, virt: VirtAddr(virt), phys, data: Block::EMPTY };
                self.executed.accesses.push(touch);
            }
        }
    }

    /// Lets lines go that are held for an instruction which will not be executed.
    fn let_go(&mut self, t: usize, now: u64) {
        for (virt, line) in std::mem::take(&mut self.threads[t].locked) {
            self.store_at_once(t, VirtAddr(virt), line, Block::EMPTY, 0);
        }
        self.send_stores(t, now);
    }

    /// Puts the instruction into the fetch queue and asks for the lines it lies in.
    fn ask_for_code(&mut self, t: usize) {
        let Executed { rip, code, .. } = self.executed;
        let end = code.offset_in(LINE_BYTES).0 + u64::from(self.executed.outline.length);
        let first = line(VirtAddr(rip), code);
        let (number, asked) = self.threads[t].code.need(first.line.0);
        if asked {
            self.request_code(t, number, first);
            let next = following(first);
            if self.spec.next_line && next.line.0 % PAGE != 0 {
                self.need_code(t, next);
            }
        }
        let mut lines = [number; 2];
        // What lies in another page can't be asked for here; the next instruction does.
        let next = following(first);
        if end > LINE_BYTES.0 && next.line.0 % PAGE != 0 {
            lines[1] = self.need_code(t, next);
        }
        if let Some(instruction) = self.threads[t].fetch_queue.back_mut() {
            instruction.lines = lines;
        }
    }

    fn need_code(&mut self, t: usize, line: Load) -> u64 {
        let (number, asked) = self.threads[t].code.need(line.line.0);
        if asked {
            self.request_code(t, number, line);
        }
        number
    }

    fn request_code(&mut self, t: usize, number: u64, line: Load) {
        self.counts.code_lines.increment();
        let (scope, asid, data) = (Scope::System, Asid::default(), Block::zeros(line.mask));
        let (id, access, virt, phys) = (For::Code(number).id(t), Access::Load, line.virt, Some(line.line));
        self.code.1.send(Lane::Request, Request { id, access, scope, asid, virt, phys, data, stamp: 0 }, HEADER);
        self.in_flight += 1;
    }

    /// Whether fetch can go on behind the instruction. `last` is the number of its last micro-operation.
    fn predict(&mut self, t: usize, last: u64) -> bool {
        let Executed { ref outline, rip, next, taken, .. } = self.executed;
        let branch = outline.branch;
        if branch == Branch::No {
            return true;
        }
        self.counts.branches.increment();
        let after = rip.wrapping_add(u64::from(outline.length));
        let thread = &mut self.threads[t];
        let wrong = match self.predictor.predict(t, &Jump { branch, rip, after, next, taken }) {
            Prediction::Right => return true,
            Prediction::Misfetch => {
                self.counts.misfetches.increment();
                thread.front = Front::Decode(thread.fetched);
                return false;
            }
            Prediction::Direction => &self.counts.directions,
            Prediction::Target => &self.counts.targets,
            Prediction::Return => &self.counts.returns,
        };
        wrong.increment();
        let first = thread.fetched - u64::from(thread.fetch_queue.back().map_or(1, |instruction| instruction.ops));
        let decides = (first..=last).find(|number| thread.op(*number).kind == Kind::Compute).unwrap_or(last);
        thread.front = Front::Branch(decides);
        false
    }
}

/// The line of an address.
fn line(virt: VirtAddr, phys: PhysAddr) -> Load {
    Load { virt: virt.align_down(LINE_BYTES), line: phys.align_down(LINE_BYTES), mask: Mask::first(LINE) }
}

fn following(line: Load) -> Load {
    Load { virt: line.virt + LINE_BYTES, line: line.line + LINE_BYTES, ..line }
}

impl Thread {
    /// Makes micro-operations of an instruction and says which is the last. Loads and stores are dealt to them in order; where
    /// there are more (of a string, or at the border of lines), the last one gets the rest.
    fn take(&mut self, executed: &Executed, units: &super::Units) -> u64 {
        let outline = &*executed.outline;
        let older_stores = self.stores.end();
        let (mut loads, mut stores) = (Deal::new(self.loads.end()), Deal::new(older_stores));
        if !executed.accesses.is_empty() {
            loads.ops = outline.count(|work| work == Work::Load);
            stores.ops = outline.count(|work| work == Work::StoreData);
            self.take_touches(executed, &mut loads, &mut stores);
        }
        let first = self.fetched;
        for op in outline.micro_ops.iter().take(MOST_OPS - 2) {
            let (kind, pool) = match op.work {
                Work::Load => (Kind::Load, ADDRESS),
                Work::StoreAddress => (Kind::StoreAddress, ADDRESS),
                Work::StoreData => (Kind::StoreData, NO_UNIT),
                Work::Compute(class) => (Kind::Compute, units.pool(class)),
            };
            let mut made = Op { older_stores, ..Op::new(kind, pool, op.reads, op.writes) };
            match kind {
                Kind::Load => {
                    (made.first_touch, made.touches) = loads.deal();
                    made.takes = made.touches;
                }
                Kind::StoreAddress => {
                    (made.first_touch, made.touches) = stores.next();
                    made.takes = made.touches;
                }
                Kind::StoreData => (made.first_touch, made.touches) = stores.deal(),
                Kind::Compute => {}
            }
            self.push_op(made);
        }
        // Accesses that the outline does not know of.
        let extra = |kind, (first_touch, touches)| {
            let op = Op::new(kind, NO_UNIT, RegisterSet::NONE, RegisterSet::NONE);
            Op { first_touch, touches, takes: touches, older_stores, ..op }
        };
        if loads.left() > 0 {
            self.push_op(extra(Kind::Load, loads.rest()));
        }
        if stores.left() > 0 {
            self.push_op(extra(Kind::StoreData, stores.rest()));
        }
        if self.fetched == first {
            self.push(Op::new(Kind::Compute, NO_UNIT, RegisterSet::NONE, RegisterSet::NONE));
        }
        let last = self.fetched - 1;
        self.op_mut(last).ends = !(outline.repeats && executed.next == executed.rip);
        let ops = (self.fetched - first) as u8;
        self.fetch_queue.push_back(Instruction { ops, lines: [0; 2] });
        last
    }

    fn push_op(&mut self, op: Op) {
        let number = self.push(op);
        if op.kind == Kind::StoreData {
            let touches = op.first_touch..op.first_touch + u64::from(op.touches);
            touches.for_each(|touch| self.stores.get_mut(touch).op = number);
        }
    }

    /// Adds lines to be loaded from and stored to. Where there are more than micro-operations, those that follow each
    /// other in one line become one: a string moves its elements line by line.
    fn take_touches(&mut self, executed: &Executed, loads: &mut Deal, stores: &mut Deal) {
        let stored = executed.accesses.iter().filter(|touch| touch.store).count();
        let joins = [executed.accesses.len() - stored > loads.ops, stored > stores.ops];
        for touch in &executed.accesses {
            let Load { virt, line, .. } = line(touch.virt, touch.phys);
            let joins = joins[touch.store as usize];
            if touch.store {
                let own = self.stores.end() > stores.first;
                match self.stores.last_mut() {
                    Some(last) if own && joins && last.line == line => {
                        last.data.write(&touch.data);
                        last.parts += 1;
                    }
                    _ => {
                        // One that only lets a line go is nothing that the program waits for.
                        let parts = u16::from(!touch.data.mask().is_empty());
                        let (data, op) = (touch.data, 0);
                        self.push_store(Store { virt, line, data, parts, op, ready: false, prefetched: false });
                    }
                }
            } else {
                let own = self.loads.end() > loads.first;
                match self.loads.last_mut() {
                    Some(last) if own && joins && last.line == line => last.mask = last.mask.or(touch.data.mask()),
                    _ => self.loads.push(Load { virt, line, mask: touch.data.mask() }),
                }
            }
        }
        loads.end = self.loads.end();
        stores.end = self.stores.end();
    }
}

/// Lines that are dealt to micro-operations.
struct Deal {
    /// The next to be dealt, and the end of all.
    first: u64,
    end: u64,
    /// Micro-operations that have not got theirs.
    ops: usize,
}

impl Deal {
    fn new(first: u64) -> Self {
        Self { first, end: first, ops: 0 }
    }

    fn left(&self) -> u64 {
        self.end - self.first
    }

    /// What the next micro-operation gets: one, the last of them the rest.
    fn next(&self) -> (u64, u8) {
        let count = if self.ops <= 1 { self.left() } else { self.left().min(1) };
        (self.first, count as u8)
    }

    fn deal(&mut self) -> (u64, u8) {
        let dealt = self.next();
        self.first += u64::from(dealt.1);
        self.ops = self.ops.saturating_sub(1);
        dealt
    }

    fn rest(&mut self) -> (u64, u8) {
        (self.first, self.left() as u8)
    }
}
