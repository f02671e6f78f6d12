//! A machine whose compute units and cores are replaced by testers that access few lines in every way at random.
//!
//! Rounds of loads, stores and atomic accesses, in which all testers race for the same lines and bytes, alternate with
//! synchronisations like those at the start and end of a kernel. A core is replaced by two testers, one at its data cache
//! and one that loads code, which the others write; a DMA engine by one more. If a machine can flush its CPU's caches, a
//! context does so at random moments. Every read is compared with the golden image, and the engine reports a deadlock if
//! an access never ends. With small caches and short queues this reaches corners of a memory system in seconds that
//! programs do not reach in hours.

mod book;
mod front_end;
mod measured;
mod migrator;
mod paged_tester;

pub(crate) use book::Book;
pub(crate) use front_end::FrontEnd;
pub(crate) use measured::{MANY, Migrated, OneMigration};
pub(crate) use migrator::{Migrator, Pages, Recalls};
pub(crate) use paged_tester::{PagedPlace, PagedTester};

use crate::{
    build::{self, Agents, Memories},
    golden::Kept,
    plan::Boundary,
    session::{Options, run_options},
    spec::Machine,
};
use engine::{
    Context, Counter, Inlet, Lane, LinkReceiver, LinkSender, LinkSpec, Model, Outcome, Outlet, Run, Scope, Time,
};
use interconnect::{HEADER, Reporter, Wire};
use mem::{
    Access, Asid, Atomic, AtomicOp, Block, LINE, LineAddr, Mask, PAGE, PhysAddr, Reply, Request, RequestId, Seen,
    VirtAddr,
};
use rand_pcg::{
    Pcg64Mcg,
    rand_core::{RngCore, SeedableRng},
};
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU8, Ordering},
};

/// The accesses that testers perform.
#[derive(Clone, Copy, Debug)]
pub struct Stress {
    /// Approximate number of accesses of all testers together.
    pub operations: u64,
    pub seed: u64,
    /// How many lines are accessed.
    pub lines: u64,
    /// Accesses of one tester between two synchronisations.
    pub round: u64,
    /// Accesses of one tester that may be in flight.
    pub outstanding: usize,
}

impl Stress {
    /// No accesses.
    pub(crate) const NOTHING: Self = Self { operations: 0, seed: 0, lines: 1, round: 1, outstanding: 1 };
}

/// Runs testers on a machine; how it ended is in the run's outcome.
pub fn stress(machine: &Machine, stress: Stress, options: &Options) -> Run {
    stress_on(machine, &Memories::new(machine), stress, options)
}

/// An order that the driver of [`stress_pages`] omits whenever it recalls pages, to test that the checks detect the
/// omission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgotten {
    /// Caches do not write back.
    Flush,
    /// Caches do not forget lines.
    Invalidation,
    /// TLBs do not forget pages.
    Shootdown,
}

/// Whether a driver can move pages of this machine while testers access them: accesses to absent pages fault, and the GPUs
/// are on a fabric or have virtual caches.
pub fn moves_pages(machine: &Machine) -> bool {
    let faults = machine.iommu().is_some_and(|iommu| iommu.faults());
    (machine.fabric.is_some() || machine.fbt.is_some()) && machine.cpu.is_none() && faults
}

/// Runs testers whose pages a driver moves between memories all the time, on a machine that [can](moves_pages). They know
/// virtual addresses only: an access to a page that their GPU's table lacks waits for the driver.
pub fn stress_pages(machine: &Machine, stress: Stress, forgets: Option<Forgotten>, options: &Options) -> Run {
    // Virtual caches do not know the physical addresses of what testers write, so testers check their reads themselves.
    let options = Options { check: options.check && machine.fbt.is_none(), ..options.clone() };
    run_checked(machine, &Memories::new(machine), Agents::PagedTesters(stress, forgets), &options)
}

fn stress_on(machine: &Machine, memories: &Memories, stress: Stress, options: &Options) -> Run {
    run_checked(machine, memories, Agents::Testers(stress), options)
}

fn run_checked(machine: &Machine, memories: &Memories, agents: Agents, options: &Options) -> Run {
    let kept = options.check.then(Kept::default);
    let model = build::build(machine, memories, kept.clone(), agents);
    let mut run = model.run(&run_options(options));
    if run.outcome == Outcome::Finished
        && let Some(Err(message)) = kept.map(|kept| kept.compare(&memories.all()))
    {
        run.outcome = Outcome::Failed { time: run.end, context: "check".to_owned(), message };
    }
    run
}

