//! GPUs that are in the same model as the cores.
//!
//! A kernel uses the process's addresses: each launch brings the pages that the kernel can reach into memory and passes
//! their locations on ([`gpu::AddressMap`]). Nothing is copied behind the program's back: copies that a policy asks for
//! are made by the library in the program's own code, or by a [DMA engine](super::Dma) if the machine has one. Kernels
//! go to the [front end](super::FrontEnd).

use super::{FrontEnd, Job, dma, page_recall::Recall};
use engine::{EventCount, Time};
use gcn3::{dispatch::Dispatch, functional::Plan};
use gpu::{AddressMap, Kernel};
use mem::{Asid, Bytes, PAGE, PhysAddr, VirtAddr, ZONE, Zone};
use os::{
    forward::Forward,
    guest::GuestMemory,
    opencl::{
        Forwarding,
        gpu::{Broken, DeviceFault, DeviceMemory, Done, Ended, Gpus, Memories, Page, Ready, Synchronisation, Transfer},
    },
};
use rustc_hash::FxHashSet;
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeSet, VecDeque},
    rc::Rc,
    sync::Arc,
};
use vm::{DriverTables, Fault};

/// GPUs, as their driver sees them.
#[derive(Clone, Copy, Debug)]
pub struct GpusSpec {
    /// Maximum number of wavefronts in flight.
    pub wavefronts: u64,
    /// Whether host and kernels see each other's writes while a kernel runs.
    pub coherent: bool,
    pub memories: Memories,
    /// If memories of GPUs hold copies: the size of a block, the unit that is copied.
    pub block: Bytes,
    /// Whether the memories of host and devices are not connected in the model: the devices' addresses then begin at 0.
    pub apart: bool,
    /// Whether the host writes past all caches of the model, so that caches of GPUs may be stale.
    pub host_past_caches: bool,
}

impl GpusSpec {
    /// A place in memory, as the machine knows it.
    pub fn address(&self, place: PhysAddr) -> PhysAddr {
        if self.apart { PhysAddr(place.0 % ZONE) } else { place }
    }

    /// A place in a memory of devices, as the machine knows it.
    pub fn of_devices(&self, place: PhysAddr) -> Option<PhysAddr> {
        (Zone::of(place) != Zone::Host).then(|| self.address(place))
    }
}

/// Frames that the host claims from the memories of GPUs. Completion is reported under `number`.
pub(super) struct TakeBack {
    pub number: u64,
    pub frames: Vec<PhysAddr>,
}

/// Pages that kernels so far could reach, of which caches may hold lines.
#[derive(Default)]
struct Moved {
    /// Looked up; walked only in the order of addresses.
    reached: FxHashSet<PhysAddr>,
    /// Those of these frames that lie in the host's memory.
    of_host: BTreeSet<PhysAddr>,
    /// Whether one of them was written since the last kernel was started.
    changed: bool,
}

impl Moved {
    fn reach(&mut self, page: PhysAddr) {
        if self.reached.insert(page) && Zone::of(page) == Zone::Host {
            self.of_host.insert(page);
        }
    }

    /// Whether kernels could reach a page of the block in which this page lies.
    fn block_is_reached(&self, page: PhysAddr, block: u64) -> bool {
        let first = page.0 / block * block;
        (first..first + block).step_by(PAGE as usize).any(|page| self.reached.contains(&PhysAddr(page)))
    }

    /// Bytes of a page have been written by others than GPUs.
    fn write(&mut self, at: PhysAddr) {
        self.changed |= self.reached.contains(&PhysAddr(at.0 / PAGE * PAGE));
    }

    fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }
}

/// The address space of a GPU: the host's is the first.
pub(crate) fn space_of(gpu: usize) -> Asid {
    Asid(gpu as u16 + 1)
}

fn gpu_of(asid: Asid) -> usize {
    usize::from(asid.0) - 1
}

/// An operation that the driver has ordered.
enum Order {
    Kernel(Box<Job>),
    Transfer(dma::Order),
}

