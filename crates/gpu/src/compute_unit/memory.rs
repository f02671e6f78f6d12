//! Accesses: from instructions to requests for lines, and from replies to registers.

use super::{
    Completion, Ends, Unit,
    wave::{Busy, Waits},
};
use crate::{
    Coalescer,
    gather::{Ask, Op, Part},
};
use engine::{Inlet, Lane};
use gcn3::error::ExecError;
use interconnect::HEADER;
use mem::{Access, Asid, Block, PhysAddr, Reply, Request, RequestId, Scope, VirtAddr};

/// Number of requests of one access that the number of a request can encode.
const PARTS: u64 = 1 << 16;

/// The number of the access of a request, and the number of the request within the access.
fn asked(id: RequestId) -> (usize, usize) {
    ((id.0 / PARTS) as usize, (id.0 % PARTS) as usize)
}

/// The request number of the dispatcher's orders.
const DISPATCHER: RequestId = RequestId(u64::MAX);

/// The request that passes a dispatcher's order to a cache.
pub fn dispatcher_order(access: Access, scope: Scope, page: Option<PhysAddr>) -> Request {
    let (asid, virt) = (Asid::default(), VirtAddr(0));
    Request {
        id: DISPATCHER,
        access,
        scope,
        asid,
        virt,
        phys: page,
        data: Block::EMPTY,
        stamp: 0,
        lanes: 1,
        tlb_missed: false,
    }
}

/// A pending access.
pub struct AccessUnderWay {
    pub wave: usize,
    /// The access of an instruction; `None` for an order to a cache, which has no result.
    pub op: Option<Op>,
    pub parts: Vec<Part>,
    /// The requests of the lanes; empty if each part is requested as a whole.
    pub asks: Vec<Ask>,
    /// Requests, or orders, without a reply.
    pub left: usize,
    pub flat: bool,
}

impl AccessUnderWay {
    /// Returns the request of this number.
    fn ask(&self, number: usize) -> Option<Ask> {
        let whole = || self.parts.get(number).map(|Part { mask, .. }| Ask { part: number, mask: *mask, lanes: 1 });
        if self.asks.is_empty() { whole() } else { self.asks.get(number).copied() }
    }

    /// Number of lanes or lines of a request; 1 for an order.
    fn lanes(&self, number: usize) -> u8 {
        self.asks.get(number).map_or(1, |ask| ask.lanes)
    }
}

/// A request to be sent: one of those of an access.
pub struct Transaction {
    pub access: usize,
    pub ask: usize,
}

impl Unit {
    /// Processes the replies of the caches.
    pub fn take_answers(&mut self, ends: &Ends, now: u64) -> Result<(), Box<ExecError>> {
        let next = |from: &Inlet<Reply>| if from.is_empty() { None } else { from.try_recv(Lane::Reply) };
        while let Some(reply) = next(&ends.vector.0) {
            self.time = self.time.max(reply.stamp);
            if !self.was_ordered(&reply) {
                let (number, ask) = asked(reply.id);
                let access = self.accesses[number].as_ref().expect("what is answered was asked");
                self.lines_under_way -= usize::from(access.lanes(ask));
                self.answered(&reply, now)?;
            }
        }
        while let Some(reply) = next(&ends.scalar.0) {
            self.time = self.time.max(reply.stamp);
            if !self.was_ordered(&reply) {
                self.answered(&reply, now)?;
            }
        }
        while let Some(reply) = next(&ends.code.0) {
            if !self.was_ordered(&reply) {
                self.code_came(&reply, now);
            }
        }
        Ok(())
    }

    /// Whether it is the reply to an order of the dispatcher. The last of these replies is reported to the dispatcher.
    fn was_ordered(&mut self, reply: &Reply) -> bool {
        if reply.id != DISPATCHER {
            return false;
        }
        self.orders -= 1;
        if self.orders == 0 {
            self.completions.push(Completion::Order);
        }
        true
    }

