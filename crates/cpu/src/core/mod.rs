//! The core.

use crate::{CoreSpec, Program};
use engine::{Context, EventCount, Scope};
use interconnect::Wire;
use mem::{Reply, Request};
use std::{cell::RefCell, rc::Rc};

/// An out-of-order core.
pub struct Core {
    program: Rc<RefCell<dyn Program>>,
    data: Wire<Reply, Request>,
    code: Wire<Reply, Request>,
    bell: EventCount,
}

impl Core {
    /// Builds a core at `scope`, with so many hardware threads, between the caches of data and code. The bell is to be rung
    /// when a thread that was idle has something to run.
    ///
    /// # Panics
    /// If [`CoreSpec::check`] refuses the spec.
    pub fn new(
        spec: CoreSpec,
        threads: usize,
        program: Rc<RefCell<dyn Program>>,
        data: Wire<Reply, Request>,
        code: Wire<Reply, Request>,
        bell: EventCount,
        scope: &Scope,
    ) -> Self {
        if let Err(error) = spec.check(threads) {
            panic!("{}: {error}", scope.path());
        }
        Self { program, data, code, bell }
    }

    /// Runs until the end of the simulation.
    pub async fn run(self, cx: Context) {
        let Self { program: _, data: _, code: _, bell } = self;
        loop {
            _ = cx.now();
            bell.next().await;
        }
    }
}
