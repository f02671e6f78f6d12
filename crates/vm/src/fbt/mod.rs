//! The forward-backward table (FBT) between virtual caches and the memory below, which uses physical addresses
//! (`[vcache 4.1]`).
//!
//! When the second-level cache requests a line that it does not hold, the FBT has the IOMMU translate the page; each
//! such request looks up the IOMMU's TLB. The backward table then tells whether the physical page has a leading virtual
//! page. If it has none, the requested virtual page becomes the leading one. If a different virtual page leads, the
//! line is read and answered once, without being cached. A physical page that is written and has two virtual pages is a
//! fault, whichever happens first (`[vcache 4.2]`). Requests for lines that the cache holds, write-backs and eviction
//! notices are translated by the forward table.
//!
//! An entry is removed when its set needs room for another, or when its page is shot down. It is locked first: requests
//! for lines that the cache does not hold wait. When no message about the page is in flight below, every line that the
//! cache holds is recalled, in order behind all answers. The cache answers each recall, in order behind all its earlier
//! messages. Then the first-level caches are ordered to drop the page. Requests that waited are translated again.
//!
//! Where first-level caches alone are virtual (`[vcache 5.4]`), each has a table of its own below it, which detects
//! synonyms in the same way, as the table of active synonyms of the design that 5.4 refers to. That cache writes
//! through and gives up lines silently: the table knows its pages, not its lines. When an entry is evicted for another,
//! the table orders the cache to drop the page; the cache's invalidation filter usually finds that no line of the page
//! is held.

mod member;
mod removal;
mod synonym;
mod table;

pub use member::Membership;
pub use table::FbtTables;

use crate::{
    Mistranslation, Roots, TlbSpec, Translate, Translated, TranslationId,
    page::Rights,
    shootdown::{Control, Orders},
};
use engine::{Context, Counter, EventCount, Inlet, Lane, Level, Scope};
use interconnect::{Packet, Pending, Router, Sender, Side, WHOLE, Wire, is_order};
use mem::{Block, Bytes, Interleave, LINE, LineAddr, PAGE, PhysAddr};
use member::{Member, reads};
use protocol::{Kind, Msg, Node};
use removal::Removal;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use table::{Entry, Tables, address, bit, space};

/// Parameters from the machine file.
#[derive(Clone, Copy, Debug)]
pub struct FbtSpec {
    /// Number of physical pages, and the associativity.
    pub table: TlbSpec,
    /// Whether the IOMMU uses it as a second-level TLB.
    pub second_level: bool,
    /// Latency of a look-up as second-level TLB.
    pub latency: engine::Cycles,
    /// Capacity of each first-level cache's table of synonyms and their leading names, in pages (`[vcache 4.3]`).
    pub remaps: usize,
}

/// The FBT's node and its neighbours.
pub struct FbtPlace {
    pub me: Node,
    /// The bank of the second-level cache of each line.
    pub banks: Interleave<Node>,
    /// All first-level caches above it.
    pub first_level: Vec<Node>,
    /// Bytes of a line of the cache above: sectors of one line are translated once.
    pub line: Bytes,
    pub above: Above,
    /// Whether this table sends first-level caches the leading name of a page that they have read under another name.
    pub tells_names: bool,
}

/// The kind of cache above a forward-backward table.
#[derive(Clone)]
pub enum Above {
    /// A second-level cache that claims lines and writes them back.
    Claims,
    /// A first-level cache that writes through.
    WritesThrough,
    /// A second-level cache that a directory below keeps coherent with others.
    Member(Membership),
}

/// A request whose page is being translated.
struct Ask {
    packet: Packet,
    /// Requests for other sectors of its line, which wait for it.
    more: Vec<Packet>,
    write: bool,
    /// Whether its page has been shot down since: the answer must be discarded.
    stale: bool,
}