struct Books {
    spec: GpusSpec,
    transfers: RefCell<VecDeque<dma::Order>>,
    /// Orders of a call that has not ended: the stores for them have not been performed. Each has the kernel's turn in
    /// which it was made, once that is known.
    held: RefCell<Vec<(Option<u64>, Order)>>,
    moved: RefCell<Moved>,
    ended: RefCell<Vec<Ended>>,
    /// Kernels and transfers whose end has not been reported to the driver.
    under_way: Cell<usize>,
    attention: Cell<bool>,
    front_end: RefCell<Option<FrontEnd>>,
    /// The page tables of GPUs, the pages that the driver recalls, and the bell of the context that recalls them.
    tables: DriverTables,
    recalls: RefCell<VecDeque<Recall>>,
    /// Pages that were granted on faults and are not recorded as moved yet.
    answered: RefCell<Vec<(Asid, VirtAddr)>>,
    recall: RefCell<Option<EventCount>>,
    /// The pages that the host claims, the bell of the context that collects them, and the pages collected since the
    /// last query.
    wanted: RefCell<VecDeque<TakeBack>>,
    taker: RefCell<Option<EventCount>>,
    taken: RefCell<Vec<PhysAddr>>,
    /// The bell of the DMA engine, once there is one.
    transfer: RefCell<Option<EventCount>>,
    bells: RefCell<Vec<EventCount>>,
    /// If the program is fast-forwarded: its progress, and the program's clock when the machine's clock began.
    forward: Option<Forward>,
    begun: Cell<Time>,
}

/// The GPUs. Clones are handles to the same GPUs: the driver has one, the machine others.
#[derive(Clone)]
pub struct ModelGpus(Rc<Books>);

impl ModelGpus {
    /// The GPUs of a program that may be fast-forwarded. Their IOMMU looks pages up in `tables`, if the driver can
    /// recall pages.
    pub fn forwarded(spec: GpusSpec, tables: DriverTables, forward: Option<Forward>) -> Self {
        let own = Self(Rc::new(Books {
            spec,
            transfers: RefCell::default(),
            held: RefCell::default(),
            moved: RefCell::default(),
            ended: RefCell::default(),
            under_way: Cell::new(0),
            attention: Cell::new(false),
            front_end: RefCell::new(None),
            tables: tables.clone(),
            recalls: RefCell::default(),
            answered: RefCell::default(),
            recall: RefCell::new(None),
            wanted: RefCell::default(),
            taker: RefCell::new(None),
            taken: RefCell::default(),
            transfer: RefCell::new(None),
            bells: RefCell::default(),
            forward,
            begun: Cell::new(Time::ZERO),
        }));
        let books = Rc::downgrade(&own.0);
        tables.listen(move || {
            if let Some(books) = books.upgrade() {
                let own = Self(books);
                own.account_faults();
                own.call();
            }
        });
        own
    }

    /// The GPUs as the driver sees them. In a fast-forwarded program, kernels run functionally at first.
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
    pub(crate) fn ring(&self, bells: Vec<EventCount>) {
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
        drop(held);
        ready.into_iter().for_each(|order| self.begin_order(order));
    }

    /// Calls `look` with the host's pages that kernels could reach so far, and whether no kernel runs. If memories of
    /// GPUs hold copies, these are the pages that the host may have written since the last call.
    pub(super) fn with_host_pages(&self, look: impl FnOnce(&BTreeSet<PhysAddr>, bool)) {
        let quiet = self.0.front_end.borrow().as_ref().is_none_or(FrontEnd::is_idle);
        let mut moved = self.0.moved.borrow_mut();
        let none = BTreeSet::new();
        let quiet = quiet && self.0.spec.memories.copies != Some(Synchronisation::Dynamic);
        look(if self.0.spec.memories.reach_host { &moved.of_host } else { &none }, quiet);
        if self.0.spec.memories.copies.is_some() {
            moved.of_host.clear();
        }
    }

    /// Sets the bell of the context that takes frames back.
    pub(super) fn taken_back_by(&self, bell: EventCount) {
        *self.0.taker.borrow_mut() = Some(bell);
    }

    pub(super) fn next_wanted(&self) -> Option<TakeBack> {
        self.0.wanted.borrow_mut().pop_front()
    }

    /// Records that the host has these frames back.
    pub(super) fn took(&self, frames: &[PhysAddr]) {
        self.0.taken.borrow_mut().extend_from_slice(frames);
        let mut moved = self.0.moved.borrow_mut();
        frames.iter().for_each(|frame| _ = moved.reached.remove(frame));
    }