    /// Sends the next request, if there is one; otherwise coalesces the next vector access. Each lane of a request
    /// takes one cycle. Returns whether there is more to send in the next cycle.
    pub fn send(&mut self, ends: &Ends, now: u64) -> Result<bool, Box<ExecError>> {
        if let Some(request) = self.scalar_requests.front() {
            match ends.scalar.1.try_send(Lane::Request, *request, HEADER) {
                Ok(()) => {
                    self.scalar_requests.pop_front();
                    self.sent = true;
                }
                Err(_) => self.refused = true,
            }
        }
        if now >= self.lanes_sent_at {
            if let Some(Transaction { access, ask }) = self.transactions.front() {
                let request = self.request(*access, *ask);
                let bytes = HEADER + request.data.mask().len() as u64;
                match ends.vector.1.try_send(Lane::Request, request, bytes) {
                    Ok(()) => {
                        self.transactions.pop_front();
                        self.counts.lines.add(request.lanes.into());
                        self.lanes_sent_at = now + u64::from(request.lanes);
                        self.sent = true;
                        // The next access is split while the last request of this one is sent.
                        if self.transactions.is_empty() && self.coalescing.front().is_some_and(|(at, _)| *at <= now) {
                            self.coalesce(now)?;
                        }
                    }
                    Err(_) => self.refused = true,
                }
            } else if self.coalescing.front().is_some_and(|(at, _)| *at <= now) {
                self.coalesce(now)?;
            }
        }
        Ok(!self.transactions.is_empty() && self.lanes_sent_at <= now + 1 || !self.scalar_requests.is_empty())
    }

    /// Splits the oldest vector access into lines, if there are slots for all of them. Its wavefront then continues.
    fn coalesce(&mut self, now: u64) -> Result<(), Box<ExecError>> {
        let (_, number) = *self.coalescing.front().expect("the caller has looked");
        let access = self.accesses[number].as_mut().expect("it is under way");
        let slot = access.wave;
        if access.parts.is_empty() && access.left == 0 {
            let group = self.waves[slot].as_ref().expect("a wavefront waits for its access").group;
            let running = &self.groups[group].as_ref().expect("a wavefront belongs to a workgroup").running;
            let parts = std::mem::take(&mut access.parts);
            match access.op.as_ref().expect("orders do not come here").lines(&running.map, parts) {
                Ok(parts) => access.parts = parts,
                Err(fault) => return Err(self.located(slot, fault)),
            }
            if self.spec.coalescer == Coalescer::Cache {
                access.asks = access.op.as_ref().expect("orders do not come here").by_lane(&access.parts);
            }
        }
        let access = self.accesses[number].as_mut().expect("it is under way");
        let (asks, flat) = (access.parts.len().max(access.asks.len()), access.flat);
        let lines = match access.asks.is_empty() {
            true => asks,
            false => access.asks.iter().map(|ask| usize::from(ask.lanes)).sum(),
        };
        if self.lines_under_way + lines > self.spec.line_slots {
            self.counts.line_slots_full_cycles.increment();
            return Ok(());
        }
        self.coalescing.pop_front();
        self.sent = true;
        access.left = asks;
        let wave = self.waves[slot].as_mut().expect("a wavefront waits for its access");
        wave.waits = None;
        wave.ready_at = wave.ready_at.max(now + 1);
        self.slots.note(slot, wave);
        if lines == 0 {
            // No lane is active.
            return self.complete(number);
        }
        wave.vector.push_back((number, false));
        wave.flat += u32::from(flat);
        self.lines_under_way += lines;
        self.transactions.extend((0..asks).map(|ask| Transaction { access: number, ask }));
        Ok(())
    }

    /// Sends a scalar access to the scalar cache.
    pub fn ask_scalar(&mut self, slot: usize, op: Op) -> Result<(), Box<ExecError>> {
        let group = self.waves[slot].as_ref().expect("it has just been stepped").group;
        let running = &self.groups[group].as_ref().expect("a wavefront belongs to a workgroup").running;
        let parts = match op.lines(&running.map, self.spare_parts.pop().unwrap_or_default()) {
            Ok(parts) => parts,
            Err(fault) => return Err(self.located(slot, fault)),
        };
        let left = parts.len();
        let number =
            self.under_way(AccessUnderWay { wave: slot, op: Some(op), parts, asks: Vec::new(), left, flat: false });
        if left == 0 {
            return self.complete(number);
        }
        self.waves[slot].as_mut().expect("it has just been stepped").scalar += 1;
        for part in 0..left {
            let request = self.request(number, part);
            self.scalar_requests.push_back(request);
        }
        Ok(())
    }

    /// Invalidates the whole vector or scalar cache.
    pub fn order(&mut self, slot: usize, scalar: bool) {
        let number = self.under_way(AccessUnderWay {
            wave: slot,
            op: None,
            parts: Vec::new(),
            asks: Vec::new(),
            left: 1,
            flat: false,
        });
        let wave = self.waves[slot].as_mut().expect("it has just been stepped");
        if scalar {
            wave.scalar += 1;
            let request = self.request(number, 0);
            self.scalar_requests.push_back(request);
        } else {
            wave.vector.push_back((number, false));
            self.lines_under_way += 1;
            // Queued behind all earlier requests.
            self.transactions.push_back(Transaction { access: number, ask: 0 });
        }
    }

