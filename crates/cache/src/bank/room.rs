//! Space for a line: a free way, or one that can be evicted.

use super::{Aside, Bank, Wait, Where};
use crate::array::Way;
use mem::{Block, LINE, LineAddr};
use protocol::{Cell, Impossible, Kind, Msg};

impl Bank {
    /// Finds a free place for a line; if there is none, evicts all sectors of the first way that can be evicted.
    pub(super) fn make_room(&mut self, line: LineAddr) -> Result<Result<Way, Wait>, Box<Impossible>> {
        if let Some(way) = self.array.free(line) {
            return Ok(Ok(way));
        }
        let mut victims = self.array.victims(line);
        'way: while let Some(held) = self.array.next_victim(&mut victims) {
            let (mut busy, mut aside) = (self.busy, 0);
            for way in held.clone() {
                let victim = self.array.line(way);
                if self.locked == Some(self.array.tag(way)) {
                    continue 'way;
                }
                let Some((_, Cell::Go(next, _))) = self.look(victim, &self.evict(way)) else { continue 'way };
                if self.at_rest[victim.state as usize] && !self.at_rest[*next as usize] {
                    busy += 1;
                }
                aside += usize::from(self.goes_aside(Where::Way(way), *next as usize));
            }
            // A way with many sectors may need more MSHRs than there are; it is then evicted when all are free.
            if self.busy > 0 && busy > self.spec.mshrs.max(self.busy) {
                self.mshr_full.increment();
                return Ok(Err(Wait::Mshr));
            }
            let aside = Aside { count: aside, away: false };
            if aside.count > 0 && !self.has_room_for(aside) {
                self.write_back_full.increment();
                return Ok(Err(Wait::WriteBack(aside)));
            }
            for way in held {
                self.evictions.increment();
                let evict = self.evict(way);
                let below = *self.spec.below.of(evict.line.0);
                let met = self.look_above(below, self.array.line(way), &evict);
                if self.tells_evictions {
                    self.out.push(self.notice(way));
                }
                self.step(Where::Way(way), below, met, &evict)?;
            }
            match self.array.free(line) {
                Some(free) => return Ok(Ok(free)),
                None => break,
            }
        }
        self.no_way.increment();
        Ok(Err(Wait::Way))
    }

    /// Whether all other ways of the set hold lines that wait for peers.
    pub(super) fn would_take_last_way(&self, line: LineAddr) -> bool {
        let waits =
            |way: &Way| !self.at_rest[self.array.line(*way).state as usize] && self.is_away(self.array.tag(*way));
        self.is_away(line) && self.array.beside(line).filter(waits).count() + 1 >= self.array.ways()
    }

    /// The message that tells the controller below of an eviction and the lease the line was held on.
    fn notice(&self, way: Way) -> Msg<LINE> {
        let (line, stamps) = (self.array.tag(way), self.array.line(way).stamps);
        Msg { stamps, ..Msg::new(self.spec.me, self.place(line).below, Kind::Evicted, line, Block::EMPTY) }
    }

    pub(super) fn evict(&self, way: Way) -> Msg<LINE> {
        Msg::new(self.spec.me, self.spec.me, Kind::Evict, self.array.tag(way), Block::EMPTY)
    }
}
