//! The command processor of a GPU: where it is given kernels, flushes of its caches, and pages that they are to give up.

use crate::{kernel::Kernel, map::AddressMap};
use engine::{EventCount, Queue, Scope};
use mem::PhysAddr;
use std::{
    cell::{OnceCell, RefCell},
    collections::VecDeque,
    rc::Rc,
    sync::Arc,
};

/// A kernel, or a GPU's share of one.
pub struct Launch {
    pub kernel: Kernel,
    /// What it may touch.
    pub map: Arc<AddressMap>,
    /// The number of this GPU among those over which workgroups are dealt in turn, and how many these are.
    pub share: (u64, u64),
    pub forget: Forget,
    /// Whether the shared caches are flushed when it has ended, where this GPU runs it alone.
    pub flush: bool,
}

/// What caches forget before a kernel starts, beside what an acquire has them forget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forget {
    Nothing,
    /// What the shared caches hold: others have written to memory.
    Shared,
    /// Everything: others have written to memory, and an acquire does not have first-level caches forget.
    Everything,
}

/// Where a GPU is given kernels, which it runs one after another.
pub(crate) struct Slot {
    pub launches: Queue<Launch>,
    pub progress: Progress,
}

/// How much a GPU has been given of one kind of work, and how much of that is done.
pub(crate) struct Progress {
    pub given: EventCount,
    pub done: EventCount,
}

impl Progress {
    fn new(scope: &Scope) -> Self {
        Self { given: scope.eventcount("given"), done: scope.eventcount("done") }
    }

    /// One more piece has been given.
    fn give(&self) -> Ticket {
        self.given.advance();
        Ticket { done: self.done.clone(), number: self.given.count() }
    }
}

/// Which caches write back and forget pages. Those of the first level of all GPUs come before the shared ones of any: a store may be
/// in flight to the shared cache of another GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recalled {
    FirstLevel,
    Shared,
}

/// Pages that caches are to write back and forget.
pub(crate) struct Recalls {
    pub pages: RefCell<VecDeque<(Recalled, Vec<PhysAddr>)>>,
    pub progress: Progress,
}

impl Recalls {
    /// The next of them, once those before are done.
    pub async fn next(&self) -> (Recalled, Vec<PhysAddr>) {
        self.progress.given.wait(self.progress.done.count() + 1).await;
        self.take()
    }

    pub fn take(&self) -> (Recalled, Vec<PhysAddr>) {
        self.pages.borrow_mut().pop_front().expect("what is given is there")
    }
}

/// The command processor of a GPU, as those see it that give it work. Clones are the same.
#[derive(Clone)]
pub struct CommandProcessor {
    /// One for each kernel that can run at a time.
    pub(crate) slots: Rc<[Slot]>,
    pub(crate) flushes: Rc<Progress>,
    pub(crate) recalls: Rc<Recalls>,
    /// Called when a kernel has ended.
    listener: Rc<OnceCell<Box<dyn Fn()>>>,
}

/// A piece of work that a GPU has been given.
#[must_use]
pub struct Ticket {
    done: EventCount,
    number: u64,
}

impl Ticket {
    /// Waits until it is done.
    pub async fn wait(self) {
        self.done.wait(self.number).await;
    }
}

impl CommandProcessor {
    /// One that can run so many kernels at a time; [`Dispatcher::build`](crate::Dispatcher::build) or a [doorbell](crate::doorbell) has it done what it is given.
    pub fn new(kernels: usize, scope: &Scope) -> Self {
        let slot = |number| {
            let launches = match number {
                0 => scope.queue("launches", 1),
                _ => scope.queue(("launches", number), 1),
            };
            Slot { launches, progress: Progress::new(&scope.scope(("slot", number))) }
        };
        Self {
            slots: (0..kernels).map(slot).collect(),
            flushes: Rc::new(Progress::new(&scope.scope("flushes"))),
            recalls: Rc::new(Recalls { pages: RefCell::default(), progress: Progress::new(&scope.scope("recalls")) }),
            listener: Rc::default(),
        }
    }

    /// `listener` is called whenever a kernel, or the share of one, has ended.
    pub fn listen(&self, listener: impl Fn() + 'static) {
        assert!(self.listener.set(Box::new(listener)).is_ok(), "a command processor has one listener");
    }

    /// How many kernels can run at a time.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Has a kernel run in a slot, where none runs.
    pub fn launch(&self, slot: usize, launch: Launch) -> Ticket {
        let Slot { launches, progress } = &self.slots[slot];
        assert!(launches.try_send(launch).is_ok(), "a slot runs one kernel at a time");
        progress.give()
    }

    /// The next kernel for a slot, where something else than a dispatcher carries it out.
    pub async fn next(&self, slot: usize) -> Launch {
        self.slots[slot].launches.recv().await
    }

    /// The kernel of a slot has ended.
    pub fn end(&self, slot: usize) {
        self.slots[slot].progress.done.advance();
        if let Some(listener) = self.listener.get() {
            listener();
        }
    }

    /// Has the shared caches write back what they hold: every GPU that had a share of a kernel has come to its end.
    pub fn flush(&self) -> Ticket {
        self.flushes.give()
    }

    /// Has caches write back and forget what they hold of these pages, which nothing accesses any longer.
    pub fn recall(&self, caches: Recalled, pages: Vec<PhysAddr>) -> Ticket {
        self.recalls.pages.borrow_mut().push_back((caches, pages));
        self.recalls.progress.give()
    }

    /// The next pages to be recalled, where something else than a dispatcher carries that out.
    pub async fn next_recall(&self) -> (Recalled, Vec<PhysAddr>) {
        self.recalls.next().await
    }

    /// Those pages have been recalled.
    pub fn end_recall(&self) {
        self.recalls.progress.done.advance();
    }
}
