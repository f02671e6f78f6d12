//! The command processor of a GPU: accepts kernels, cache flushes, and recalls of pages from the caches.

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
    /// The memory that the kernel may access.
    pub map: Arc<AddressMap>,
    /// The number of this GPU among the GPUs that share the workgroups, and the number of these GPUs.
    pub share: (u64, u64),
    pub forget: Forget,
    /// Whether the shared caches are flushed after the kernel, if this GPU runs it alone.
    pub flush: bool,
}

/// What caches invalidate before a kernel starts, in addition to an acquire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forget {
    Nothing,
    /// The shared caches: memory has been written from outside the GPU.
    Shared,
    /// All caches: memory has been written from outside the GPU, and an acquire does not invalidate the first-level
    /// caches.
    Everything,
}

/// A queue of kernels, which run one after another.
pub(crate) struct Slot {
    pub launches: Queue<Launch>,
    pub progress: Progress,
}

/// How much work of one kind a GPU has been given, and how much of it is done.
pub(crate) struct Progress {
    pub given: EventCount,
    pub done: EventCount,
}

impl Progress {
    fn new(scope: &Scope) -> Self {
        Self { given: scope.eventcount("given"), done: scope.eventcount("done") }
    }

    /// Registers one more piece of work.
    fn give(&self) -> Ticket {
        self.given.advance();
        Ticket { done: self.done.clone(), number: self.given.count() }
    }
}

/// Which caches write back and invalidate pages. The first-level caches of all GPUs must come before the shared caches
/// of any GPU, because a store may be in flight to the shared cache of another GPU. Shared caches may also pass writes on
/// to that of another GPU: then all of them write back before any invalidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recalled {
    FirstLevel,
    /// The shared caches write the pages back, and keep them.
    Written,
    Shared,
    /// The shared caches invalidate all they hold, of which nothing is dirty, whatever pages are named.
    Stale,
}

/// Pages that caches must write back and invalidate.
pub(crate) struct Recalls {
    pub pages: RefCell<VecDeque<(Recalled, Vec<PhysAddr>)>>,
    pub progress: Progress,
}

impl Recalls {
    /// The next pages, once the earlier ones are done.
    pub async fn next(&self) -> (Recalled, Vec<PhysAddr>) {
        self.progress.given.wait(self.progress.done.count() + 1).await;
        self.take()
    }

    pub fn take(&self) -> (Recalled, Vec<PhysAddr>) {
        self.pages.borrow_mut().pop_front().expect("what is given is there")
    }
}

/// The command processor of a GPU, as seen by the elements that give it work. Clones are handles to the same one.
#[derive(Clone)]
pub struct CommandProcessor {
    /// One slot for each kernel that can run concurrently.
    pub(crate) slots: Rc<[Slot]>,
    pub(crate) flushes: Rc<Progress>,
    pub(crate) recalls: Rc<Recalls>,
    /// Called when a kernel has ended.
    listener: Rc<OnceCell<Box<dyn Fn()>>>,
}

/// A piece of work given to a GPU.
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
    /// A command processor for up to `kernels` concurrent kernels. [`Dispatcher::build`](crate::Dispatcher::build) or a
    /// [doorbell](crate::doorbell) makes the element that carries out its work.
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

    /// Calls `listener` whenever a kernel, or a share of one, has ended.
    pub fn listen(&self, listener: impl Fn() + 'static) {
        assert!(self.listener.set(Box::new(listener)).is_ok(), "a command processor has one listener");
    }

    /// Number of kernels that can run concurrently.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Launches a kernel in an idle slot.
    pub fn launch(&self, slot: usize, launch: Launch) -> Ticket {
        let Slot { launches, progress } = &self.slots[slot];
        assert!(launches.try_send(launch).is_ok(), "a slot runs one kernel at a time");
        progress.give()
    }

    /// The next kernel of a slot, for an element other than a dispatcher that carries it out.
    pub async fn next(&self, slot: usize) -> Launch {
        self.slots[slot].launches.recv().await
    }

    /// Records that the kernel of a slot has ended.
    pub fn end(&self, slot: usize) {
        self.slots[slot].progress.done.advance();
        if let Some(listener) = self.listener.get() {
            listener();
        }
    }

    /// Makes the shared caches write back their data, after all GPUs with a share of a kernel have finished.
    pub fn flush(&self) -> Ticket {
        self.flushes.give()
    }

    /// Makes caches write back and invalidate these pages, which are no longer accessed.
    pub fn recall(&self, caches: Recalled, pages: Vec<PhysAddr>) -> Ticket {
        self.recalls.pages.borrow_mut().push_back((caches, pages));
        self.recalls.progress.give()
    }

    /// The next pages to be recalled, for an element other than a dispatcher that carries it out.
    pub async fn next_recall(&self) -> (Recalled, Vec<PhysAddr>) {
        self.recalls.next().await
    }

    /// Records that the pages have been recalled.
    pub fn end_recall(&self) {
        self.recalls.progress.done.advance();
    }
}
