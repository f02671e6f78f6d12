//! The dispatcher of a GPU: carries out the commands of its command processor and dispatches the workgroups of kernels.
//!
//! Before a kernel, first-level caches are invalidated. After it, all written data has arrived where the host will read
//! it. The dispatcher sends these cache orders to the compute units, which pass them to their caches and report back.

use crate::{
    command_processor::{CommandProcessor, Forget, Launch, Progress, Recalled, Recalls},
    compute_unit::{Command, Completion, ComputeUnitSpec, FromDispatcher, Running},
    resources::{Books, Needs, Simds},
};
use engine::{
    Context, Counter, Cycles, EventCount, Histogram, Inlet, Lane, LinkReceiver, LinkSender, LinkSpec, Model, Outlet,
    Scope,
};
use interconnect::{HEADER, Wire};
use mem::{Access, PhysAddr};
use rustc_hash::FxHashMap;
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
};

/// The parameters of a dispatcher, from the machine file.
#[derive(Clone, Copy, Debug)]
pub struct DispatcherSpec {
    /// From the command to the first workgroup: for the first kernel, and for those that follow.
    pub first_launch: Cycles,
    pub launch: Cycles,
    /// Workgroups are dispatched in groups of `burst`, with this much time between groups.
    pub interval: Cycles,
    pub burst: u64,
    /// From the end of the last workgroup until the kernel has ended.
    pub finish: Cycles,
    pub write_back: WriteBack,
    /// Whether first-level caches are invalidated before each kernel.
    pub invalidate: bool,
    /// Number of kernels that can run concurrently.
    pub kernels: usize,
    pub placement: Placement,
    /// How many workgroups that follow each other a GPU of several that run a kernel together gets at a time.
    pub deal: u64,
}

/// When the shared caches write back what a kernel has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteBack {
    /// Before the kernel has ended.
    Within,
    /// After the kernel has ended, before the host may read it, on the request of the element that launched the kernel.
    After,
}

/// Which compute unit a workgroup goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The next compute unit, round-robin, that has space.
    Free,
    /// Workgroups are assigned to the compute units strictly round-robin; a workgroup waits until its unit has space.
    Bound,
}

/// The two ends of a wire between the dispatcher and a compute unit, to be placed in their partitions.
pub struct DispatcherEnd(LinkSender<Command>, LinkReceiver<Completion>);
pub struct UnitEnd(LinkSender<Completion>, LinkReceiver<Command>);

/// Declares the wire between the dispatcher and a compute unit.
pub fn link(model: &mut Model, name: &str, spec: LinkSpec) -> (DispatcherEnd, UnitEnd) {
    let (commands, obeyed) = model.link(format!("{name}.commands"), spec);
    let (reports, heard) = model.link(format!("{name}.reports"), spec);
    (DispatcherEnd(commands, heard), UnitEnd(reports, obeyed))
}

impl UnitEnd {
    /// Puts the end in place.
    pub fn place(self, scope: &Scope) -> FromDispatcher {
        FromDispatcher(Wire { from: scope.receiver(self.1), to: scope.sender(self.0) })
    }
}

/// A compute unit, as the dispatcher sees it.
struct Unit {
    completions: Inlet<Completion>,
    books: Books,
    /// Workgroups running there, by grid and number within the grid: their resources and their SIMDs.
    running: FxHashMap<(u64, u64), (Needs, Simds)>,
}

/// Dispatches the workgroups of kernels to compute units.
pub struct Dispatcher {
    spec: DispatcherSpec,
    commands: Vec<Outlet<Command>>,
    units: RefCell<Vec<Unit>>,
    bell: EventCount,
    /// Launches so far.
    launches: Cell<u64>,
    /// Units whose caches have not completed the current order; there is one order at a time.
    orders: Cell<usize>,
    is_ordering: Cell<bool>,
    order_over: EventCount,
    /// For each grid, the workgroups that have started and not ended.
    under_way: RefCell<FxHashMap<u64, u64>>,
    /// From the command until the kernel has ended and its caches have been flushed.
    kernel_cycles: Histogram,
    workgroups: Counter,
}

