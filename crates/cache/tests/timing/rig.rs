//! A cache between a requester, whose messages the test lists, and a memory that answers in the cycle in which a
//! message arrives. The wires take [`DOWN`], [`UP`] and [`BELOW`] cycles; all other cycles are the cache's.

use cache::{BankSpec, Cache, CacheSpec, Requesters, Shape};
use engine::{Cycles, Hertz, Inlet, Lane, Model, Outcome, Outlet, PortSpec, Run, RunOptions, Scope, Value};
use interconnect::{Packet, Side, Wire, bytes, lane};
use mem::{
    Access, Asid, Block, Bytes, Interleave, LINE, LineAddr, Mask, PhysAddr, Reply, Request, RequestId, VirtAddr,
};
use protocol::{Controller, Kind, Msg, Node, Roster, orders::orders_l1, roles::Sees};
use std::sync::{Arc, Mutex};

/// From the requester to the cache; the look-up is included.
pub const DOWN: u64 = 2;
/// From the cache to the requester.
pub const UP: u64 = 3;
/// From the cache to memory, and from memory to the cache.
pub const BELOW: u64 = 10;

const CACHE: Node = Node(0);
const MEMORY: Node = Node(1);
const REQUESTER: Node = Node(2);

/// Replies to the requester: the number of the line and the cycle of arrival.
pub type Replies = Vec<(u64, u64)>;

/// The result of a run.
pub struct Report {
    pub replies: Replies,
    /// The cycle in which each message arrived at memory, its kind and the number of its line.
    pub messages: Vec<(u64, Kind, u64)>,
    run: Run,
}

impl Report {
    pub fn count(&self, name: &str) -> u64 {
        match &self.run.total().0[format!("cache.{name}").as_str()] {
            Value::Count(count) => *count,
            other => panic!("{name} is not a counter: {other:?}"),
        }
    }

    /// Loads that hit, that missed, and that found their line in flight.
    pub fn loads(&self) -> [u64; 3] {
        match &self.run.total().0["cache.accesses"] {
            Value::Matrix { counts, .. } => [counts[0], counts[1], counts[2]],
            other => panic!("the accesses of a cache are a matrix, not {other:?}"),
        }
    }

    pub fn sum(&self, name: &str) -> u64 {
        self.run.total().sum(&format!("cache.{name}"))
    }
}

type Log<T> = Arc<Mutex<Vec<T>>>;

/// A cache of one set with four ways and one port, whose queues are longer than any test here needs.
pub fn spec(controller: impl Controller<LINE> + 'static) -> CacheSpec {
    let bank = BankSpec {
        controller: Arc::new(controller),
        me: CACHE,
        below: Interleave::One(MEMORY),
        above: Arc::new(Roster::default()),
        shape: ways(4),
        mshrs: 16,
        waiting: 16,
        join_queue: 16,
        write_back_queue: 16,
        peers: Vec::new(),
    };
    CacheSpec {
        bank,
        history: 8,
        ports: 1,
        orders: &orders_l1::TABLE,
        ordered: None,
        sees: Sees::UntilSynchronised,
        lifts_requests: false,
        flushes_lines: false,
        flushes_below: false,
        wide_acquires: false,
        virtual_tags: false,
        remaps: 0,
        tells_gone: false,
        counts_tlb_misses: false,
        counts_lifetimes: false,
        memories: None,
    }
}

/// One set with `ways` ways.
pub fn ways(ways: usize) -> Shape {
    Shape::new(Bytes((ways * LINE) as u64), ways).expect("a set of a few lines")
}

/// A load or store of the first eight bytes of line number `line`, sent in cycle `at`.
pub fn access(at: u64, access: Access, line: u64) -> (u64, Request) {
    let address = line * LINE as u64;
    let request = Request {
        id: RequestId(line),
        access,
        scope: mem::Scope::Group,
        asid: Asid::default(),
        virt: VirtAddr(address),
        phys: Some(PhysAddr(address)),
        data: Block::zeros(Mask::first(8)),
        stamp: 0,
        lanes: 1,
        tlb_missed: false,
    };
    (at, request)
}

pub fn load(at: u64, line: u64) -> (u64, Request) {
    access(at, Access::Load, line)
}

pub fn store(at: u64, line: u64) -> (u64, Request) {
    access(at, Access::Store, line)
}

/// Sends requests to a first-level cache. Memory refuses the first `refusals` of the cache's.
pub fn first_level(spec: CacheSpec, refusals: u32, requests: Vec<(u64, Request)>) -> Report {
    run(spec, refusals, move |place, scope, log| {
        let (to, from) = port(place, "requests", scope, DOWN);
        let (back, replies) = port::<Reply>(scope, "replies", place, UP);
        speak(place, to, requests.into_iter().map(|(at, request)| (at, Lane::Request, request)).collect());
        listen(place, replies, move |now, reply| log.lock().unwrap().push((reply.id.0, now)));
        (vec![(REQUESTER, Wire { from, to: back })], None)
    })
}

