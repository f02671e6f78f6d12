//! A node of the fabric between chips: the port of a GPU, of a memory stack or of the host, or a switch between them.
//!
//! A message leaves by the wire that leads to its receiver. Wires may share a *channel*, which serialises messages,
//! each with a header, at a given bandwidth. The sending end of a PCI Express or NVLink connection is a channel; a bus
//! is one channel in front of all its wires. A wire without a channel accepts any number of messages. Time on a channel
//! is counted in fractions of a cycle, so the bandwidth is exact for any clock.
//!
//! Lanes and source wires take turns. A message whose receiver has no space in its lane blocks only the messages behind
//! it in that lane of that wire. Flow control uses the credits of the wires.

use crate::freight::{Cause, Directory, Freight, NetworkError, Read, Routes, Station};
use engine::{Context, EventCount, Hertz, Inlet, Lane, Matrix, Outlet, Phases, Ready, Scope};
use std::collections::VecDeque;

/// The bandwidth and the overhead of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelSpec {
    /// In bytes per second.
    pub bandwidth: u64,
    /// Overhead of each message on the channel, in bytes.
    pub header: u64,
}

/// A wire of a fabric node.
pub struct FabricWire<T> {
    pub station: Station<T>,
    /// The number of the channel in front of this wire; `None`: the wire accepts any number of messages at any time.
    pub channel: Option<usize>,
    /// Whether the wire leads to another node of the fabric.
    pub outside: bool,
}

/// The columns of a channel's statistics, whose rows are causes.
const COLUMNS: &[&str] = &["messages", "bytes"];

/// Builds a fabric node. Each channel counts its traffic under its name. With `counts_reads`, the node counts the
/// cycles in which a line requested from inside the chip is outstanding.
pub fn fabric<T: Freight>(
    channels: &[(String, ChannelSpec)],
    clock: Hertz,
    wires: Vec<FabricWire<T>>,
    counts_reads: bool,
    scope: &Scope,
) -> Result<(), NetworkError> {
    let routes = Directory::of(wires.iter().map(|wire| &wire.station))?.routes(|wire| wire);
    let (bell, ready) = (scope.eventcount("work"), Ready::new(wires.len()));
    let channels = channels.iter().map(|(name, spec)| Channel {
        spec: *spec,
        free_at: 0,
        leaving: VecDeque::new(),
        next: 0,
        carried: scope.matrix(name.as_str(), Cause::NAMES, COLUMNS),
    });
    let channels = channels.collect();
    let wires = wires.into_iter().enumerate().map(|(number, FabricWire { station, channel, outside })| {
        station.wire.from.ring(&bell);
        station.wire.from.note_in(&ready, number);
        station.wire.to.ring(&bell);
        End { from: station.wire.from, to: station.wire.to, channel, outside, leaving: [0; 3] }
    });
    let wires = wires.collect();
    let reads =
        counts_reads.then(|| RemoteReads { pending: 0, phases: scope.scope("reads").phases(&["none", "pending"]) });
    let node = FabricNode { clock, channels, wires, ready, routes, heads: Vec::new(), first: 0, bell, reads };
    scope.serve("control", |cx| node.run(cx));
    Ok(())
}

/// Units of time on a channel, per cycle.
const PARTS: u64 = 1 << 16;

struct Channel<T> {
    spec: ChannelSpec,
    /// When the last message will have been serialised, in parts of a cycle.
    free_at: u64,
    /// Messages being serialised: the cycle in which each is complete, and its destination.
    leaving: VecDeque<(u64, T, Lane, usize)>,
    /// The position whose turn it is.
    next: usize,
    carried: Matrix,
}

struct End<T> {
    from: Inlet<T>,
    to: Outlet<T>,
    channel: Option<usize>,
    outside: bool,
    /// Messages on the channel for this wire, by lane: space is reserved for them.
    leaving: [u64; 3],
}

impl<T> End<T> {
    fn has_room(&self, lane: Lane) -> bool {
        self.to.free(lane) > self.leaving[lane as usize]
    }
}

/// Lines that caches of this chip have requested from other chips and not received.
struct RemoteReads {
    pending: u64,
    phases: Phases,
}

impl RemoteReads {
    fn note(&mut self, read: Read) {
        self.pending = match read {
            Read::Asks => self.pending + 1,
            Read::Answers => self.pending.saturating_sub(1),
        };
        self.phases.enter(usize::from(self.pending > 0));
    }
}

/// The first message of a lane of a wire, and the wire on which it leaves.
#[derive(Clone, Copy)]
struct Head {
    from: usize,
    lane: Lane,
    to: usize,
}

impl Head {
    /// Its position among all lanes of all wires.
    fn place(self) -> usize {
        self.from * Lane::ALL.len() + self.lane as usize
    }
}

struct FabricNode<T> {
    clock: Hertz,
    channels: Vec<Channel<T>>,
    wires: Vec<End<T>>,
    /// The wires at which messages have arrived.
    ready: Ready,
    routes: Routes,
    /// The first message of each lane of each wire, in the order of positions.
    heads: Vec<Head>,
    /// The position whose turn it is on wires without a channel.
    first: usize,
    /// Advances when a message arrives or a wire has space again.
    bell: EventCount,
    reads: Option<RemoteReads>,
}