    /// The frames that have returned to the host since the last call.
    pub(super) fn take_taken(&self) -> Vec<PhysAddr> {
        self.0.taken.take()
    }

    /// All that was ordered may start.
    pub(crate) fn release_all(&self) {
        let held = self.0.held.take();
        held.into_iter().for_each(|(_, order)| self.begin_order(order));
    }

    /// Whether operations have been ordered and not released yet.
    pub(super) fn has_orders(&self) -> bool {
        !self.0.held.borrow().is_empty()
    }

    fn begin_order(&self, order: Order) {
        match order {
            Order::Kernel(job) => {
                let front_end = self.0.front_end.borrow();
                front_end.as_ref().expect("timed GPUs have a front end").submit(*job);
            }
            Order::Transfer(order) => {
                self.account_transfer(&order.transfer, true);
                self.0.transfers.borrow_mut().push_back(order);
                self.0.transfer.borrow().iter().for_each(EventCount::advance);
            }
        }
    }

    /// A place in memory, as the machine knows it.
    pub(super) fn address(&self, place: PhysAddr) -> PhysAddr {
        self.0.spec.address(place)
    }

    /// Registers a DMA engine for transfers, which waits on this bell.
    pub(super) fn transfers_to(&self, bell: EventCount) {
        *self.0.transfer.borrow_mut() = Some(bell);
    }

    pub(super) fn next_transfer(&self) -> Option<dma::Order> {
        self.0.transfers.borrow_mut().pop_front()
    }

    /// Records for the driver that the operation of this number has ended.
    pub(super) fn end(&self, launch: u64, start: Time, end: Time) {
        let [start, end] = [start, end].map(|time| self.0.begun.get() + time);
        self.0.ended.borrow_mut().push(Ended { launch, start, end, error: None });
        self.call();
    }

    fn hold(&self, order: Order) {
        self.0.held.borrow_mut().push((None, order));
        self.0.under_way.set(self.0.under_way.get() + 1);
    }

    /// Whether something has ended since the last call.
    pub(super) fn take_attention(&self) -> bool {
        self.0.attention.take()
    }

    /// Sets the bell of the context that recalls pages.
    pub(super) fn recalls_to(&self, bell: EventCount) {
        *self.0.recall.borrow_mut() = Some(bell);
    }

    /// The pages that have been mapped because of faults since the last call.
    pub(super) fn take_answered(&self) -> Vec<(Asid, VirtAddr)> {
        self.0.answered.take()
    }

    pub(super) fn tables(&self) -> &DriverTables {
        &self.0.tables
    }

    pub(super) fn next_recall(&self) -> Option<Recall> {
        self.0.recalls.borrow_mut().pop_front()
    }

    fn job(&self, launch: u64, kernel: Kernel, maps: Vec<Arc<AddressMap>>, others_wrote: bool, ready: &Ready) -> Job {
        let own = self.clone();
        Job {
            kernel,
            maps,
            gpu: ready.gpu,
            others_wrote,
            touched: Vec::new(),
            reached: Vec::new(),
            flushes: ready.prints,
            warm_up: ready.warm_up,
            over: Box::new(move |start, end| own.end(launch, start, end)),
        }
    }

    /// The memory that a kernel may access on a GPU. If pages may move while the kernel runs, the pages that are
    /// present are entered in the GPU's table.
    fn map(&self, gpu: usize, pages: &[Page], ready: &Ready) -> AddressMap {
        let place = |page: &Page| self.0.spec.address(page.place);
        // GPUs that use the host's memory use its table, too.
        let asid = match self.0.spec.memories {
            Memories { device: DeviceMemory::Host, faults: false, .. } => Asid::default(),
            _ => space_of(gpu),
        };
        if !self.0.spec.memories.faults {
            let pages = pages.iter().map(|page| (page.at, place(page), Bytes(PAGE), page.writable));
            return AddressMap::of_pages(pages).in_space(asid);
        }
        pages.iter().for_each(|page| self.0.tables.insert(asid, page.at, place(page), page.writable));
        let scratch = (ready.places.scratch, Bytes(ready.places.scratch_size));
        let regions = ready.reach.iter().copied().chain([scratch]);
        AddressMap::of_space(asid, regions.map(|(base, size)| (base, size, true)))
    }

