//! A dispatcher and its compute units between caches that answer each request after a fixed time.

use engine::{Cycles, Hertz, Lane, LinkSpec, Model, Outcome, PortSpec, Run, RunOptions, Scope, Time, Value};
use gcn3::{
    code::Code,
    dispatch::{Dispatch, Places},
    object::{self, Descriptor, FloatMode, ImplicitLayout, Setup, Version},
};
use gpu::{
    AddressMap, Caches, Coalescer, ComputeUnit, ComputeUnitSpec, Dispatcher, DispatcherSpec, Forget, Kernel, Launch,
    Placement, WriteBack, link,
};
use interconnect::{HEADER, Wire};
use mem::{Access, Block, Bytes, LINE, Reply, Request, VirtAddr};
use std::sync::{Arc, Mutex};

/// Between the dispatcher and a compute unit, per direction.
pub const LINK: u64 = 5;
/// From a request to the reply of the vector and the scalar cache.
pub const VECTOR: u64 = 20;
pub const SCALAR: u64 = 6;
/// The address of the code: the first of a line.
pub const CODE: u64 = 0x1000;

/// The parameters of a run.
#[derive(Clone)]
pub struct Rig {
    pub dispatcher: DispatcherSpec,
    pub unit: ComputeUnitSpec,
    pub units: usize,
    /// From a request to the reply of the code cache.
    pub code: u64,
    /// Whether shared caches are flushed after the kernel.
    pub flush: bool,
    /// Work-items of a workgroup.
    pub items: u32,
    pub workgroups: u32,
    /// How often the kernel is launched; each launch waits for the end of the one before.
    pub launches: usize,
}

impl Default for Rig {
    fn default() -> Self {
        let dispatcher = DispatcherSpec {
            first_launch: Cycles(100),
            launch: Cycles(50),
            interval: Cycles(0),
            burst: 1,
            finish: Cycles(0),
            write_back: WriteBack::Within,
            invalidate: false,
            kernels: 1,
            placement: Placement::Free,
            deal: 1,
        };
        let unit = ComputeUnitSpec {
            simds: 4,
            waves_per_simd: 10,
            vgprs: 256,
            sgprs: 800,
            lds: 64 << 10,
            decode: Cycles(2),
            vector: [Cycles(4); 4],
            scalar: Cycles(1),
            branch: Cycles(4),
            local: Cycles(2),
            local_banks: 32,
            local_word: Cycles(1),
            local_interval: Cycles(1),
            refetch: false,
            coalesce: Cycles(3),
            coalescer: Coalescer::Unit,
            line_slots: 64,
            instruction_buffer: 256,
            limit: None,
        };
        Self { dispatcher, unit, units: 1, code: 8, flush: false, items: 64, workgroups: 1, launches: 1 }
    }
}

/// The result of a run.
pub struct Report {
    /// For each unit, the cycle of each request to the code cache, and the number of its line in the code.
    pub code: Vec<Vec<(u64, u64)>>,
    /// The cycle of each request to a vector cache, the address of its line, and its lanes.
    pub vector: Vec<(u64, u64, u8)>,
    /// The cycle of each order to a vector cache.
    pub orders: Vec<(u64, Access)>,
    /// The cycles in which the kernels ended.
    pub ends: Vec<u64>,
    run: Run,
}

impl Report {
    /// A counter of the first unit.
    pub fn count(&self, name: &str) -> u64 {
        match &self.run.total().0[format!("unit0.{name}").as_str()] {
            Value::Count(count) => *count,
            other => panic!("{name} is not a counter: {other:?}"),
        }
    }
}

type Log<T> = Arc<Mutex<Vec<T>>>;

fn taken<T: Clone>(log: &Log<T>) -> Vec<T> {
    log.lock().unwrap().clone()
}

