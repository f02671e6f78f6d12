//! Access to memory past all caches: converts a DMA engine's requests to messages to the homes of lines.
//!
//! This suffices for transfers if GPUs have flushed their writes and invalidate lines that others have written.

use crate::plan::Tells;
use engine::{Context, EventCount, Inlet, Lane, Scope};
use interconnect::{HEADER, Packet, Pending, Reporter, Router, Sender, Side, Wire, name_of};
use mem::{Access, Interleave, LINE, LineAddr, Mask, PhysAddr, Reply, Request, RequestId, Seen, Zone};
use protocol::{Kind, Msg, Node};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Requests in flight for a line, in order.
type Asked = VecDeque<(RequestId, Mask)>;

pub struct Direct {
    me: Node,
    homes: Interleave<Node>,
    requests: Inlet<Request>,
    replies: Sender<Reply>,
    messages: Vec<Inlet<Packet>>,
    to: Router<Packet>,
    pending: Pending,
    /// Never iterated, like `writes`.
    reads: FxHashMap<LineAddr, Asked>,
    writes: FxHashMap<LineAddr, Asked>,
    bell: EventCount,
    reporter: Option<(Reporter, Tells)>,
}

impl Direct {
    pub fn new(
        (me, homes): (Node, Interleave<Node>),
        above: Wire<Request, Reply>,
        below: Side<Packet>,
        reporter: Option<(Reporter, Tells)>,
        scope: &Scope,
    ) -> Self {
        let (bell, pending) = (scope.eventcount("work"), Pending::default());
        above.from.ring(&bell);
        below.from.iter().for_each(|inlet| inlet.ring(&bell));
        Self {
            me,
            homes,
            requests: above.from,
            replies: Sender::new(above.to, &pending, &scope.scope("above"), &bell),
            messages: below.from,
            to: Router::new(below.to, &pending, &scope.scope("neighbours"), &bell),
            pending,
            reads: FxHashMap::default(),
            writes: FxHashMap::default(),
            bell,
            reporter,
        }
    }

    pub async fn run(mut self, cx: Context) {
        cx.known_as(name_of(self.me));
        loop {
            let seen = self.bell.count();
            let answered = self.answer();
            match self.ask() || answered {
                true => cx.pause(1).await,
                false => {
                    while self.bell.rest(seen + 1).await {
                        self.to.explain(&cx);
                        self.replies.explain(&cx);
                    }
                }
            }
        }
    }

    /// Takes an answer from a home, if one has arrived.
    fn answer(&mut self) -> bool {
        let Some(packet) = self.messages.iter().find_map(|inlet| inlet.try_recv(Lane::Reply)) else { return false };
        let Msg { kind, line, data, .. } = packet.msg;
        if kind == Kind::Reset {
            // Logical time was reset; this element keeps no times.
            return true;
        }
        let of = if kind == Kind::Data { &mut self.reads } else { &mut self.writes };
        let asked = of.get_mut(&line).expect("what is answered was asked");
        let place = match kind {
            Kind::Data => 0,
            // Channels may answer writes out of order.
            _ => asked.iter().position(|(_, mask)| *mask == data.mask()).unwrap_or(0),
        };
        let (id, mask) = asked.remove(place).expect("what is answered was asked");
        if asked.is_empty() {
            of.remove(&line);
        }
        let data = if kind == Kind::Data { data.only(mask) } else { mem::Block::EMPTY };
        if kind == Kind::Data {
            self.tell(line, Seen::Read(data));
        }
        self.replies.send(Lane::Reply, Reply { id, data, stamp: 0 }, HEADER + data.mask().len() as u64);
        true
    }

    /// Forwards a request, if one has arrived and the one before has been sent.
    fn ask(&mut self) -> bool {
        if !self.pending.is_clear() {
            return false;
        }
        // A load waits for stores to its line that are in flight, and a store waits for loads.
        let waits = self.requests.front(Lane::Request).is_none_or(|next| match next.access {
            Access::Store => self.reads.contains_key(&next.line()),
            _ => self.writes.contains_key(&next.line()),
        });
        if waits {
            return false;
        }
        let Some(request) = self.requests.try_recv(Lane::Request) else { return false };
        let (line, home) = (request.line(), *self.homes.of(request.line().0));
        let asked = (request.id, request.data.mask());
        let msg = match request.access {
            Access::Store => {
                self.writes.entry(line).or_default().push_back(asked);
                self.tell(line, Seen::Wrote(request.data));
                Msg::new(self.me, home, Kind::Write, line, request.data)
            }
            _ => {
                self.reads.entry(line).or_default().push_back(asked);
                Msg::new(self.me, home, Kind::Read, line, mem::Block::<LINE>::EMPTY)
            }
        };
        self.to.send(msg.into());
        true
    }

    fn tell(&self, line: LineAddr, seen: Seen) {
        let Some((reporter, tells)) = &self.reporter else { return };
        let of_device = Zone::of(PhysAddr(line.0)) != Zone::Host;
        if *tells == Tells::Everything || *tells == Tells::OfDevices && of_device {
            reporter.tell(line, seen);
        }
    }
}