    /// Operations that have ended, and faults, since the last call.
    pub(crate) fn news(&self) -> Done {
        let ended = self.0.ended.take();
        self.0.under_way.set(self.0.under_way.get() - ended.len());
        let faults = self.0.tables.take_faults().into_iter();
        let faults = faults.map(|Fault { asid, page, write }| DeviceFault { gpu: gpu_of(asid), page, write }).collect();
        Done { ended, faults, ..Done::default() }
    }

    /// Has the engine move bytes, as soon as what has been ordered may start.
    pub(crate) fn hold_transfer(&self, number: u64, transfer: Transfer) {
        let mut moved = self.0.moved.borrow_mut();
        transfer.pieces.iter().for_each(|piece| moved.write(self.0.spec.address(piece.to)));
        drop(moved);
        self.hold(Order::Transfer(dma::Order { number, transfer }));
    }

    /// Enters a page into the table of a GPU before the GPU accesses it.
    pub(crate) fn enter(&self, gpu: usize, page: &Page) {
        self.0.tables.insert(space_of(gpu), page.at, self.0.spec.address(page.place), page.writable);
    }

    /// Tells the front end how many faults of each GPU are open.
    fn account_faults(&self) {
        if let Some(front_end) = &*self.0.front_end.borrow() {
            let gpus = 0..front_end.gpus();
            gpus.for_each(|gpu| front_end.time().faults(gpu, self.0.tables.open_faults(space_of(gpu))));
        }
    }

    /// A transfer begins or ends, to or from the memories of some GPUs.
    pub(super) fn account_transfer(&self, transfer: &Transfer, begins: bool) {
        let Some(front_end) = &*self.0.front_end.borrow() else { return };
        let common = matches!(self.0.spec.memories.device, DeviceMemory::Common { .. });
        let places = transfer.pieces.iter().flat_map(|piece| [piece.from, piece.to]);
        let gpus: BTreeSet<usize> = places.filter_map(|place| Zone::of(place).gpu()).collect();
        let gpus: Vec<usize> = gpus.into_iter().collect();
        front_end.time().copy(if common { None } else { Some(&gpus) }, begins);
    }

    /// Notifies the driver that something has ended or faulted.
    fn call(&self) {
        self.0.attention.set(true);
        self.0.bells.borrow().iter().for_each(EventCount::advance);
    }

    /// Whether addresses of the GPUs' memories begin at 0.
    pub(super) fn are_apart(&self) -> bool {
        self.0.spec.apart
    }

    /// Has the caches of all GPUs write back what they hold, where they keep it when no kernel runs: caches of several GPUs do.
    pub(super) async fn drain(&self) {
        let front_end = self.0.front_end.borrow().clone();
        let Some(front_end) = front_end.filter(|front_end| front_end.gpus() > 1) else { return };
        let mut frames: Vec<PhysAddr> = self.0.moved.borrow().reached.iter().copied().collect();
        frames.sort_unstable();
        front_end.recall(&frames).await;
    }

    /// The total time in which at least one kernel ran.
    pub(super) fn kernel_time(&self) -> Time {
        self.0.front_end.borrow().as_ref().map_or(Time::ZERO, FrontEnd::kernel_time)
    }

    /// Kernels go to this front end.
    pub fn launch_by(&self, front_end: FrontEnd) {
        *self.0.front_end.borrow_mut() = Some(front_end);
    }
}

impl Gpus for ModelGpus {
    fn plan(&self, dispatch: &Dispatch) -> Plan {
        Plan::for_waves(dispatch, self.0.spec.wavefronts)
    }

    fn memories(&self) -> Memories {
        self.0.spec.memories
    }

