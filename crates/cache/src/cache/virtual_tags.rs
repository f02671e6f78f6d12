//! Virtual caches: a tag is the number of the address space and the virtual address (`[vcache 4.1]`).
//!
//! A first-level cache forms the tag of a request. Below it, protocols use tags in place of addresses, down to the
//! forward-backward table (`vm::Fbt`), which translates them to physical addresses. To remove a page, that table
//! recalls its lines from the second-level cache one by one and sends the page to all first-level caches. A first-level
//! cache that holds or awaits a line of the page invalidates all its lines (the invalidation filter, `[vcache 4.2]`). A
//! line in flight at that time is used to answer the waiting requests and not kept.
//!
//! A first-level cache may have learnt the leading name of a page that is read under another name. Its requests then
//! use the leading name (dynamic synonym remapping, `[vcache 4.3]`).
//!
//! The physical addresses that requesters give are kept beside the tags. Only the golden image and page walks of
//! constant latency use them.

use super::{Cache, NOBODY};
use crate::front;
use engine::{Counter, Inlet, Lane};
use interconnect::{HEADER, Packet, WHOLE, is_order};
use mem::{Access, Block, LINE, LineAddr, Mask, PAGE, PhysAddr, Reply, Request};
use protocol::{Impossible, Kind, Msg, concerns};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// The address space number starts at this bit, above the bits of a virtual address.
const SPACE: u32 = 48;

/// State of a virtual cache beside its lines.
pub(super) struct VirtualTags {
    /// The physical page of each virtual page that was requested. Never iterated.
    frames: FxHashMap<u64, u64>,
    /// Lines in flight that must not be kept. Never iterated.
    unwanted: FxHashSet<LineAddr>,
    /// The line that has just arrived and is used for answers without being kept.
    once: Option<LineAddr>,
    /// Recalls of lines that have a transaction in flight.
    recalls: Vec<Msg<LINE>>,
    /// Notices of lines that have been dropped by an invalidation of the whole cache; held back until it completes.
    swept: Option<Vec<Msg<LINE>>>,
    filtered: Counter,
    forgotten: Counter,
    /// Names of pages and the leading names that requests use in their place, oldest first, and the maximum number.
    names: VecDeque<(u64, u64)>,
    most_names: usize,
    remapped: Option<Counter>,
}

impl VirtualTags {
    pub fn new(most_names: usize, scope: &engine::Scope) -> Self {
        Self {
            frames: FxHashMap::default(),
            unwanted: FxHashSet::default(),
            once: None,
            recalls: Vec::new(),
            swept: None,
            filtered: scope.counter("page_orders_filtered"),
            forgotten: scope.counter("page_orders_forgetting"),
            names: VecDeque::new(),
            most_names,
            remapped: (most_names > 0).then(|| scope.counter("remapped")),
        }
    }

    /// The tag with the leading name of its page, if this cache knows that.
    fn leading(&self, tag: u64) -> u64 {
        match self.names.iter().find(|(name, _)| *name == tag / PAGE) {
            Some((_, leading)) => {
                self.remapped.iter().for_each(Counter::increment);
                leading * PAGE + tag % PAGE
            }
            None => tag,
        }
    }

    /// Learns the leading name of a page, if the message has one.
    fn learn(&mut self, msg: &Msg<LINE>) -> bool {
        if msg.data.mask().is_empty() {
            return false;
        }
        let leading = msg.data.bytes()[..8].try_into().map(u64::from_le_bytes).expect("a name has eight bytes");
        let name = msg.line.0 / PAGE;
        self.names.retain(|(known, _)| *known != name);
        if self.names.len() == self.most_names {
            self.names.pop_front();
        }
        self.names.push_back((name, leading));
        true
    }
}

impl Cache {
    /// The request with its line's tag as the address.
    pub(super) fn tagged(&mut self, request: Request) -> Request {
        let Some(tags) = &mut self.tags else { return request };
        if matches!(request.access, Access::Invalidate | Access::Flush) {
            return request;
        }
        let tag = tags.leading(u64::from(request.asid.0) << SPACE | request.virt.0);
        if let Some(place) = request.phys {
            tags.frames.insert(tag / PAGE, place.0 / PAGE * PAGE);
        }
        Request { phys: Some(PhysAddr(tag)), ..request }
    }

