//! The side of a first-level cache that faces its requesters.
//!
//! A protocol handles lines; a requester sends numbered requests. The front turns a request into a message to the
//! bank, and matches each answer of the bank to the request it belongs to. Loads of one line are answered in order of
//! arrival. A store is performed when the protocol says so (`Stored`) or, where stores are written through, when
//! their bytes are acknowledged from below. In that case no two stores to a line have the same byte in flight.

use engine::Histogram;
use mem::{Access, Block, LINE, LineAddr, Mask, PAGE, PhysAddr, Reply, Request, RequestId};
use protocol::{Kind, Msg, Node, Stamps};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::hash_map::Entry;

/// A request that has not been answered.
#[derive(Clone, Copy)]
struct Pending {
    id: RequestId,
    from: Node,
    mask: Mask,
    since: u64,
}

/// Pending requests of each line, oldest first.
type ByLine = FxHashMap<LineAddr, SmallVec<[Pending; 2]>>;

/// The pending requests of all requesters.
pub struct Front {
    me: Node,
    atomics: ByLine,
    loads: ByLine,
    stores: ByLine,
    load_cycles: Histogram,
    store_cycles: Histogram,
}

/// An answer and the requester it goes to.
pub struct Answer {
    pub to: Node,
    pub reply: Reply,
    /// The bytes that were loaded or stored.
    pub mask: Mask,
}

impl Front {
    pub fn new(me: Node, load_cycles: Histogram, store_cycles: Histogram) -> Self {
        Self {
            me,
            atomics: FxHashMap::default(),
            loads: FxHashMap::default(),
            stores: FxHashMap::default(),
            load_cycles,
            store_cycles,
        }
    }

    /// The message to the bank for a load or a store.
    pub fn message(&self, request: &Request, from: Node) -> Msg<LINE> {
        let (kind, data) = match request.access {
            Access::Store => (Kind::Store, request.data),
            _ => (Kind::Load, Block::EMPTY),
        };
        let (stamps, scope) = (Stamps::now(request.stamp as u32), request.scope);
        Msg { stamps, scope, ..Msg::new(from, self.me, kind, request.line(), data) }
    }

    /// Records a load or store that the bank has accepted.
    pub fn taken(&mut self, request: &Request, from: Node, now: u64) {
        let pending = Pending { id: request.id, from, mask: request.data.mask(), since: now };
        let of = if request.access == Access::Store { &mut self.stores } else { &mut self.loads };
        of.entry(request.line()).or_default().push(pending);
    }

    /// Records an atomic access that is passed down.
    pub fn passing(&mut self, request: &Request, from: Node, now: u64) {
        let pending = Pending { id: request.id, from, mask: request.data.mask(), since: now };
        self.atomics.entry(request.line()).or_default().push(pending);
    }

    /// Whether an access to a line of this page is pending.
    pub fn awaits(&self, page: PhysAddr) -> bool {
        let lines = || (page.0..page.0 + PAGE).step_by(LINE).map(LineAddr);
        let awaits = |of: &ByLine| !of.is_empty() && lines().any(|line| of.contains_key(&line));
        [&self.atomics, &self.loads, &self.stores].into_iter().any(awaits)
    }

    /// The result of an atomic access that was performed below has arrived.
    pub fn changed(&mut self, msg: &Msg<LINE>, now: u64) -> Answer {
        let same_bytes = |pending: &Pending| pending.mask == msg.data.mask();
        let pending = take(&mut self.atomics, msg.line, same_bytes).expect("what is answered was asked");
        self.store_cycles.record(now - pending.since);
        Answer {
            mask: pending.mask,
            to: pending.from,
            reply: Reply { id: pending.id, data: msg.data, stamp: msg.stamps.wts.into() },
        }
    }

    /// The bank has sent a line to a requester: this answers the requester's oldest load of that line.
    pub fn loaded(&mut self, msg: &Msg<LINE>, now: u64) -> Answer {
        let oldest = |pending: &Pending| pending.from == msg.to;
        let pending = take(&mut self.loads, msg.line, oldest).expect("the bank answers what it was asked");
        self.load_cycles.record(now - pending.since);
        let data = msg.data.only(pending.mask);
        Answer {
            mask: pending.mask,
            to: pending.from,
            reply: Reply { id: pending.id, data, stamp: msg.stamps.cts.into() },
        }
    }

    /// Written bytes were acknowledged from below, so the store that wrote them is performed. `None` if no request
    /// wrote these bytes.
    pub fn landed(&mut self, msg: &Msg<LINE>, now: u64) -> Option<Answer> {
        let same_bytes = |pending: &Pending| pending.mask == msg.data.mask();
        let pending = take(&mut self.stores, msg.line, same_bytes)?;
        self.store_cycles.record(now - pending.since);
        Some(Answer {
            mask: pending.mask,
            to: pending.from,
            reply: Reply { id: pending.id, data: Block::EMPTY, stamp: 0 },
        })
    }

    /// The protocol has performed the oldest store of a requester to a line.
    pub fn stored(&mut self, msg: &Msg<LINE>, now: u64) -> Answer {
        let oldest = |pending: &Pending| pending.from == msg.to;
        let pending = take(&mut self.stores, msg.line, oldest).expect("the bank answers what it was asked");
        self.store_cycles.record(now - pending.since);
        Answer {
            mask: pending.mask,
            to: pending.from,
            reply: Reply { id: pending.id, data: Block::EMPTY, stamp: msg.stamps.cts.into() },
        }
    }
}

fn take(of: &mut ByLine, line: LineAddr, which: impl Fn(&Pending) -> bool) -> Option<Pending> {
    let Entry::Occupied(mut entry) = of.entry(line) else { return None };
    let queue = entry.get_mut();
    let place = queue.iter().position(which)?;
    let pending = queue.remove(place);
    if queue.is_empty() {
        entry.remove();
    }
    Some(pending)
}
