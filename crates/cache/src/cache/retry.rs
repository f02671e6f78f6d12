//! The retry queue: a request that was refused below is tried again after a delay.

use engine::{EventCount, Scope};
use mem::LineAddr;
use protocol::{Node, Table};
use rustc_hash::FxHashMap;
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
};

/// Cycles until a refused request is tried again: `LEAST`, and up to `SPREAD` more from a pseudo-random sequence that is the same in
/// every run. Without the spread, caches that want one line could keep each other from it for ever.
const LEAST: u64 = 8;
const SPREAD: u64 = 64;

/// A request that has been refused so often in a row waits for something far away: from then on the delay doubles with every `STEP`
/// further refusals, `DOUBLINGS` times at most.
const PATIENT: u32 = 1024;
const STEP: u32 = 16;
const DOUBLINGS: u32 = 14;

pub(super) struct RetryQueue {
    lines: Rc<Lines>,
    random: Cell<u64>,
    /// How often the request of a line has been refused in a row. Looked up, never walked.
    refusals: RefCell<FxHashMap<LineAddr, u32>>,
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
        Some(Self { lines, random: Cell::new(u64::from(me.0)), refusals: RefCell::default(), work })
    }

    /// Has the requests of these lines tried again later.
    pub fn add(&self, refused: &mut Vec<LineAddr>, now: u64) {
        if !refused.is_empty() {
            let mut waiting = self.lines.waiting.borrow_mut();
            for line in refused.drain(..) {
                let due = now + ((LEAST + self.chance() % SPREAD) << self.doublings(line));
                let place = waiting.partition_point(|(other, _)| *other <= due);
                waiting.insert(place, (due, line));
            }
            self.work.advance();
        }
    }

    /// These lines have come to rest: nothing of them is refused any more.
    pub fn settled(&self, lines: &mut Vec<LineAddr>) {
        let mut refusals = self.refusals.borrow_mut();
        lines.drain(..).for_each(|line| _ = refusals.remove(&line));
    }

    /// How often the delay of a line's request has doubled, now that it has been refused once more.
    fn doublings(&self, line: LineAddr) -> u32 {
        let mut refusals = self.refusals.borrow_mut();
        let count = refusals.entry(line).or_insert(0);
        *count = count.saturating_add(1);
        (count.saturating_sub(PATIENT) / STEP).min(DOUBLINGS)
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
