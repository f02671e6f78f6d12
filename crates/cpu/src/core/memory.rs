//! The timing of loads and stores.
//!
//! A load first searches the older stores of its thread. If the youngest that overlaps it covers all its bytes, that
//! store forwards them as soon as its value is available. If it covers only some, the load waits until the store has
//! been performed. The values of loads are known from the execution of the program; this module only models time.

use super::{
    Pipeline,
    op::{Flush, Load, Op, Store},
    thread::{Front, Thread},
};
use engine::Lane;
use interconnect::HEADER;
use mem::{Access, Asid, Block, Bytes, LINE, Mask, PhysAddr, Request, RequestId, Scope, VirtAddr};
use smallvec::SmallVec;

/// The purpose of a request. It is encoded in the request's number, so that the reply carries it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum For {
    /// A load micro-operation.
    Load(u64),
    /// The oldest store in flight.
    Store,
    Prefetch,
    /// Fetch, which waits for a lock or for a line to load from.
    Fetch,
    /// A line of code.
    Code(u64),
    /// A line that is flushed.
    Flush,
}

const THREAD: u32 = 8;

impl For {
    pub(super) fn id(self, thread: usize) -> RequestId {
        let (kind, number) = match self {
            For::Load(op) => (0, op),
            For::Store => (1, 0),
            For::Prefetch => (2, 0),
            For::Fetch => (3, 0),
            For::Code(line) => (4, line),
            For::Flush => (5, 0),
        };
        RequestId(number << (THREAD + 3) | (thread as u64) << 3 | kind)
    }

    fn of(id: RequestId) -> (Self, usize) {
        let number = id.0 >> (THREAD + 3);
        let what = match id.0 & 7 {
            0 => For::Load(number),
            1 => For::Store,
            2 => For::Prefetch,
            3 => For::Fetch,
            4 => For::Code(number),
            _ => For::Flush,
        };
        (what, (id.0 >> 3) as usize & ((1 << THREAD) - 1))
    }
}

/// The hardware thread of a request or reply.
pub fn thread_of(id: RequestId) -> usize {
    For::of(id).1
}

/// Where a load gets its bytes.
enum Source {
    Memory,
    /// An older store covers all of them.
    Store,
    /// An older store covers all of them, but its value is not available before this micro-operation.
    Later(u64),
    /// An older store covers some of them: it must be performed first.
    Performed(u64),
}

impl Pipeline {
    pub(super) fn request(&mut self, lane: Lane, id: RequestId, access: Access, line: Load, data: Block<LINE>) {
        let Load { virt, line, .. } = line;
        let (scope, asid, phys) = (Scope::System, Asid::default(), Some(line));
        let bytes = HEADER + if access == Access::Store { data.mask().len() as u64 } else { 0 };
        self.data.1.send(
            lane,
            Request { id, access, scope, asid, virt, phys, data, stamp: 0, lanes: 1, tlb_missed: false },
            bytes,
        );
        self.in_flight += 1;
    }

    pub(super) fn take_answers(&mut self, now: u64) {
        if self.in_flight == 0 {
            return;
        }
        while let Some(reply) = self.data.0.try_recv(Lane::Reply) {
            self.in_flight -= 1;
            (self.active, self.answered_now) = (true, true);
            let (what, t) = For::of(reply.id);
            match what {
                For::Load(number) => {
                    let op = self.threads[t].op_mut(number);
                    op.outstanding -= 1;
                    if op.outstanding == 0 {
                        self.complete(t, number, now);
                    }
                }
                For::Store => self.performed(t, now),
                For::Prefetch | For::Code(_) => {}
                For::Flush => self.threads[t].flushing -= 1,
                For::Fetch => self.threads[t].front = Front::From(now),
            }
        }
        while let Some(reply) = self.code.0.try_recv(Lane::Reply) {
            self.in_flight -= 1;
            (self.active, self.answered_now) = (true, true);
            if let (For::Code(line), t) = For::of(reply.id) {
                self.threads[t].code.came(line);
            }
        }
    }

    /// Starts the access of a load whose address is known.
    pub(super) fn access(&mut self, t: usize, number: u64, now: u64) {
        let thread = &mut self.threads[t];
        if self.spec.wait_for_addresses && thread.is_unaddressed_before(number) {
            return thread.held.push(number);
        }
        let Op { first_touch, touches, older_stores, .. } = *thread.op(number);
        let touches = first_touch..first_touch + u64::from(touches);
        let mut from_memory = 0;
        for touch in touches.clone() {
            match thread.source(touch, older_stores) {
                Source::Memory => from_memory += 1,
                Source::Store => {}
                Source::Later(value) => {
                    thread.op_mut(number).waiting = 1;
                    let waits = thread.follow(value, number);
                    debug_assert!(waits, "its value was not there");
                    return;
                }
                Source::Performed(store) => {
                    self.counts.blocked.increment();
                    return thread.blocked.push((store, number));
                }
            }
        }
        self.counts.loads.add(touches.end - touches.start);
        self.counts.forwards.add(touches.end - touches.start - u64::from(from_memory));
        thread.op_mut(number).outstanding = from_memory;
        if from_memory == 0 {
            return self.wheel.put(now + self.spec.forwarding.0, t, number);
        }
        if self.prefetcher.is_on() {
            self.load_ahead(t, touches.clone());
        }
        for touch in touches {
            let thread = &self.threads[t];
            if let Source::Memory = thread.source(touch, older_stores) {
                let load = *thread.loads.get(touch);
                self.request(Lane::Request, For::Load(number).id(t), Access::Load, load, Block::zeros(load.mask));
            }
        }
    }

