//! A forward-backward table below a second-level cache that a CPU's directory keeps coherent (`[vcache 4.1]`, "Cache
//! Coherence between GPUs and CPUs").
//!
//! The directory's probes carry physical addresses. If the cache may hold the line, the backward table translates the
//! probe and passes it up. Otherwise the table answers in the cache's place that the line is not held, so the cache
//! never sees the probe (filtering). The cache's answers to the directory or to another member are translated by the
//! forward table. An entry therefore stays as long as one of its probes or requests is in flight.
//!
//! The cache requests shared copies for reads, so the first write to each line passes this table as a request. The
//! cache reports every line that it has lost. A page has one name at a time: when the page is read under a second name,
//! its entry is removed with all its lines, and the second name becomes the leading one.

use super::{Fbt, table::bit, unknown};
use crate::Mistranslation;
use engine::{Counter, Scope};
use interconnect::Packet;
use mem::{Interleave, LINE, PAGE, PhysAddr};
use protocol::{Kind, Line, Log, Msg, Node, Place, Roster, Step, roles::Seat, step};
use rustc_hash::FxHashSet;

/// What a forward-backward table needs to take part in the protocol of the directory below.
#[derive(Clone)]
pub struct Membership {
    /// The controller of the cache above.
    pub cache: Seat,
    /// The directory of each physical line.
    pub homes: Interleave<Node>,
}

/// State of a table below a directory's member.
pub(super) struct Member {
    pub of: Membership,
    /// Physical pages that have changed their leading name. Never iterated.
    pub renamed: FxHashSet<u64>,
    probes: Counter,
    filtered: Counter,
}

impl Member {
    pub fn new(of: Membership, scope: &Scope) -> Self {
        let (probes, filtered) = (scope.counter("probes"), scope.counter("filtered_probes"));
        Self { of, renamed: FxHashSet::default(), probes, filtered }
    }
}

impl Fbt {
    /// Handles a message between the cache above and the other members of its directory.
    pub(super) fn take_of_member(&mut self, packet: Packet) -> Result<(), Mistranslation> {
        let msg = packet.msg;
        match msg.kind {
            Kind::Evicted => self.evicted(&msg),
            Kind::GetS | Kind::GetX => {
                self.requests.increment();
                self.request(packet)
            }
            Kind::Inval | Kind::GetFwd | Kind::GetXFwd | Kind::CoreFlush => {
                self.probe(packet);
                Ok(())
            }
            _ if self.place.banks.owners().any(|bank| *bank == msg.from) => self.member_sent(packet),
            _ => self.send_member(packet),
        }
    }

    /// Translates a probe for a line that the cache may hold, and answers any other.
    fn probe(&mut self, packet: Packet) {
        let msg = packet.msg;
        let Some(member) = &self.member else { return };
        member.probes.increment();
        let mut tables = self.tables.0.borrow_mut();
        let way = tables.of_frame(msg.line.0 / PAGE);
        if let Some(way) = way.filter(|way| tables.entry(*way).lines & bit(msg.line) != 0) {
            let entry = tables.entry_mut(way);
            entry.outstanding += 1;
            let (line, frame) = (entry.tag(msg.line), Some(PhysAddr(entry.frame * PAGE)).into());
            self.to.send(Packet { msg: Msg { line, ..msg }, frame, ..packet });
            return;
        }
        member.filtered.increment();
        let (cache, below) = (&*member.of.cache, *member.of.homes.of(msg.line.0));
        let (table, place) = (cache.table(), Place { me: msg.to, below, above: &Roster::NONE });
        let (mut line, mut log) = (Line::<LINE>::new(table.initial()), Log::new(table, 0));
        let answers = match step(cache, table, place, &mut line, &msg, &mut log) {
            Ok(Step::Sends(answers)) => answers,
            _ => unreachable!("a member answers each probe of a line that it does not hold"),
        };
        answers.into_iter().for_each(|answer| self.to.send(answer.into()));
    }

    /// Passes a message of the cache down: a write-back, or what it answers to a probe.
    fn member_sent(&mut self, packet: Packet) -> Result<(), Mistranslation> {
        let msg = packet.msg;
        let mut tables = self.tables.0.borrow_mut();
        let way = tables.of_page(msg.line.0 / PAGE).ok_or_else(|| unknown(msg.line))?;
        let entry = tables.entry_mut(way);
        let line = entry.place(msg.line);
        let home = self.member.as_ref().map(|member| *member.of.homes.of(line.0));
        match msg.kind {
            Kind::WriteBack if entry.lines & bit(msg.line) == 0 => return Err(unknown(msg.line)),
            Kind::WriteBack => entry.outstanding += 1,
            // The cache may also answer another member; its last answer to a probe goes to the directory.
            _ if home == Some(msg.to) => {
                entry.outstanding = entry.outstanding.checked_sub(1).ok_or_else(|| unknown(msg.line))?;
            }
            _ => {}
        }
        drop(tables);
        self.to.send(Packet { msg: Msg { line, ..msg }, ..packet });
        Ok(())
    }

    /// Passes an answer of the directory or of another member up.
    fn send_member(&mut self, packet: Packet) -> Result<(), Mistranslation> {
        let msg = packet.msg;
        let mut tables = self.tables.0.borrow_mut();
        let way = tables.of_frame(msg.line.0 / PAGE).ok_or_else(|| unknown(msg.line))?;
        let entry = tables.entry_mut(way);
        // Acknowledgements of other members belong to a request that gets an answer of its own.
        if msg.kind != Kind::InvAck {
            entry.outstanding = entry.outstanding.checked_sub(1).ok_or_else(|| unknown(msg.line))?;
        }
        let (line, frame) = (entry.tag(msg.line), Some(PhysAddr(entry.frame * PAGE)).into());
        drop(tables);
        self.to.send(Packet { msg: Msg { line, ..msg }, frame, ..packet });
        Ok(())
    }
}

/// Whether a request asks to read.
pub(super) fn reads(kind: Kind) -> bool {
    matches!(kind, Kind::Read | Kind::GetS)
}
