//! Splits an executed instruction into micro-operations and the lines they access.

use super::{
    fetch::line,
    op::{Flush, Kind, Load, MOST_OPS, Op, Store},
    thread::{Instruction, Thread},
    units::{ADDRESS, NO_UNIT, Units},
};
use crate::Executed;
use x86::trace::{RegisterSet, Work};

impl Thread {
    /// Makes micro-operations of an instruction and returns the number of the last. Loads and stores are assigned to
    /// them in order. If there are more accesses (of a string, or across lines), the last micro-operation gets the
    /// rest.
    pub fn take(&mut self, executed: &Executed, units: &Units) -> u64 {
        let outline = &*executed.outline;
        let older_stores = self.stores.end();
        let (mut loads, mut stores) = (Deal::new(self.loads.end()), Deal::new(older_stores));
        if !executed.accesses.is_empty() {
            if outline.micro_ops.iter().any(|op| op.work == Work::Flush) {
                let lines = executed.accesses.iter().map(|touch| line(touch.virt, touch.phys));
                self.flushes.extend(lines.map(|of| Flush { virt: of.virt, line: of.line, older_stores }));
            } else {
                loads.ops = outline.count(|work| work == Work::Load);
                stores.ops = outline.count(|work| work == Work::StoreData);
                self.take_touches(executed, &mut loads, &mut stores);
            }
        }
        let first = self.fetched;
        for op in outline.micro_ops.iter().take(MOST_OPS - 2) {
            let (kind, pool) = match op.work {
                Work::Load => (Kind::Load, ADDRESS),
                Work::StoreAddress => (Kind::StoreAddress, ADDRESS),
                Work::StoreData => (Kind::StoreData, NO_UNIT),
                Work::Flush => (Kind::Flush, ADDRESS),
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
                Kind::Flush | Kind::Compute => {}
            }
            self.push_op(made);
        }
        // Accesses without a micro-operation in the outline.
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

    /// Adds the lines to be loaded from and stored to. If there are more accesses than micro-operations, consecutive
    /// accesses to one line are merged: a string is moved line by line.
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
                        // The program does not wait for a store that only unlocks a line.
                        let parts = u16::from(!touch.data.mask().is_empty());
                        let (data, op) = (touch.data, 0);
                        self.push_store(Store { virt, line, data, parts, op, ready: false, prefetched: false });
                    }
                }
            } else {
                let own = self.loads.end() > loads.first;
                match self.loads.last_mut() {
                    Some(last) if own && joins && last.line == line => last.mask = last.mask.or(touch.data.mask()),
                    _ => self.loads.push(Load { virt, line, mask: touch.data.mask(), rip: executed.rip }),
                }
            }
        }
        loads.end = self.loads.end();
        stores.end = self.stores.end();
    }
}

/// Assigns lines to micro-operations.
struct Deal {
    /// The next line to assign, and the end of the lines.
    first: u64,
    end: u64,
    /// Micro-operations without lines so far.
    ops: usize,
}

impl Deal {
    fn new(first: u64) -> Self {
        Self { first, end: first, ops: 0 }
    }

    fn left(&self) -> u64 {
        self.end - self.first
    }

    /// The lines of the next micro-operation: one, or the rest if it is the last.
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
