//! The DMA engine of a host outside the machine: it moves bytes between the host's memory and the devices' memories.
//!
//! The machine has no model of the link to the host: a transfer takes the time given in `[host]`. Its bytes are
//! exchanged with the memory channels in messages, past the caches. Kernels have flushed the caches, and caches
//! invalidate what transfers have written ([`super::FrontEnd`]). The engine executes one transfer at a time.

use super::{ModelGpus, OutsideProcess, dma, moved::MovedBytes};
use dram::HostBytes;
use engine::{Context, Counter, EventCount, Inlet, Lane, Outlet, Scope, Time};
use interconnect::{HEADER, Reporter, Wire};
use mem::{Block, Bytes, Interleave, LINE, LineAddr, PhysAddr, Seen, Share, Zone};
use os::opencl::gpu::{Piece, Transfer};
use std::collections::VecDeque;

/// Bandwidths of transfers.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostDmaSpec {
    /// Bytes per second between the host and devices; `copy_engine`: within device memory. `None`: unlimited.
    pub bandwidth: Option<Bytes>,
    pub copy_engine: Option<Bytes>,
}

/// A request to a memory channel for contiguous bytes.
pub enum ToChannel {
    Write(PhysAddr, Box<[u8]>),
    Read(PhysAddr, usize),
}

/// The bytes that were read; empty after a write.
pub struct FromChannel(Box<[u8]>);

/// The DMA engine's port of a memory channel: it accesses the channel's bytes without its timing model.
pub struct DmaPort {
    pub wire: Wire<ToChannel, FromChannel>,
    pub store: dram::Store,
    pub share: Share,
    pub reporter: Option<Reporter>,
    /// Whether logical time orders accesses; a host's accesses have no logical time.
    pub timed: bool,
}

impl DmaPort {
    pub async fn run(self, _: Context) {
        loop {
            let answer: Box<[u8]> = match self.wire.from.recv(Lane::Request).await {
                ToChannel::Write(at, bytes) => {
                    self.store.lock().write(self.share.inside(at), &bytes);
                    self.tell(at, &bytes, |block| [Seen::Wrote(block), Seen::Landed(block)]);
                    Box::default()
                }
                ToChannel::Read(at, count) => {
                    let mut bytes = vec![0; count];
                    self.store.lock().read(self.share.inside(at), &mut bytes);
                    match self.timed {
                        true => self.tell(at, &bytes, |block| [Seen::Fetched(block)]),
                        false => self.tell(at, &bytes, |block| [Seen::Read(block)]),
                    }
                    bytes.into()
                }
            };
            let size = HEADER + answer.len() as u64;
            self.wire.to.send(Lane::Reply, FromChannel(answer), size).await;
        }
    }

    fn tell<const N: usize>(&self, at: PhysAddr, bytes: &[u8], seen: impl Fn(Block<LINE>) -> [Seen; N]) {
        let Some(reporter) = &self.reporter else { return };
        let mut done = 0;
        while done < bytes.len() {
            let place = at.0 + done as u64;
            let inside = (place % LINE as u64) as usize;
            let count = (LINE - inside).min(bytes.len() - done);
            let block = Block::at(inside, &bytes[done..done + count]);
            seen(block).into_iter().for_each(|seen| reporter.tell(LineAddr(place - inside as u64), seen));
            done += count;
        }
    }
}

/// Bytes in transit: their target address, as the driver names it, and their values once they have arrived.
struct Chunk {
    to: PhysAddr,
    bytes: Option<Box<[u8]>>,
}

/// Pieces moved together.
const BATCH: usize = 256;

pub struct HostDma {
    gpus: ModelGpus,
    process: OutsideProcess,
    spec: HostDmaSpec,
    channels: Interleave<usize>,
    /// Bytes that are contiguous in one channel.
    run: u64,
    replies: Vec<Inlet<FromChannel>>,
    requests: Vec<Outlet<ToChannel>>,
    bell: EventCount,
    copies: Counter,
    moved: MovedBytes,
}

impl HostDma {
    pub fn new(
        gpus: &ModelGpus,
        process: OutsideProcess,
        spec: HostDmaSpec,
        channels: Interleave<usize>,
        wires: Vec<Wire<FromChannel, ToChannel>>,
        scope: &Scope,
    ) -> Self {
        let bell = scope.eventcount("work");
        gpus.transfers_to(bell.clone());
        let run = channels.shares().iter().filter_map(|(_, share)| share.run()).min().unwrap_or(mem::PAGE);
        let (replies, requests) = wires.into_iter().map(|wire| (wire.from, wire.to)).unzip();
        Self {
            gpus: gpus.clone(),
            process,
            spec,
            channels,
            run,
            replies,
            requests,
            bell,
            copies: scope.counter("copies"),
            moved: MovedBytes::new(scope),
        }
    }