impl<T: Freight> FabricNode<T> {
    async fn run(mut self, cx: Context) {
        for wire in &self.wires {
            cx.takes(&wire.from);
            cx.sends(&wire.to);
        }
        loop {
            cx.settle().await;
            let (seen, now) = (self.bell.count(), cx.now().0);
            self.leave(now);
            self.look();
            self.pass();
            (0..self.channels.len()).for_each(|channel| self.enter(channel, now));
            match self.next_cycle(now) {
                Some(cycle) => _ = self.bell.wait_for(seen + 1, cycle - now).await,
                None => {
                    while self.bell.rest(seen + 1).await {
                        self.explain(&cx);
                    }
                }
            }
        }
    }

    /// Sends the messages that have been serialised by now.
    fn leave(&mut self, now: u64) {
        let Self { channels, wires, .. } = self;
        for channel in channels {
            while channel.leaving.front().is_some_and(|(end, ..)| *end <= now) {
                let Some((_, item, lane, to)) = channel.leaving.pop_front() else { break };
                wires[to].leaving[lane as usize] -= 1;
                wires[to].send(lane, item);
            }
        }
    }

    /// Finds the first message of each lane.
    fn look(&mut self) {
        self.heads.clear();
        let mut next = self.ready.first(&Lane::ALL, 0);
        while let Some(from) = next {
            for lane in Lane::ALL {
                let head = self.head(from, lane);
                self.heads.extend(head);
            }
            next = self.ready.first(&Lane::ALL, from + 1);
        }
    }

    fn head(&self, from: usize, lane: Lane) -> Option<Head> {
        let to = self.routes.port(self.wires[from].from.front(lane)?.to());
        Some(Head { from, lane, to })
    }

    /// Takes a message; the one behind it becomes the first of its lane.
    fn take(&mut self, at: usize) -> T {
        let Head { from, lane, to } = self.heads[at];
        let item = self.wires[from].from.try_recv(lane).expect("what was seen is still there");
        if let (Some(reads), Some(read)) = (&mut self.reads, item.read()) {
            // Requests of other chips to this one, and their replies, are not counted.
            let leaves = !self.wires[from].outside && self.wires[to].outside;
            let comes = self.wires[from].outside && !self.wires[to].outside;
            if if read == Read::Asks { leaves } else { comes } {
                reads.note(read);
            }
        }
        match self.head(from, lane) {
            Some(head) => self.heads[at] = head,
            None => _ = self.heads.remove(at),
        }
        item
    }

    /// The message whose turn it is among those that this channel can accept; `None`: among those for wires without a
    /// channel.
    fn turn(&self, channel: Option<usize>, next: usize) -> Option<usize> {
        let places = self.wires.len() * Lane::ALL.len();
        let can_go = |head: &Head| self.wires[head.to].channel == channel && self.wires[head.to].has_room(head.lane);
        let heads = self.heads.iter().enumerate().filter(|(_, head)| can_go(head));
        heads.min_by_key(|(_, head)| (head.place() + places - next) % places).map(|(at, _)| at)
    }

    /// Forwards the messages for wires without a channel.
    fn pass(&mut self) {
        while let Some(at) = self.turn(None, self.first) {
            let head = self.heads[at];
            self.first = head.place() + 1;
            let item = self.take(at);
            self.wires[head.to].send(head.lane, item);
        }
    }

    /// Puts messages onto a channel as long as it becomes free in this cycle.
    fn enter(&mut self, number: usize, now: u64) {
        while self.channels[number].free_at < (now + 1) * PARTS {
            let Some(at) = self.turn(Some(number), self.channels[number].next) else { return };
            let Head { lane, to, .. } = self.heads[at];
            self.channels[number].next = self.heads[at].place() + 1;
            let item = self.take(at);
            self.wires[to].leaving[lane as usize] += 1;
            let (clock, channel) = (self.clock.0, &mut self.channels[number]);
            let (bytes, cause) = (item.bytes() + channel.spec.header, item.cause() as usize);
            channel.carried.count(cause, 0);
            channel.carried.add(cause, 1, bytes);
            let takes = u128::from(bytes) * u128::from(clock) * u128::from(PARTS) / u128::from(channel.spec.bandwidth);
            channel.free_at = channel.free_at.max(now * PARTS) + takes as u64;
            channel.leaving.push_back((channel.free_at.div_ceil(PARTS), item, lane, to));
        }
    }

    /// The next cycle with work if no message arrives: a message leaves a channel, or enters one.
    fn next_cycle(&self, now: u64) -> Option<u64> {
        let leaves = self.channels.iter().filter_map(|channel| channel.leaving.front().map(|(end, ..)| *end));
        let enters = self.channels.iter().enumerate().filter_map(|(number, channel)| {
            let waits = channel.free_at >= (now + 1) * PARTS && self.turn(Some(number), 0).is_some();
            waits.then_some(channel.free_at / PARTS)
        });
        leaves.chain(enters).min()
    }

    /// Tells a report on a stuck run which wires this node waits for.
    fn explain(&self, cx: &Context) {
        for Head { lane, to, .. } in &self.heads {
            let room = format!("room for a message to wire {to}");
            cx.needs_of_receiver(room, &self.wires[*to].to, *lane);
        }
    }
}

impl<T: Freight> End<T> {
    fn send(&self, lane: Lane, item: T) {
        let bytes = item.bytes();
        let sent = self.to.try_send(lane, item, bytes);
        assert!(sent.is_ok(), "room that was seen stays: no other context sends there");
    }
}