/// Sends reads of lines, and writes of eight bytes, to a second-level cache: each with its cycle and the number of its
/// line.
pub fn second_level(spec: CacheSpec, messages: Vec<(u64, Kind, u64)>) -> Report {
    run(spec, 0, move |place, scope, log| {
        let (to, from) = port::<Packet>(place, "requests", scope, DOWN);
        let (back, replies) = port::<Packet>(scope, "replies", place, UP);
        let sends = messages.into_iter().map(|(at, kind, line)| {
            let data = if kind == Kind::Write { Block::at(0, &[7; 8]) } else { Block::EMPTY };
            let msg = Msg::new(REQUESTER, CACHE, kind, LineAddr(line * LINE as u64), data);
            (at, lane(&msg), msg.into())
        });
        speak(place, to, sends.collect());
        listen(place, replies, move |now, packet| log.lock().unwrap().push((packet.msg.line.0 / LINE as u64, now)));
        (Vec::new(), Some(Wire { from, to: back }))
    })
}

fn run(
    spec: CacheSpec,
    refusals: u32,
    connect: impl FnOnce(&Scope, &Scope, Log<(u64, u64)>) -> (Requesters, Option<Wire<Packet, Packet>>) + Send + 'static,
) -> Report {
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(1));
    let (replies, messages): (Log<_>, Log<_>) = Default::default();
    let (heard, seen) = (Arc::clone(&replies), Arc::clone(&messages));
    model.partition(move |partition| {
        let root = partition.scope(clock);
        let (scope, below) = (root.scope("cache"), root.scope("memory"));
        let (requesters, above) = connect(&root.scope("requester"), &scope, heard);
        let (to, arrives) = port(&scope, "down", &below, BELOW);
        let (back, from) = port(&below, "up", &scope, BELOW);
        memory(&below, arrives, back, refusals, seen);
        let mut side = Side::one(MEMORY, Wire { from, to });
        if let Some(Wire { from, to }) = above {
            side.from.push(from);
            side.to.push((vec![REQUESTER], to));
        }
        let cache = Cache::new(spec, requesters, side, None, &scope);
        scope.serve("control", |cx| cache.run(cx));
    });
    let run = model.run(&RunOptions::default());
    assert_eq!(run.outcome, Outcome::Finished);
    let (replies, messages) = (replies.lock().unwrap().clone(), messages.lock().unwrap().clone());
    Report { replies, messages, run }
}

fn port<T: 'static>(from: &Scope, label: &str, to: &Scope, latency: u64) -> (Outlet<T>, Inlet<T>) {
    from.port(label, PortSpec { capacity: 64, latency: Cycles(latency), bytes_per_cycle: None }, to)
}

/// Sends each item in its cycle.
fn speak<T: 'static>(place: &Scope, to: Outlet<T>, sends: Vec<(u64, Lane, T)>) {
    place.spawn("speak", |cx| async move {
        for (at, lane, item) in sends {
            if at > cx.now().0 {
                cx.pause(at - cx.now().0).await;
            }
            to.send(lane, item, 0).await;
        }
    });
}

fn listen<T: 'static>(place: &Scope, from: Inlet<T>, log: impl Fn(u64, T) + 'static) {
    place.serve("listen", |cx| async move {
        loop {
            let item = from.recv(Lane::Reply).await;
            log(cx.now().0, item);
        }
    });
}

/// Answers every message in the cycle in which it arrives.
fn memory(place: &Scope, from: Inlet<Packet>, to: Outlet<Packet>, mut refusals: u32, log: Log<(u64, Kind, u64)>) {
    place.serve("answer", move |cx| async move {
        loop {
            let Some(msg) = [Lane::Request, Lane::Coherence].iter().find_map(|lane| from.try_recv(*lane)) else {
                from.arrivals().next().await;
                continue;
            };
            let msg = msg.msg;
            log.lock().unwrap().push((cx.now().0, msg.kind, msg.line.0 / LINE as u64));
            let (kind, data) = match msg.kind {
                Kind::Get | Kind::GetX if refusals > 0 => {
                    refusals -= 1;
                    (Kind::Nack, Block::EMPTY)
                }
                Kind::Read => (Kind::Data, Block::full([0; LINE])),
                Kind::Write => (Kind::Ack, msg.data),
                Kind::Get => (Kind::PutClnX, Block::full([0; LINE])),
                Kind::GetX => (Kind::PutX, Block::full([0; LINE])),
                Kind::WriteBack => (Kind::WriteBackAck, Block::EMPTY),
                other => panic!("this memory has no answer to {other:?}"),
            };
            let answer = Msg::new(MEMORY, CACHE, kind, msg.line, data);
            to.send(lane(&answer), answer.into(), bytes(&answer)).await;
        }
    });
}
