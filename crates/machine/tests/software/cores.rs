//! Cores without a hardware model: they fetch one instruction after the other and perform stores after random delays.
//!
//! Like real cores they obey total store order: stores are performed oldest first, any time after they were executed,
//! and a core that holds a line for a locked access keeps all others from writing it.

use super::{caches, kept::Kept};
use cpu::{Executed, Fetch, Program, Touch};
use engine::{Context, EventCount, Hertz, Model, Outcome, RunOptions, Scope, Time};
use gpu::{CommandProcessor, Forget, Launch};
use machine::{
    plan::Boundary,
    program::{Coherent, Finish, FrontEnd, FrontEndSpec, GpusSpec, Guest, ModelGpus, Software, SoftwareSpec},
};
use mem::{Bytes, LineAddr, PhysAddr};
use os::{
    End, Options, Process,
    files::Stdio,
    forward::{FastForward, Forward},
    opencl::{Driver, PolicyKind, Settings, gpu::Memories},
    process::{SystemSpec, Totals},
};
use rand_pcg::{Pcg64Mcg, rand_core::RngCore};
use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    io::Cursor,
    rc::Rc,
    sync::{Arc, Mutex},
};

/// How a program is run.
#[derive(Clone, Copy)]
pub struct Run {
    pub cores: usize,
    pub seed: u64,
    /// How many of a hundred chances to perform a store are taken.
    pub eager: u64,
    /// The memory policy, if there is a driver.
    pub policy: Option<PolicyKind>,
    pub slice: Time,
    /// Whether cores are those of the model.
    pub real: bool,
    /// Hardware threads of each.
    pub threads: usize,
    /// Whether GPUs belong to the model; those here run no kernels but look at what they are given.
    pub inside: bool,
    /// The point at which the timed part begins.
    pub forward: Option<FastForward>,
}

impl Run {
    pub const fn on(cores: usize) -> Run {
        Run {
            cores,
            seed: 1,
            eager: 50,
            policy: None,
            slice: Time::micros(50),
            real: false,
            threads: 1,
            inside: false,
            forward: None,
        }
    }
}

/// The results of a run.
#[derive(Debug, PartialEq)]
pub struct Ran {
    pub end: End,
    pub out: String,
    pub totals: Totals,
    pub kernels: u64,
}

impl Ran {
    /// The output of a program that must have ended well.
    #[track_caller]
    pub fn good(self) -> String {
        assert_eq!(self.end, End::Exited { code: 0 }, "{}\n{}", self.end, self.out);
        self.out
    }
}

pub fn run(program: &'static [u8], arguments: &[&str], how: Run) -> Ran {
    let (out, finish) = (Kept::default(), Arc::new(Mutex::new(None)));
    let arguments: Vec<Vec<u8>> =
        std::iter::once(&"guest").chain(arguments).map(|text| text.as_bytes().to_vec()).collect();
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(1));
    let (kept, left) = (out.clone(), Arc::clone(&finish));
    model.partition(move |partition| {
        let scope = partition.scope(clock);
        let mut options = Options::new("/guest");
        options.arguments = arguments;
        options.stdio = Stdio::new(Cursor::new(Vec::new()), kept.clone(), kept);
        options.cpus = how.cores as u32;
        options.max_instructions = 50_000_000;
        let forward = how.forward.map(Forward::new);
        let inside = how.inside.then(|| ModelGpus::forwarded(GPUS, vm::DriverTables::default(), forward.clone()));
        let mut usage = Rc::default();
        if let Some(policy) = how.policy {
            let settings = Settings { policy, ..Settings::default() };
            let driver = match &inside {
                Some(gpus) => Driver::with_gpus(settings, gpus.for_driver()),
                None => Driver::new(settings),
            };
            usage = driver.usage();
            options.driver = Box::new(driver);
        }
        let mut process = Process::start(program, options).expect("the committed programs are sound");
        if let Some(forward) = &forward {
            process.space.expect_cores();
            process.fast_forward(forward);
        }
        let system = SystemSpec { trap: 100, soft_fault: 50, hard_fault: 1000, copy_per_kib: 16, huge_pages: false };
        let spec = SoftwareSpec { cores: how.cores, threads: how.threads, system, slice: how.slice };
        let bells: Vec<EventCount> = (0..how.cores).map(|core| scope.eventcount(("bell", core))).collect();
        let software = Software::new(process, spec, bells.clone(), scope.eventcount("alert"), left);
        if let Some(gpus) = inside {
            software.attach(&gpus, usage);
            build_gpus(&gpus, &software, &scope);
        }
        let locks = Rc::new(RefCell::new(BTreeMap::new()));
        for (core, bell) in bells.into_iter().enumerate() {
            let (random, locks) = (Pcg64Mcg::new(u128::from(how.seed) << 32 | core as u128 | 1), Rc::clone(&locks));
            if how.real {
                caches::build(core, how.threads, &software, bell, random, locks, &scope);
                continue;
            }
            let core = FakeCore {
                number: core,
                guest: software.guest(core),
                software: software.clone(),
                bell,
                random,
                eager: how.eager,
                stores: VecDeque::new(),
                locks,
            };
            scope.serve(("core", core.number), |cx| core.run(cx));
        }
        let timekeeper = software.timekeeper();
        scope.spawn("warden", |cx| timekeeper.run(cx));
    });
    let run = model.run(&RunOptions::default());
    assert_eq!(run.outcome, Outcome::Finished);
    let finish: Option<Finish> = finish.lock().expect("no thread panics while it holds the lock").take();
    let Finish { end, totals, usage, .. } = finish.expect("a run that ended has an end");
    Ran { end, out: out.text(), totals, kernels: usage.kernels }
}

