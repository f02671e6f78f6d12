//! Issue and write-back: the oldest ready micro-operations are issued to units; results wake the micro-operations that
//! wait for them.

use super::{
    Pipeline,
    op::{Kind, State},
    thread::Front,
};

impl Pipeline {
    pub(super) fn issue(&mut self, now: u64) {
        self.units.refused_until = u64::MAX;
        let mut left = self.spec.issue_width;
        for t in self.turns(now) {
            let thread = &mut self.threads[t];
            if thread.parked_pools != 0 {
                thread.unpark(&mut self.units, now);
            }
            let mut from = thread.committed;
            while left > 0 && thread.ready_count > 0 {
                let Some(number) = thread.next_ready(from) else { break };
                from = number + 1;
                let op = thread.op_mut(number);
                let Some(done) = self.units.take(op.pool, now) else { continue };
                op.state = State::Executing;
                thread.issued(number);
                self.wheel.put(done, t, number);
                left -= 1;
                self.active = true;
            }
        }
    }

    /// Processes the micro-operations whose units finish in this cycle.
    pub(super) fn write_back(&mut self, now: u64) {
        let mut due = std::mem::take(&mut self.due);
        self.wheel.take(now, &mut due);
        for (t, number) in due.drain(..) {
            let t = usize::from(t);
            self.active = true;
            let op = self.threads[t].op_mut(number);
            match (op.kind, op.state) {
                (Kind::Load, State::Executing) => {
                    op.state = State::Accessing;
                    self.access(t, number, now);
                }
                (Kind::StoreAddress, _) => {
                    self.prefetch(t, number);
                    self.complete(t, number, now);
                    self.threads[t].set_addressed(number);
                    self.retry_held(t, now);
                }
                (Kind::StoreData, _) => {
                    self.threads[t].value_is_there(number);
                    self.complete(t, number, now);
                }
                _ => self.complete(t, number, now),
            }
        }
        self.due = due;
    }

    /// Marks a result as available.
    pub(super) fn complete(&mut self, t: usize, number: u64, now: u64) {
        let mut again = std::mem::take(&mut self.again);
        let thread = &mut self.threads[t];
        thread.complete(number, &mut again);
        if thread.front == Front::Branch(number) {
            thread.front = Front::From(now + self.spec.predictor.penalty.0);
        }
        for load in again.drain(..) {
            self.access(t, load, now);
        }
        self.again = again;
    }
}
