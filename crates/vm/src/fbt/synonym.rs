//! Physical pages with several names (`[vcache 4.1, 4.2 and 4.3]`): reads under another name than the leading one.

use super::{
    Fbt,
    member::reads,
    table::{address, space},
};
use crate::Mistranslation;
use engine::Lane;
use interconnect::{HEADER, Packet, whole_page};
use mem::{Block, PAGE, PhysAddr};
use protocol::{Kind, Msg};

impl Fbt {
    /// Continues a request for a line whose physical page has another leading page: it is read and answered once.
    pub(super) fn other_name(&mut self, way: usize, packet: Packet) -> Result<(), Mistranslation> {
        let (msg, mut tables) = (packet.msg, self.tables.0.borrow_mut());
        let entry = tables.entry_mut(way);
        if entry.written || !reads(msg.kind) {
            let (asid, virt, leading) = (space(msg.line.0), address(msg.line.0), address(entry.page * PAGE));
            return Err(Mistranslation::ReadWriteSynonym { asid, virt, leading, frame: PhysAddr(entry.frame * PAGE) });
        }
        if self.member.is_some() {
            drop(tables);
            self.rename(way, packet);
            return Ok(());
        }
        entry.synonym = true;
        entry.outstanding += 1;
        let (line, leading) = (entry.place(msg.line), entry.page);
        drop(tables);
        self.tell_name(msg.line.0 / PAGE, leading, way);
        self.synonyms.increment();
        self.fetches.entry(line).or_default().push_back((msg.line, true));
        self.to.send(Packet { msg: Msg { line, ..msg }, ..packet });
        Ok(())
    }

    /// Sends all first-level caches the leading name of a page that has been read under another name. They use it until
    /// they are ordered to drop the leading page.
    fn tell_name(&mut self, page: u64, leading: u64, way: usize) {
        if !self.place.tells_names || self.aliases.insert(page, way).is_some() {
            return;
        }
        for cache in &self.place.first_level {
            let (line, data) = (whole_page(PhysAddr(page * PAGE)), Block::at(0, &leading.to_le_bytes()));
            let word = Msg::new(self.place.me, *cache, Kind::Inval, line, data);
            self.to.to(*cache).send(Lane::Coherence, Packet::from(word), HEADER + 8);
        }
    }

    /// A page is read under a name that does not lead: its entry is removed with its lines, after which this name may
    /// become the leading one.
    fn rename(&mut self, way: usize, packet: Packet) {
        self.synonyms.increment();
        let frame = self.tables.0.borrow().entry(way).frame;
        self.member.iter_mut().for_each(|member| _ = member.renamed.insert(frame));
        self.remove(vec![way]);
        self.park(packet);
    }
}