    /// The line's physical address, if a requester gave it; otherwise the tag.
    pub(super) fn place_of(&self, line: LineAddr) -> LineAddr {
        let frame = self.tags.as_ref().and_then(|tags| tags.frames.get(&(line.0 / PAGE)));
        frame.map_or(line, |frame| LineAddr(frame + line.0 % PAGE))
    }

    /// A message as a packet, with the physical page and whether the receiver must not keep the line.
    pub(super) fn packet(&self, msg: Msg<LINE>) -> Packet {
        let Some(tags) = &self.tags else { return msg.into() };
        let frame = tags.frames.get(&(msg.line.0 / PAGE)).copied().map(PhysAddr);
        Packet { frame: frame.into(), once: msg.kind == Kind::Data && tags.once == Some(msg.line), ..msg.into() }
    }

    /// Records the physical page that a message carries.
    pub(super) fn note(&mut self, packet: &Packet) {
        if let (Some(tags), Some(frame)) = (&mut self.tags, packet.frame.known()) {
            tags.frames.insert(packet.msg.line.0 / PAGE, frame.0);
        }
    }

    /// A line has arrived. If it must not be kept, evicts it after the waiting requests have been answered.
    pub(super) fn came(&mut self, packet: &Packet) -> Result<(), Box<Impossible>> {
        let Some(tags) = &mut self.tags else { return Ok(()) };
        if packet.msg.kind != Kind::Data {
            return Ok(());
        }
        let line = packet.msg.line;
        if tags.unwanted.remove(&line) | packet.once {
            tags.once = packet.once.then_some(line);
            self.bank.at_once(&Msg::new(self.me, self.me, Kind::Evict, line, Block::EMPTY))?;
        }
        Ok(())
    }

    /// All requests that waited for a line that is not kept have been answered.
    pub(super) fn answered_once(&mut self) {
        if let Some(tags) = &mut self.tags {
            tags.once = None;
        }
    }

    /// The invalidation of all lines begins: notices of dropped lines are held back until it ends.
    pub(super) fn begin_sweep(&mut self, order: &Msg<LINE>) {
        if let Some(tags) = self.tags.as_mut().filter(|_| order.kind == Kind::Invalidate && order.line == WHOLE) {
            tags.swept.get_or_insert_default();
        }
    }

    /// Whether a notice is held back. A line that came for one use is in no table.
    pub(super) fn keeps_back(&mut self, notice: &Msg<LINE>) -> bool {
        if notice.of.is_none() && self.tags.as_ref().is_some_and(|tags| tags.once == Some(notice.line)) {
            return true;
        }
        let Some(swept) = self.tags.as_mut().and_then(|tags| tags.swept.as_mut()) else { return false };
        let kept = notice.of.is_none();
        swept.extend(kept.then_some(*notice));
        kept
    }

    /// All lines have been invalidated. If no line has arrived since, one notice covers the whole cache; otherwise each
    /// dropped line that has not been fetched again gets a notice of its own.
    pub(super) fn end_sweep(&mut self) {
        let Some(swept) = self.tags.as_mut().and_then(|tags| tags.swept.take()) else { return };
        let held = self.bank.lines();
        match (held.as_slice(), swept.first()) {
            ([], Some(first)) => self.tell_evicted(Msg { line: WHOLE, ..*first }),
            _ => {
                let gone = swept.into_iter().filter(|notice| held.binary_search(&notice.line).is_err());
                gone.for_each(|notice| self.tell_evicted(notice));
            }
        }
    }

    /// The forward-backward table recalls a line: the cache gives it up now or, if the line has a transaction in
    /// flight, when that has completed.
    pub(super) fn recall(&mut self, msg: Msg<LINE>) -> Result<(), Box<Impossible>> {
        // An atomic access that the line was fetched for is performed first; otherwise it would be fetched again and
        // again.
        while self.atomics.front().is_some_and(|packet| packet.msg.line == msg.line) && self.atomic(false)? {}
        if !self.gives_up(&msg)?
            && let Some(tags) = &mut self.tags
        {
            tags.recalls.push(msg);
        }
        Ok(())
    }

