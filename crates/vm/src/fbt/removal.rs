//! Removal of entries of a forward-backward table, together with all cached lines of their pages, in phases.

use super::{
    Fbt,
    table::{space, tag},
};
use crate::{Mistranslation, Shootdown};
use engine::Lane;
use interconnect::{HEADER, Packet, WHOLE, whole_page};
use mem::{Block, LINE, LineAddr, PAGE, PhysAddr};
use protocol::{Kind, Msg};

/// Entries that are removed together.
pub(super) struct Removal {
    ways: Vec<usize>,
    /// The lines that first-level caches must drop: those of a page, or all.
    subject: LineAddr,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Waiting for the answers to all messages in flight below.
    Settling,
    /// Waiting for this many answers to recalls from the second-level cache.
    Lines(usize),
    /// Waiting for this many first-level caches to drop their lines.
    FirstLevel(usize),
}

impl Fbt {
    /// Locks entries and starts their removal.
    pub(super) fn remove(&mut self, ways: Vec<usize>) {
        let mut tables = self.tables.0.borrow_mut();
        for way in &ways {
            tables.entry_mut(*way).locked = true;
        }
        let subject = match ways.as_slice() {
            [way] => whole_page(PhysAddr(tables.entry(*way).page * PAGE)),
            _ => WHOLE,
        };
        drop(tables);
        self.removals.push(Removal { ways, subject, phase: Phase::Settling });
    }

    /// Starts the removal of the entries that a shootdown affects. A page without an entry is in no cache.
    pub(super) fn shoot_down(&mut self, order: Shootdown) {
        for ask in self.asks.iter_mut().flatten() {
            let line = ask.packet.msg.line.0;
            ask.stale |= order.covers(space(line), super::address(line));
        }
        let tables = self.tables.0.borrow();
        let ways = match order {
            Shootdown::Page { asid, virt } => {
                let page = tag(asid, virt).0 / PAGE;
                let way = tables.of_page(page).or(self.aliases.get(&page).copied());
                way.filter(|way| !tables.entry(*way).locked).into_iter().collect()
            }
            Shootdown::Space { asid } => tables.all(Some(asid)),
            Shootdown::All => tables.all(None),
        };
        drop(tables);
        self.orders.dropped.add(ways.len() as u64);
        match ways.is_empty() {
            true => self.filtered.increment(),
            false => self.remove(ways),
        }
    }

    /// The second-level cache has answered a recall.
    pub(super) fn gave_up(&mut self, way: usize) {
        for removal in self.removals.iter_mut().filter(|removal| removal.ways.contains(&way)) {
            if let Phase::Lines(left) = &mut removal.phase {
                *left -= 1;
            }
        }
    }

    /// A first-level cache has dropped its lines.
    pub(super) fn heard(&mut self, subject: LineAddr) {
        let hears =
            |removal: &&mut Removal| removal.subject == subject && matches!(removal.phase, Phase::FirstLevel(_));
        if let Some(Removal { phase: Phase::FirstLevel(left), .. }) = self.removals.iter_mut().find(hears) {
            *left -= 1;
        }
    }

    /// Advances all removals; when one is complete, retries the requests that waited.
    pub(super) fn carry_on(&mut self) -> Result<(), Mistranslation> {
        loop {
            let mut did = false;
            for number in 0..self.removals.len() {
                did |= self.advance(number);
            }
            let over = |removal: &mut Removal| removal.phase == Phase::FirstLevel(0);
            let gone: Vec<Removal> = self.removals.extract_if(.., over).collect();
            if gone.is_empty() {
                if !did {
                    return Ok(());
                }
                continue;
            }
            let mut tables = self.tables.0.borrow_mut();
            for way in gone.iter().flat_map(|removal| &removal.ways) {
                tables.remove(*way);
                self.aliases.retain(|_, led| led != way);
            }
            drop(tables);
            let parked = std::mem::take(&mut self.parked);
            self.waiting.set(0);
            for packet in parked {
                self.request(packet)?;
            }
        }
    }

    /// Starts the next phase of a removal if it is due; returns whether it was.
    fn advance(&mut self, number: usize) -> bool {
        let Removal { ways, subject, phase } = &self.removals[number];
        let (subject, phase) = (*subject, *phase);
        let tables = self.tables.0.borrow();
        let settled = ways.iter().all(|way| tables.entry(*way).outstanding == 0);
        // A member of a directory gives up lines by evictions; a line that is in flight is evicted after it has
        // arrived.
        let (member, gone) = (self.member.is_some(), ways.iter().all(|way| tables.entry(*way).lines == 0));
        let next = match phase {
            Phase::Settling if settled || member => {
                let bits = |lines: u64| (0..u64::BITS).filter(move |bit| lines >> bit & 1 == 1);
                let lines = ways.iter().flat_map(|way| {
                    let entry = tables.entry(*way);
                    bits(entry.lines).map(move |bit| LineAddr(entry.page * PAGE + u64::from(bit) * LINE as u64))
                });
                let lines: Vec<LineAddr> = lines.collect();
                for line in &lines {
                    let bank = *self.place.banks.of(line.0);
                    let recall = Msg::new(self.place.me, bank, Kind::CoreFlush, *line, Block::EMPTY);
                    // Sent behind all answers, since one of them may be for this line.
                    self.to.to(bank).send(Lane::Reply, Packet::from(recall), HEADER);
                }
                self.recalled.add(lines.len() as u64);
                Phase::Lines(lines.len())
            }
            Phase::Lines(left) if settled && (left == 0 || member && gone) => {
                for cache in &self.place.first_level {
                    let word = Msg::new(self.place.me, *cache, Kind::Inval, subject, Block::EMPTY);
                    self.to.to(*cache).send(Lane::Coherence, Packet::from(word), HEADER);
                }
                Phase::FirstLevel(self.place.first_level.len())
            }
            _ => return false,
        };
        drop(tables);
        if matches!(next, Phase::Lines(_)) {
            let mut tables = self.tables.0.borrow_mut();
            self.removals[number].ways.iter().for_each(|way| tables.entry_mut(*way).recalled = true);
        }
        self.removals[number].phase = next;
        true
    }
}