    fn start(&mut self, launch: u64, ready: Ready, _: &mut dyn GuestMemory, _: Time) -> Result<(), Broken> {
        let code = ready.program.code_of(ready.dispatch.kernel()).map_err(|error| Broken(error.to_string()))?;
        let kernel = Kernel { dispatch: ready.dispatch.clone(), places: ready.places, code: Arc::clone(code) };
        let is_touched = |page: VirtAddr| {
            let behind = ready.touched.partition_point(|(base, _)| *base <= page);
            behind.checked_sub(1).map(|at| ready.touched[at]).is_some_and(|(base, size)| page < base + size)
        };
        let mut tables: Vec<&Arc<Vec<Page>>> = Vec::new();
        let (mut maps, mut touched, mut reached) = (Vec::<Arc<AddressMap>>::new(), Vec::new(), Vec::new());
        for (number, pages) in ready.pages.iter().enumerate() {
            let known = tables.iter().position(|known| Arc::ptr_eq(known, pages));
            tables.push(pages);
            if known.is_none() {
                let place = |page: &Page| self.0.spec.address(page.place);
                touched.extend(pages.iter().filter(|page| is_touched(page.at)).map(place));
                reached.extend(pages.iter().map(place));
            }
            maps.push(match known.filter(|_| !self.0.spec.memories.faults) {
                Some(known) => Arc::clone(&maps[known]),
                None => Arc::new(self.map(ready.gpu.unwrap_or(number), pages, &ready)),
            });
        }
        let mut moved = self.0.moved.borrow_mut();
        if self.0.spec.host_past_caches {
            touched.iter().for_each(|page| moved.write(*page));
        }
        let others_wrote = moved.take_changed();
        if self.0.spec.memories.copies.is_some() {
            // Of others the memories of GPUs hold nothing. GPUs may hold a page that no kernel could reach so far,
            // because it is in one block with others.
            touched.retain(|page| moved.block_is_reached(*page, self.0.spec.block.0.max(PAGE)));
            moved.of_host.extend(&touched);
        }
        reached.iter().for_each(|page| moved.reach(*page));
        drop(moved);
        let job = Job { touched, reached, ..self.job(launch, kernel, maps, others_wrote, &ready) };
        self.hold(Order::Kernel(Box::new(job)));
        Ok(())
    }

    fn transfers(&self) -> bool {
        self.0.transfer.borrow().is_some()
    }

    fn transfer(&mut self, number: u64, transfer: Transfer, _: &mut dyn GuestMemory, _: Time) -> Result<(), Broken> {
        self.hold_transfer(number, transfer);
        Ok(())
    }

    fn work(&mut self, _: &mut dyn GuestMemory, _: Time, _: u64) -> Done {
        self.news()
    }

    fn resolve(&mut self, gpu: usize, page: VirtAddr, answer: Result<Page, String>) {
        let asid = space_of(gpu);
        let answer = answer.map(|found| {
            let place = self.0.spec.address(found.place);
            self.0.moved.borrow_mut().reach(place);
            self.0.tables.insert(asid, page, place, found.writable);
            self.0.answered.borrow_mut().push((asid, page));
        });
        self.0.tables.answer(asid, page, answer);
        self.account_faults();
        // When that was is noted there.
        self.0.recall.borrow().iter().for_each(EventCount::advance);
    }

    fn shoot(&mut self, number: u64, gpus: &[usize], ranges: &[(VirtAddr, Bytes)]) {
        let mut pages = Vec::new();
        for &gpu in gpus {
            for (base, size) in ranges {
                let all = (base.0 / PAGE * PAGE..base.0 + size.0).step_by(PAGE as usize);
                pages.extend(all.map(|page| (space_of(gpu), VirtAddr(page))));
            }
        }
        self.0.under_way.set(self.0.under_way.get() + 1);
        self.0.recalls.borrow_mut().push_back(Recall { number, pages });
        self.0.recall.borrow().iter().for_each(EventCount::advance);
    }

    fn take_back(&mut self, number: u64, frames: &[PhysAddr]) {
        let reached = &self.0.moved.borrow().reached;
        let frames: Vec<PhysAddr> = frames.iter().copied().filter(|frame| reached.contains(frame)).collect();
        self.0.under_way.set(self.0.under_way.get() + 1);
        self.0.wanted.borrow_mut().push_back(TakeBack { number, frames });
        self.0.taker.borrow().iter().for_each(EventCount::advance);
    }

    fn keeps_answers(&self) -> bool {
        true
    }

    fn is_fine_grained(&self) -> bool {
        self.0.spec.coherent
    }

    fn is_busy(&self) -> bool {
        self.0.under_way.get() > 0
    }
}