pub struct Fbt {
    place: FbtPlace,
    writes_through: bool,
    /// Present if the cache above is a member of a directory.
    member: Option<Member>,
    tables: FbtTables,
    from: Vec<Inlet<Packet>>,
    to: Router<Packet>,
    /// Translations requested from the IOMMU, by their number.
    asks: Vec<Option<Ask>>,
    /// For each line, the number of its translation request, and whether the line is to be written. Never iterated.
    asked: FxHashMap<(u64, bool), usize>,
    /// Numbers of `asks` that are free.
    free: Vec<usize>,
    answers: Inlet<Translated>,
    below: Sender<Translate>,
    orders: Orders,
    roots: Roots,
    /// For each physical line that is being read, the tags under which it was requested, and whether the caches must
    /// not keep it. Never iterated.
    fetches: FxHashMap<LineAddr, VecDeque<(LineAddr, bool)>>,
    /// For each page name that first-level caches replace by the leading one, the entry of its page.
    aliases: BTreeMap<u64, usize>,
    /// Requests that wait for the removal of an entry, in order.
    parked: VecDeque<Packet>,
    removals: Vec<Removal>,
    bell: EventCount,
    requests: Counter,
    synonyms: Counter,
    evictions: Counter,
    recalled: Counter,
    filtered: Counter,
    waiting: Level,
}

impl Fbt {
    /// Builds the table at `scope`. `below` is the wire to the IOMMU.
    pub fn new(
        tables: FbtTables,
        place: FbtPlace,
        side: Side<Packet>,
        below: Wire<Translated, Translate>,
        (control, roots): (Option<Control>, &Roots),
        scope: &Scope,
    ) -> Self {
        let (bell, pending) = (scope.eventcount("work"), Pending::default());
        side.from.iter().for_each(|inlet| inlet.ring(&bell));
        below.from.ring(&bell);
        tables.0.borrow_mut().measure(scope);
        let member = match &place.above {
            Above::Member(of) => Some(Member::new(of.clone(), scope)),
            Above::Claims | Above::WritesThrough => None,
        };
        Self {
            writes_through: matches!(place.above, Above::WritesThrough),
            member,
            place,
            tables,
            from: side.from,
            to: Router::new(side.to, &pending, &scope.scope("neighbours"), &bell),
            asks: Vec::new(),
            asked: FxHashMap::default(),
            free: Vec::new(),
            answers: below.from,
            below: Sender::new(below.to, &pending, &scope.scope("below"), &bell),
            orders: Orders::new(control, &bell, scope),
            roots: roots.clone(),
            fetches: FxHashMap::default(),
            aliases: BTreeMap::new(),
            parked: VecDeque::new(),
            removals: Vec::new(),
            bell,
            requests: scope.counter("requests"),
            synonyms: scope.counter("synonyms"),
            evictions: scope.counter("evictions"),
            recalled: scope.counter("recalled_lines"),
            filtered: scope.counter("filtered_shootdowns"),
            waiting: scope.level("waiting"),
        }
    }

    pub async fn run(mut self, cx: Context) {
        cx.known_as(interconnect::name_of(self.place.me));
        self.from.iter().for_each(|inlet| cx.takes(inlet));
        cx.takes(&self.answers);
        self.orders.obeyed_by(&cx);
        loop {
            let seen = self.bell.count();
            if let Err(wrong) = self.cycle() {
                return cx.fail(wrong.to_string());
            }
            while self.bell.rest(seen + 1).await {
                self.to.explain(&cx);
                self.below.explain(&cx);
            }
        }
    }

    /// Handles all messages that have arrived.
    fn cycle(&mut self) -> Result<(), Mistranslation> {
        while let Some(answer) = self.answers.try_recv(Lane::Reply) {
            self.translated(&answer)?;
        }
        for number in 0..self.from.len() {
            if self.from[number].is_empty() {
                continue;
            }
            for lane in [Lane::Reply, Lane::Coherence, Lane::Request] {
                while let Some(packet) = self.from[number].try_recv(lane) {
                    self.take(packet)?;
                }
            }
        }
        if let Some(order) = self.orders.next() {
            self.shoot_down(order);
        }
        let is_shooting = self.orders.current.is_some();
        if !self.removals.is_empty() {
            self.carry_on()?;
        }
        let removals = &self.removals;
        self.orders.answer(|_| !removals.is_empty());
        if is_shooting && self.orders.current.is_none() {
            self.tables.end_shooting();
        }
        Ok(())
    }

