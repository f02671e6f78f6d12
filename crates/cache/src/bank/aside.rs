//! Lines without a way: evicted lines that wait to be drained or acknowledged, and requests that were refused below.

use super::{Aside, Bank, Where};
use mem::{Block, LINE, LineAddr};
use protocol::{Impossible, Kind, Line, Msg};

impl Bank {
    /// Whether more lines wait to be drained than the write-back queue may hold.
    pub fn has_too_many_write_backs(&self) -> bool {
        self.write_backs.len() > self.spec.write_back_queue
    }

    /// Sends the oldest line of the write-back queue below; returns whether there was one.
    pub fn drain(&mut self) -> Result<bool, Box<Impossible>> {
        while let Some(line) = self.write_backs.pop_front() {
            if self.drains[self.line(self.find(line), line).state as usize] {
                let drain = Msg::new(self.spec.me, self.spec.me, Kind::Drain, line, Block::EMPTY);
                return self.at_once(&drain);
            }
        }
        Ok(false)
    }

    /// Retries a refused request, if it is still waiting for that.
    pub fn retry(&mut self, line: LineAddr) -> Result<(), Box<Impossible>> {
        if self.retries[self.line(self.find(line), line).state as usize] {
            let retry = Msg::new(self.spec.me, self.spec.me, Kind::Retry, line, Block::EMPTY);
            self.at_once(&retry)?;
        }
        Ok(())
    }

    /// Whether `count` more lines fit in the write-back queue. If no transaction is in flight there, any number fits:
    /// a way can have more sectors than the queue has places. Protocols with `Drain` make room before they start
    /// anything new.
    pub(super) fn has_room_for(&self, Aside { count, away }: Aside) -> bool {
        let places = self.spec.write_back_queue;
        let of_peers = || self.aside.keys().filter(|line| self.is_away(**line)).count();
        let fits = self.landing == 0 || self.landing + count <= places || self.drains.contains(&true);
        fits && !(away && of_peers() + count >= places)
    }

    /// Whether a step to state `next` moves the line to the write-back queue.
    pub(super) fn goes_aside(&self, place: Where, next: usize) -> bool {
        !matches!(place, Where::Aside) && !self.takes_room[next] && !self.at_rest[next]
    }

    pub(super) fn put_aside(&mut self, tag: LineAddr, line: Line<LINE>) {
        self.landing += usize::from(!self.at_rest[line.state as usize]);
        self.aside.insert(tag, line);
        self.kept_aside.set(self.aside.len() as u64);
    }

    /// Removes a line, which was in `state`, from the write-back queue.
    pub(super) fn take_aside(&mut self, tag: LineAddr, state: u8) -> Option<Line<LINE>> {
        if self.aside.is_empty() {
            return None;
        }
        let line = self.aside.remove(&tag)?;
        self.landing -= usize::from(!self.at_rest[state as usize]);
        self.kept_aside.set(self.aside.len() as u64);
        Some(line)
    }
}