/// Tests whether a release and an acquire alone make a write visible to another GPU. A compute unit of the first GPU writes
/// a byte that a unit of the last GPU has read before, and releases it with system scope; the other unit acquires and
/// reads again. Returns the value read: 1, or 0 if it is still the old one.
pub fn message_passing(machine: &Machine, options: &Options) -> Result<u8, Box<Outcome>> {
    let memories = Memories::new(machine);
    let read = Arc::new(AtomicU8::new(u8::MAX));
    let model = build::build(machine, &memories, None, Agents::Writer(Arc::clone(&read)));
    match model.run(&run_options(options)).outcome {
        Outcome::Finished => Ok(read.load(Ordering::Relaxed)),
        other => Err(Box::new(other)),
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Command {
    /// Access memory at random.
    Play,
    /// Access the first line.
    Access(Access, mem::Scope, Block<LINE>),
    /// Read lines one after the other.
    Stream(Lines),
    /// Have caches do something about a page of memory, while others play. Travels apart from the others.
    Page(Access, mem::Scope, PhysAddr),
}

/// Lines that a tester reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines {
    pub first: u64,
    pub count: u64,
    pub outstanding: usize,
}

/// Testers that read at the same time: each by its group and its number there, with what it reads.
pub(crate) type Stream = Vec<((usize, usize), Lines)>;

/// The first byte that a tester's last read returned.
type Read = u8;

/// The ends of a wire between the conductor and a tester.
pub(crate) struct ConductorEnd(LinkSender<Command>, LinkReceiver<Read>);
pub(crate) struct TesterEnd(LinkSender<Read>, LinkReceiver<Command>);

pub(crate) fn link(model: &mut Model, name: &str, spec: LinkSpec) -> (ConductorEnd, TesterEnd) {
    let (commands, obeyed) = model.link(format!("{name}.commands"), spec);
    let (reports, heard) = model.link(format!("{name}.reports"), spec);
    (ConductorEnd(commands, heard), TesterEnd(reports, obeyed))
}

/// Tells the testers what to do.
pub(crate) struct Conductor {
    pub stress: Stress,
    /// The wires to the testers of each GPU, and to those of the CPU with the front end before them.
    groups: Vec<Vec<(Outlet<Command>, Inlet<Read>)>>,
    boundary: Boundary,
    observer: Option<Reporter>,
    /// The driver that moves the testers' pages during the run, if there is one.
    pub pages: Option<Pages>,
}

impl Conductor {
    pub fn new(
        stress: Stress,
        testers: Vec<Vec<ConductorEnd>>,
        boundary: Boundary,
        observer: Option<Reporter>,
        scope: &Scope,
    ) -> Self {
        let place = |ConductorEnd(commands, reports)| (scope.sender(commands), scope.receiver(reports));
        let groups = testers.into_iter().map(|testers| testers.into_iter().map(place).collect()).collect();
        Self { stress, groups, boundary, observer, pages: None }
    }

    /// The wires to the testers of a GPU.
    pub fn group(&self, gpu: usize) -> Vec<(Outlet<Command>, Inlet<Read>)> {
        self.groups[gpu].clone()
    }

    pub async fn run(self, cx: Context) {
        let testers: usize = self.groups.iter().map(Vec::len).sum();
        let rounds = self.stress.operations.div_ceil(self.stress.round * testers as u64);
        for _ in 0..rounds {
            self.pages.iter().for_each(Pages::begin);
            self.tell(Command::Play, usize::MAX).await;
            if let Some(pages) = &self.pages {
                pages.end().await;
            }
            self.order(Access::Flush, mem::Scope::Device, usize::MAX).await;
            self.order(Access::Flush, mem::Scope::System, 1).await;
            if self.boundary.flushes > 1 {
                // A home may have flushed before a write of another GPU arrived there.
                self.order(Access::Flush, mem::Scope::System, 1).await;
            }
            self.observed(if self.boundary.keeps { Seen::Released } else { Seen::Synchronised });
            if self.boundary.stale_copies {
                // In protocols with logical time, every compute unit must learn that memory has changed.
                let first = if self.boundary.others_wrote == gpu::Forget::Everything { usize::MAX } else { 1 };
                self.order(Access::Invalidate, mem::Scope::System, first).await;
            }
            self.order(Access::Invalidate, mem::Scope::Device, usize::MAX).await;
            cx.progress();
        }
        if self.boundary.keeps {
            // At the end, all writes must be in memory.
            self.order(Access::Invalidate, mem::Scope::System, 1).await;
            self.observed(Seen::Synchronised);
        }
    }

    fn observed(&self, seen: Seen) {
        if let Some(observer) = &self.observer {
            observer.tell(LineAddr(0), seen);
        }
    }

    /// Passes a message from the first GPU to the last.
    pub async fn pass(self, read: Arc<AtomicU8>) {
        let (first, last) = (&self.groups[0][0], &self.groups[self.groups.len() - 1][0]);
        let byte = Block::one(0, 1);
        let say = async |(commands, reports): &(Outlet<Command>, Inlet<Read>), access, scope, data| {
            commands.send(Lane::Request, Command::Access(access, scope, data), HEADER).await;
            reports.recv(Lane::Reply).await
        };
        say(last, Access::Load, mem::Scope::Group, byte).await;
        say(first, Access::Store, mem::Scope::Group, byte).await;
        say(first, Access::Flush, mem::Scope::System, Block::EMPTY).await;
        say(last, Access::Invalidate, mem::Scope::Device, Block::EMPTY).await;
        read.store(say(last, Access::Load, mem::Scope::Group, byte).await, Ordering::Relaxed);
    }

    /// Has testers read, and leaves how long each stream took them.
    pub async fn stream(self, streams: Vec<Stream>, took: Arc<Mutex<Vec<Time>>>, cx: Context) {
        for stream in streams {
            let (begun, testers) = (cx.time(), stream.iter().map(|((group, number), _)| &self.groups[*group][*number]));
            for ((commands, _), (_, lines)) in testers.clone().zip(&stream) {
                commands.send(Lane::Request, Command::Stream(*lines), HEADER).await;
            }
            for (_, reports) in testers {
                reports.recv(Lane::Reply).await;
            }
            took.lock().unwrap_or_else(PoisonError::into_inner).push(Time(cx.time().0 - begun.0));
            cx.progress();
        }
    }

    async fn order(&self, access: Access, scope: mem::Scope, first: usize) {
        self.tell(Command::Access(access, scope, Block::EMPTY), first).await;
    }

    /// Sends a command to the first `first` testers of each group, and waits until they have carried it out.
    async fn tell(&self, command: Command, first: usize) {
        for (commands, _) in self.groups.iter().flat_map(|testers| testers.iter().take(first)) {
            commands.send(Lane::Request, command, HEADER).await;
        }
        for (_, reports) in self.groups.iter().flat_map(|testers| testers.iter().take(first)) {
            reports.recv(Lane::Reply).await;
        }
    }
}

/// Lines that are stored to in one go now and then: a page.
const CLEARED: u64 = PAGE / LINE as u64;

/// Whose place a tester takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// A compute unit's, at its vector cache. Whether lanes ask there one by one.
    Unit { by_lane: bool },
    /// A compute unit's, of this number among those of all GPUs; its pages are moved.
    Paged { by_lane: bool, number: usize },
    /// A core's, at its data cache: stores are performed in order, and an atomic access is a locked load and a store.
    Data,
    /// A core's, at its instruction cache: there are only loads.
    Code,
    /// A DMA engine's, at its first cache: there are loads and stores, in any order.
    Engine,
}

