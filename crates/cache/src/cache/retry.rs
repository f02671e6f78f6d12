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

/// A refused request is retried after `LEAST` cycles and up to `SPREAD` more, from a pseudo-random sequence that is
/// identical in every run. Without the spread, caches that request one line could starve each other forever.
const LEAST: u64 = 8;
const SPREAD: u64 = 64;

/// A request refused `PATIENT` times in a row waits for a slow transaction elsewhere: from then on its delay doubles
/// every `STEP` further refusals, at most `DOUBLINGS` times.
const PATIENT: u32 = 1024;
const STEP: u32 = 16;
const DOUBLINGS: u32 = 14;

pub(super) struct RetryQueue {
    lines: Rc<Lines>,
    random: Cell<u64>,
    /// How often in a row the request of a line has been refused. Never iterated.
    refusals: RefCell<FxHashMap<LineAddr, u32>>,
    work: EventCount,
}

#[derive(Default)]
struct Lines {
    /// Requests that are not due yet and the cycles they are due, in order.
    waiting: RefCell<VecDeque<(u64, LineAddr)>>,
    due: RefCell<VecDeque<LineAddr>>,
}

impl RetryQueue {
    /// Advances `bell` when a request is due. `None` if the table has no retries.
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

    /// Schedules retries for the requests of these lines.
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

    /// These lines have no transaction in flight any more: their count of refusals starts again.
    pub fn settled(&self, lines: &mut Vec<LineAddr>) {
        let mut refusals = self.refusals.borrow_mut();
        lines.drain(..).for_each(|line| _ = refusals.remove(&line));
    }

    /// Counts one more refusal of the line's request and returns how often its delay has doubled.
    fn doublings(&self, line: LineAddr) -> u32 {
        let mut refusals = self.refusals.borrow_mut();
        let count = refusals.entry(line).or_insert(0);
        *count = count.saturating_add(1);
        (count.saturating_sub(PATIENT) / STEP).min(DOUBLINGS)
    }

    /// The next number of a linear congruential generator with Knuth's constants.
    fn chance(&self) -> u64 {
        let next = self.random.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random.set(next);
        next >> 33
    }

    /// The next line whose request is due for a retry.
    pub fn due(&self) -> Option<LineAddr> {
        self.lines.due.borrow_mut().pop_front()
    }
}
