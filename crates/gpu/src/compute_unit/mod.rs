//! A compute unit: SIMDs that take turns, units for each kind of instruction, and paths to three caches.
//!
//! One context runs the whole unit, a cycle at a time while there is something to do: answers come in, vector accesses go
//! out, instructions are issued, code is fetched. `issue.rs` holds the scheduler, `memory.rs` the accesses, `fetch.rs` the
//! instruction buffers, `account.rs` where each cycle went.
//!
//! The structure is GCN's: wavefronts belong to a SIMD; each cycle another SIMD may issue one instruction of each category,
//! the oldest wavefront first. What an instruction does is done when it is issued; its wavefront goes on when the unit
//! is through with it. Loads write their registers when the bytes have come; `s_waitcnt` is what keeps a program
//! from reading them earlier, here as there.

mod account;
mod fetch;
mod issue;
mod memory;
mod slots;
mod wave;

use crate::{
    category::{Briefs, Category},
    kernel::Kernel,
    map::AddressMap,
    resources::Simds,
};
use account::Account;
use engine::{Context, Counter, Cycles, EventCount, Inlet, Lane, Outlet, Reason, Scope, Series};
use gcn3::error::ExecError;
use interconnect::{HEADER, PATIENCE, Wire};
use mem::{Access, PhysAddr, Reply, Request};
use memory::{AccessUnderWay, Transaction};
use slots::{NEVER, Slots};
use std::{collections::VecDeque, sync::Arc};
use wave::{Wave, Workgroup};

/// From the machine file.
#[derive(Clone, Copy, Debug)]
pub struct ComputeUnitSpec {
    pub simds: usize,
    /// How many wavefronts a SIMD can hold.
    pub waves_per_simd: usize,
    /// Vector registers of a SIMD, scalar registers of the unit, bytes of its local data share.
    pub vgprs: usize,
    pub sgprs: usize,
    pub lds: u64,
    /// From the issue of an instruction until its unit has it.
    pub decode: Cycles,
    /// How long a vector instruction occupies its SIMD.
    pub vector: Cycles,
    /// How long scalar instructions, branches and accesses to the local data share take; each unit takes one a cycle.
    pub scalar: Cycles,
    pub branch: Cycles,
    pub local: Cycles,
    /// Banks of the local data share, each a word a cycle.
    pub local_banks: u32,
    /// From a vector access to the lines it asks for; after that the wavefront goes on.
    pub coalesce: Cycles,
    pub coalescer: Coalescer,
    /// How many lines may be asked for and not answered; where lanes ask for themselves, what these ask for.
    pub line_slots: usize,
    /// Bytes of code that a wavefront has ready.
    pub instruction_buffer: u64,
    /// Instructions that a wavefront may execute before its kernel counts as endless; none: any number. No property of hardware.
    pub limit: Option<u64>,
}

/// Where what the lanes of a wavefront want of one line becomes one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coalescer {
    /// In the compute unit, of all lanes at once.
    Unit,
    /// In the vector cache: each lane asks for itself, one a cycle, and what waits there for a line gets it together
    /// (`[giles 3.2.4]`).
    Cache,
}

impl ComputeUnitSpec {
    /// How many wavefronts it can hold.
    pub fn wavefronts(&self) -> usize {
        self.simds * self.waves_per_simd
    }
}

/// The caches of a compute unit.
pub struct Caches {
    pub vector: Wire<Reply, Request>,
    pub scalar: Wire<Reply, Request>,
    pub code: Wire<Reply, Request>,
}

/// A kernel with its instructions in short.
pub(crate) struct Running {
    kernel: Kernel,
    /// What it may touch.
    map: Arc<AddressMap>,
    briefs: Briefs,
    /// Its number among the launches of its GPU.
    grid: u64,
}

/// What the dispatcher tells a compute unit.
#[derive(Clone)]
pub(crate) enum Command {
    /// A kernel is being launched: cycles without a wavefront are cycles of the launch.
    Launch,
    /// From now on its workgroups are dealt, to this unit or to others.
    Launched,
    /// Tell the caches, and report when they have done it: with all that they hold, or with a page.
    Order { access: Access, scope: mem::Scope, page: Option<PhysAddr> },
    /// Start this workgroup, its wavefronts on these SIMDs.
    Start { running: Arc<Running>, index: u64, simds: Simds },
}

