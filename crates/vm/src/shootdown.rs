//! Shootdowns: all elements drop translations that have changed in the page tables, and the kernel that changed them
//! waits.
//!
//! Each element that caches translations receives shootdowns on a wire. It drops the translation at once, is busy for
//! the time that its spec states, and answers when all earlier requests for that translation are done; their results
//! are not cached. [`Shootdowns`] works in stages, lower elements first: a TLB that had dropped a translation could
//! otherwise fetch the old one again from an element below it.

use crate::{PageSize, Roots};
use engine::{Context, Counter, Credits, EventCount, Histogram, Lane, Scope};
use interconnect::{HEADER, Wire};
use mem::{Asid, VirtAddr};

/// If more pages than this change, the whole address space is dropped instead of single pages, as Linux does.
pub const MOST_PAGES: usize = 33;

/// What to drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shootdown {
    /// The page of an address, of either size.
    Page { asid: Asid, virt: VirtAddr },
    /// Every page of an address space.
    Space { asid: Asid },
    /// Everything.
    All,
}

impl Shootdown {
    /// Whether it affects an address. All addresses within one huge page count, as they may be one page.
    pub fn covers(&self, asid: Asid, address: VirtAddr) -> bool {
        let huge = |address: VirtAddr| address.align_down(PageSize::Huge.bytes());
        match *self {
            Shootdown::Page { asid: space, virt } => space == asid && huge(virt) == huge(address),
            Shootdown::Space { asid: space } => space == asid,
            Shootdown::All => true,
        }
    }
}

/// The answer to a shootdown: it has been carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forgotten;

/// An element's wire for shootdowns: orders come in, answers go out.
pub type Control = Wire<Shootdown, Forgotten>;

/// The shootdowns that an element receives, one at a time.
pub(crate) struct Orders {
    control: Option<Control>,
    /// The order that has been carried out and not yet answered.
    pub current: Option<Shootdown>,
    pub obeyed: Counter,
    pub dropped: Counter,
}

impl Orders {
    pub fn new(control: Option<Control>, bell: &EventCount, scope: &Scope) -> Orders {
        if let Some(control) = &control {
            control.from.ring(bell);
        }
        let (obeyed, dropped) = (scope.counter("shootdowns"), scope.counter("shot_down"));
        Orders { control, current: None, obeyed, dropped }
    }

    /// Registers this context as the one that takes orders and answers them, for reports on deadlocks.
    pub fn obeyed_by(&self, cx: &Context) {
        if let Some(control) = &self.control {
            cx.takes(&control.from);
            cx.sends(&control.to);
        }
    }

    /// The next order, if the last one has been answered.
    pub fn next(&mut self) -> Option<Shootdown> {
        if self.current.is_none() {
            self.current = self.control.as_ref()?.from.try_recv(Lane::Request);
            return self.current;
        }
        None
    }

    /// Whether the current order affects an address.
    pub fn cover(&self, asid: Asid, address: VirtAddr) -> bool {
        self.current.is_some_and(|order| order.covers(asid, address))
    }

    /// Answers the current order, unless requests that it affects are `left`.
    pub fn answer(&mut self, left: impl FnOnce(&Shootdown) -> bool) {
        if let (Some(order), Some(control)) = (&self.current, &self.control)
            && !left(order)
        {
            let sent = control.to.try_send(Lane::Reply, Forgotten, HEADER);
            assert!(sent.is_ok(), "orders are answered one at a time: there is room");
            self.current = None;
            self.obeyed.increment();
        }
    }
}

/// Sends shootdowns to all elements and waits for their answers.
pub struct Shootdowns {
    stages: Vec<Vec<Wire<Forgotten, Shootdown>>>,
    roots: Roots,
    turn: Credits,
    cycles: Histogram,
    scope: Scope,
}

impl Shootdowns {
    /// `stages`: the wires to all elements that cache translations. An element is in an earlier stage than the elements
    /// that send it requests.
    pub fn new(stages: Vec<Vec<Wire<Forgotten, Shootdown>>>, roots: &Roots, scope: &Scope) -> Shootdowns {
        let (turn, cycles) = (scope.credits("turn", 1), scope.histogram("shootdown_cycles"));
        Shootdowns { stages, roots: roots.clone(), turn, cycles, scope: scope.clone() }
    }

    /// Makes all elements drop `what`, stage by stage; returns when all have answered. Must be called right after the
    /// tables were changed, before any other context runs, and from the clock domain in which this was built.
    /// Concurrent shootdowns wait for each other.
    pub async fn shoot(&self, what: Shootdown) {
        let asid = match what {
            Shootdown::Page { asid, .. } | Shootdown::Space { asid } => Some(asid),
            Shootdown::All => None,
        };
        if let Some(asid) = asid {
            self.roots.begin_change(asid);
        }
        self.roots.shot_down(what);
        let since = self.scope.now().0;
        self.turn.acquire().await;
        self.turn.will_release();
        for stage in &self.stages {
            for wire in stage {
                wire.to.send(Lane::Request, what, HEADER).await;
            }
            for wire in stage {
                wire.from.recv(Lane::Reply).await;
            }
        }
        self.turn.release();
        self.cycles.record(self.scope.now().0 - since);
        if let Some(asid) = asid {
            self.roots.end_change(asid);
        }
    }
}