    /// Gives up a recalled line if that is possible now; returns whether the recall has completed.
    fn gives_up(&mut self, recall: &Msg<LINE>) -> Result<bool, Box<Impossible>> {
        if self.bank.tells_gone { self.bank.part_with(recall.line) } else { self.bank.at_once(recall) }
    }

    /// Carries out recalls and page removals of the forward-backward table; returns whether there was something to do.
    /// None of them waits for a request that this cache has sent below.
    pub(super) fn obey_table(&mut self) -> Result<bool, Box<Impossible>> {
        let Some(tags) = &mut self.tags else { return Ok(false) };
        let mut did = false;
        if !tags.recalls.is_empty() {
            let recalls = std::mem::take(&mut tags.recalls);
            let mut left = Vec::new();
            for msg in recalls {
                if self.gives_up(&msg)? {
                    did = true;
                } else {
                    left.push(msg);
                }
            }
            did |= !self.bank.out.is_empty();
            if let Some(tags) = &mut self.tags {
                tags.recalls = left;
            }
        }
        Ok(self.answer_page_order() || self.top.is_some() && self.forget_page()? || did)
    }

    /// Answers a driver's order about a physical page, if one has arrived. Nothing is left to do: the forward-backward
    /// table has already recalled the page's lines.
    fn answer_page_order(&self) -> bool {
        let Some(top) = &self.top else { return false };
        let is_order = |request: &Request| matches!(request.access, Access::Invalidate | Access::Flush);
        let has_order = |inlet: &Inlet<Request>| inlet.front(Lane::Coherence).is_some_and(|request| is_order(&request));
        let Some((node, inlet, _)) = top.wires.iter().find(|(_, inlet, _)| has_order(inlet)) else { return false };
        let Some(request) = inlet.try_recv(Lane::Coherence) else { return false };
        let reply = Reply { id: request.id, data: Block::EMPTY, stamp: 0 };
        top.reply(front::Answer { to: *node, reply, mask: Mask::NONE });
        true
    }

    /// Takes an order to remove a page, if one has arrived.
    fn forget_page(&mut self) -> Result<bool, Box<Impossible>> {
        let is_word = |packet: &Packet| packet.msg.kind == Kind::Inval && is_order(packet.msg.line);
        let word = |inlet: &Inlet<Packet>| inlet.front(Lane::Coherence).map(|packet| *packet).filter(is_word).is_some();
        let Some(inlet) = self.from.iter().find(|inlet| word(inlet)) else { return Ok(false) };
        let Some(packet) = inlet.try_recv(Lane::Coherence) else { return Ok(false) };
        let page = packet.msg.line;
        if let Some(tags) = &mut self.tags {
            if tags.learn(&packet.msg) {
                return Ok(true);
            }
            tags.names.retain(|(_, leading)| !concerns(page, LineAddr(leading * PAGE)));
        }
        let lines = self.bank.lines();
        let matches = lines.iter().any(|line| concerns(page, *line));
        for line in lines.into_iter().filter(|_| matches) {
            let evict = Msg::new(NOBODY, self.me, Kind::Evict, line, Block::EMPTY);
            if self.bank.at_once(&evict)? {
                continue;
            }
            // The eviction stalled. A line that awaits data must not be kept when it comes. A line that only awaits
            // acknowledgements of bytes written through holds none of them any more.
            if concerns(page, line)
                && self.bank.awaits_data(line)
                && let Some(tags) = &mut self.tags
            {
                tags.unwanted.insert(line);
            }
        }
        if let Some(tags) = &self.tags {
            if matches { &tags.forgotten } else { &tags.filtered }.increment();
        }
        let done = Msg::new(self.me, packet.msg.from, Kind::Done, page, Block::EMPTY);
        self.to.to(done.to).send(Lane::Reply, done.into(), HEADER);
        Ok(true)
    }
}