/// Takes the place of a compute unit or a core.
pub(crate) struct Tester {
    stress: Stress,
    port: Port,
    /// The first addresses of the memories that it accesses; lines are dealt over them.
    zones: Vec<u64>,
    random: Pcg64Mcg,
    cache: Wire<Reply, Request>,
    commands: Inlet<Command>,
    reports: Outlet<Read>,
    next: u64,
    /// Accesses that have not been answered.
    under_way: usize,
    /// The tester's logical time, in protocols that order accesses by it.
    time: mem::Stamp,
    read: Read,
    loads: Counter,
    stores: Counter,
    atomics: Counter,
}

impl Tester {
    /// `number` is its own among all testers.
    pub fn new(
        (stress, port): (Stress, Port),
        zones: Vec<u64>,
        number: u64,
        end: TesterEnd,
        cache: Wire<Reply, Request>,
        scope: &Scope,
    ) -> Self {
        Self {
            stress,
            port,
            zones,
            random: Pcg64Mcg::seed_from_u64(stress.seed ^ number << 32),
            cache,
            commands: scope.receiver(end.1),
            reports: scope.sender(end.0),
            next: 0,
            under_way: 0,
            time: 0,
            read: 0,
            loads: scope.counter("loads"),
            stores: scope.counter("stores"),
            atomics: scope.counter("atomics"),
        }
    }

