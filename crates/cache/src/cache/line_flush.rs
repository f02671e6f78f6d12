//! Flushes of single lines, as a core's `clflush` asks for them.
//!
//! A flush passes the caches on its way down and is carried out by the cache nearest to memory, which evicts the line
//! like a victim: all caches above it give the line up, and it is written to memory if it has changed. If GPUs are
//! connected to memory and not to that cache, memory makes them give the line up as well. When no cache holds the line,
//! the answer returns on the path of the flush. Each first-level cache may have as many flushes in flight as it has
//! MSHRs.

use super::Cache;
use engine::Lane;
use interconnect::HEADER;
use mem::{Block, LineAddr, Reply, RequestId};
use protocol::{Kind, Msg, Node, flush_of};

/// The requester of a line's flush.
#[derive(Clone, Copy)]
pub(super) enum Asker {
    /// A requester, by the number of its wire, with its request.
    Requester(usize, RequestId),
    /// A cache above.
    Cache(Node),
}

/// The flushes of a cache that are not done, oldest first.
pub(super) struct LineFlushes {
    waiting: Vec<Flush>,
    /// Whether this cache carries them out, as memory is below it.
    here: bool,
    /// Whether memory has to carry them out after this cache.
    below: bool,
}

struct Flush {
    line: LineAddr,
    asker: Asker,
    /// Whether they are to be carried out below now.
    passed: bool,
}

impl LineFlushes {
    pub fn new(here: bool, below: bool) -> Self {
        Self { waiting: Vec::new(), here, below }
    }

    /// Whether there is no flush.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The lines that others have to flush first.
    pub fn passed_on(&self) -> impl Iterator<Item = LineAddr> {
        self.waiting.iter().filter(|flush| flush.passed).map(|flush| flush.line)
    }
}

impl Cache {
    /// Starts a flush or passes it on; returns whether it was accepted.
    pub(super) fn flush_line(&mut self, line: LineAddr, asker: Asker) -> bool {
        if matches!(asker, Asker::Requester(..)) && self.flushes.waiting.len() >= self.bank.mshrs() {
            return false;
        }
        let passed = !self.flushes.here;
        self.flushes.waiting.push(Flush { line, asker, passed });
        match passed {
            true => self.pass_flush(line),
            false => self.bank.leave(line),
        }
        true
    }

    fn pass_flush(&mut self, line: LineAddr) {
        let below = *self.homes.of(line.0);
        self.to.send(Msg::new(self.me, below, Kind::Flush, flush_of(line), Block::EMPTY).into());
    }

    /// A line has been flushed below.
    pub(super) fn flushed(&mut self, line: LineAddr) {
        if let Some(place) = self.flushes.waiting.iter().position(|flush| flush.passed && flush.line == line) {
            self.answer_flush(place);
        }
    }

    /// Answers the flushes whose lines are gone here, or passes them on.
    pub(super) fn answer_flushes(&mut self) {
        if !self.flushes.here {
            return;
        }
        let mut place = 0;
        while let Some(flush) = self.flushes.waiting.get_mut(place) {
            let line = flush.line;
            if flush.passed || self.bank.is_leaving(line) {
                place += 1;
            } else if self.flushes.below {
                flush.passed = true;
                self.pass_flush(line);
            } else {
                self.answer_flush(place);
            }
        }
    }

    fn answer_flush(&mut self, place: usize) {
        let Flush { line, asker, .. } = self.flushes.waiting.remove(place);
        match asker {
            Asker::Cache(node) => {
                self.to.send(Msg::new(self.me, node, Kind::Done, flush_of(line), Block::EMPTY).into());
            }
            Asker::Requester(port, id) => {
                if let Some(top) = &self.top {
                    top.wires[port].2.send(Lane::Reply, Reply { id, data: Block::EMPTY, stamp: 0 }, HEADER);
                }
            }
        }
    }
}
