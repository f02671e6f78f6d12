//! GPUs of the same model as the cores.
//!
//! A kernel's addresses are the process's: each launch brings the pages it can reach into memory and takes their places along
//! ([`gpu::AddressMap`]). Nothing is copied behind the program's back; copies that a policy asks for are done by the library in
//! the program's own code, or by a [DMA engine](super::Dma) if the machine has one. What a machine without coherence needs around a
//! kernel, its front end orders (4.1 and 4.2 of `[giles]`): the caches of the CPU are flushed before a kernel, of
//! what the host has handed over since the last one, as M2S-CGM does it buffer by buffer; and after it, of what the kernel
//! reached, where its stores lie in the CPU's last-level cache.

use super::dma;
use engine::{Context, EventCount, Histogram, Queue, Scope, Time};
use gcn3::{dispatch::Dispatch, functional::Plan};
use gpu::{AddressMap, Forget, Kernel, Work};
use interconnect::Reporter;
use mem::{Bytes, LineAddr, PAGE, PhysAddr, Seen, VirtAddr};
use os::{
    forward::Forward,
    guest::GuestMemory,
    opencl::{
        Forwarding,
        gpu::{Broken, Done, Ended, Gpus, Ready, Transfer},
    },
};
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, VecDeque},
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::Arc,
};

/// What belongs to a launch beside the kernel.
#[derive(Clone, Copy, Debug)]
pub struct FrontEndSpec {
    /// Wavefronts that can be under way at a time.
    pub wavefronts: u64,
    /// Whether host and kernels see what the other writes while a kernel runs.
    pub coherent: bool,
    /// What the GPUs' caches forget before a kernel.
    pub forget: Forget,
    /// Whether the caches of the CPU write back and forget what was handed over before a kernel starts.
    pub flush_before: bool,
    /// How often all GPUs flush after a kernel.
    pub gpu_flushes: usize,
    /// Whether they do so with all that the kernel could reach after its end.
    pub flush_after: bool,
}

/// The caches of the CPU, as the front end sees them.
pub trait Caches {
    /// Has them write back and forget all they hold of these pages; over when that is done.
    fn flush(&self, pages: &[PhysAddr]) -> Pin<Box<dyn Future<Output = ()> + '_>>;
}

/// Caches that need no flush.
pub struct Coherent;

impl Caches for Coherent {
    fn flush(&self, _: &[PhysAddr]) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(std::future::ready(()))
    }
}

/// A kernel that is to run.
struct Run {
    launch: u64,
    kernel: Kernel,
    map: Arc<AddressMap>,
    /// Pages of which the CPU's caches may hold something that the kernel must not miss.
    touched: Vec<PhysAddr>,
    /// All pages that it can reach.
    reached: Vec<PhysAddr>,
    gpu: Option<usize>,
}

/// What is to be done for the driver.
enum Order {
    Kernel(Box<Run>),
    Transfer(dma::Order),
}

struct Books {
    spec: FrontEndSpec,
    kernels: RefCell<VecDeque<Run>>,
    transfers: RefCell<VecDeque<dma::Order>>,
    /// Orders of a call that is not over: what it wrote for them has not been performed. With each, the kernel's turn in
    /// which it was made, as soon as that is known.
    held: RefCell<Vec<(Option<u64>, Order)>>,
    ended: RefCell<Vec<Ended>>,
    /// Kernels and transfers of which the driver has not heard that they ended.
    under_way: Cell<usize>,
    attention: Cell<bool>,
    /// The front end's and the DMA engine's, as soon as there is one.
    work: RefCell<Option<EventCount>>,
    transfer: RefCell<Option<EventCount>>,
    bells: RefCell<Vec<EventCount>>,
    /// If the program is fast-forwarded: how far it is, and what its clock showed when the machine's began.
    forward: Option<Forward>,
    begun: Cell<Time>,
}

/// The GPUs. Clones are the same GPUs: the driver has one, the machine others.
#[derive(Clone)]
pub struct ModelGpus(Rc<Books>);

impl ModelGpus {
    pub fn new(spec: FrontEndSpec) -> Self {
        Self::forwarded(spec, None)
    }

