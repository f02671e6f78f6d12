//! Fetch: takes executed instructions from the program into the core.
//!
//! Each cycle one thread fetches up to `fetch_width` instructions from one code line. Fetch waits where the program
//! says so, and from a mispredicted branch until that branch has been executed: the wrong path costs this time, but is
//! not executed. Code lines are requested as they are needed; decode waits for them.

use super::{
    Pipeline, around,
    memory::For,
    op::{Kind, Load},
    thread::Front,
};
use crate::{
    Executed, Fetch,
    predictor::{Jump, Prediction},
};
use engine::{Lane, Time};
use interconnect::HEADER;
use mem::{Access, Asid, Block, Bytes, LINE, Mask, PAGE, PhysAddr, Request, Scope, VirtAddr};
use x86::trace::Branch;

const LINE_BYTES: Bytes = Bytes(LINE as u64);

impl Pipeline {
    /// Fetches for the first thread that can. `rung` is the count of the bell.
    pub(super) fn fetch(&mut self, rung: u64, now: u64, time: Time) {
        let count = self.threads.len();
        for t in around(self.fetch_turn, count) {
            if let Front::System(until) = self.threads[t].front
                && until <= now
            {
                // The kernel is done; fetch continues when its stores have been performed.
                self.threads[t].front = Front::Drain;
            }
            if self.threads[t].front == Front::Turn && !self.is_locked_out(t) {
                self.lock_last(t);
            }
            if self.can_fetch(t, rung, now) && self.fetch_group(t, rung, now, time) {
                self.fetch_turn = if t + 1 == count { 0 } else { t + 1 };
                return;
            }
        }
    }

    fn can_fetch(&self, t: usize, rung: u64, now: u64) -> bool {
        let thread = &self.threads[t];
        let goes_on = match thread.front {
            Front::From(cycle) => cycle <= now,
            Front::Drain => thread.is_quiet(),
            Front::Idle(heard) | Front::Waiting(heard) => heard < rung,
            Front::Branch(_) | Front::Decode(_) | Front::Turn | Front::Lock | Front::Missing | Front::System(_) => {
                false
            }
        };
        goes_on && thread.fetch_queue.len() < self.shares.fetch_queue && thread.has_room()
    }

