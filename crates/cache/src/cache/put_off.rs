//! Requests that were refused below: each is tried again after a while.

use engine::{EventCount, Scope};
use mem::LineAddr;
use protocol::{Node, Table};
use std::{cell::RefCell, collections::VecDeque, rc::Rc};

/// Cycles until a refused request is tried again; caches differ a little, so that they do not meet again and again.
const LEAST: u64 = 8;
const SPREAD: u64 = 8;

pub(super) struct PutOff {
    lines: Rc<Lines>,
    delay: u64,
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
        Some(Self { lines, delay: LEAST + u64::from(me.0) % SPREAD, work })
    }

    /// Puts off these lines' requests.
    pub fn add(&self, refused: &mut Vec<LineAddr>, now: u64) {
        if !refused.is_empty() {
            self.lines.waiting.borrow_mut().extend(refused.drain(..).map(|line| (now + self.delay, line)));
            self.work.advance();
        }
    }

    /// A line whose request is to be tried again now.
    pub fn due(&self) -> Option<LineAddr> {
        self.lines.due.borrow_mut().pop_front()
    }
}
