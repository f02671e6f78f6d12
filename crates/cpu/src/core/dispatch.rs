//! Decode and dispatch: instructions are split into micro-operations, which enter the queues of the core.

use super::{
    Pipeline,
    op::{Kind, Needs},
    thread::{Front, Shares, Thread},
};

impl Pipeline {
    /// Moves instructions whose code lines have arrived out of the fetch queue.
    pub(super) fn decode(&mut self, now: u64) {
        let mut left = self.spec.decode_width;
        for t in self.turns(now) {
            let thread = &mut self.threads[t];
            while left > 0 {
                let Some(next) = thread.fetch_queue.front() else { break };
                let decoded = thread.decoded + u64::from(next.ops);
                let waiting = thread.decoded - thread.dispatched;
                let has_room = decoded - thread.dispatched <= self.shares.micro_op_queue || waiting == 0;
                if !has_room || !next.lines.iter().all(|line| thread.code.is_here(*line)) {
                    break;
                }
                thread.decoded = decoded;
                thread.fetch_queue.pop_front();
                if thread.front == Front::Decode(decoded) {
                    thread.front = Front::From(0);
                }
                left -= 1;
                self.active = true;
            }
        }
    }

    /// Moves micro-operations into the reorder buffer and the other queues they need.
    pub(super) fn dispatch(&mut self, now: u64) {
        let mut left = self.spec.dispatch_width;
        for t in self.turns(now) {
            let thread = &mut self.threads[t];
            thread.lacks_stores = false;
            while left > 0 && thread.dispatched < thread.decoded {
                let needs = thread.op(thread.dispatched).needs();
                if !thread.fits(needs, &self.shares) {
                    break;
                }
                thread.enter(needs);
                left -= 1;
                self.dispatched_now = true;
                self.active = true;
            }
        }
    }
}

impl Thread {
    /// Whether all resources are available. A micro-operation that needs more than a queue or register file has may use
    /// it when it is empty.
    fn fits(&mut self, op: Needs, shares: &Shares) -> bool {
        if self.dispatched - self.committed >= shares.rob || self.issue_queue >= shares.issue_queue {
            return false;
        }
        if op.takes > 0 {
            let takes = u64::from(op.takes);
            let (used, size) = match op.kind {
                Kind::Load => (self.loads_dispatched - self.loads.first(), shares.load_queue),
                _ => (self.stores_dispatched - self.stores.first(), shares.store_queue),
            };
            if used > 0 && used + takes > size {
                self.lacks_stores = op.kind != Kind::Load;
                return false;
            }
        }
        let mut kinds = self.registers.iter().zip(op.registers).zip(shares.registers);
        kinds.all(|((used, takes), size)| *used == 0 || used + usize::from(takes) <= size)
    }

    fn enter(&mut self, op: Needs) {
        let number = self.dispatched;
        self.dispatched += 1;
        self.issue_queue += 1;
        match op.kind {
            Kind::Load => self.loads_dispatched += u64::from(op.takes),
            _ => self.stores_dispatched += u64::from(op.takes),
        }
        for (used, takes) in self.registers.iter_mut().zip(op.registers) {
            *used += usize::from(takes);
        }
        self.rename(number);
    }
}