    fn take(&mut self, packet: Packet) -> Result<(), Mistranslation> {
        if self.member.is_some() {
            return self.take_of_member(packet);
        }
        match packet.msg.kind {
            // Orders between the caches above and below, and their answers.
            _ if self.writes_through && is_order(packet.msg.line) && packet.msg.to != self.place.me => {
                self.to.send(packet);
                Ok(())
            }
            Kind::Data | Kind::Ack | Kind::Modified => self.answered(packet),
            Kind::Done => {
                self.heard(packet.msg.line);
                Ok(())
            }
            Kind::Evicted => self.evicted(&packet.msg),
            Kind::Write if !self.writes_through => self.written_back(packet),
            Kind::Read | Kind::Upgrade | Kind::Write | Kind::Modify => {
                self.requests.increment();
                self.request(packet)
            }
            other => unreachable!("a cache of this protocol does not send {other:?}"),
        }
    }

    /// Passes an answer from below up, under the tag by which its line was requested.
    fn answered(&mut self, packet: Packet) -> Result<(), Mistranslation> {
        let msg = packet.msg;
        let way = self.tables.0.borrow_mut().of_frame(msg.line.0 / PAGE);
        let way = way.ok_or_else(|| unknown(msg.line))?;
        let mut tables = self.tables.0.borrow_mut();
        let entry = tables.entry_mut(way);
        entry.outstanding -= 1;
        let (line, once) = match msg.kind {
            Kind::Data => {
                let names = self.fetches.get_mut(&msg.line).ok_or_else(|| unknown(msg.line))?;
                let name = names.pop_front().ok_or_else(|| unknown(msg.line))?;
                if names.is_empty() {
                    self.fetches.remove(&msg.line);
                }
                name
            }
            _ => (entry.tag(msg.line), false),
        };
        let frame = Some(PhysAddr(entry.frame * PAGE)).into();
        drop(tables);
        self.to.send(Packet { msg: Msg { line, ..msg }, once, frame, ..packet });
        Ok(())
    }

    /// A line has left the second-level cache. With `of` set, the message answers a recall of the line.
    fn evicted(&mut self, msg: &Msg<{ mem::LINE }>) -> Result<(), Mistranslation> {
        let mut tables = self.tables.0.borrow_mut();
        if msg.line == WHOLE {
            tables.clear_lines(|line| *self.place.banks.of(line.0) == msg.from);
            return Ok(());
        }
        let way = tables.of_page(msg.line.0 / PAGE).ok_or_else(|| unknown(msg.line))?;
        // The cache may have told of a line before it is asked to give it up; otherwise it holds what this table knows.
        if msg.of.is_none() && tables.entry(way).lines & bit(msg.line) == 0 {
            return Err(unknown(msg.line));
        }
        tables.set_line(way, bit(msg.line), false);
        drop(tables);
        if msg.of.is_some() {
            self.gave_up(way);
        }
        Ok(())
    }

    /// Passes a write-back down. The second-level cache holds the line, so its page has an entry.
    fn written_back(&mut self, packet: Packet) -> Result<(), Mistranslation> {
        let mut tables = self.tables.0.borrow_mut();
        let way = tables.of_page(packet.msg.line.0 / PAGE).ok_or_else(|| unknown(packet.msg.line))?;
        let entry = tables.entry_mut(way);
        if entry.lines & bit(packet.msg.line) == 0 {
            return Err(unknown(packet.msg.line));
        }
        entry.outstanding += 1;
        let line = entry.place(packet.msg.line);
        drop(tables);
        self.to.send(Packet { msg: Msg { line, ..packet.msg }, ..packet });
        Ok(())
    }

