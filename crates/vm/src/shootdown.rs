//! Shootdowns: everybody forgets what has been changed in the page tables, and the one who changed it waits until they have.
//!
//! Each element that remembers translations has a wire on which it is told what to forget. It forgets at once, is busy for as
//! long as its spec says, and answers when whatever had come before is done, without remembering what it found for that. Elements that others ask come
//! first, or they would be asked again and answer with what is to be forgotten: [`Shootdowns`] goes in stages.

use crate::{PageSize, Roots};
use engine::{Context, Counter, Credits, EventCount, Histogram, Lane, Scope};
use interconnect::{HEADER, Wire};
use mem::{Asid, VirtAddr};

/// More pages than these are not forgotten one by one, but all of their address space; as under Linux.
pub const MOST_PAGES: usize = 33;

/// What is to be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shootdown {
    /// The page of an address, whatever its size.
    Page { asid: Asid, virt: VirtAddr },
    /// Every page of an address space.
    Space { asid: Asid },
    /// Everything.
    All,
}

impl Shootdown {
    /// Whether it is about an address. What lies in one huge page may be one page.
    pub fn covers(&self, asid: Asid, address: VirtAddr) -> bool {
        let huge = |address: VirtAddr| address.align_down(PageSize::Huge.bytes());
        match *self {
            Shootdown::Page { asid: space, virt } => space == asid && huge(virt) == huge(address),
            Shootdown::Space { asid: space } => space == asid,
            Shootdown::All => true,
        }
    }
}

/// It has been forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forgotten;

/// How an element is told: orders come in, answers go out.
pub type Control = Wire<Shootdown, Forgotten>;

/// The orders of an element, one at a time.
pub(crate) struct Orders {
    control: Option<Control>,
    /// What has been forgotten and not yet answered.
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

    /// Says that it is this context that obeys and answers, for reports on runs that do not get on.
    pub fn obeyed_by(&self, cx: &Context) {
        if let Some(control) = &self.control {
            cx.takes(&control.from);
            cx.sends(&control.to);
        }
    }

    /// The next order, when the last has been answered.
    pub fn next(&mut self) -> Option<Shootdown> {
        if self.current.is_none() {
            self.current = self.control.as_ref()?.from.try_recv(Lane::Request);
            return self.current;
        }
        None
    }

    /// Whether what is known about an address is just being forgotten.
    pub fn cover(&self, asid: Asid, address: VirtAddr) -> bool {
        self.current.is_some_and(|order| order.covers(asid, address))
    }

    /// Answers the current order, unless something `left` is about what is to be forgotten.
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

/// Tells everybody, and waits.
pub struct Shootdowns {
    stages: Vec<Vec<Wire<Forgotten, Shootdown>>>,
    roots: Roots,
    turn: Credits,
    cycles: Histogram,
    scope: Scope,
}

impl Shootdowns {
    /// `stages`: wires to all who remember translations; those whom others ask in stages before these.
    pub fn new(stages: Vec<Vec<Wire<Forgotten, Shootdown>>>, roots: &Roots, scope: &Scope) -> Shootdowns {
        let (turn, cycles) = (scope.credits("turn", 1), scope.histogram("shootdown_cycles"));
        Shootdowns { stages, roots: roots.clone(), turn, cycles, scope: scope.clone() }
    }

    /// Has everybody forget, one stage after another; over when all have. To be called when the tables have been changed, before
    /// anybody else runs, by a context of the clock domain in which this was made. Shootdowns wait for each other.
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
