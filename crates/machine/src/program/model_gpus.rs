//! GPUs of the same model as the cores.
//!
//! A kernel's addresses are the process's: each launch brings the pages it can reach into memory and takes their places along
//! ([`gpu::AddressMap`]). Nothing is copied behind the program's back; copies that a policy asks for are done by the library in
//! the program's own code, or by a [DMA engine](super::Dma) if the machine has one. Kernels go to the [front end](super::FrontEnd).

use super::{FrontEnd, Job, dma};
use engine::{EventCount, Time};
use gcn3::{dispatch::Dispatch, functional::Plan};
use gpu::{AddressMap, Kernel};
use mem::{Bytes, PAGE, PhysAddr, VirtAddr};
use os::{
    forward::Forward,
    guest::{Fault, GuestMemory},
    opencl::{
        Forwarding,
        gpu::{Broken, Done, Ended, Gpus, Ready, Transfer},
    },
};
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, VecDeque},
    rc::Rc,
    sync::Arc,
};

/// GPUs, as their driver sees them.
#[derive(Clone, Copy, Debug)]
pub struct GpusSpec {
    /// Wavefronts that can be under way at a time.
    pub wavefronts: u64,
    /// Whether host and kernels see what the other writes while a kernel runs.
    pub coherent: bool,
}

/// What is to be done for the driver.
enum Order {
    Kernel(Box<Job>),
    Transfer(dma::Order),
}

struct Books {
    spec: GpusSpec,
    transfers: RefCell<VecDeque<dma::Order>>,
    /// The pages of transfers that are under way, by their numbers.
    pinned: RefCell<BTreeMap<u64, Vec<PhysAddr>>>,
    /// Orders of a call that is not over: what it wrote for them has not been performed. With each, the kernel's turn in
    /// which it was made, as soon as that is known.
    held: RefCell<Vec<(Option<u64>, Order)>>,
    ended: RefCell<Vec<Ended>>,
    /// Kernels and transfers of which the driver has not heard that they ended.
    under_way: Cell<usize>,
    attention: Cell<bool>,
    front_end: RefCell<Option<FrontEnd>>,
    /// The DMA engine's, as soon as there is one.
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
    pub fn new(spec: GpusSpec) -> Self {
        Self::forwarded(spec, None)
    }

    /// GPUs of a program that may be fast-forwarded.
    pub fn forwarded(spec: GpusSpec, forward: Option<Forward>) -> Self {
        Self(Rc::new(Books {
            spec,
            transfers: RefCell::default(),
            pinned: RefCell::default(),
            held: RefCell::default(),
            ended: RefCell::default(),
            under_way: Cell::new(0),
            attention: Cell::new(false),
            front_end: RefCell::new(None),
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
            match order {
                Order::Kernel(job) => {
                    let front_end = self.0.front_end.borrow();
                    front_end.as_ref().expect("GPUs in time have a front end").submit(*job);
                }
                Order::Transfer(order) => {
                    self.0.transfers.borrow_mut().push_back(order);
                    self.0.transfer.borrow().iter().for_each(EventCount::advance);
                }
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

    /// Kernels go to this front end.
    pub fn launch_by(&self, front_end: FrontEnd) {
        *self.0.front_end.borrow_mut() = Some(front_end);
    }
}

impl Gpus for ModelGpus {
    fn plan(&self, dispatch: &Dispatch) -> Plan {
        Plan::for_waves(dispatch, self.0.spec.wavefronts)
    }

    fn start(&mut self, launch: u64, ready: Ready, guest: &mut dyn GuestMemory, _: Time) -> Result<(), Broken> {
        let code = ready.program.code_of(ready.dispatch.kernel()).map_err(|error| Broken(error.to_string()))?;
        let kernel = Kernel { dispatch: ready.dispatch, places: ready.places, code: Arc::clone(code) };
        let scratch = (ready.places.scratch, Bytes(ready.places.scratch_size));
        let mut pages = Vec::new();
        for (base, size) in ready.reach.iter().copied().chain([scratch]) {
            let first = base.0 / PAGE * PAGE;
            pages.extend((first..base.0 + size.0).step_by(PAGE as usize).filter_map(|page| place(guest, page)));
        }
        let is_touched = |page: VirtAddr| {
            let behind = ready.touched.partition_point(|(base, _)| *base <= page);
            behind.checked_sub(1).map(|at| ready.touched[at]).is_some_and(|(base, size)| page < base + size)
        };
        let touched = pages.iter().filter(|(at, ..)| is_touched(*at)).map(|(_, place, ..)| *place).collect();
        let reached = pages.iter().map(|(_, place, ..)| *place).collect();
        let maps = vec![Arc::new(AddressMap::of_pages(pages.into_iter()))];
        let own = self.clone();
        let over = Box::new(move |start, end| own.end(launch, start, end));
        let (gpu, warm_up) = (ready.gpu, ready.warm_up);
        let job = Job { kernel, maps, gpu, others_wrote: false, touched, reached, warm_up, over };
        self.hold(Order::Kernel(Box::new(job)));
        Ok(())
    }

    fn transfers(&self) -> bool {
        self.0.transfer.borrow().is_some()
    }

    fn transfer(&mut self, launch: u64, transfer: Transfer, guest: &mut dyn GuestMemory) -> Result<(), Fault> {
        let (order, pages) = dma::Order::new(launch, transfer, guest)?;
        self.0.pinned.borrow_mut().insert(launch, pages);
        self.hold(Order::Transfer(order));
        Ok(())
    }

    fn work(&mut self, guest: &mut dyn GuestMemory, _: Time, _: u64) -> Done {
        let ended = self.0.ended.take();
        for ended in &ended {
            let pages = self.0.pinned.borrow_mut().remove(&ended.launch);
            pages.into_iter().flatten().for_each(|page| guest.unpin(page));
        }
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

/// A page of the process, which devices share from now on. What the program has unmapped by itself a kernel can't reach.
fn place(guest: &mut dyn GuestMemory, page: u64) -> Option<(VirtAddr, PhysAddr, Bytes, bool)> {
    let at = VirtAddr(page);
    let (place, writable) = match guest.physical(at, true)? {
        Ok(place) => (place, true),
        Err(_) => (guest.physical(at, false)?.ok()?, false),
    };
    guest.share(place);
    Some((at, place, Bytes(PAGE), writable))
}
