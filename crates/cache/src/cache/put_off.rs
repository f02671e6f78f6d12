//! Requests that were refused below: each is tried again after a while.

use engine::{EventCount, Scope};
use mem::LineAddr;
use protocol::{Node, Table};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
};

/// Cycles until a refused request is tried again: at least so many, and up to so many more by chance (the same in every run), or
/// several that want one line could keep each other from it for ever.
const LEAST: u64 = 8;
const SPREAD: u64 = 64;

pub(super) struct PutOff {
    lines: Rc<Lines>,
    random: Cell<u64>,
    work: EventCount,
}

#[derive(Default)]
struct Lines {
    /// When each is due, in order.
    waiting: RefCell<VecDeque<(u64, LineAddr)>>,
    due: RefCell<VecDeque<LineAddr>>,
}

impl PutOff {
    /// Rings `bell` when something is due. Nothing if the table has no retries.
    pub fn new(table: &Table, me: Node, bell: &EventCount, scope: &Scope) -> Option<Self> {
        if !table.events.contains(&"Retry") {
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

    /// Puts off these lines' requests.
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
