//! Wakes cores when a deadline has passed, and starts a statistics region where the program marks one. The engine's run
//! waits for this context only: it ends with the program, and the run ends when all other contexts are idle.

use super::software::State;
use crate::session::WARM_UP;
use engine::{Context, EventCount, Time};
use std::{cell::RefCell, rc::Rc};

pub struct Timekeeper {
    pub(super) state: Rc<RefCell<State>>,
}

impl Timekeeper {
    pub async fn run(self, cx: Context) {
        let alert = self.state.borrow().alert.clone();
        // The last deadline for which cores were woken.
        let mut told = Time::NEVER;
        if self.state.borrow().driven.is_warming_up() {
            cx.region(WARM_UP);
        }
        loop {
            let seen = alert.count();
            let (deadline, marks, over) = {
                let mut state = self.state.borrow_mut();
                (state.driven.deadline(), std::mem::take(&mut state.marks), state.driven.end().is_some())
            };
            for (mark, region) in marks.into_iter().zip(["measured", "region_of_interest", "after"]) {
                if mark {
                    cx.region(region);
                }
            }
            if over {
                return;
            }
            if deadline == Time::NEVER || deadline == told {
                alert.wait(seen + 1).await;
                continue;
            }
            let cycles = cx.cycle_at(deadline).0.saturating_sub(cx.now().0);
            if cycles > 0 && alert.wait_for(seen + 1, cycles).await {
                continue;
            }
            told = deadline;
            self.state.borrow().bells.iter().for_each(EventCount::advance);
        }
    }
}
