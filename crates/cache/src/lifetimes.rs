//! How long lines are used (`[vcache Fig. 12]`): from the cycle in which a line arrived until the last request that
//! found it in the cache. A line that is still held at the end of a run does not count.

use crate::LineWatcher;
use engine::Scope;
use mem::LineAddr;
use protocol::Lane;
use rustc_hash::FxHashMap;
use std::{cell::RefCell, rc::Rc};

/// The cycles in which a line came and was last requested.
#[derive(Clone, Copy)]
struct Used {
    since: u64,
    last: u64,
}

/// Counts them in the histogram `active_cycles` of `scope`.
pub(crate) fn lifetimes(scope: &Scope) -> LineWatcher {
    let (scope, active) = (scope.clone(), scope.histogram("active_cycles"));
    // Never iterated.
    let held: RefCell<FxHashMap<LineAddr, Used>> = RefCell::default();
    Rc::new(move |msg, line, _| {
        let (mut held, now) = (held.borrow_mut(), scope.now().0);
        match (held.get_mut(&msg.line), line.is_empty()) {
            (None, true) => {}
            (None, false) => _ = held.insert(msg.line, Used { since: now, last: now }),
            (Some(used), false) if msg.lane() == Lane::Request => used.last = now,
            (Some(_), false) => {}
            (Some(_), true) => {
                let used = held.remove(&msg.line).expect("it has just been found");
                active.record(used.last - used.since);
            }
        }
    })
}