/// What a compute unit tells the dispatcher.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Completion {
    /// A workgroup has ended.
    Workgroup { grid: u64, index: u64 },
    /// The caches have done what was ordered.
    Order,
}

/// A wire to the dispatcher: what it carries is nobody else's affair.
pub struct FromDispatcher(pub(crate) Wire<Command, Completion>);

/// The running unit.
struct Unit {
    number: usize,
    leader: bool,
    spec: ComputeUnitSpec,
    waves: Vec<Option<Wave>>,
    slots: Slots,
    /// The slots of each SIMD's wavefronts, the oldest first.
    by_simd: Vec<Vec<usize>>,
    groups: Vec<Option<Workgroup>>,
    /// The SIMD that issued last.
    turn: usize,
    /// When each SIMD's vector unit, and each of the other units, can take another instruction.
    vector_free: Vec<u64>,
    unit_free: [u64; Category::COUNT],
    /// Vector accesses on their way to becoming lines, in order: when, and which.
    coalescing: VecDeque<(u64, usize)>,
    accesses: Vec<Option<AccessUnderWay>>,
    free_numbers: Vec<usize>,
    /// Lines to be asked for, one a cycle.
    transactions: VecDeque<Transaction>,
    /// Scalar requests that did not fit the wire yet.
    scalar_requests: VecDeque<Request>,
    /// Lines asked for and not answered.
    lines_under_way: usize,
    /// The first cycle in which all lanes that have asked have been sent.
    lanes_sent_at: u64,
    /// Wavefronts started so far.
    started: u64,
    /// The unit's logical time, in protocols that order accesses by it.
    time: mem::Stamp,
    /// Where the search for somebody to fetch for goes on.
    fetch_turn: usize,
    account: Account,
    counts: Counts,
    /// Whether this cycle issued something, whether it sent something or was about to, and whether a wire to a cache was full.
    issued: bool,
    sent: bool,
    refused: bool,
    /// To be told to the dispatcher.
    completions: Vec<Completion>,
    /// Caches that have not done what the dispatcher ordered.
    orders: usize,
    spare: Vec<gcn3::wave::Wavefront>,
}

/// What counts at a compute unit.
struct Counts {
    instructions: [Counter; Category::COUNT],
    wave_instructions: Counter,
    wavefronts: Counter,
    /// Wavefronts that are here, and instructions issued, over time.
    resident: Series,
    issued: Series,
    lines: Counter,
    lds_conflict_cycles: Counter,
    line_slots_full_cycles: Counter,
}

/// When the unit has something to do again.
enum Next {
    /// In the next cycle.
    Soon,
    /// In this cycle, unless something happens before.
    At(u64),
    /// When something happens.
    Whenever,
}

/// The ends of the wires as the running unit holds them.
struct Ends {
    vector: (Inlet<Reply>, Outlet<Request>),
    scalar: (Inlet<Reply>, Outlet<Request>),
    code: (Inlet<Reply>, Outlet<Request>),
}

/// A compute unit.
pub struct ComputeUnit {
    unit: Unit,
    ends: Ends,
    commands: Inlet<Command>,
    completions: Outlet<Completion>,
    /// Rung when something comes in: one for each thing that the unit can wait for.
    bells: [EventCount; 3],
    /// Which of them is rung.
    waits: WaitsFor,
    /// For how many cycles more it tries to send before it waits until there is room.
    patience: u32,
}

/// What a unit waits for that can do nothing by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WaitsFor {
    Work,
    /// For slots for the lines of a vector access.
    Slots,
    /// For room on the wire to one of its caches.
    Room,
}

