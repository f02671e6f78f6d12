//! Accesses that a first-level cache performs itself on a line it may write: in-order stores, locks and atomic
//! accesses. A store of no bytes fetches the line.

use super::{Cache, NOBODY, line_flush::Asker};
use crate::{
    bank::{Meets, Offer},
    front,
};
use engine::{Inlet, Lane};
use interconnect::Packet;
use mem::{Access, Atomic, Block, LINE, LineAddr, Reply, Request, RequestId, Seen};
use protocol::{Impossible, Kind, Msg};

/// An atomic access, or a load that claims its line, that waits until the line is writable here.
pub(super) struct Owned {
    pub port: usize,
    pub request: Request,
    pub atomic: Option<Atomic>,
}

impl Cache {
    /// Performs the next in-order store or lock of a requester if its line is writable; otherwise fetches the line.
    /// Returns whether it did anything.
    pub(super) fn in_order(&mut self) -> Result<bool, Box<Impossible>> {
        let mut next = self.top.as_ref().and_then(|top| top.ready.first(&[Lane::Coherence], 0));
        while let Some(port) = next {
            if self.in_order_of(port)? {
                return Ok(true);
            }
            next = self.top.as_ref().and_then(|top| top.ready.first(&[Lane::Coherence], port + 1));
        }
        Ok(false)
    }

    fn in_order_of(&mut self, port: usize) -> Result<bool, Box<Impossible>> {
        let Some(top) = &mut self.top else { return Ok(false) };
        let (node, from, _) = &top.wires[port];
        let (node, Some(request)) = (*node, from.front(Lane::Coherence).map(|request| *request)) else {
            return Ok(false);
        };
        let line = request.line();
        if request.access == Access::FlushLine {
            if !self.flush_line(line, Asker::Requester(port, request.id)) {
                return Ok(false);
            }
            let Some(top) = &self.top else { return Ok(true) };
            top.wires[port].1.try_recv(Lane::Coherence);
            return Ok(true);
        }
        let Some(bytes) = self.bank.writable(line) else { return self.bring(line) };
        if request.access == Access::Lock {
            self.bank.lock(line);
            let found = Block::of(bytes, request.data.mask());
            let reply = Reply { id: request.id, data: found, stamp: 0 };
            top.reply(front::Answer { to: node, reply, mask: request.data.mask() });
            if let Some(observer) = &self.observer {
                observer.tell(self.place_of(line), Seen::Read(found));
            }
        } else {
            // Answered here, not by the table: earlier requests for the line may still be waiting.
            if !self.bank.use_line(&Msg::new(NOBODY, self.me, Kind::Store, line, request.data))? {
                return Ok(false);
            }
            let reply = Reply { id: request.id, data: Block::EMPTY, stamp: 0 };
            top.reply(front::Answer { to: node, reply, mask: request.data.mask() });
            self.performed(request.id, line, request.data);
            if self.bank.locked() == Some(line) {
                self.bank.unlock();
            }
            self.requests.increment();
        }
        let Some(top) = &self.top else { return Ok(true) };
        top.wires[port].1.try_recv(Lane::Coherence);
        Ok(true)
    }

    /// Performs a waiting access whose line is held and requested by a probe. While an outgoing message is blocked,
    /// probes go before all else; a line that a probe takes before it was used would have to be fetched again.
    pub(super) fn use_wanted(&mut self) -> Result<bool, Box<Impossible>> {
        let Some(top) = &self.top else { return Ok(false) };
        let probed =
            |inlet: &Inlet<Packet>, line| inlet.front(Lane::Coherence).is_some_and(|packet| packet.msg.line == line);
        let is_wanted = |line: LineAddr| {
            self.bank.writable(line).is_some()
                && (self.bank.is_wanted(line) || self.from.iter().any(|inlet| probed(inlet, line)))
        };
        let next_line = |port: usize| top.wires[port].1.front(Lane::Coherence).map(|request| request.line());
        if let Some(port) = (0..top.wires.len()).find(|port| next_line(*port).is_some_and(is_wanted)) {
            return self.in_order_of(port);
        }
        match self.owned.front() {
            Some(owned) if is_wanted(owned.request.line()) => self.atomic_owned(),
            _ => Ok(false),
        }
    }

    /// Reports a performed store to the watcher and the observer.
    pub(super) fn performed(&self, id: RequestId, line: LineAddr, written: Block<LINE>) {
        if let Some(watcher) = &self.watcher {
            watcher(id, line, &written);
        }
        if let Some(observer) = &self.observer {
            observer.tell(self.place_of(line), Seen::Wrote(written));
        }
    }

    /// Performs the oldest atomic access, or load that claims its line, if the line is writable; otherwise fetches
    /// it.
    pub(super) fn atomic_owned(&mut self) -> Result<bool, Box<Impossible>> {
        let Some(Owned { port, request, atomic }) = self.owned.front() else { return Ok(false) };
        let (port, request, atomic) = (*port, *request, *atomic);
        let (line, held) = (request.line(), self.bank.held(request.line()));
        let about = |kind, data| Msg::new(NOBODY, self.me, kind, line, data);
        let asked = match atomic {
            Some(_) => about(Kind::Modify, request.data),
            None => Msg { scope: request.scope, ..about(Kind::Load, Block::EMPTY) },
        };
        let new = match self.bank.meets(&asked) {
            Meets::Waits => return Ok(false),
            Meets::Brings => return self.bank.bring(&asked),
            Meets::Performs(_) | Meets::Goes => atomic.map(|atomic| atomic.apply(held.bytes(), &request.data)),
        };
        if !self.bank.use_line(&Msg { data: new.unwrap_or(Block::EMPTY), ..asked })? {
            return Ok(false);
        }
        self.owned.pop_front();
        let found = held.only(request.data.mask());
        if let Some(observer) = &self.observer {
            observer.tell(self.place_of(line), new.map_or(Seen::Read(found), |new| Seen::Changed { found, new }));
        }
        let Some(top) = &self.top else { return Ok(true) };
        let reply = Reply { id: request.id, data: found, stamp: 0 };
        top.reply(front::Answer { to: top.wires[port].0, reply, mask: request.data.mask() });
        Ok(true)
    }

    /// Fetches a line for writing, unless it has a transaction in flight or messages wait for it.
    fn bring(&mut self, line: LineAddr) -> Result<bool, Box<Impossible>> {
        if self.bank.is_busy(line) {
            return Ok(false);
        }
        Ok(self.bank.offer(Msg::new(NOBODY, self.me, Kind::Store, line, Block::EMPTY))? == Offer::Taken)
    }
}
