//! Commit: results become final in program order.
//!
//! A committed store is sent to the cache and keeps its place in the store queue until it has been performed. The cache
//! performs stores in the order in which they are sent, so a store need not wait for the reply to the one before.

use super::{
    Pipeline,
    op::{Kind, Op, State},
};
use rand_pcg::rand_core::RngCore;

impl Pipeline {
    pub(super) fn commit(&mut self, now: u64) {
        let mut left = self.spec.commit_width;
        for t in self.turns(now) {
            let thread = &mut self.threads[t];
            let before = left;
            while left > 0 && thread.committed < thread.dispatched {
                let Op { state, kind, touches, registers, ends, .. } = *thread.op(thread.committed);
                if state != State::Done {
                    break;
                }
                match kind {
                    Kind::Load => (0..touches).for_each(|_| _ = thread.loads.pop()),
                    Kind::StoreData => thread.stores_committed += u64::from(touches),
                    Kind::Flush => thread.flushes_committed += 1,
                    _ => {}
                }
                for (used, given_back) in thread.registers.iter_mut().zip(registers) {
                    *used -= usize::from(given_back);
                }
                if ends {
                    self.counts.instructions.increment();
                }
                thread.committed += 1;
                left -= 1;
            }
            if left < before {
                self.counts.micro_ops.add((before - left) as u64);
                self.committed_now = true;
                self.active = true;
            }
            if thread.stores_sent < thread.stores_committed || thread.flushes_committed > 0 {
                self.send_stores(t, now);
            }
        }
    }

    /// Sends the committed stores and flushes, in program order.
    pub(super) fn send_stores(&mut self, t: usize, now: u64) {
        if self.is_locked_out(t) {
            return;
        }
        loop {
            self.send_flushes(t);
            let thread = &self.threads[t];
            if thread.stores_sent >= thread.stores_committed || thread.send_from > now {
                return;
            }
            self.send_store(t);
            self.active = true;
            if let Some(delay) = self.delay() {
                self.threads[t].send_from = now + delay;
            }
        }
    }

    /// Whether another thread holds locked lines.
    pub(super) fn is_locked_out(&self, t: usize) -> bool {
        self.lock.is_some_and(|(holder, _)| holder != t)
    }

    /// A random delay, if the core has jitter.
    pub(super) fn delay(&mut self) -> Option<u64> {
        let most = self.spec.jitter?.most.0;
        let random = self.random.as_mut()?;
        // Most accesses are not delayed, so that a delayed one can fall behind them.
        let delayed = random.next_u32().is_multiple_of(4);
        Some(if delayed { random.next_u64() % (most + 1) } else { 0 })
    }
}