impl ComputeUnit {
    /// Builds compute unit `number` at `scope`. The leader of those who share caches of code and scalars tells these what the
    /// dispatcher orders; everybody tells its own.
    pub fn new(
        spec: ComputeUnitSpec,
        number: usize,
        leader: bool,
        dispatcher: FromDispatcher,
        caches: Caches,
        scope: &Scope,
    ) -> Self {
        let bell = scope.eventcount("work");
        let end = |wire: Wire<Reply, Request>| {
            wire.from.ring(&bell);
            (wire.from, wire.to)
        };
        let ends = Ends { vector: end(caches.vector), scalar: end(caches.scalar), code: end(caches.code) };
        let Wire { from: commands, to: completions } = dispatcher.0;
        commands.ring(&bell);
        let by_category = ["vector", "scalar", "scalar_memory", "vector_memory", "local", "branch", "scheduler"];
        let instructions = scope.scope("instructions");
        let counts = Counts {
            instructions: by_category.map(|name| instructions.counter(name)),
            wave_instructions: scope.counter("wave_instructions"),
            wavefronts: scope.counter("wavefronts"),
            resident: scope.series("resident"),
            issued: scope.series("issued"),
            lines: scope.counter("lines_requested"),
            lds_conflict_cycles: scope.counter("lds_conflict_cycles"),
            line_slots_full_cycles: scope.counter("line_slots_full_cycles"),
        };
        let unit = Unit {
            number,
            leader,
            spec,
            waves: (0..spec.wavefronts()).map(|_| None).collect(),
            slots: Slots::new(spec.wavefronts()),
            by_simd: vec![Vec::new(); spec.simds],
            groups: Vec::new(),
            turn: 0,
            vector_free: vec![0; spec.simds],
            unit_free: [0; Category::COUNT],
            coalescing: VecDeque::new(),
            accesses: Vec::new(),
            free_numbers: Vec::new(),
            transactions: VecDeque::new(),
            scalar_requests: VecDeque::new(),
            lines_under_way: 0,
            lanes_sent_at: 0,
            started: 0,
            time: 0,
            fetch_turn: 0,
            account: Account::new(&scope.scope("cycles")),
            counts,
            issued: false,
            sent: false,
            refused: false,
            completions: Vec::new(),
            orders: 0,
            spare: Vec::new(),
        };
        let bells = [
            bell,
            scope.eventcount_for("line_slots", Reason::Resource),
            scope.eventcount_for("room_in_caches", Reason::Resource),
        ];
        Self { unit, ends, commands, completions, bells, waits: WaitsFor::Work, patience: PATIENCE }
    }

