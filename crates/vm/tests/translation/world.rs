//! Building blocks of these tests: scripted requesters, a memory with a fixed latency, and wires.

use crate::tables::{Tables, phys, virt};
use engine::{Cycles, Hertz, Inlet, Lane, Model, Outcome, Outlet, PortSpec, Run, RunOptions, Scope};
use interconnect::{HEADER, Wire};
use mem::{Access, Asid, Block, Bytes, Frames, LINE, Mask, PhysAddr, Reply, Request, RequestId, VirtAddr};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::{Arc, Mutex},
};
use vm::{
    Control, Forgotten, Mmu, MmuPort, MmuSpec, PageWalkCache, Roots, Shootdown, TlbSpec, Translate, Translated, Walk,
    WalkersSpec, walkers,
};

/// The requests that reached a cache, each with its cycle.
pub type Log = Arc<Mutex<Vec<(u64, Request)>>>;

pub const SPACE: Asid = Asid(1);

/// Latency of a read of an entry, there and back.
pub const READ: u64 = 20;

pub struct World {
    pub root: Scope,
    pub roots: Roots,
    pub frames: Rc<RefCell<Frames>>,
    log: Log,
    wires: Cell<usize>,
}

/// Runs what `build` builds over a memory with these tables; returns the requests that reached caches, in order.
pub fn simulate(tables: Tables, build: impl FnOnce(&World) + Send + 'static) -> (Run, Vec<(u64, Request)>) {
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(1));
    let log = Log::default();
    let result = Arc::clone(&log);
    model.partition(move |partition| {
        build(&World::new(partition.scope(clock), tables, log));
    });
    let run = model.run(&RunOptions::default());
    let log = result.lock().unwrap().clone();
    (run, log)
}

/// [`simulate`] for a run that must finish.
pub fn finish(tables: Tables, build: impl FnOnce(&World) + Send + 'static) -> (Run, Vec<(u64, Request)>) {
    let (run, log) = simulate(tables, build);
    assert_eq!(run.outcome, Outcome::Finished);
    (run, log)
}

/// The number of each request and the cycle in which it reached the cache.
pub fn times(log: &[(u64, Request)]) -> Vec<(u64, u64)> {
    log.iter().map(|(cycle, request)| (request.id.0, *cycle)).collect()
}

/// A fully associative TLB with `entries`.
pub fn tlb(entries: usize) -> TlbSpec {
    TlbSpec::new(entries, entries).unwrap()
}

pub const MMU: MmuSpec = MmuSpec { lookups: 4, misses: 8, waiting: 16, shootdown: Cycles(0), lifetimes: false };
pub const WALKERS: WalkersSpec = WalkersSpec { walkers: 2, queue: 4, shootdown: Cycles(0) };

/// A request for `page` with number `id`.
pub fn request(id: u64, access: Access, page: u64) -> Request {
    Request {
        id: RequestId(id),
        access,
        scope: mem::Scope::Group,
        asid: SPACE,
        virt: VirtAddr(virt(page).0 + 64 * (id % 64)),
        phys: Some(PhysAddr(phys(page).0 + 64 * (id % 64))),
        data: Block::zeros(Mask::first(8)),
        stamp: 0,
        lanes: 1,
        tlb_missed: false,
    }
}

/// A load sent at cycle `at`.
pub fn load(at: u64, id: u64, page: u64) -> (u64, Lane, Request) {
    (at, Lane::Request, request(id, Access::Load, page))
}

/// A core's store, sent at cycle `at`.
pub fn store(at: u64, id: u64, page: u64) -> (u64, Lane, Request) {
    (at, Lane::Coherence, request(id, Access::Store, page))
}

impl World {
    pub fn new(root: Scope, tables: Tables, log: Log) -> World {
        let roots = Roots::default();
        roots.set(SPACE, tables.root);
        World { root, roots, frames: Rc::new(RefCell::new(tables.frames)), log, wires: Cell::new(0) }
    }

    /// A new scope with a unique name.
    pub fn place(&self) -> Scope {
        self.wires.set(self.wires.get() + 1);
        self.root.scope(("place", self.wires.get()))
    }