    /// Fetches for a thread. Returns whether any instruction was executed; if not, another thread may fetch.
    fn fetch_group(&mut self, t: usize, rung: u64, now: u64, time: Time) -> bool {
        let mut line = None;
        self.threads[t].front = Front::From(now);
        for _ in 0..self.spec.fetch_width {
            if let Some(delay @ 1..) = self.delay() {
                self.threads[t].front = Front::From(now + delay);
                break;
            }
            let quiet = self.threads[t].is_quiet();
            let fetched = self.program.borrow_mut().next(t, quiet, &mut self.executed, time);
            if !matches!(fetched, Fetch::Executed) {
                self.wait(t, fetched, rung, now);
                break;
            }
            self.active = true;
            let holds = !self.threads[t].locked.is_empty();
            if holds {
                self.let_go_by_store(t);
            }
            let last = self.threads[t].take(&self.executed, &self.units);
            if holds {
                self.lock = Some((t, self.threads[t].stores.end()));
            }
            self.ask_for_code(t);
            let goes_on = self.predict(t, last, now);
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
        line.is_some()
    }

    /// Sets what fetch waits for, as the next instruction can't be executed now.
    fn wait(&mut self, t: usize, fetched: Fetch, rung: u64, now: u64) {
        self.active |= !matches!(fetched, Fetch::Idle | Fetch::Waiting);
        let front = match fetched {
            Fetch::Executed => Front::From(now),
            Fetch::Drain => {
                self.counts.drains.increment();
                Front::Drain
            }
            Fetch::Lock { virt, phys } => {
                debug_assert!(self.threads[t].is_quiet(), "a line is held when all is done");
                self.counts.locks.increment();
                let line = line(virt, phys);
                self.threads[t].locked.push((line.virt, line.line));
                Front::Turn
            }
            Fetch::Missing { virt, phys } => {
                self.counts.missing.increment();
                let line = line(virt, phys);
                self.request(Lane::Request, For::Fetch.id(t), Access::Load, line, Block::zeros(line.mask));
                Front::Missing
            }
            Fetch::System { cycles, stores } => {
                debug_assert!(self.threads[t].is_quiet(), "the kernel works when all is done");
                self.counts.systems.increment();
                self.let_go(t, now);
                let mut asked = None;
                for touch in stores {
                    let to = line(touch.virt, touch.phys);
                    self.store_at_once(t, to.virt, to.line, touch.data, 1);
                    if self.spec.store_prefetch && asked.replace(to.line) != Some(to.line) {
                        self.ask_to_write(t, to.virt, to.line);
                    }
                }
                // The stores are sent when the kernel is done; their lines are requested meanwhile.
                self.threads[t].send_from = now + cycles;
                Front::System(now + cycles)
            }
            Fetch::Idle => {
                self.let_go(t, now);
                Front::Idle(rung)
            }
            Fetch::Waiting => {
                self.let_go(t, now);
                Front::Waiting(rung)
            }
        };
        self.threads[t].front = front;
        if front == Front::Turn && !self.is_locked_out(t) {
            self.lock_last(t);
        }
    }

    /// Requests the line that the thread wants to lock.
    fn lock_last(&mut self, t: usize) {
        if let Some((virt, line)) = self.threads[t].locked.last().copied() {
            self.lock = Some((t, u64::MAX));
            self.active = true;
            let line = Load { virt, line, mask: Mask::NONE, rip: 0 };
            self.request(Lane::Coherence, For::Fetch.id(t), Access::Lock, line, Block::EMPTY);
            self.threads[t].front = Front::Lock;
        }
    }

    /// Adds an empty store to the instruction for each locked line that it does not store to, which unlocks the line.
    fn let_go_by_store(&mut self, t: usize) {
        for (virt, phys) in std::mem::take(&mut self.threads[t].locked) {
            let stores = |touch: &crate::Touch| touch.store && touch.phys.align_down(LINE_BYTES) == phys;
            if !self.executed.accesses.iter().any(stores) {
                let touch = crate::Touch { store: true, virt, phys, data: Block::EMPTY };
                self.executed.accesses.push(touch);
            }
        }
    }

    /// Unlocks the lines of an instruction that will not be executed.
    fn let_go(&mut self, t: usize, now: u64) {
        if self.threads[t].locked.is_empty() {
            return;
        }
        for (virt, line) in std::mem::take(&mut self.threads[t].locked) {
            self.store_at_once(t, virt, line, Block::EMPTY, 0);
        }
        self.lock = Some((t, self.threads[t].stores.end()));
        self.send_stores(t, now);
    }

    /// Requests the code lines of the instruction that was added to the fetch queue.
    fn ask_for_code(&mut self, t: usize) {
        let Executed { rip, code, .. } = self.executed;
        let end = code.offset_in(LINE_BYTES).0 + u64::from(self.executed.outline.length);
        let first = line(VirtAddr(rip), code);
        let (number, asked) = self.threads[t].code.need(first.line.0);
        if asked {
            self.request_code(t, number, first);
            let next = following(first);
            if self.spec.next_line && !next.line.0.is_multiple_of(PAGE) {
                self.need_code(t, next);
            }
        }
        let mut lines = [number; 2];
        if end > LINE_BYTES.0 {
            // A line in another page can't be requested here; the next instruction does that.
            let next = following(first);
            if !next.line.0.is_multiple_of(PAGE) {
                lines[1] = self.need_code(t, next);
            }
        }
        if let Some(instruction) = self.threads[t].fetch_queue.back_mut() {
            instruction.lines = lines;
        }
    }

    pub(super) fn need_code(&mut self, t: usize, line: Load) -> u64 {
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
        self.code.1.send(
            Lane::Request,
            Request { id, access, scope, asid, virt, phys, data, stamp: 0, lanes: 1, tlb_missed: false },
            HEADER,
        );
        self.in_flight += 1;
    }

    /// Whether fetch can continue behind the instruction. `last` is the number of its last micro-operation.
    fn predict(&mut self, t: usize, last: u64, now: u64) -> bool {
        let Executed { ref outline, rip, next, taken, .. } = self.executed;
        let branch = outline.branch;
        if branch == Branch::No {
            return true;
        }
        self.counts.branches.increment();
        let after = rip.wrapping_add(u64::from(outline.length));
        let thread = &mut self.threads[t];
        let predicted = self.predictor.predict(t, &Jump { branch, rip, after, next, taken });
        let wrong = match predicted {
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
        if predicted == Prediction::Direction {
            self.leave_path(t, now);
        }
        false
    }
}

/// The line of an address.
pub(super) fn line(virt: VirtAddr, phys: PhysAddr) -> Load {
    Load { virt: virt.align_down(LINE_BYTES), line: phys.align_down(LINE_BYTES), mask: Mask::first(LINE), rip: 0 }
}

fn following(line: Load) -> Load {
    Load { virt: line.virt + LINE_BYTES, line: line.line + LINE_BYTES, ..line }
}