    pub async fn run(mut self, cx: Context) {
        loop {
            match self.commands.recv(Lane::Request).await {
                Command::Play => self.play(&cx).await,
                Command::Access(access, scope, data) => {
                    self.ask(access, scope, PhysAddr(0), data).await;
                    self.answers().await;
                }
                Command::Stream(lines) => self.stream(lines, &cx).await,
                Command::Page(..) => unreachable!("only testers whose pages are moved are told of pages"),
            }
            self.reports.send(Lane::Reply, self.read, HEADER).await;
        }
    }

    async fn play(&mut self, cx: &Context) {
        for _ in 0..self.stress.round {
            while self.under_way >= self.stress.outstanding || self.under_way > 0 && !self.cache.from.is_empty() {
                self.answer().await;
            }
            if self.port == Port::Data && self.one_in(16) {
                self.answers().await;
                self.change().await;
            }
            if self.port == Port::Data && self.one_in(64) {
                self.clear().await;
            }
            self.access().await;
            cx.progress();
            if self.one_in(8) {
                cx.pause(u64::from(self.below(24)) + 1).await;
            }
        }
        self.answers().await;
    }

    async fn stream(&mut self, lines: Lines, cx: &Context) {
        for number in 0..lines.count {
            while self.under_way >= lines.outstanding || self.under_way > 0 && !self.cache.from.is_empty() {
                self.answer().await;
            }
            let line = PhysAddr(lines.first + number * LINE as u64);
            self.ask(Access::Load, mem::Scope::Group, line, Block::full([0; LINE])).await;
            cx.progress();
        }
        self.answers().await;
    }

    /// Waits for all answers.
    async fn answers(&mut self) {
        while self.under_way > 0 {
            self.answer().await;
        }
    }

    async fn answer(&mut self) -> Reply {
        let reply = self.cache.from.recv(Lane::Reply).await;
        self.under_way -= 1;
        self.time = self.time.max(reply.stamp);
        self.read = reply.data.bytes()[0];
        reply
    }

    /// One access to one of the lines.
    async fn access(&mut self) {
        let line = self.any_line();
        let kind = match self.port {
            Port::Code => 0,
            Port::Engine => self.below(15),
            Port::Unit { .. } | Port::Paged { .. } | Port::Data => self.below(16),
        };
        match kind {
            0..=7 => {
                let bytes = Mask::range(self.below(LINE as u32) as usize, 1 + self.below(16) as usize);
                let scope = if self.one_in(8) { mem::Scope::Device } else { mem::Scope::Group };
                self.loads.increment();
                self.ask(Access::Load, scope, line, Block::of([0; LINE], bytes)).await;
            }
            8..=14 => {
                let bytes = Mask::range(self.below(LINE as u32) as usize, 1 + self.below(8) as usize);
                let value = self.block();
                self.stores.increment();
                self.ask(Access::Store, mem::Scope::Group, line, value.only(bytes)).await;
            }
            // A store of no bytes fetches the line for writing.
            _ if self.port == Port::Data => self.ask(Access::Store, mem::Scope::Group, line, Block::EMPTY).await,
            _ => {
                let wide = self.one_in(2);
                let size = if wide { 8 } else { 4 };
                let bytes = Mask::range(self.below(LINE as u32) as usize / size * size, size);
                let op = [AtomicOp::Add, AtomicOp::Swap, AtomicOp::Xor, AtomicOp::UnsignedMax][self.below(4) as usize];
                let operand = self.block().only(bytes);
                self.atomics.increment();
                let access = Access::Atomic(Atomic { op, wide, second: 0 });
                self.ask(access, mem::Scope::Device, line, operand).await;
            }
        }
    }

    /// Stores to line after line without waiting for any answer, as the kernel does where it clears pages: lanes fill up from the
    /// cache to the tester.
    async fn clear(&mut self) {
        let (first, lines) = (u64::from(self.below(self.stress.lines as u32)), self.stress.lines);
        for number in first..first + CLEARED {
            self.stores.increment();
            let line = self.line(number % lines);
            self.ask(Access::Store, mem::Scope::Group, line, Block::full([0; LINE])).await;
        }
    }