    /// The second-level cache requests a line, or the right to write it.
    fn request(&mut self, packet: Packet) -> Result<(), Mistranslation> {
        let line = packet.msg.line;
        let way = self.tables.0.borrow().of_page(line.0 / PAGE);
        let entry = way.map(|way| *self.tables.0.borrow().entry(way));
        match (way, entry) {
            (Some(_), Some(Entry { recalled: true, .. })) if packet.msg.kind == Kind::Upgrade => {
                self.park(packet);
                Ok(())
            }
            (Some(way), Some(entry)) if entry.lines & bit(line) != 0 => self.known(way, packet),
            // The line is already being read: an earlier request translated another sector of it.
            (Some(way), Some(entry)) if !entry.locked && entry.lines & self.sectors(line) != 0 => {
                self.tables.0.borrow_mut().set_line(way, bit(line), true);
                self.known(way, packet)
            }
            (Some(_), Some(Entry { locked: true, .. })) => {
                self.park(packet);
                Ok(())
            }
            _ => {
                self.ask(packet, !reads(packet.msg.kind));
                Ok(())
            }
        }
    }

    /// The bits of all sectors of a line.
    fn sectors(&self, line: LineAddr) -> u64 {
        let first = line.0 / self.place.line.0 * self.place.line.0;
        (first..first + self.place.line.0).step_by(LINE).fold(0, |bits, sector| bits | bit(LineAddr(sector)))
    }

    fn park(&mut self, packet: Packet) {
        self.parked.push_back(packet);
        self.waiting.set(self.parked.len() as u64);
    }

    /// Asks the IOMMU to translate the page of a request.
    fn ask(&mut self, packet: Packet, write: bool) {
        let line = packet.msg.line.0 / self.place.line.0;
        if let Some(number) = self.asked.get(&(line, write)) {
            let ask = self.asks[*number].as_mut().expect("a question that is known is open");
            ask.more.push(packet);
            return;
        }
        let ask = Ask { packet, more: Vec::new(), write, stale: false };
        let number = self.free.pop().unwrap_or_else(|| {
            self.asks.push(None);
            self.asks.len() - 1
        });
        self.asked.insert((line, write), number);
        self.asks[number] = Some(ask);
        self.question(number);
    }

    fn question(&mut self, number: usize) {
        let Some(ask) = &mut self.asks[number] else { return };
        ask.stale = false;
        let tag = ask.packet.msg.line.0 / PAGE * PAGE;
        let (asid, virt, id) = (space(tag), address(tag), TranslationId(number as u32));
        let question = Translate { id, asid, virt, phys: ask.packet.frame.known(), write: ask.write };
        self.below.send(Lane::Request, question, Translate::BYTES);
    }

    /// The page of a request has been translated.
    fn translated(&mut self, answer: &Translated) -> Result<(), Mistranslation> {
        let number = answer.id.0 as usize;
        let ask = self.asks[number].as_ref().expect("what is answered was asked");
        let (Some(found), false) = (answer.found, ask.stale) else {
            self.question(number);
            return Ok(());
        };
        let Some(Ask { packet, more, write, .. }) = self.asks[number].take() else { return Ok(()) };
        self.asked.remove(&(packet.msg.line.0 / self.place.line.0, write));
        self.free.push(number);
        let tag = packet.msg.line.0;
        if !reads(packet.msg.kind) && !found.rights.write {
            return Err(Mistranslation::ReadOnly { asid: space(tag), virt: address(tag) });
        }
        let frame = found.place(address(tag / PAGE * PAGE)).0 / PAGE;
        for packet in std::iter::once(packet).chain(more) {
            self.enter(packet, frame, found.rights)?;
        }
        Ok(())
    }

