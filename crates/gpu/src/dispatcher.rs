//! The front end of a GPU: a command processor that starts kernels, and a dispatcher that deals their workgroups.
//!
//! Before a kernel, first-level caches forget what they hold; after it, everything written has arrived where the host
//! will read it. Compute units tell their caches, and report back.

use crate::{
    compute_unit::{Command, Completion, ComputeUnitSpec, FromDispatcher, Running},
    kernel::Kernel,
    map::AddressMap,
    resources::{Books, Needs, Simds},
};
use engine::{
    Context, Counter, Cycles, EventCount, Histogram, Inlet, Lane, LinkReceiver, LinkSender, LinkSpec, Model, Outlet,
    Queue, Scope,
};
use interconnect::{HEADER, Wire};
use mem::Access;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// From the machine file.
#[derive(Clone, Copy, Debug)]
pub struct DispatcherSpec {
    /// From the command to the first workgroup: of the first kernel, and of those that follow.
    pub first_launch: Cycles,
    pub launch: Cycles,
    /// From one workgroup to the next.
    pub interval: Cycles,
    /// Whether first-level caches are invalidated before each kernel.
    pub invalidate: bool,
}

/// A kernel, or a GPU's share of one.
pub struct Launch {
    pub kernel: Kernel,
    /// What it may touch.
    pub map: Arc<AddressMap>,
    /// The number of this GPU among those over which workgroups are dealt in turn, and how many these are.
    pub share: (u64, u64),
    pub forget: Forget,
}

/// What caches forget before a kernel starts, beside what an acquire has them forget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forget {
    Nothing,
    /// What the shared caches hold: others have written to memory.
    Shared,
    /// Everything: others have written to memory, and an acquire does not have first-level caches forget.
    Everything,
}

/// What a GPU is given to do.
pub enum Work {
    Launch(Box<Launch>),
    /// Write back what the shared caches hold: every GPU that had a share of the kernel has come to its end.
    Flush,
}

/// The dispatcher's end of a wire to a compute unit, and the unit's end, to be taken to their partitions.
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
    commands: Outlet<Command>,
    completions: Inlet<Completion>,
    books: Books,
    /// Workgroups that are there: what they take, and where.
    running: FxHashMap<u64, (Needs, Simds)>,
}

pub struct Dispatcher {
    spec: DispatcherSpec,
    /// What it is given to do, and how much of that is done.
    work: Queue<Work>,
    done: EventCount,
    units: Vec<Unit>,
    bell: EventCount,
    /// Orders that have not been reported as done.
    orders: usize,
    /// Workgroups that have started and not ended.
    under_way: u64,
    /// From the command to the end of everything a kernel needs.
    kernel_cycles: Histogram,
    workgroups: Counter,
}

impl Dispatcher {
    pub fn new(
        spec: DispatcherSpec,
        (work, done): (Queue<Work>, EventCount),
        units: Vec<DispatcherEnd>,
        unit_spec: ComputeUnitSpec,
        scope: &Scope,
    ) -> Self {
        let bell = scope.eventcount("work");
        let units = units.into_iter().map(|DispatcherEnd(commands, completions)| {
            let (commands, completions) = (scope.sender(commands), scope.receiver(completions));
            completions.ring(&bell);
            Unit { commands, completions, books: Books::new(unit_spec), running: FxHashMap::default() }
        });
        let units = units.collect();
        let (kernel_cycles, workgroups) = (scope.histogram("kernel_cycles"), scope.counter("workgroups"));
        Self { spec, work, done, units, bell, orders: 0, under_way: 0, kernel_cycles, workgroups }
    }

    pub async fn run(mut self, cx: Context) {
        let mut launches = 0;
        cx.provides(&self.done);
        loop {
            let launch = match self.work.recv().await {
                Work::Launch(launch) => *launch,
                Work::Flush => {
                    self.order_below(Access::Flush, &cx).await;
                    self.done.advance();
                    continue;
                }
            };
            let start = cx.now().0;
            let running = Arc::new(Running::new(launch.kernel, launch.map));
            self.tell_all(Command::Launch).await;
            launches += 1;
            cx.pause(if launches == 1 { self.spec.first_launch } else { self.spec.launch }).await;
            if self.spec.invalidate {
                self.order(Access::Invalidate, mem::Scope::Device, &cx).await;
                match launch.forget {
                    Forget::Nothing => {}
                    Forget::Shared => self.order_below(Access::Invalidate, &cx).await,
                    Forget::Everything => self.order(Access::Invalidate, mem::Scope::System, &cx).await,
                }
            }
            self.tell_all(Command::Launched).await;
            if let Err(message) = self.deal(&running, launch.share, &cx).await {
                return cx.fail(message);
            }
            // Everything must have left the first caches before the shared ones below are told.
            self.order(Access::Flush, mem::Scope::Device, &cx).await;
            if launch.share.1 == 1 {
                self.order_below(Access::Flush, &cx).await;
            }
            self.kernel_cycles.record(cx.now().0 - start);
            self.done.advance();
        }
    }