    /// GPUs of a program that may be fast-forwarded.
    pub fn forwarded(spec: FrontEndSpec, forward: Option<Forward>) -> Self {
        Self(Rc::new(Books {
            spec,
            kernels: RefCell::default(),
            transfers: RefCell::default(),
            held: RefCell::default(),
            ended: RefCell::default(),
            under_way: Cell::new(0),
            attention: Cell::new(false),
            work: RefCell::new(None),
            transfer: RefCell::new(None),
            bells: RefCell::default(),
            forward,
            begun: Cell::new(Time::ZERO),
        }))
    }

    /// What the driver is given; of a program that is fast-forwarded, kernels run without time at first.
    pub fn for_driver(&self) -> Box<dyn Gpus> {
        let timed = Box::new(self.clone());
        match &self.0.forward {
            Some(forward) => Box::new(Forwarding::new(forward.clone(), timed)),
            None => timed,
        }
    }

    /// The program's clock showed this when the machine's began.
    pub(super) fn begin(&self, begun: Time) {
        self.0.begun.set(begun);
    }

    /// These bells are rung when a kernel or a transfer has ended.
    pub(super) fn ring(&self, bells: Vec<EventCount>) {
        *self.0.bells.borrow_mut() = bells;
    }

    /// It is this turn of the kernel, which changes when what a call wrote has been performed: what was ordered in an
    /// earlier one may start. One call may follow right behind another, so what has been ordered since is of this turn.
    pub(super) fn release(&self, turn: u64) {
        let mut held = self.0.held.borrow_mut();
        if held.is_empty() {
            return;
        }
        let ready = held.extract_if(.., |(made, _)| made.is_some_and(|made| made < turn));
        let ready: Vec<Order> = ready.map(|(_, order)| order).collect();
        held.iter_mut().for_each(|(made, _)| *made = made.or(Some(turn)));
        for order in ready {
            let bell = match order {
                Order::Kernel(run) => {
                    self.0.kernels.borrow_mut().push_back(*run);
                    &self.0.work
                }
                Order::Transfer(order) => {
                    self.0.transfers.borrow_mut().push_back(order);
                    &self.0.transfer
                }
            };
            if let Some(bell) = &*bell.borrow() {
                bell.advance();
            }
        }
    }

    /// There is an engine for transfers, which listens to this bell.
    pub(super) fn transfers_to(&self, bell: EventCount) {
        *self.0.transfer.borrow_mut() = Some(bell);
    }

    pub(super) fn next_transfer(&self) -> Option<dma::Order> {
        self.0.transfers.borrow_mut().pop_front()
    }

    /// What was started under this number has ended: the driver will hear of it.
    pub(super) fn end(&self, launch: u64, start: Time, end: Time) {
        let [start, end] = [start, end].map(|time| self.0.begun.get() + time);
        self.0.ended.borrow_mut().push(Ended { launch, start, end, error: None });
        self.0.attention.set(true);
        self.0.bells.borrow().iter().for_each(EventCount::advance);
    }

    fn hold(&self, order: Order) {
        self.0.held.borrow_mut().push((None, order));
        self.0.under_way.set(self.0.under_way.get() + 1);
    }

    /// Whether something has ended since the last call.
    pub(super) fn take_attention(&self) -> bool {
        self.0.attention.take()
    }

    /// The front end, which hands kernels to the dispatchers: what each is given, and how much of that it has done. `scope`
    /// belongs to the dispatchers' clock domain.
    pub fn front_end(
        &self,
        gpus: Vec<(Queue<Work>, EventCount)>,
        caches: Rc<dyn Caches>,
        observer: Option<Reporter>,
        scope: &Scope,
    ) -> FrontEnd {
        let work = scope.eventcount("work");
        *self.0.work.borrow_mut() = Some(work.clone());
        let kernels = scope.scope("kernels");
        FrontEnd { inside: self.clone(), gpus, caches, observer, work, kernels, times: BTreeMap::new() }
    }
}

impl Gpus for ModelGpus {
    fn plan(&self, dispatch: &Dispatch) -> Plan {
        Plan::for_waves(dispatch, self.0.spec.wavefronts)
    }

