//! A DMA engine, which copies and fills memory in place of a core. (`[giles 4.1]` names direct memory access as one way
//! in which data gets to a GPU, without details.)
//!
//! The driver writes a descriptor and continues. The engine reads the descriptor and then the source lines, writes each
//! line as soon as it has arrived, and reports completion when the last write has been performed. It accesses memory
//! like a core, through its own caches on the network. So it finds the newest data wherever that is, and nothing has to
//! be flushed for it. It executes one transfer at a time, with as many requests in flight as it has buffers. A write
//! fetches its line like any store. The addresses of a transfer are physical: the driver has translated them. If
//! devices have memories of their own, the engine accesses these past all caches ([`super::Direct`]), and also the
//! host's memory if the host is outside the machine.

use super::{ModelGpus, moved::MovedBytes};
use engine::{Context, Counter, EventCount, Histogram, Inlet, Lane, Phases, Scope};
use interconnect::{HEADER, Pending, Sender, Wire};
use mem::{Access, Asid, Block, Bytes, LINE, Mask, PhysAddr, Reply, Request, RequestId, VirtAddr, Zone};
use os::opencl::gpu::{self, Transfer};
use std::{collections::VecDeque, iter::Peekable};

const IDLE: usize = 0;
const BUSY: usize = 1;

/// A transfer to execute.
pub(super) struct Order {
    pub number: u64,
    pub transfer: Transfer,
}

impl Order {
    /// The descriptor's lines, to be read.
    fn descriptor(&self) -> impl Iterator<Item = Piece> {
        self.transfer.descriptor.into_iter().flat_map(|(start, Bytes(size))| {
            let pieces = cut(size, move |done| LINE as u64 - (start.0 + done) % LINE as u64);
            pieces.map(move |(done, count)| Piece { source: Source::Memory(start + Bytes(done)), to: None, count })
        })
    }

    /// The transfer in pieces that cross no line boundary, neither at the source nor at the target.
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

/// Splits `size` bytes at the points given by `left`. Yields the start and size of each piece.
fn cut(size: u64, left: impl Fn(u64) -> u64) -> impl Iterator<Item = (u64, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let count = left(done).min(size - done);
        let piece = (done, count as usize);
        done += count;
        (count > 0).then_some(piece)
    })
}

/// The bytes of a repeated pattern from `from` on, placed at offset `inside` of a line.
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
    /// `None`: the piece is only read.
    to: Option<PhysAddr>,
    count: usize,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    Memory(PhysAddr),
    /// The bytes, at their offset in the target line.
    Pattern(Block<LINE>),
}

/// The state of a buffer.
#[derive(Clone, Copy, Debug)]
enum Buffer {
    Free,
    /// Waits for the bytes of a piece.
    Loads(Piece),
    /// Waits until its bytes have been written.
    Stores,
}

pub struct Dma {
    inside: ModelGpus,
    replies: Vec<Inlet<Reply>>,
    /// Request wires: to the host's memory, and to the devices' memories if they are separate. Back-pressure on one
    /// does not stop the other.
    requests: Vec<(Sender<Request>, Pending)>,
    bell: EventCount,
    buffers: Vec<Buffer>,
    /// Free buffers; `loaded`: buffers with bytes to write, in order.
    free: Vec<usize>,
    loaded: VecDeque<(usize, PhysAddr, Block<LINE>)>,
    copies: Counter,
    moved: MovedBytes,
    cycles: Phases,
    copy_cycles: Histogram,
    /// Bytes of transfers to the host; `to_host_cycles`: their durations.
    to_host: Counter,
    to_host_cycles: Histogram,
}

impl Dma {
    /// Builds an engine with `buffers` buffers at `scope`; from then on the GPUs' driver uses it for transfers. The
    /// first wire leads to the host's memory, the last one to the devices'.
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

    /// Moves pieces until all of them have been written.
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

    /// Takes one answer from each wire, if one has arrived.
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

    /// Index of the wire to an address.
    fn way(&self, place: PhysAddr) -> usize {
        match Zone::of(place) {
            Zone::Host => 0,
            Zone::Gpu(_) => self.requests.len() - 1,
        }
    }

    /// Writes the oldest loaded bytes, if there are any and their wire is free. Returns the wire used.
    fn write(&mut self) -> Option<usize> {
        let way = self.way(self.loaded.front()?.1);
        if !self.requests[way].1.is_clear() {
            return None;
        }
        let (buffer, to, data) = self.loaded.pop_front()?;
        self.ask(buffer, Buffer::Stores, Access::Store, to, data);
        Some(way)
    }

    /// Starts the next piece if there is one, a buffer is free, and its wire is free and not the one `taken` in this
    /// cycle.
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