const GPUS: GpusSpec = GpusSpec {
    wavefronts: 64,
    coherent: true,
    memories: Memories::ONE,
    block: Bytes(64),
    apart: false,
    host_past_caches: false,
};

const FRONT_END: FrontEndSpec = FrontEndSpec {
    boundary: Boundary { stale_copies: false, others_wrote: Forget::Nothing, flushes: 0, keeps: false },
    flush_before: true,
    flush_after: true,
    flush_late: false,
    write_back: gpu::WriteBack::Within,
    regions: false,
    read_at_once: false,
    accounts: false,
};

/// A front end, and a GPU that takes some time for each kernel.
fn build_gpus(gpus: &ModelGpus, software: &Software, scope: &Scope) {
    let processor = CommandProcessor::new(1, scope);
    gpus.launch_by(FrontEnd::build(FRONT_END, vec![processor.clone()], Rc::new(Coherent), None, None, scope));
    let software = software.clone();
    scope.serve("dispatcher", async move |cx: Context| {
        loop {
            let Launch { kernel, map, .. } = processor.next(0).await;
            let expected = kernel.dispatch.kernarg(&kernel.places);
            let mut found = vec![0; expected.len()];
            let place = map.place(kernel.places.kernarg);
            software.with_process(|process| process.space.frames().read(place, &mut found));
            assert_eq!(found, expected, "arguments are in memory before the GPU looks for them");
            cx.pause(10_000).await;
            processor.end(0);
        }
    });
}

/// Lines that cores hold for locked accesses.
pub type Locks = Rc<RefCell<BTreeMap<u64, usize>>>;

struct FakeCore {
    number: usize,
    guest: Guest,
    software: Software,
    bell: EventCount,
    random: Pcg64Mcg,
    eager: u64,
    /// Stores that have been executed and not performed yet.
    stores: VecDeque<Touch>,
    locks: Locks,
}

impl FakeCore {
    async fn run(mut self, cx: Context) {
        let mut executed = Executed::default();
        let mut drains = false;
        loop {
            let quiet = self.stores.is_empty();
            if !quiet && (drains || self.random.next_u64() % 100 < self.eager) {
                cx.pause(1 + self.random.next_u64() % 4).await;
                self.perform();
                continue;
            }
            drains = false;
            cx.pause(1).await;
            let seen = self.bell.count();
            match self.guest.next(0, quiet, &mut executed, cx.time()) {
                Fetch::Executed => self.stores.extend(executed.accesses.iter().filter(|touch| touch.store)),
                Fetch::Drain => {
                    assert!(!quiet, "a quiet core has nothing to drain");
                    drains = true;
                }
                Fetch::Lock { phys, .. } => self.lock(phys, &cx).await,
                Fetch::Missing { .. } => panic!("no device has any line"),
                Fetch::System { cycles, stores } => {
                    assert!(quiet && stores.iter().all(|touch| touch.store));
                    cx.pause(1 + cycles).await;
                    self.stores.extend(stores);
                    drains = true;
                }
                Fetch::Idle | Fetch::Waiting if quiet => self.bell.wait(seen + 1).await,
                Fetch::Idle | Fetch::Waiting => drains = true,
            }
        }
    }

    async fn lock(&mut self, phys: PhysAddr, cx: &Context) {
        while self.locks.borrow().contains_key(&phys.0) {
            cx.pause(1 + self.random.next_u64() % 8).await;
        }
        self.locks.borrow_mut().insert(phys.0, self.number);
    }

    /// Performs the oldest store, unless another core holds its line.
    fn perform(&mut self) {
        let Some(Touch { phys, data, .. }) = self.stores.front().copied() else { return };
        let holder = self.locks.borrow().get(&phys.0).copied();
        if holder.is_some_and(|holder| holder != self.number) {
            return;
        }
        self.locks.borrow_mut().remove(&phys.0);
        self.stores.pop_front();
        self.software.perform(self.number, 0, LineAddr(phys.0), &data);
        self.guest.performed(0);
    }
}