impl Rig {
    pub fn run(self, code: &[u32]) -> Report {
        let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut model = Model::new();
        let clock = model.clock(Hertz::giga(1));
        let spec = LinkSpec { latency: Time::nanos(LINK), capacity: 16, bytes_per_cycle: None };
        let links: Vec<_> = (0..self.units).map(|unit| link(&mut model, &format!("link{unit}"), spec)).collect();
        let fetched: Vec<Log<(u64, Request)>> = (0..self.units).map(|_| Log::default()).collect();
        let (vector, ends) = (Log::default(), Log::default());
        let logs = (fetched.clone(), Arc::clone(&vector), Arc::clone(&ends));
        model.partition(move |partition| {
            let root = partition.scope(clock);
            let (fetched, vector, ended) = logs;
            let mut dispatchers = Vec::new();
            for (number, (far, near)) in links.into_iter().enumerate() {
                let scope = root.scope(("unit", number));
                let caches = Caches {
                    vector: cache(&scope, "vector", VECTOR, Arc::clone(&vector)),
                    scalar: cache(&scope, "scalar", SCALAR, Log::default()),
                    code: cache(&scope, "code", self.code, Arc::clone(&fetched[number])),
                };
                let unit = ComputeUnit::new(self.unit, number, true, near.place(&scope), caches, &scope);
                scope.serve("control", |cx| unit.run(cx));
                dispatchers.push(far);
            }
            let processor = Dispatcher::build(self.dispatcher, dispatchers, self.unit, &root.scope("dispatcher"));
            let kernel = kernel(&bytes, self.items, self.workgroups);
            let all = [(VirtAddr(0), Bytes(1 << 20), true)];
            let map = Arc::new(AddressMap::new(all.into_iter()));
            root.spawn("host", move |cx| async move {
                for _ in 0..self.launches {
                    let (kernel, map) = (kernel.clone(), Arc::clone(&map));
                    let launch = Launch { kernel, map, share: (0, 1), forget: Forget::Nothing, flush: self.flush };
                    processor.launch(0, launch).wait().await;
                    ended.lock().unwrap().push(cx.now().0);
                }
            });
        });
        let run = model.run(&RunOptions::default());
        assert_eq!(run.outcome, Outcome::Finished);
        let line = |request: &Request| (request.virt.0.wrapping_sub(CODE)) / LINE as u64;
        let is_load = |request: &Request| request.access == Access::Load;
        let code = fetched.iter().map(taken).map(|log| {
            log.iter().filter(|(_, request)| is_load(request)).map(|(at, request)| (*at, line(request))).collect()
        });
        let (loads, orders): (Vec<_>, Vec<_>) = taken(&vector).into_iter().partition(|(_, request)| is_load(request));
        Report {
            code: code.collect(),
            vector: loads.iter().map(|(at, request)| (*at, request.virt.0, request.lanes)).collect(),
            orders: orders.iter().map(|(at, request)| (*at, request.access)).collect(),
            ends: taken(&ends),
            run,
        }
    }
}

/// A cache that answers each request after `latency` cycles and logs it with the cycle in which it was sent.
fn cache(scope: &Scope, name: &str, latency: u64, log: Log<(u64, Request)>) -> Wire<Reply, Request> {
    let place = scope.scope(name);
    let port = |latency| PortSpec { capacity: 256, latency: Cycles(latency), bytes_per_cycle: None };
    let (to, requests) = place.port::<Request>("requests", port(0), &place);
    let (replies, from) = place.port::<Reply>("replies", port(latency), &place);
    place.serve("answer", |cx| async move {
        loop {
            let request = requests.recv(Lane::Request).await;
            log.lock().unwrap().push((cx.now().0, request));
            let reply = Reply { id: request.id, data: Block::zeros(request.data.mask()), stamp: 0 };
            replies.send(Lane::Reply, reply, HEADER).await;
        }
    });
    Wire { from, to }
}

/// A kernel with this code, for `workgroups` workgroups of `items` work-items. s0 is a workgroup's number, v0 a
/// work-item's.
fn kernel(code: &[u8], items: u32, workgroups: u32) -> Kernel {
    let descriptor = Descriptor {
        address: VirtAddr(0),
        entry: VirtAddr(CODE),
        setup: Setup { workgroup_id: [true, false, false], workitem_ids: 1, ..Setup::default() },
        user_sgprs: 0,
        sgprs: 16,
        vgprs: 4,
        lds_size: 0,
        private_size: 0,
        kernarg_size: 0,
        private_element_size: 4,
        dynamic_stack: false,
        float_mode: FloatMode::default(),
        rsrc1: 0,
        rsrc2: 0,
    };
    let kernel = object::Kernel {
        name: "test".to_owned(),
        version: Version::V5,
        descriptor,
        described: true,
        arguments: Vec::new(),
        implicit: ImplicitLayout::Hsa,
        kernarg_size: 0,
        kernarg_align: 16,
        lds_size: 0,
        private_size: 0,
        dynamic_stack: false,
        sgprs: 16,
        vgprs: 4,
        required_group: None,
        max_group: None,
        uniform_groups: true,
        language: None,
        code_size: code.len() as u64,
    };
    let dispatch = Dispatch::new(&kernel, [items * workgroups, 1, 1], [items, 1, 1], [0; 3]).expect("a small kernel");
    Kernel { dispatch, places: Places::default(), code: Arc::new(Code::new(CODE, code)) }
}