    /// Deals this GPU's workgroups of a kernel to the compute units in turn, and waits until all have ended.
    async fn deal(&mut self, running: &Arc<Running>, (own, gpus): (u64, u64), cx: &Context) -> Result<(), String> {
        let (count, mut turn) = (self.units.len(), 0);
        let groups = running.kernel().groups();
        cx.expect(groups.saturating_sub(own).div_ceil(gpus));
        for index in (own..groups).step_by(gpus as usize) {
            let needs = Needs::of(running.kernel(), running.kernel().group_id(index));
            if !self.units[0].books.could_ever(&needs) {
                let name = running.kernel().name();
                return Err(format!("a workgroup of '{name}' does not fit a compute unit of this machine: {needs:?}"));
            }
            loop {
                cx.did(self.hear());
                let seen = self.bell.count();
                let free = (0..count).map(|n| (turn + n) % count);
                let taken = free.into_iter().find_map(|unit| Some((unit, self.units[unit].books.take(&needs)?)));
                let Some((unit, simds)) = taken else {
                    self.rest(seen + 1, cx).await;
                    continue;
                };
                let start = Command::Start { running: Arc::clone(running), index, simds: simds.clone() };
                self.units[unit].running.insert(index, (needs, simds));
                self.units[unit].commands.send(Lane::Request, start, HEADER).await;
                self.under_way += 1;
                self.workgroups.increment();
                turn = unit + 1;
                break;
            }
            cx.pause(self.spec.interval).await;
        }
        loop {
            let seen = self.bell.count();
            cx.did(self.hear());
            if self.under_way == 0 {
                return Ok(());
            }
            self.rest(seen + 1, cx).await;
        }
    }

    /// Waits for reports of compute units.
    async fn rest(&self, value: u64, cx: &Context) {
        while self.bell.rest(value).await {
            for unit in &self.units {
                let what = match unit.running.len() {
                    0 if self.orders == 0 => continue,
                    0 => "its caches to carry out an order".to_owned(),
                    workgroups => format!("{workgroups} workgroups to end"),
                };
                cx.needs_of_receiver(what, &unit.commands, Lane::Request);
            }
        }
    }

    /// Takes down what compute units report; says how many workgroups have ended.
    fn hear(&mut self) -> u64 {
        let before = self.under_way;
        for unit in &mut self.units {
            while let Some(completion) = unit.completions.try_recv(Lane::Reply) {
                match completion {
                    Completion::Order => self.orders -= 1,
                    Completion::Workgroup { index } => {
                        let (needs, simds) = unit.running.remove(&index).expect("what has ended was started");
                        unit.books.give_back(&needs, &simds);
                        self.under_way -= 1;
                    }
                }
            }
        }
        before - self.under_way
    }

    async fn tell_all(&self, command: Command) {
        for unit in &self.units {
            unit.commands.send(Lane::Request, command.clone(), HEADER).await;
        }
    }

    /// Has every unit tell its caches, and waits until all have done it.
    async fn order(&mut self, access: Access, scope: mem::Scope, cx: &Context) {
        self.orders = self.units.len();
        self.tell_all(Command::Order { access, scope }).await;
        self.await_orders(cx).await;
    }

    /// Has the shared caches told, by way of one unit.
    async fn order_below(&mut self, access: Access, cx: &Context) {
        self.orders = 1;
        let order = Command::Order { access, scope: mem::Scope::System };
        self.units[0].commands.send(Lane::Request, order, HEADER).await;
        self.await_orders(cx).await;
    }

    async fn await_orders(&mut self, cx: &Context) {
        loop {
            let seen = self.bell.count();
            self.hear();
            if self.orders == 0 {
                return;
            }
            self.rest(seen + 1, cx).await;
        }
    }
}