    pub async fn run(self, cx: Context) {
        loop {
            let Some(dma::Order { number, transfer }) = self.gpus.next_transfer() else {
                self.bell.next().await;
                continue;
            };
            let start = cx.time();
            let until = start + self.length(&transfer);
            let pieces = self.cut(&transfer);
            for batch in pieces.chunks(BATCH) {
                self.carry(batch, transfer.pattern.as_deref()).await;
                cx.progress();
            }
            let cycles = cx.cycle_at(until).0.saturating_sub(cx.now().0);
            if cycles > 0 {
                cx.pause(cycles).await;
            }
            self.copies.increment();
            self.moved.add(&transfer);
            self.gpus.account_transfer(&transfer, false);
            self.gpus.end(number, start, cx.time());
        }
    }

    /// Duration of a transfer.
    fn length(&self, transfer: &Transfer) -> Time {
        let is_device = |place| Zone::of(place) != Zone::Host;
        let (mut within, mut across) = (0, 0);
        for piece in &transfer.pieces {
            match (is_device(piece.to), transfer.pattern.is_some() || is_device(piece.from)) {
                (true, true) => within += piece.bytes,
                (false, false) => {}
                _ => across += piece.bytes,
            }
        }
        let time = |bytes: u64, rate: Option<Bytes>| match rate {
            Some(Bytes(rate)) => Time((u128::from(bytes) * u128::from(SECOND.0)).div_ceil(rate.into()) as u64),
            None => Time::ZERO,
        };
        time(within, self.spec.copy_engine) + time(across, self.spec.bandwidth)
    }

    /// Splits a transfer so that each piece lies in one channel at either end.
    fn cut(&self, transfer: &Transfer) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for piece in &transfer.pieces {
            let mut done = 0;
            while done < piece.bytes {
                let (to, from) = (PhysAddr(piece.to.0 + done), PhysAddr(piece.from.0 + done));
                let left = |at: PhysAddr| self.run - at.0 % self.run;
                let bytes = left(to).min(left(from)).min(piece.bytes - done);
                pieces.push(Piece { to, from, bytes });
                done += bytes;
            }
        }
        pieces
    }

    /// Moves pieces: all are read before the first is written.
    async fn carry(&self, pieces: &[Piece], pattern: Option<&[u8]>) {
        let mut chunks: Vec<Chunk> = Vec::with_capacity(pieces.len());
        // Requests that each channel has not answered yet.
        let mut asked: Vec<VecDeque<usize>> = vec![VecDeque::new(); self.requests.len()];
        for piece in pieces {
            let mut bytes = vec![0; piece.bytes as usize];
            let ready = match (pattern, Zone::of(piece.from)) {
                (Some(pattern), _) => {
                    let skip = (piece.from.0 % pattern.len().max(1) as u64) as usize;
                    let repeated = pattern.iter().copied().cycle().skip(skip);
                    bytes.iter_mut().zip(repeated).for_each(|(byte, new)| *byte = new);
                    true
                }
                (None, Zone::Host) => {
                    self.process.read(piece.from, &mut bytes);
                    true
                }
                (None, Zone::Gpu(_)) => {
                    let (channel, at) = self.channel(piece.from);
                    self.make_room(channel, &mut asked, &mut chunks).await;
                    let ask = ToChannel::Read(at, bytes.len());
                    self.requests[channel].send(Lane::Request, ask, HEADER).await;
                    asked[channel].push_back(chunks.len());
                    false
                }
            };
            chunks.push(Chunk { to: piece.to, bytes: ready.then(|| bytes.into()) });
        }
        self.hear_all(&mut asked, &mut chunks).await;
        for number in 0..chunks.len() {
            let (to, bytes) = (chunks[number].to, chunks[number].bytes.take().expect("all have come"));
            if Zone::of(to) == Zone::Host {
                self.process.write(to, &bytes);
                continue;
            }
            let (channel, at) = self.channel(to);
            self.make_room(channel, &mut asked, &mut chunks).await;
            let size = HEADER + bytes.len() as u64;
            self.requests[channel].send(Lane::Request, ToChannel::Write(at, bytes), size).await;
            asked[channel].push_back(number);
        }
        self.hear_all(&mut asked, &mut chunks).await;
    }

    /// Takes answers from a channel until it has room for a request: unread answers may block it.
    async fn make_room(&self, channel: usize, asked: &mut [VecDeque<usize>], chunks: &mut [Chunk]) {
        while !self.requests[channel].has_room(Lane::Request) && !asked[channel].is_empty() {
            self.hear(channel, asked, chunks).await;
        }
    }

    /// Waits for all answers.
    async fn hear_all(&self, asked: &mut [VecDeque<usize>], chunks: &mut [Chunk]) {
        for channel in 0..asked.len() {
            while !asked[channel].is_empty() {
                self.hear(channel, asked, chunks).await;
            }
        }
    }

    async fn hear(&self, channel: usize, asked: &mut [VecDeque<usize>], chunks: &mut [Chunk]) {
        let FromChannel(bytes) = self.replies[channel].recv(Lane::Reply).await;
        if let Some(number) = asked[channel].pop_front() {
            chunks[number].bytes = Some(bytes);
        }
    }

    /// The channel that holds an address of device memory, and the address as the machine knows it.
    fn channel(&self, place: PhysAddr) -> (usize, PhysAddr) {
        let at = self.gpus.address(place);
        (*self.channels.of(at.0), at)
    }
}

const SECOND: Time = Time::nanos(1_000_000_000);