    /// Registers an access and returns its number.
    pub fn under_way(&mut self, access: AccessUnderWay) -> usize {
        match self.free_numbers.pop() {
            Some(number) => {
                self.accesses[number] = Some(access);
                number
            }
            None => {
                self.accesses.push(Some(access));
                self.accesses.len() - 1
            }
        }
    }

    fn request(&self, number: usize, ask: usize) -> Request {
        let access = self.accesses[number].as_ref().expect("it is under way");
        let Some(op) = &access.op else {
            let (id, scope, data) = (RequestId(number as u64 * PARTS), Scope::Device, Block::EMPTY);
            let (access, asid, virt, stamp) = (Access::Invalidate, Asid::default(), VirtAddr(0), self.time);
            return Request { id, access, scope, asid, virt, phys: None, data, stamp, lanes: 1, tlb_missed: false };
        };
        let Ask { part, mask, lanes } = access.ask(ask).expect("only what an access consists of is asked for");
        let Part { line, bytes, atomic, .. } = access.parts[part];
        let store = op.is_store();
        let (asid, phys) = self.locate(access.wave, line.0);
        Request {
            id: RequestId(number as u64 * PARTS + ask as u64),
            access: match atomic {
                Some(atomic) => Access::Atomic(atomic),
                None if store => Access::Store,
                None => Access::Load,
            },
            scope: if op.is_coherent() { Scope::Device } else { Scope::Group },
            asid,
            virt: VirtAddr(line.0),
            phys,
            data: if store || atomic.is_some() { Block::of(bytes, mask) } else { Block::zeros(mask) },
            stamp: self.time,
            lanes,
            tlb_missed: false,
        }
    }

    /// The address space of a wavefront, and the physical address of one of its addresses, if known.
    pub fn locate(&self, slot: usize, address: u64) -> (Asid, Option<PhysAddr>) {
        let group = self.waves[slot].as_ref().and_then(|wave| self.groups[wave.group].as_ref());
        let group = group.expect("a wavefront belongs to a workgroup");
        group.running.map.locate(VirtAddr(address))
    }

    /// Handles a reply.
    fn answered(&mut self, reply: &Reply, now: u64) -> Result<(), Box<ExecError>> {
        let (number, ask) = asked(reply.id);
        let access = self.accesses[number].as_mut().expect("what is answered was asked");
        if let Some(Ask { part, .. }) = access.ask(ask) {
            let asked = &mut access.parts[part];
            if reply.data.is_full() {
                asked.bytes = *reply.data.bytes();
            } else {
                for byte in reply.data.mask().iter() {
                    asked.bytes[byte] = reply.data.bytes()[byte];
                }
            }
        }
        access.left -= 1;
        if access.left > 0 {
            return Ok(());
        }
        let wave = self.waves[access.wave].as_mut().expect("a wavefront waits for its accesses");
        // Numbers are reused while an access that was answered out of order is still in the queue.
        match wave.vector.iter_mut().find(|(other, answered)| *other == number && !answered) {
            Some((_, answered)) => {
                *answered = true;
                wave.flat -= u32::from(access.flat);
                while wave.vector.front().is_some_and(|(_, answered)| *answered) {
                    wave.vector.pop_front();
                }
            }
            None => wave.scalar -= 1,
        }
        let goes_on = match wave.waits {
            Some(Waits::Count { vector, other }) => wave.reached(vector, other),
            Some(Waits::End) => wave.has_nothing_outstanding(),
            _ => false,
        };
        if goes_on {
            wave.waits = None;
            wave.ready_at = wave.ready_at.max(now);
            wave.kind_of_wait = Busy::Scalar;
        }
        self.slots.note(access.wave, wave);
        self.complete(number)
    }

    /// Completes an instruction whose lines have all arrived.
    fn complete(&mut self, number: usize) -> Result<(), Box<ExecError>> {
        let mut access = self.accesses[number].take().expect("it was under way");
        self.free_numbers.push(number);
        let Some(mut op) = access.op else { return Ok(()) };
        op.fill(&access.parts);
        access.parts.clear();
        self.spare_parts.push(access.parts);
        let wave = self.waves[access.wave].as_mut().expect("a wavefront waits for its accesses");
        let workgroup = self.groups[wave.group].as_mut().expect("a wavefront belongs to a workgroup");
        match op {
            Op::Scalar(op) => wave.wavefront.complete_scalar(&op),
            Op::Vector(op) => {
                if let Err(fault) = wave.wavefront.complete(&op) {
                    return Err(self.located(access.wave, fault));
                }
                workgroup.shared.recycle(op);
            }
        }
        Ok(())
    }
}
