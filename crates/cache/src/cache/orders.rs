//! Orders for all lines, or all lines of a page. A cache receives one when a kernel starts or ends, when a compute unit
//! acquires or releases, and from a cache above that carries out such an order.
//!
//! The table of orders ([`protocol::orders`]) decides the steps of an order and their sequence. The cache keeps the
//! record that the table works on, passes a message for all lines to each of its lines, and reports to the record when
//! all of them have answered.

use super::Cache;
use engine::Lane;
use interconnect::HEADER;
use mem::{Block, LINE, LineAddr, Reply, stamp_of};
use protocol::{
    Controller, Impossible, Kind, Line, Log, Msg, Node, Place, Stamps, Step, Table, WHOLE, concerns,
    orders::{Markers, Orders},
    step,
};
use std::collections::VecDeque;

/// The order in progress, and the records of releases that peers have to confirm.
pub(super) struct OrderDesk {
    controller: Orders,
    line: Line<LINE>,
    /// The lines that the order is about: `WHOLE` or a page.
    subject: LineAddr,
    log: Log,
    /// Whether this cache's lines are being swept.
    sweeping: bool,
    /// Answers not yet delivered to the record; one is delivered per turn.
    heard: VecDeque<Msg<LINE>>,
    /// The wire that the reply goes to, and the reply, if the order came from a requester.
    reply: Option<(usize, Reply)>,
    markers: Markers,
    /// The record of each releasing node: the peers, and others once they release.
    marking: Vec<(Node, Line<LINE>)>,
    marker_log: Log,
}

impl OrderDesk {
    pub fn new(table: &'static Table, below: Vec<Node>, peers: Vec<Node>, history: usize) -> Self {
        let markers = Markers { peers: peers.clone() };
        let marker_table = Controller::<LINE>::table(&markers);
        Self {
            controller: Orders { table, below, peers },
            line: Line::new(0),
            subject: WHOLE,
            log: Log::new(table, history),
            sweeping: false,
            heard: VecDeque::new(),
            reply: None,
            marking: markers.peers.iter().map(|peer| (*peer, Line::new(0))).collect(),
            marker_log: Log::new(marker_table, history),
            markers,
        }
    }

    /// Whether nothing is to be done for the order in progress, if there is one.
    pub fn is_idle(&self) -> bool {
        self.heard.is_empty() && !self.sweeping
    }

    /// How many answers to the order are still awaited.
    pub fn awaited(&self) -> u16 {
        self.line.acks
    }
}

impl Cache {
    /// Takes an order of a requester; returns whether it was accepted.
    pub(super) fn take_request(
        &mut self,
        port: usize,
        order: &Msg<LINE>,
        reply: Reply,
    ) -> Result<bool, Box<Impossible>> {
        let before = self.orders.reply.replace((port, reply));
        let taken = self.show_order(order)?;
        if !taken {
            self.orders.reply = before;
        }
        Ok(taken)
    }

    /// Takes an order of another cache; returns whether it was accepted.
    pub(super) fn order(&mut self, order: &Msg<LINE>) -> Result<bool, Box<Impossible>> {
        if order.kind == Kind::Inval || self.peers.contains(&order.from) {
            self.show_markers(order)?;
            return Ok(true);
        }
        self.show_order(order)
    }

    /// Takes an answer to an order, or a peer's confirmation that earlier messages have arrived.
    pub(super) fn heard(&mut self, done: Msg<LINE>) -> Result<(), Box<Impossible>> {
        if done.of.is_some() {
            return self.show_markers(&done);
        }
        self.orders.heard.push_back(done);
        Ok(())
    }

    /// Continues the order in progress; returns whether there was something to do.
    pub(super) fn carry_on_order(&mut self) -> Result<bool, Box<Impossible>> {
        let next = match self.orders.heard.pop_front() {
            Some(done) => done,
            None if self.orders.sweeping && self.bank.is_swept() => {
                self.orders.sweeping = false;
                self.end_sweep();
                Msg::new(self.me, self.me, Kind::Done, WHOLE, Block::EMPTY)
            }
            None => return Ok(false),
        };
        self.show_order(&next)?;
        Ok(true)
    }

    /// Logical time has restarted: timestamps from before are void.
    pub(super) fn restart_order(&mut self) {
        self.orders.line.stamps = Stamps::ZERO;
        self.orders.heard.iter_mut().for_each(|done| done.stamps = Stamps::ZERO);
    }

    /// One step of the table of orders; returns `false` on a stall.
    fn show_order(&mut self, msg: &Msg<LINE>) -> Result<bool, Box<Impossible>> {
        let place = Place { me: self.me, below: self.me, above: self.bank.above() };
        let desk = &mut self.orders;
        let done = step(&desk.controller, desk.controller.table, place, &mut desk.line, msg, &mut desk.log)?;
        let Step::Sends(sends) = done else { return Ok(false) };
        if msg.kind != Kind::Done {
            desk.subject = msg.line;
        }
        let subject = desk.subject;
        for send in sends.into_iter().map(|send| Msg { line: subject, ..send }) {
            if send.to == self.me {
                self.sweep(&send)?;
            } else if self.to.leads_to(send.to) {
                self.to.send(send.into());
            } else {
                let top = self.top.as_ref().expect("a node that is not a neighbour is a requester");
                let (port, reply) = self.orders.reply.take().expect("a requester is told once");
                let stamp = stamp_of(self.to.era, send.stamps.cts);
                top.wires[port].2.send(Lane::Reply, Reply { stamp, ..reply }, HEADER);
            }
        }
        Ok(true)
    }

    /// Passes an order to every line it concerns.
    fn sweep(&mut self, order: &Msg<LINE>) -> Result<(), Box<Impossible>> {
        self.orders.sweeping = true;
        self.begin_sweep(order);
        if order.kind == Kind::Evict {
            let recalled = |line| self.recalled.as_ref().is_none_or(|recalled| recalled(line));
            self.bank.empty(|line| concerns(order.line, line) && recalled(line));
            return Ok(());
        }
        self.bank.sweep(order.line, order.kind, order.stamps.cts)
    }

    /// One step of the table of markers.
    fn show_markers(&mut self, msg: &Msg<LINE>) -> Result<(), Box<Impossible>> {
        let (place, desk, asker) = (Place::new(self.me, self.me), &mut self.orders, Markers::asker(msg));
        // Record of a peer's release, which exists from the start, or of this cache's own.
        let known = desk.marking.iter().position(|(peer, _)| *peer == asker);
        let number = known.unwrap_or_else(|| {
            desk.marking.push((asker, Line::new(0)));
            desk.marking.len() - 1
        });
        let table = Controller::<LINE>::table(&desk.markers);
        let line = &mut desk.marking[number].1;
        if let Step::Sends(sends) = step(&desk.markers, table, place, line, msg, &mut desk.marker_log)? {
            sends.into_iter().for_each(|send| self.to.send(send.into()));
        }
        Ok(())
    }
}