    fn start(&mut self, launch: u64, ready: Ready, _: &mut dyn GuestMemory, _: Time) -> Result<(), Broken> {
        let code = ready.program.code_of(ready.dispatch.kernel()).map_err(|error| Broken(error.to_string()))?;
        let kernel = Kernel { dispatch: ready.dispatch, places: ready.places, code: Arc::clone(code) };
        // All GPUs have the host's table.
        let pages = ready.pages.first().map_or(&[][..], |pages| pages);
        let is_touched = |page: VirtAddr| {
            let behind = ready.touched.partition_point(|(base, _)| *base <= page);
            behind.checked_sub(1).map(|at| ready.touched[at]).is_some_and(|(base, size)| page < base + size)
        };
        let touched = pages.iter().filter(|page| is_touched(page.at)).map(|page| page.place).collect();
        let reached = pages.iter().map(|page| page.place).collect();
        let pages = pages.iter().map(|page| (page.at, page.place, Bytes(PAGE), page.writable));
        let map = Arc::new(AddressMap::of_pages(pages));
        self.hold(Order::Kernel(Box::new(Run { launch, kernel, map, touched, reached, gpu: ready.gpu })));
        Ok(())
    }

    fn transfers(&self) -> bool {
        self.0.transfer.borrow().is_some()
    }

    fn transfer(&mut self, number: u64, transfer: Transfer, _: &mut dyn GuestMemory, _: Time) -> Result<(), Broken> {
        self.hold(Order::Transfer(dma::Order { number, transfer }));
        Ok(())
    }

    fn work(&mut self, _: &mut dyn GuestMemory, _: Time, _: u64) -> Done {
        let ended = self.0.ended.take();
        self.0.under_way.set(self.0.under_way.get() - ended.len());
        Done { ended, ..Done::default() }
    }

    fn is_fine_grained(&self) -> bool {
        self.0.spec.coherent
    }

    fn is_busy(&self) -> bool {
        self.0.under_way.get() > 0
    }
}

/// Hands kernels to the GPUs, one at a time.
pub struct FrontEnd {
    inside: ModelGpus,
    gpus: Vec<(Queue<Work>, EventCount)>,
    caches: Rc<dyn Caches>,
    observer: Option<Reporter>,
    work: EventCount,
    /// How long kernels of each name took, and where that is counted.
    kernels: Scope,
    times: BTreeMap<String, Histogram>,
}

impl FrontEnd {
    pub async fn run(mut self, cx: Context) {
        let spec = self.inside.0.spec;
        let mut given = vec![0; self.gpus.len()];
        loop {
            let seen = self.work.count();
            let next = self.inside.0.kernels.borrow_mut().pop_front();
            let Some(Run { launch, kernel, map, touched, reached, gpu }) = next else {
                self.work.wait(seen + 1).await;
                continue;
            };
            let start = cx.time();
            if spec.flush_before {
                self.caches.flush(&touched).await;
            }
            // What GPUs have written is in memory, and they forget what they hold.
            if let Some(observer) = &self.observer {
                observer.tell(LineAddr(0), Seen::Synchronised);
            }
            let (name, given_at) = (kernel.dispatch.kernel().name.clone(), cx.now());
            let chosen: Vec<usize> = gpu.map_or_else(|| (0..self.gpus.len()).collect(), |gpu| vec![gpu]);
            for (own, &gpu) in chosen.iter().enumerate() {
                let (kernel, map, share) = (kernel.clone(), Arc::clone(&map), (own as u64, chosen.len() as u64));
                let launch = gpu::Launch { kernel, map, share, forget: spec.forget };
                self.give(gpu, Work::Launch(Box::new(launch)), &mut given).await;
            }
            self.wait(&chosen, &given).await;
            let times = self.times.entry(name);
            let times = times.or_insert_with_key(|name| self.kernels.scope(name.as_str()).histogram("cycles"));
            times.record(cx.now().0 - given_at.0);
            for _ in 0..spec.gpu_flushes {
                let all: Vec<usize> = (0..self.gpus.len()).collect();
                for &gpu in &all {
                    self.give(gpu, Work::Flush, &mut given).await;
                }
                self.wait(&all, &given).await;
            }
            if spec.flush_after {
                self.caches.flush(&reached).await;
            }
            self.inside.end(launch, start, cx.time());
        }
    }

    async fn give(&self, gpu: usize, work: Work, given: &mut [u64]) {
        self.gpus[gpu].0.send(work).await;
        given[gpu] += 1;
    }

    async fn wait(&self, gpus: &[usize], given: &[u64]) {
        for &gpu in gpus {
            self.gpus[gpu].1.wait(given[gpu]).await;
        }
    }
}