    /// Prefetches the lines that will probably be loaded after these loads.
    fn load_ahead(&mut self, t: usize, touches: std::ops::Range<u64>) {
        for touch in touches {
            let Load { virt, line, mask, rip } = *self.threads[t].loads.get(touch);
            let inside = Bytes(mask.iter().next().unwrap_or(0) as u64);
            let mut lines = SmallVec::<[(VirtAddr, PhysAddr); 4]>::new();
            self.prefetcher.load(rip, virt + inside, line + inside, |virt, line| lines.push((virt, line)));
            for (virt, line) in lines {
                self.counts.data_prefetches.increment();
                let load = Load { virt, line, mask: Mask::first(1), rip: 0 };
                self.request(Lane::Request, For::Prefetch.id(t), Access::Load, load, Block::zeros(load.mask));
            }
        }
    }

    /// Retries the loads that waited for addresses of older stores.
    pub(super) fn retry_held(&mut self, t: usize, now: u64) {
        for load in std::mem::take(&mut self.threads[t].held) {
            self.access(t, load, now);
        }
    }

    /// Requests the lines of a store whose address is known, unless an older store has requested them.
    pub(super) fn prefetch(&mut self, t: usize, number: u64) {
        if !self.spec.store_prefetch {
            return;
        }
        let Op { first_touch, touches, .. } = *self.threads[t].op(number);
        for touch in first_touch..first_touch + u64::from(touches) {
            let thread = &mut self.threads[t];
            let Store { virt, line, .. } = *thread.stores.get(touch);
            let mut older = thread.stores.first()..touch;
            let asked = thread.may_store_to(line, 1)
                && older.any(|other| thread.stores.get(other).prefetched && thread.stores.get(other).line == line);
            thread.stores.get_mut(touch).prefetched = true;
            if !asked {
                self.ask_to_write(t, virt, line);
            }
        }
    }

    /// Requests a line for a later store.
    pub(super) fn ask_to_write(&mut self, t: usize, virt: VirtAddr, line: PhysAddr) {
        self.counts.prefetches.increment();
        let (id, line) = (For::Prefetch.id(t), Load { virt, line, mask: Mask::NONE, rip: 0 });
        self.request(Lane::Request, id, Access::Store, line, Block::EMPTY);
    }

    /// Sends the oldest store that has not been sent.
    pub(super) fn send_store(&mut self, t: usize) {
        let thread = &mut self.threads[t];
        let Store { virt, line, data, .. } = *thread.stores.get(thread.stores_sent);
        thread.stores_sent += 1;
        self.stored_now = true;
        let (id, line) = (For::Store.id(t), Load { virt, line, mask: Mask::NONE, rip: 0 });
        self.counts.stores.increment();
        self.request(Lane::Coherence, id, Access::Store, line, data);
    }

    /// Sends the committed flushes whose older stores have been sent.
    pub(super) fn send_flushes(&mut self, t: usize) {
        while self.threads[t].flushes_committed > 0 {
            let thread = &mut self.threads[t];
            let next = thread.flushes.front().copied().filter(|flush| flush.older_stores <= thread.stores_sent);
            let Some(Flush { virt, line, .. }) = next else { return };
            thread.flushes.pop_front();
            thread.flushes_committed -= 1;
            thread.flushing += 1;
            self.active = true;
            self.counts.flushes.increment();
            let (id, line) = (For::Flush.id(t), Load { virt, line, mask: Mask::NONE, rip: 0 });
            self.request(Lane::Coherence, id, Access::FlushLine, line, Block::EMPTY);
        }
    }

    /// Adds a store without a micro-operation: one of the kernel, or an empty one that only unlocks a line.
    pub(super) fn store_at_once(&mut self, t: usize, virt: VirtAddr, line: PhysAddr, data: Block<LINE>, parts: u16) {
        let thread = &mut self.threads[t];
        thread.push_store(Store { virt, line, data, parts, op: 0, ready: true, prefetched: true });
        thread.stores_dispatched += 1;
        thread.stores_committed += 1;
    }

    /// Handles the completion of the oldest store.
    fn performed(&mut self, t: usize, now: u64) {
        let thread = &mut self.threads[t];
        let number = thread.stores.first();
        let Some(store) = thread.pop_store() else { return };
        if self.lock.is_some_and(|(holder, end)| holder == t && end == thread.stores.first()) {
            self.lock = None;
        }
        let mut program = self.program.borrow_mut();
        (0..store.parts).for_each(|_| program.performed(t));
        drop(program);
        // A linear search: few loads are blocked at any time.
        while let Some(place) = self.threads[t].blocked.iter().position(|(waits_for, _)| *waits_for == number) {
            let (_, load) = self.threads[t].blocked.remove(place);
            self.access(t, load, now);
        }
    }
}

impl Thread {
    fn source(&self, touch: u64, older_stores: u64) -> Source {
        let load = self.loads.get(touch);
        if !self.may_store_to(load.line, 0) {
            return Source::Memory;
        }
        for number in (self.stores.first()..older_stores).rev() {
            let store = self.stores.get(number);
            let mask = store.data.mask();
            if store.line != load.line || mask.and(load.mask).is_empty() {
                continue;
            }
            return match load.mask.without(mask).is_empty() {
                true if store.ready => Source::Store,
                true => Source::Later(store.op),
                false => Source::Performed(number),
            };
        }
        Source::Memory
    }

    /// Marks the value of a store as available in the queue.
    pub(super) fn value_is_there(&mut self, number: u64) {
        let Op { first_touch, touches, .. } = *self.op(number);
        (first_touch..first_touch + u64::from(touches)).for_each(|touch| self.stores.get_mut(touch).ready = true);
    }
}