impl Dispatcher {
    /// Builds the dispatcher at `scope`, and returns its command processor.
    pub fn build(
        spec: DispatcherSpec,
        units: Vec<DispatcherEnd>,
        unit_spec: ComputeUnitSpec,
        scope: &Scope,
    ) -> CommandProcessor {
        let bell = scope.eventcount("work");
        let (mut commands, mut known) = (Vec::new(), Vec::new());
        for DispatcherEnd(told, reports) in units {
            let completions = scope.receiver(reports);
            completions.ring(&bell);
            commands.push(scope.sender(told));
            known.push(Unit { completions, books: Books::new(unit_spec), running: FxHashMap::default() });
        }
        let own = Rc::new(Self {
            spec,
            commands,
            units: RefCell::new(known),
            bell,
            launches: Cell::new(0),
            orders: Cell::new(0),
            is_ordering: Cell::new(false),
            order_over: scope.eventcount("order_over"),
            under_way: RefCell::default(),
            kernel_cycles: scope.histogram("kernel_cycles"),
            workgroups: scope.counter("workgroups"),
        });
        let processor = CommandProcessor::new(spec.kernels, scope);
        for slot in 0..spec.kernels {
            let (own, processor) = (Rc::clone(&own), processor.clone());
            let run = |cx| async move { own.run(&processor, slot, cx).await };
            match slot {
                0 => scope.serve("control", run),
                _ => scope.serve(("control", slot), run),
            }
        }
        let (flushing, flushes) = (Rc::clone(&own), Rc::clone(&processor.flushes));
        scope.serve("flush", |cx| async move { flushing.flush(&flushes, cx).await });
        let recalls = Rc::clone(&processor.recalls);
        scope.serve("recall", |cx| async move { own.recall(&recalls, cx).await });
        processor
    }

    /// Runs the kernels of a slot.
    async fn run(&self, processor: &CommandProcessor, slot: usize, cx: Context) {
        cx.provides(&processor.slots[slot].progress.done);
        loop {
            let launch = processor.next(slot).await;
            if let Err(message) = self.launch(launch, &cx).await {
                return cx.fail(message);
            }
            processor.end(slot);
        }
    }

    /// Flushes the shared caches once for each request.
    async fn flush(&self, Progress { given, done }: &Progress, cx: Context) {
        cx.provides(done);
        loop {
            given.wait(done.count() + 1).await;
            self.order_below(Access::Flush, None, &cx).await;
            done.advance();
        }
    }

    /// Recalls pages as requested. First-level caches complete their stores to the pages and invalidate them; shared
    /// caches write them back and invalidate them. Or shared caches invalidate all that they hold.
    async fn recall(&self, recalls: &Recalls, cx: Context) {
        cx.provides(&recalls.progress.done);
        loop {
            let (caches, pages) = recalls.next().await;
            if caches == Recalled::Stale {
                self.order_below(Access::Invalidate, None, &cx).await;
            }
            for page in pages {
                for access in [Access::Flush, Access::Invalidate] {
                    match caches {
                        Recalled::FirstLevel => self.order(access, mem::Scope::Device, Some(page), &cx).await,
                        Recalled::Shared => self.order_below(access, Some(page), &cx).await,
                        Recalled::Written if access == Access::Flush => {
                            self.order_below(access, Some(page), &cx).await;
                        }
                        Recalled::Written | Recalled::Stale => {}
                    }
                }
            }
            recalls.progress.done.advance();
        }
    }

    async fn launch(&self, launch: Launch, cx: &Context) -> Result<(), String> {
        let _kernel = cx.span("kernel");
        let start = cx.now().0;
        let grid = self.launches.get();
        self.launches.set(grid + 1);
        let running = Arc::new(Running::new(launch.kernel, launch.map, grid));
        self.tell_all(Command::Launch).await;
        cx.pause(if grid == 0 { self.spec.first_launch } else { self.spec.launch }).await;
        if self.spec.invalidate {
            self.order(Access::Invalidate, mem::Scope::Device, None, cx).await;
            match launch.forget {
                Forget::Nothing => {}
                Forget::Shared => self.order_below(Access::Invalidate, None, cx).await,
                Forget::Everything => self.order(Access::Invalidate, mem::Scope::System, None, cx).await,
            }
        }
        self.tell_all(Command::Launched).await;
        self.deal(&running, launch.share, cx).await?;
        // All data must have left the first-level caches before the shared caches are flushed.
        self.order(Access::Flush, mem::Scope::Device, None, cx).await;
        if launch.share.1 == 1 && launch.flush {
            self.order_below(Access::Flush, None, cx).await;
        }
        if self.spec.finish.0 > 0 {
            // To a compute unit without wavefronts, the end of a kernel is a part of its launch.
            self.tell_all(Command::Launch).await;
            cx.pause(self.spec.finish).await;
            self.tell_all(Command::Launched).await;
        }
        self.kernel_cycles.record(cx.now().0 - start);
        Ok(())
    }