    pub async fn run(mut self, cx: Context) {
        loop {
            let (seen, now) = (self.bell().count(), cx.now().0);
            while let Some(command) = self.commands.try_recv(Lane::Request) {
                if let Err(message) = self.unit.obey(command, &self.ends, now).await {
                    return cx.fail(message);
                }
            }
            let lines = self.unit.lines_under_way;
            let next = self.unit.tick(&self.ends, now);
            if self.unit.issued || self.unit.lines_under_way < lines {
                cx.progress();
            }
            self.patience = if self.unit.finds_no_room() { self.patience.saturating_sub(1) } else { PATIENCE };
            for completion in self.unit.completions.drain(..) {
                self.completions.send(Lane::Reply, completion, HEADER).await;
            }
            let next = match next {
                Ok(next) => next,
                Err(error) => return cx.fail(error.to_string()),
            };
            let next = if self.patience == 0 { self.unit.idle_until(now) } else { next };
            match next {
                Next::Soon => cx.pause(1).await,
                // Reporting took time.
                _ if cx.now().0 > now || self.bell().count() > seen => {}
                next => {
                    self.listen(match self.patience {
                        0 => WaitsFor::Room,
                        _ if self.unit.lacks_slots(now) => WaitsFor::Slots,
                        _ => WaitsFor::Work,
                    });
                    let (bell, seen) = (self.bell(), self.bell().count());
                    match next {
                        Next::At(cycle) => _ = bell.wait_for(seen + 1, cycle - now).await,
                        _ => {
                            while bell.rest(seen + 1).await {
                                self.explain(&cx);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Tells a report on a run that does not get on what this unit waits for.
    fn explain(&self, cx: &Context) {
        let waves = self.unit.waves.iter().flatten();
        let scalar = waves.clone().filter(|wave| wave.scalar > 0).count();
        let code = waves.filter(|wave| wave.fetching.is_some()).count();
        let caches = [
            (self.unit.lines_under_way, "answers of its vector cache", &self.ends.vector.1),
            (scalar, "wavefronts' answers of its scalar cache", &self.ends.scalar.1),
            (code, "lines of code", &self.ends.code.1),
            (self.unit.orders, "orders to be carried out by its caches", &self.ends.vector.1),
        ];
        if self.waits == WaitsFor::Slots && self.unit.lines_under_way == 0 {
            let slots = self.unit.spec.line_slots;
            cx.needs(format!("slots for more lines of one vector access than it has ({slots})"), cx.scope().path());
        }
        for (count, what, cache) in caches.into_iter().filter(|(count, ..)| *count > 0) {
            cx.needs_of_receiver(format!("{count} {what}"), cache, Lane::Request);
        }
    }

    /// What rings when something comes in.
    fn bell(&self) -> &EventCount {
        &self.bells[self.waits as usize]
    }

    /// From now on, whatever comes in rings the bell of what the unit waits for; so does room in a cache, if it waits for that.
    fn listen(&mut self, waits: WaitsFor) {
        let before = std::mem::replace(&mut self.waits, waits);
        if waits == before {
            return;
        }
        let bell = self.bell();
        self.commands.ring(bell);
        for (from, to) in [&self.ends.vector, &self.ends.scalar, &self.ends.code] {
            from.ring(bell);
            match (before, waits) {
                (_, WaitsFor::Room) => to.ring(bell),
                (WaitsFor::Room, _) => to.silence(),
                _ => {}
            }
        }
    }
}

impl Unit {
    /// One cycle.
    fn tick(&mut self, ends: &Ends, now: u64) -> Result<Next, Box<ExecError>> {
        self.take_answers(ends, now)?;
        (self.sent, self.refused) = (false, false);
        let sending = self.send(ends, now)?;
        let issued = self.issue(now)?;
        self.issued = issued;
        let fetching = self.fetch(ends);
        let vector = self.vector_free.iter().any(|free| *free > now);
        self.account.cycle(issued, vector, !self.coalescing.is_empty(), &self.slots.kept);
        if issued || sending || fetching {
            return Ok(Next::Soon);
        }
        Ok(self.idle_until(now))
    }

    /// Whether a full wire to a cache was all it met in this cycle.
    fn finds_no_room(&self) -> bool {
        self.refused && !self.sent && !self.issued
    }

    /// Does what the dispatcher says.
    async fn obey(&mut self, command: Command, ends: &Ends, now: u64) -> Result<(), String> {
        match command {
            Command::Launch => self.account.launching(true),
            Command::Launched => self.account.launching(false),
            Command::Start { running, index, simds } => {
                self.start(&running, index, &simds, now)?;
            }
            Command::Order { access, scope, page } => {
                // One cache is enough to have those below told to write back.
                let mut to = vec![&ends.vector.1];
                if self.leader && (scope < mem::Scope::System || access == Access::Invalidate) {
                    to.extend([&ends.scalar.1, &ends.code.1]);
                }
                self.orders = to.len();
                // What is about a page must not wait behind orders that wait for other pages.
                let lane = if page.is_some() { Lane::Coherence } else { Lane::Request };
                for cache in to {
                    cache.send(lane, memory::dispatcher_order(access, scope, page), HEADER).await;
                }
            }
        }
        Ok(())
    }

    /// Whether the next vector access waits for slots for its lines.
    fn lacks_slots(&self, now: u64) -> bool {
        let free = self.transactions.is_empty() && self.lanes_sent_at <= now;
        free && self.coalescing.front().is_some_and(|(at, _)| *at <= now)
    }

    /// The first cycle in which something happens by itself.
    fn idle_until(&self, now: u64) -> Next {
        let ready = self.slots.ready_at.iter().fold(NEVER, |first, ready_at| first.min(*ready_at));
        let sent = Some(self.lanes_sent_at).filter(|_| !self.transactions.is_empty());
        let coalesced = self.coalescing.front().map(|(at, _)| (*at).max(self.lanes_sent_at));
        // What is due already waits for slots.
        let due = sent.into_iter().chain(coalesced).filter(|at| *at > now);
        match due.fold(ready, u64::min) {
            NEVER => Next::Whenever,
            cycle if cycle <= now + 1 => Next::Soon,
            cycle => Next::At(cycle),
        }
    }
}

impl Running {
    pub(crate) fn new(kernel: Kernel, map: Arc<AddressMap>, grid: u64) -> Self {
        let briefs = Briefs::new(&kernel.code);
        Self { kernel, map, briefs, grid }
    }

    pub(crate) fn grid(&self) -> u64 {
        self.grid
    }

    pub(crate) fn kernel(&self) -> &Kernel {
        &self.kernel
    }
}