    /// Continues a request whose page is translated to the physical page `frame`.
    fn enter(&mut self, packet: Packet, frame: u64, rights: Rights) -> Result<(), Mistranslation> {
        let line = packet.msg.line;
        let mut tables = self.tables.0.borrow_mut();
        if let Some(way) = tables.of_page(line.0 / PAGE) {
            let entry = tables.entry_mut(way);
            if entry.locked && (entry.lines & bit(line) == 0 || entry.recalled && packet.msg.kind == Kind::Upgrade) {
                drop(tables);
                self.park(packet);
                return Ok(());
            }
            if entry.frame != frame {
                let (requester, tables) = (PhysAddr(entry.frame * PAGE), PhysAddr(frame * PAGE));
                let (asid, virt) = (space(line.0), address(line.0));
                return Err(Mistranslation::Differs { asid, virt, requester, tables, size: Bytes(PAGE) });
            }
            entry.writable |= rights.write;
            self.mark(&mut tables, way, line);
            drop(tables);
            return self.known(way, packet);
        }
        if let Some(way) = tables.of_frame(frame) {
            let locked = tables.entry(way).locked;
            drop(tables);
            if locked {
                self.park(packet);
                return Ok(());
            }
            return self.other_name(way, packet);
        }
        match tables.room(frame) {
            Ok(way) => {
                let page = line.0 / PAGE;
                let (lines, outstanding, writable) = (0, 0, rights.write);
                // A page that has been read under two names may not be written.
                let synonym = self.member.as_mut().is_some_and(|member| member.renamed.remove(&frame));
                let (written, locked, recalled) = (false, false, false);
                tables.insert(
                    way,
                    Entry { page, frame, lines, writable, written, synonym, outstanding, locked, recalled },
                );
                self.mark(&mut tables, way, line);
                drop(tables);
                self.known(way, packet)
            }
            Err(victim) => {
                drop(tables);
                if let Some(way) = victim {
                    self.evictions.increment();
                    self.remove(vec![way]);
                }
                self.park(packet);
                Ok(())
            }
        }
    }

    /// Records that the second-level cache will receive a line. If the cache above is a first-level cache, the table
    /// records its pages only.
    fn mark(&self, tables: &mut Tables, way: usize, line: LineAddr) {
        if !self.writes_through {
            tables.set_line(way, bit(line), true);
        }
    }

    /// Continues a request for a line whose page is the leading page of the entry.
    fn known(&mut self, way: usize, packet: Packet) -> Result<(), Mistranslation> {
        let (msg, mut tables) = (packet.msg, self.tables.0.borrow_mut());
        let entry = tables.entry_mut(way);
        let (asid, virt, place) = (space(msg.line.0), address(msg.line.0), PhysAddr(entry.frame * PAGE));
        if let Some(meant) = packet.frame.known().filter(|meant| *meant != place && !self.roots.may_differ(asid, virt))
        {
            return Err(Mistranslation::Differs { asid, virt, requester: meant, tables: place, size: Bytes(PAGE) });
        }
        if reads(msg.kind) {
            entry.outstanding += 1;
            let line = entry.place(msg.line);
            drop(tables);
            if msg.kind == Kind::Read {
                self.fetches.entry(line).or_default().push_back((msg.line, false));
            }
            self.to.send(Packet { msg: Msg { line, ..msg }, ..packet });
            return Ok(());
        }
        if !entry.writable {
            drop(tables);
            self.ask(packet, true);
            return Ok(());
        }
        if entry.synonym {
            return Err(Mistranslation::ReadWriteSynonym { asid, virt, leading: virt, frame: place });
        }
        entry.written = true;
        if msg.kind != Kind::Upgrade {
            entry.outstanding += 1;
            let line = entry.place(msg.line);
            drop(tables);
            self.to.send(Packet { msg: Msg { line, ..msg }, ..packet });
            return Ok(());
        }
        drop(tables);
        let granted = Msg::new(msg.to, msg.from, Kind::UpgradeAck, msg.line, Block::EMPTY);
        self.to.send(granted.into());
        Ok(())
    }
}

/// The error for a line that has no entry.
fn unknown(line: LineAddr) -> Mistranslation {
    Mistranslation::Unknown { asid: space(line.0), line }
}
