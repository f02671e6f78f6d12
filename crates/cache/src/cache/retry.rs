//! The retry queue: a request that was refused below is tried again after a delay.

use engine::{EventCount, Scope};
use mem::LineAddr;
use protocol::{Node, Table};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
};

/// Cycles until a refused request is tried again: `LEAST`, and up to `SPREAD` more from a pseudo-random sequence that is the same in
/// every run. Without the spread, caches that want one line could keep each other from it for ever.
const LEAST: u64 = 8;
const SPREAD: u64 = 64;

pub(super) struct RetryQueue {
    lines: Rc<Lines>,
    random: Cell<u64>,
    work: EventCount,
}

#[derive(Default)]
struct Lines {
    /// Requests that are not due yet, with their times, in order.
    waiting: RefCell<VecDeque<(u64, LineAddr)>>,
    due: RefCell<VecDeque<LineAddr>>,
}

impl RetryQueue {
    /// Rings `bell` when something is due. Nothing if the table has no retries.
    pub fn new(table: &Table, me: Node, bell: &EventCount, scope: &Scope) -> Option<Self> {
        if !table.capabilities().retries {
            return None;
        }
        let (lines, work, bell) = (Rc::new(Lines::default()), scope.eventcount("refused"), bell.clone());
        let (own, more) = (Rc::clone(&lines), work.clone());
        scope.serve("retry", |cx| async move {
            loop {
                let next = own.waiting.borrow_mut().pop_front();
                let Some((due, line)) = next else {
                    more.next().await;
                    continue;
                };
                if due > cx.now().0 {
                    cx.pause(due - cx.now().0).await;
                }
                own.due.borrow_mut().push_back(line);
                bell.advance();
            }
        });
        Some(Self { lines, random: Cell::new(u64::from(me.0)), work })
    }

    /// Has the requests of these lines tried again later.
    pub fn add(&self, refused: &mut Vec<LineAddr>, now: u64) {
        if !refused.is_empty() {
            let mut waiting = self.lines.waiting.borrow_mut();
            for line in refused.drain(..) {
                let due = now + LEAST + self.chance() % SPREAD;
                let place = waiting.partition_point(|(other, _)| *other <= due);
                waiting.insert(place, (due, line));
            }
            self.work.advance();
        }
    }

    /// A number that looks random (a linear congruential generator with Knuth's constants).
    fn chance(&self) -> u64 {
        let next = self.random.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random.set(next);
        next >> 33
    }

    /// A line whose request is to be tried again now.
    pub fn due(&self) -> Option<LineAddr> {
        self.lines.due.borrow_mut().pop_front()
    }
}