    /// Dispatches this GPU's workgroups of a kernel to the compute units, round-robin, and waits until all have ended.
    async fn deal(&self, running: &Arc<Running>, (own, gpus): (u64, u64), cx: &Context) -> Result<(), String> {
        let (count, mut turn) = (self.commands.len(), 0);
        let (groups, grid) = (running.kernel().groups(), running.grid());
        let deal = self.spec.deal;
        let firsts = (own * deal..groups).step_by((gpus * deal) as usize);
        let indices = firsts.flat_map(|first| first..(first + deal).min(groups));
        cx.expect(indices.clone().count() as u64);
        for (place, index) in indices.enumerate() {
            let needs = Needs::of(running.kernel(), running.kernel().group_id(index));
            if !self.units.borrow()[0].books.could_ever(&needs) {
                let name = running.kernel().name();
                return Err(format!("a workgroup of '{name}' does not fit a compute unit of this machine: {needs:?}"));
            }
            loop {
                cx.did(self.hear());
                let seen = self.bell.count();
                let Some((unit, simds)) = self.take(turn, &needs) else {
                    self.rest(seen + 1, cx).await;
                    continue;
                };
                let start = Command::Start { running: Arc::clone(running), index, simds: simds.clone() };
                self.units.borrow_mut()[unit].running.insert((grid, index), (needs, simds));
                *self.under_way.borrow_mut().entry(grid).or_default() += 1;
                self.commands[unit].send(Lane::Request, start, HEADER).await;
                self.workgroups.increment();
                turn = (unit + 1) % count;
                break;
            }
            if (place as u64 + 1).is_multiple_of(self.spec.burst) && self.spec.interval.0 > 0 {
                cx.pause(self.spec.interval).await;
            }
        }
        loop {
            let seen = self.bell.count();
            cx.did(self.hear());
            if !self.under_way.borrow().contains_key(&grid) {
                return Ok(());
            }
            self.rest(seen + 1, cx).await;
        }
    }

    /// Finds a unit with space for a workgroup, from `turn` on, and allocates that space.
    fn take(&self, turn: usize, needs: &Needs) -> Option<(usize, Simds)> {
        let mut units = self.units.borrow_mut();
        let count = units.len();
        let candidates = if self.spec.placement == Placement::Bound { 1 } else { count };
        (0..candidates).map(|n| (turn + n) % count).find_map(|unit| Some((unit, units[unit].books.take(needs)?)))
    }

    /// Waits for reports of compute units.
    async fn rest(&self, value: u64, cx: &Context) {
        while self.bell.rest(value).await {
            for (unit, commands) in self.units.borrow().iter().zip(&self.commands) {
                let what = match unit.running.len() {
                    0 if self.orders.get() == 0 => continue,
                    0 => "its caches to carry out an order".to_owned(),
                    workgroups => format!("{workgroups} workgroups to end"),
                };
                cx.needs_of_receiver(what, commands, Lane::Request);
            }
        }
    }

    /// Processes the reports of compute units. Returns how many workgroups have ended.
    fn hear(&self) -> u64 {
        let (mut units, mut under_way, mut ended) = (self.units.borrow_mut(), self.under_way.borrow_mut(), 0);
        for unit in units.iter_mut() {
            while let Some(completion) = unit.completions.try_recv(Lane::Reply) {
                match completion {
                    Completion::Order => self.orders.set(self.orders.get() - 1),
                    Completion::Workgroup { grid, index } => {
                        let (needs, simds) = unit.running.remove(&(grid, index)).expect("what has ended was started");
                        unit.books.give_back(&needs, &simds);
                        let left = under_way.get_mut(&grid).expect("its grid is under way");
                        *left -= 1;
                        if *left == 0 {
                            under_way.remove(&grid);
                        }
                        ended += 1;
                    }
                }
            }
        }
        ended
    }

    async fn tell_all(&self, command: Command) {
        for unit in &self.commands {
            unit.send(Lane::Request, command.clone(), HEADER).await;
        }
    }

    /// Sends an order to the caches of every unit, and waits until all have completed it.
    async fn order(&self, access: Access, scope: mem::Scope, page: Option<PhysAddr>, cx: &Context) {
        self.begin_order(self.commands.len()).await;
        self.tell_all(Command::Order { access, scope, page }).await;
        self.await_orders(cx).await;
    }

    /// Sends an order to the shared caches by way of one unit.
    async fn order_below(&self, access: Access, page: Option<PhysAddr>, cx: &Context) {
        self.begin_order(1).await;
        let order = Command::Order { access, scope: mem::Scope::System, page };
        self.commands[0].send(Lane::Request, order, HEADER).await;
        self.await_orders(cx).await;
    }

    /// Waits until no other order is in progress.
    async fn begin_order(&self, units: usize) {
        while self.is_ordering.get() {
            self.order_over.next().await;
        }
        self.is_ordering.set(true);
        self.orders.set(units);
    }

    async fn await_orders(&self, cx: &Context) {
        loop {
            let seen = self.bell.count();
            cx.did(self.hear());
            if self.orders.get() == 0 {
                break;
            }
            self.rest(seen + 1, cx).await;
        }
        self.is_ordering.set(false);
        self.order_over.advance();
    }
}
