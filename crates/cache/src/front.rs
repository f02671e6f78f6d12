//! The side of a first-level cache that faces its requesters.
//!
//! A protocol handles lines; a requester sends numbered requests. The front turns a request into a message to the
//! bank, and matches each answer of the bank to the request it belongs to. Loads of one line are answered in order of
//! arrival. A store is performed when the protocol says so (`Stored`) or, where stores are written through, when
//! their bytes are acknowledged from below. In that case no two stores to a line have the same byte in flight.

use engine::Histogram;
use mem::{Access, Block, LINE, LineAddr, Mask, PAGE, PhysAddr, Reply, Request, RequestId};
use protocol::{Kind, Msg, Node, Stamps};

/// A request that has not been answered.
#[derive(Clone, Copy)]
struct Pending {
    id: RequestId,
    from: Node,
    mask: Mask,
    since: u64,
}

/// Pending requests, found by their lines. Lines whose hashes are equal share a list, the oldest request first. Most
/// requests hit and are gone at once, so adding and removing one allocates and moves nothing.
struct ByLine {
    /// The first entry of each list, or [`END`].
    lists: [u16; LISTS],
    /// The entries of all lists, and free ones.
    entries: Vec<Entry>,
    /// The first free entry, or [`END`].
    free: u16,
}

/// A pending request in its list.
struct Entry {
    line: LineAddr,
    pending: Pending,
    next: u16,
}

const LISTS: usize = 64;
/// Where a list ends.
const END: u16 = u16::MAX;
/// The line of a free entry.
const NO_LINE: LineAddr = LineAddr(u64::MAX);

impl ByLine {
    const EMPTY: Self = Self { lists: [END; LISTS], entries: Vec::new(), free: END };

    fn list(line: LineAddr) -> usize {
        (line.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - LISTS.trailing_zeros())) as usize
    }

    /// Adds a request behind all others of its line.
    fn push(&mut self, line: LineAddr, pending: Pending) {
        let entry = Entry { line, pending, next: END };
        let number = match self.free {
            END => {
                let number = u16::try_from(self.entries.len()).ok().filter(|number| *number != END);
                self.entries.push(entry);
                number.expect("fewer than 2^16 - 1 requests wait for a cache")
            }
            number => {
                let place = &mut self.entries[usize::from(number)];
                self.free = place.next;
                *place = entry;
                number
            }
        };
        let first = &mut self.lists[Self::list(line)];
        if *first == END {
            *first = number;
            return;
        }
        let mut last = usize::from(*first);
        while self.entries[last].next != END {
            last = usize::from(self.entries[last].next);
        }
        self.entries[last].next = number;
    }

    /// Removes and returns the oldest request of a line for which `is` returns true.
    fn take(&mut self, line: LineAddr, is: impl Fn(&Pending) -> bool) -> Option<Pending> {
        let list = Self::list(line);
        let (mut before, mut number) = (END, self.lists[list]);
        loop {
            let entry = self.entries.get(usize::from(number))?;
            if entry.line == line && is(&entry.pending) {
                break;
            }
            (before, number) = (number, entry.next);
        }
        let entry = &mut self.entries[usize::from(number)];
        let (pending, next) = (entry.pending, entry.next);
        (entry.line, entry.next) = (NO_LINE, self.free);
        self.free = number;
        match before {
            END => self.lists[list] = next,
            before => self.entries[usize::from(before)].next = next,
        }
        Some(pending)
    }

    /// Whether a request for a line of this page is pending.
    fn awaits(&self, page: PhysAddr) -> bool {
        self.entries.iter().any(|entry| (page.0..page.0 + PAGE).contains(&entry.line.0))
    }
}

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
        Self { me, atomics: ByLine::EMPTY, loads: ByLine::EMPTY, stores: ByLine::EMPTY, load_cycles, store_cycles }
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
        of.push(request.line(), pending);
    }

    /// Records an atomic access that is passed down.
    pub fn passing(&mut self, request: &Request, from: Node, now: u64) {
        let pending = Pending { id: request.id, from, mask: request.data.mask(), since: now };
        self.atomics.push(request.line(), pending);
    }

    /// Whether an access to a line of this page is pending.
    pub fn awaits(&self, page: PhysAddr) -> bool {
        [&self.atomics, &self.loads, &self.stores].into_iter().any(|of| of.awaits(page))
    }

    /// The result of an atomic access that was performed below has arrived.
    pub fn changed(&mut self, msg: &Msg<LINE>, now: u64) -> Answer {
        let same_bytes = |pending: &Pending| pending.mask == msg.data.mask();
        let pending = self.atomics.take(msg.line, same_bytes).expect("what is answered was asked");
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
        let pending = self.loads.take(msg.line, oldest).expect("the bank answers what it was asked");
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
        let pending = self.stores.take(msg.line, same_bytes)?;
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
        let pending = self.stores.take(msg.line, oldest).expect("the bank answers what it was asked");
        self.store_cycles.record(now - pending.since);
        Answer {
            mask: pending.mask,
            to: pending.from,
            reply: Reply { id: pending.id, data: Block::EMPTY, stamp: msg.stamps.cts.into() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(id: u64, from: u16) -> Pending {
        Pending { id: RequestId(id), from: Node(from), mask: Mask::NONE, since: 0 }
    }

    /// More requests than lists, of lines that share lists, answered in another order than they came.
    #[test]
    fn requests_of_a_line_are_answered_in_the_order_in_which_they_came() {
        let mut waiting = ByLine::EMPTY;
        let line = |number: u64| LineAddr(number % 150 * 64);
        for round in 0..3 {
            for number in 0..300 {
                waiting.push(line(number), pending(round * 1000 + number, (number % 2) as u16));
            }
            for number in (0..150).rev() {
                assert!(waiting.awaits(PhysAddr(line(number).0 & !(PAGE - 1))));
                let mut take = || waiting.take(line(number), |_| true).map(|pending| pending.id.0);
                let first = round * 1000 + number;
                assert_eq!([take(), take(), take()], [Some(first), Some(first + 150), None]);
            }
        }
        assert_eq!(waiting.entries.len(), 300, "places are used again");
        assert!(!waiting.awaits(PhysAddr(0)));
    }

    #[test]
    fn a_requester_is_answered_what_it_asked_for_though_another_asked_first() {
        let mut waiting = ByLine::EMPTY;
        [(1, 7), (2, 8), (3, 8)].into_iter().for_each(|(id, from)| waiting.push(LineAddr(64), pending(id, from)));
        let mut take =
            |from| waiting.take(LineAddr(64), |pending| pending.from == Node(from)).map(|pending| pending.id.0);
        assert_eq!([take(8), take(7), take(7), take(8)], [Some(2), Some(1), None, Some(3)]);
    }
}