    /// Changes bytes of a line as one step.
    async fn change(&mut self) {
        let line = self.any_line();
        let bytes = Mask::range(self.below(LINE as u32) as usize / 8 * 8, 8);
        self.atomics.increment();
        self.ask(Access::Lock, mem::Scope::Group, line, Block::of([0; LINE], bytes)).await;
        let found = self.answer().await;
        let mut new = *found.data.bytes();
        new.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
        self.ask(Access::Store, mem::Scope::Group, line, Block::of(new, bytes)).await;
        self.answer().await;
    }

    async fn ask(&mut self, access: Access, scope: mem::Scope, line: PhysAddr, data: Block<LINE>) {
        let (id, (asid, virt)) = (RequestId(self.next), name_of(line));
        self.next += 1;
        let bytes = HEADER + data.mask().len() as u64;
        let by_lane = self.port == (Port::Unit { by_lane: true }) && matches!(access, Access::Load | Access::Store);
        let lanes = if by_lane && self.one_in(4) { 1 + self.below(63) as u8 } else { 1 };
        // An order is about all lines.
        let phys = (!matches!(access, Access::Invalidate | Access::Flush)).then_some(line);
        let request = Request { id, access, scope, asid, virt, phys, data, stamp: self.time, lanes, tlb_missed: false };
        let store = access == Access::Lock || access == Access::Store && !data.mask().is_empty();
        let lane = if self.port == Port::Data && store { Lane::Coherence } else { Lane::Request };
        // The cache may be unable to take it before its answers are taken.
        while !self.cache.to.has_room(lane) && self.under_way > 0 {
            self.answer().await;
        }
        self.cache.to.send(lane, request, bytes).await;
        self.under_way += 1;
    }

    fn any_line(&mut self) -> PhysAddr {
        let number = self.below(self.stress.lines as u32);
        self.line(number.into())
    }

    /// The line of this number.
    fn line(&self, number: u64) -> PhysAddr {
        let zones = self.zones.len() as u64;
        PhysAddr(self.zones[(number % zones) as usize] + number / zones * LINE as u64)
    }

    fn block(&mut self) -> Block<LINE> {
        let mut bytes = [0; LINE];
        self.random.fill_bytes(&mut bytes);
        Block::full(bytes)
    }

    fn below(&mut self, end: u32) -> u32 {
        ((u64::from(self.random.next_u32()) * u64::from(end)) >> 32) as u32
    }

    fn one_in(&mut self, count: u32) -> bool {
        self.below(count) == 0
    }
}

/// The name of a line: of two neighbouring pages of memory each is the same page of one of two address spaces.
fn name_of(line: PhysAddr) -> (Asid, VirtAddr) {
    let page = line.0 / PAGE;
    (Asid((page % 2) as u16), VirtAddr(page / 2 * PAGE + line.0 % PAGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_pages_are_homonyms_in_two_address_spaces() {
        let names = [0x4040, 0x5040, 0x6000].map(|line| name_of(PhysAddr(line)));
        let [a, b] = [0, 1].map(Asid);
        assert_eq!(names, [(a, VirtAddr(0x2040)), (b, VirtAddr(0x2040)), (a, VirtAddr(0x3000))]);
    }

    /// A byte in memory that no element wrote: the effect of a fetch of a wrong line, or of a misdirected write.
    #[test]
    fn a_byte_that_is_wrong_in_memory_is_noticed_wherever_cpu_and_gpu_meet() {
        for (name, who) in [("apu-c-l3", "l1"), ("apu-nc-mc", "memory0, for the ")] {
            let machine = Machine::load(name, &[]).expect("the machine is sound");
            let memories = Memories::new(&machine);
            memories.write(PhysAddr(5), &[1]);
            let what = Stress { operations: 2_000, seed: 1, lines: 4, round: 100, outstanding: 4 };
            let run = stress_on(&machine, &memories, what, &Options { check: true, ..Options::default() });
            let Outcome::Failed { message, .. } = run.outcome else { panic!("{name}: {}", run.outcome) };
            assert!(message.contains("has 0x01 at 0x5; the correct value is 0x00"), "{name}: {message}");
            assert!(message.contains(who), "{name}: {message}");
        }
    }
}
