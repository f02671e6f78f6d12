//! A DMA engine: it copies and fills memory so that no core has to (`[giles]`, 4.1, names direct memory access as one
//! way in which data gets to a GPU; how, it leaves open).
//!
//! The driver writes a descriptor and goes on. The engine reads that, then the lines that are to be copied, writes each where it
//! belongs as soon as it has come, and says that it is done when the last write has been performed. It asks as a core asks, through
//! caches of its own on the network, so it finds what is newest wherever that is, and nothing has to be flushed for it. It does
//! one transfer after the other; of one, as many requests are under way as it has buffers. A write brings its line like any store.
//! What it is handed are physical addresses: the driver has translated them. Where devices have memories of their own, it reaches
//! these past all caches ([`super::Direct`]), and the host's too, if the host is outside of the machine.

use super::{ModelGpus, moved::MovedBytes};
use engine::{Context, Counter, EventCount, Histogram, Inlet, Lane, Phases, Scope};
use interconnect::{HEADER, Pending, Sender, Wire};
use mem::{Access, Asid, Block, Bytes, LINE, Mask, PhysAddr, Reply, Request, RequestId, VirtAddr, Zone};
use os::opencl::gpu::{self, Transfer};
use std::{collections::VecDeque, iter::Peekable};

const IDLE: usize = 0;
const BUSY: usize = 1;

/// A transfer that is to be done.
pub(super) struct Order {
    pub number: u64,
    pub transfer: Transfer,
}

impl Order {
    /// The descriptor, line by line.
    fn descriptor(&self) -> impl Iterator<Item = Piece> {
        self.transfer.descriptor.into_iter().flat_map(|(start, Bytes(size))| {
            let pieces = cut(size, move |done| LINE as u64 - (start.0 + done) % LINE as u64);
            pieces.map(move |(done, count)| Piece { source: Source::Memory(start + Bytes(done)), to: None, count })
        })
    }

    /// What is to be moved, in pieces that cross the border of a line neither where they come from nor where they go to.
    fn pieces(&self) -> impl Iterator<Item = Piece> {
        let repeated = self.transfer.pattern.as_deref();
        self.transfer.pieces.iter().flat_map(move |&gpu::Piece { to, from, bytes }| {
            let left = |at: PhysAddr, done: u64| LINE as u64 - (at.0 + done) % LINE as u64;
            let ends = move |done| match repeated {
                Some(_) => left(to, done),
                None => left(to, done).min(left(from, done)),
            };
            cut(bytes, ends).map(move |(done, count)| {
                let (target, from) = (to + Bytes(done), from + Bytes(done));
                let source = match repeated {
                    Some(pattern) => Source::Pattern(repeat(pattern, from.0, inside(target), count)),
                    None => Source::Memory(from),
                };
                Piece { source, to: Some(target), count }
            })
        })
    }
}

/// Cuts so many bytes where `left` says that a piece must end: where each begins, and its size.
fn cut(size: u64, left: impl Fn(u64) -> u64) -> impl Iterator<Item = (u64, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let count = left(done).min(size - done);
        let piece = (done, count as usize);
        done += count;
        (count > 0).then_some(piece)
    })
}

/// The bytes of a repeated pattern from `from` on, at their place in a line.
fn repeat(pattern: &[u8], from: u64, inside: usize, count: usize) -> Block<LINE> {
    let skip = (from % pattern.len().max(1) as u64) as usize;
    let bytes: Vec<u8> = pattern.iter().copied().cycle().skip(skip).take(count).collect();
    Block::at(inside, &bytes)
}

fn inside(place: PhysAddr) -> usize {
    (place.0 % LINE as u64) as usize
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    source: Source,
    /// None: it is only read.
    to: Option<PhysAddr>,
    count: usize,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    Memory(PhysAddr),
    /// The bytes, where they are in the line that they go to.
    Pattern(Block<LINE>),
}

/// What a buffer is waiting for.
#[derive(Clone, Copy, Debug)]
enum Buffer {
    Free,
    /// The bytes of a piece.
    Loads(Piece),
    /// That these are performed.
    Stores,
}

/// The engine.
pub struct Dma {
    inside: ModelGpus,
    replies: Vec<Inlet<Reply>>,
    /// To the host's memory, and to that of devices, where it is another. One of them may be held up while the other goes on.
    requests: Vec<(Sender<Request>, Pending)>,
    bell: EventCount,
    buffers: Vec<Buffer>,
    /// Which are free, and which hold bytes to be written, in order.
    free: Vec<usize>,
    loaded: VecDeque<(usize, PhysAddr, Block<LINE>)>,
    copies: Counter,
    moved: MovedBytes,
    cycles: Phases,
    copy_cycles: Histogram,
    /// Bytes that went to the host, and cycles of transfers that did.
    to_host: Counter,
    to_host_cycles: Histogram,
}