    /// A wire with latencies `down` and `up`.
    pub fn wires<Down: 'static, Up: 'static>(&self, down: u64, up: u64) -> (Wire<Up, Down>, Wire<Down, Up>) {
        let scope = self.place();
        let spec = |latency| PortSpec { capacity: 64, latency: Cycles(latency), bytes_per_cycle: None };
        let (to, arrives) = scope.port::<Down>("down", spec(down), &scope);
        let (back, comes) = scope.port::<Up>("up", spec(up), &scope);
        (Wire { from: comes, to }, Wire { from: arrives, to: back })
    }

    /// A wire to memory; each read takes [`READ`] cycles.
    pub fn memory(&self) -> Wire<Reply, Request> {
        let (wire, there) = self.wires::<Request, Reply>(READ / 2, READ / 2);
        let frames = Rc::clone(&self.frames);
        self.place().serve("memory", |_| async move {
            loop {
                let request = there.from.recv(Lane::Request).await;
                let address = request.phys.expect("walkers read by physical address");
                assert_eq!(address.offset_in(Bytes(LINE as u64)), Bytes(0), "requests are for lines");
                let mut line = [0; LINE];
                frames.borrow().read(address, &mut line);
                let data = Block::of(line, request.data.mask());
                let reply = Reply { id: request.id, data, stamp: 0 };
                there.to.send(Lane::Reply, reply, HEADER).await;
            }
        });
        wire
    }

    /// Walkers that read the tables, and a wire of 2 cycles to them and 3 back.
    pub fn walkers(&self, spec: WalkersSpec, page_walk_cache: Option<PageWalkCache>) -> Wire<Translated, Translate> {
        let (wire, there) = self.wires(2, 3);
        let walk = Walk::Tables { memory: self.memory(), page_walk_cache };
        walkers(spec, walk, vec![there], None, &self.roots, &self.root.scope("walkers"));
        wire
    }

    /// An MMU port with a wire without latency to the requester, and a cache behind it that logs what reaches it.
    pub fn port(&self, name: &str, entries: usize) -> (MmuPort, Outlet<Request>) {
        let scope = self.root.scope(name);
        let spec = PortSpec { capacity: 64, latency: Cycles(0), bytes_per_cycle: None };
        let (requester, from) = scope.port::<Request>("requests", spec, &scope);
        let (to, cache) = scope.port::<Request>("translated", spec, &scope);
        self.cache(&scope, cache);
        (MmuPort { name: name.to_owned(), tlb: tlb(entries), from, to }, requester)
    }

    fn cache(&self, scope: &Scope, inlet: Inlet<Request>) {
        let log = Arc::clone(&self.log);
        scope.serve("cache", |cx| async move {
            loop {
                let (seen, mut got) = (inlet.arrivals().count(), false);
                for lane in Lane::ALL {
                    while let Some(request) = inlet.try_recv(lane) {
                        log.lock().unwrap().push((cx.now().0, request));
                        got = true;
                    }
                }
                if !got {
                    inlet.arrivals().wait(seen + 1).await;
                }
            }
        });
    }

    /// Sends each request at its cycle.
    pub fn requester(&self, to: Outlet<Request>, sends: Vec<(u64, Lane, Request)>) {
        self.place().spawn("requester", |cx| async move {
            for (at, lane, request) in sends {
                if at > cx.now().0 {
                    cx.pause(at - cx.now().0).await;
                }
                to.send(lane, request, HEADER).await;
            }
        });
    }

    /// An MMU with one port of eight entries over `below`, and a requester that sends `sends`.
    pub fn mmu(&self, spec: MmuSpec, below: Wire<Translated, Translate>, sends: Vec<(u64, Lane, Request)>) {
        self.mmu_with(spec, "dtlb", below, None, sends);
    }

    pub fn mmu_with(
        &self,
        spec: MmuSpec,
        name: &str,
        below: Wire<Translated, Translate>,
        control: Option<Control>,
        sends: Vec<(u64, Lane, Request)>,
    ) {
        let (port, requester) = self.port(name, 8);
        let scope = self.root.scope(&format!("{name}_mmu"));
        let mmu = Mmu::new(spec, vec![port], below, control, &self.roots, &scope);
        scope.serve("control", |cx| mmu.run(cx));
        self.requester(requester, sends);
    }

    /// A shootdown link; `latency` is in cycles, per direction.
    pub fn control(&self, latency: u64) -> (Wire<Forgotten, Shootdown>, Control) {
        self.wires(latency, latency)
    }
}