impl Dma {
    /// Builds an engine with so many buffers at `scope`; from now on the GPUs' driver leaves transfers to it. The first wire leads to
    /// the host's memory, the last one to that of devices.
    pub fn new(inside: &ModelGpus, buffers: usize, wires: Vec<Wire<Reply, Request>>, scope: &Scope) -> Self {
        let bell = scope.eventcount("work");
        inside.transfers_to(bell.clone());
        let (mut replies, mut requests) = (Vec::new(), Vec::new());
        for (number, wire) in wires.into_iter().enumerate() {
            wire.from.ring(&bell);
            replies.push(wire.from);
            let sends = if number == 0 { scope.clone() } else { scope.scope("to_devices") };
            let pending = Pending::default();
            requests.push((Sender::new(wire.to, &pending, &sends, &bell), pending));
        }
        Self {
            inside: inside.clone(),
            replies,
            requests,
            bell,
            buffers: vec![Buffer::Free; buffers],
            free: (0..buffers).rev().collect(),
            loaded: VecDeque::new(),
            copies: scope.counter("copies"),
            moved: MovedBytes::new(scope),
            cycles: scope.scope("cycles").phases(&["idle", "busy"]),
            copy_cycles: scope.histogram("copy_cycles"),
            to_host: scope.counter("to_host"),
            to_host_cycles: scope.histogram("to_host_cycles"),
        }
    }

    pub async fn run(mut self, cx: Context) {
        loop {
            let Some(order) = self.inside.next_transfer() else {
                self.bell.next().await;
                continue;
            };
            let (start, begun) = (cx.time(), cx.now());
            self.cycles.enter(BUSY);
            self.carry(&cx, order.descriptor()).await;
            self.carry(&cx, order.pieces()).await;
            self.cycles.enter(IDLE);
            self.copies.increment();
            self.moved.add(&order.transfer);
            self.copy_cycles.record(cx.now().0 - begun.0);
            if order.transfer.pieces.iter().any(|piece| Zone::of(piece.to) == Zone::Host) {
                self.to_host.add(order.transfer.bytes().0);
                self.to_host_cycles.record(cx.now().0 - begun.0);
            }
            self.inside.account_transfer(&order.transfer, false);
            self.inside.end(order.number, start, cx.time());
        }
    }

    /// Moves pieces until all have been performed.
    async fn carry(&mut self, cx: &Context, pieces: impl Iterator<Item = Piece>) {
        let mut pieces = pieces.fuse().peekable();
        while pieces.peek().is_some() || self.free.len() < self.buffers.len() {
            let answered = self.answer();
            if answered {
                cx.progress();
            }
            let wrote = self.write();
            let began = self.begin(&mut pieces, wrote);
            match answered || wrote.is_some() || began {
                true => cx.pause(1).await,
                false => self.bell.next().await,
            }
        }
    }

    /// Takes an answer of each wire, if one has come.
    fn answer(&mut self) -> bool {
        let mut any = false;
        for wire in 0..self.replies.len() {
            let Some(reply) = self.replies[wire].try_recv(Lane::Reply) else { continue };
            any = true;
            let buffer = reply.id.0 as usize;
            match std::mem::replace(&mut self.buffers[buffer], Buffer::Free) {
                Buffer::Loads(Piece { source: Source::Memory(from), to: Some(to), count }) => {
                    let start = inside(from);
                    let data = Block::at(inside(to), &reply.data.bytes()[start..start + count]);
                    self.loaded.push_back((buffer, to, data));
                }
                _ => self.free.push(buffer),
            }
        }
        any
    }

    /// The wire to a place.
    fn way(&self, place: PhysAddr) -> usize {
        match Zone::of(place) {
            Zone::Host => 0,
            Zone::Gpu(_) => self.requests.len() - 1,
        }
    }

    /// Writes what came first, if anything has and its wire is free; says which wire that took.
    fn write(&mut self) -> Option<usize> {
        let way = self.way(self.loaded.front()?.1);
        if !self.requests[way].1.is_clear() {
            return None;
        }
        let (buffer, to, data) = self.loaded.pop_front()?;
        self.ask(buffer, Buffer::Stores, Access::Store, to, data);
        Some(way)
    }

    /// Begins with the next piece, if there is one, a buffer for it, and a free wire that was not `taken` in this cycle.
    fn begin(&mut self, pieces: &mut Peekable<impl Iterator<Item = Piece>>, taken: Option<usize>) -> bool {
        let (Some(buffer), Some(piece)) = (self.free.last().copied(), pieces.peek().copied()) else { return false };
        let way = match (piece.source, piece.to) {
            (Source::Memory(from), _) => self.way(from),
            (Source::Pattern(_), to) => self.way(to.unwrap_or(PhysAddr(0))),
        };
        if taken == Some(way) || !self.requests[way].1.is_clear() {
            return false;
        }
        pieces.next();
        self.free.pop();
        match (piece.source, piece.to) {
            (Source::Pattern(data), Some(to)) => self.ask(buffer, Buffer::Stores, Access::Store, to, data),
            (Source::Pattern(_), None) => self.free.push(buffer),
            (Source::Memory(from), _) => {
                let mask = Mask::range(inside(from), piece.count);
                self.ask(buffer, Buffer::Loads(piece), Access::Load, from, Block::zeros(mask));
            }
        }
        true
    }

    fn ask(&mut self, buffer: usize, waits: Buffer, access: Access, place: PhysAddr, data: Block<LINE>) {
        self.buffers[buffer] = waits;
        let line = PhysAddr(place.0 - inside(place) as u64);
        let way = self.way(line);
        let line = if Zone::of(line) == Zone::Host { line } else { self.inside.address(line) };
        let request = Request {
            id: RequestId(buffer as u64),
            access,
            scope: mem::Scope::System,
            asid: Asid::default(),
            virt: VirtAddr(line.0),
            phys: Some(line),
            data,
            stamp: 0,
            lanes: 1,
            tlb_missed: false,
        };
        let bytes = if access == Access::Store { data.mask().len() as u64 } else { 0 };
        self.requests[way].0.send(Lane::Request, request, HEADER + bytes);
    }
}
