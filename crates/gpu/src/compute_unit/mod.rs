//! A compute unit: SIMDs that take turns, a unit for each category of instructions, and paths to three caches.
//!
//! One context runs the whole unit, cycle by cycle while there is work: it takes replies, sends vector accesses, issues
//! instructions and fetches code. `issue.rs` is the scheduler, `memory.rs` models accesses, `fetch.rs` the instruction
//! buffers, `account.rs` attributes each cycle to a cause.
//!
//! The structure is GCN's. Each wavefront belongs to a SIMD. The SIMDs take turns: each cycle one of them may issue one
//! instruction of each category, the oldest wavefront first. An instruction takes effect when it is issued, and its
//! wavefront continues when the unit is done with it. Loads write their registers when the bytes arrive; as in the
//! hardware, `s_waitcnt` keeps a program from reading them earlier.

mod account;
mod fetch;
mod issue;
mod memory;
mod slots;
mod wave;

use crate::{
    category::{Briefs, Category, Rate},
    gather::Part,
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

/// The parameters of a compute unit, from the machine file.
#[derive(Clone, Copy, Debug)]
pub struct ComputeUnitSpec {
    pub simds: usize,
    /// Number of wavefronts that a SIMD can hold.
    pub waves_per_simd: usize,
    /// Vector registers of a SIMD, scalar registers of the unit, bytes of its local data share.
    pub vgprs: usize,
    pub sgprs: usize,
    pub lds: u64,
    /// From the issue of an instruction until its unit starts to execute it.
    pub decode: Cycles,
    /// How long a vector instruction occupies its SIMD, by its [`Rate`](crate::category::Rate).
    pub vector: [Cycles; Rate::COUNT],
    /// Latency of scalar instructions, branches and accesses to the local data share; each unit accepts one per cycle.
    pub scalar: Cycles,
    pub branch: Cycles,
    pub local: Cycles,
    /// Number of banks of the local data share, each of one word per cycle.
    pub local_banks: u32,
    /// For how long an access occupies the local data share at least.
    pub local_interval: Cycles,
    /// For how long a bank of the local data share serves a word.
    pub local_word: Cycles,
    /// Whether each branch, taken or not, empties the wavefront's instruction buffer.
    pub refetch: bool,
    /// From a vector access to its requests for lines; after that the wavefront continues.
    pub coalesce: Cycles,
    pub coalescer: Coalescer,
    /// Maximum number of outstanding lines; with uncoalesced lanes, of outstanding lane requests.
    pub line_slots: usize,
    /// Size of a wavefront's instruction buffer, in bytes.
    pub instruction_buffer: u64,
    /// Maximum number of instructions of a wavefront, to detect endless kernels; `None`: unlimited. Not a property of
    /// hardware.
    pub limit: Option<u64>,
}

/// Where the accesses of a wavefront's lanes to one line are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coalescer {
    /// In the compute unit, for all lanes at once.
    Unit,
    /// In the vector cache: each lane sends its own request, one per cycle, and requests that wait there for the same
    /// line are served together (`[giles 3.2.4]`).
    Cache,
}

impl ComputeUnitSpec {
    /// Number of wavefronts that it can hold.
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

/// A kernel with the timing properties of its instructions.
pub(crate) struct Running {
    kernel: Kernel,
    /// The memory that it may access.
    map: Arc<AddressMap>,
    briefs: Briefs,
    /// The kernel's number among the launches of its GPU.
    grid: u64,
}

/// A command of the dispatcher to a compute unit.
#[derive(Clone)]
pub(crate) enum Command {
    /// A kernel is being launched, or ends: cycles without a wavefront count as launch cycles.
    Launch,
    /// The launch is over, and workgroups of the kernel are dispatched to this unit or to others; or the end is.
    Launched,
    /// Pass this order to the caches, for all their contents or for one page, and report when they have completed it.
    Order { access: Access, scope: mem::Scope, page: Option<PhysAddr> },
    /// Start this workgroup, with its wavefronts on these SIMDs.
    Start { running: Arc<Running>, index: u64, simds: Simds },
}

/// A report of a compute unit to the dispatcher.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Completion {
    /// A workgroup has ended.
    Workgroup { grid: u64, index: u64 },
    /// The caches have completed the order.
    Order,
}

/// A wire to the dispatcher. Its messages are private to this crate.
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
    /// When each SIMD's vector unit, and each of the other units, can accept another instruction.
    vector_free: Vec<u64>,
    unit_free: [u64; Category::COUNT],
    /// When the last of the vector units can accept another instruction.
    vector_until: u64,
    /// Unless something arrives, nothing happens before this cycle.
    quiet_until: u64,
    /// The next cycle before `quiet_until` whose cause may be another than that of the cycle before it.
    account_at: u64,
    /// Vector accesses in the coalescer, in order: the cycle in which each is ready, and its number.
    coalescing: VecDeque<(u64, usize)>,
    accesses: Vec<Option<AccessUnderWay>>,
    free_numbers: Vec<usize>,
    /// Requests to be sent, one per cycle.
    transactions: VecDeque<Transaction>,
    /// Scalar requests that have not been sent because the wire was full.
    scalar_requests: VecDeque<Request>,
    /// Outstanding lines.
    lines_under_way: usize,
    /// The first cycle in which all lanes of the requests sent so far have been sent.
    lanes_sent_at: u64,
    /// Wavefronts started so far.
    started: u64,
    /// The unit's logical time, in protocols that order accesses by it.
    time: mem::Stamp,
    /// Where the round-robin search for a wavefront to fetch for continues.
    fetch_turn: usize,
    account: Account,
    counts: Counts,
    /// What happened in this cycle: whether an instruction was issued, whether a request was sent or coalesced, and
    /// whether a wire to a cache was full.
    issued: bool,
    sent: bool,
    refused: bool,
    /// Reports to be sent to the dispatcher.
    completions: Vec<Completion>,
    /// Caches that have not completed the dispatcher's order.
    orders: usize,
    /// Wavefronts that have ended, for reuse.
    spare: Vec<gcn3::wave::Wavefront>,
    spare_parts: Vec<Vec<Part>>,
}

/// The statistics of a compute unit.
struct Counts {
    instructions: [Counter; Category::COUNT],
    wave_instructions: Counter,
    wavefronts: Counter,
    /// Resident wavefronts and issued instructions, over time.
    resident: Series,
    issued: Series,
    lines: Counter,
    lds_conflict_cycles: Counter,
    line_slots_full_cycles: Counter,
}

/// When the unit has work again.
enum Next {
    /// In the next cycle.
    Soon,
    /// In this cycle, or at the next event if that comes earlier.
    At(u64),
    /// At the next event.
    Whenever,
}

/// The unit's ends of the wires to its caches.
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
    /// Advanced when something arrives: one for each reason to wait.
    bells: [EventCount; 3],
    /// Which of the bells is in use, and its count when all messages that had arrived were taken.
    waits: WaitsFor,
    heard: Option<u64>,
    /// Number of cycles for which it retries to send before it waits until there is space.
    patience: u32,
}

/// What an idle unit waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WaitsFor {
    Work,
    /// Free slots for the lines of a vector access.
    Slots,
    /// Space on the wire to one of its caches.
    Room,
}

impl ComputeUnit {
    /// Builds compute unit `number` at `scope`. Each unit passes the dispatcher's orders to its vector cache. Among the
    /// units that share a scalar and a code cache, the leader passes the orders to these.
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
            slots: Slots::new(spec.wavefronts(), spec.simds),
            by_simd: vec![Vec::new(); spec.simds],
            groups: Vec::new(),
            turn: 0,
            vector_free: vec![0; spec.simds],
            unit_free: [0; Category::COUNT],
            vector_until: 0,
            quiet_until: 0,
            account_at: 0,
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
            spare_parts: Vec::new(),
        };
        let bells = [
            bell,
            scope.eventcount_for("line_slots", Reason::Resource),
            scope.eventcount_for("room_in_caches", Reason::Resource),
        ];
        Self { unit, ends, commands, completions, bells, waits: WaitsFor::Work, heard: None, patience: PATIENCE }
    }

    pub async fn run(mut self, cx: Context) {
        loop {
            let (seen, now) = (self.bell().count(), cx.now().0);
            let comes = self.heard.replace(seen) != Some(seen);
            if !comes && self.unit.polls(now) {
                cx.pause_until(self.unit.quiet_until.min(self.unit.account_at), self.bell(), seen).await;
                continue;
            }
            if comes {
                while let Some(command) = self.commands.try_recv(Lane::Request) {
                    if let Err(message) = self.unit.obey(command, &self.ends, now).await {
                        return cx.fail(message);
                    }
                }
            }
            let lines = self.unit.lines_under_way;
            let next = self.unit.tick(&self.ends, comes, now);
            if self.unit.issued || self.unit.lines_under_way < lines {
                cx.progress();
            }
            self.patience = if self.unit.finds_no_room() { self.patience.saturating_sub(1) } else { PATIENCE };
            if !self.unit.completions.is_empty() {
                for completion in self.unit.completions.drain(..) {
                    self.completions.send(Lane::Reply, completion, HEADER).await;
                }
            }
            let next = match next {
                Ok(next) => next,
                Err(error) => return cx.fail(error.to_string()),
            };
            let next = if self.patience == 0 { self.unit.idle_until(now) } else { next };
            match next {
                Next::Soon => cx.pause(1).await,
                // Sending the reports took time, or something has arrived since.
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

    /// Tells a report on a stuck run what this unit waits for.
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

    /// The bell that rings when something arrives.
    fn bell(&self) -> &EventCount {
        &self.bells[self.waits as usize]
    }

    /// From now on, arrivals ring the bell for this reason to wait. So does freed space on the wires to caches, if the
    /// unit waits for that.
    fn listen(&mut self, waits: WaitsFor) {
        let before = std::mem::replace(&mut self.waits, waits);
        if waits == before {
            return;
        }
        self.heard = None;
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
    /// Runs one cycle. `comes`: whether something may have arrived from a cache.
    fn tick(&mut self, ends: &Ends, comes: bool, now: u64) -> Result<Next, Box<ExecError>> {
        (self.issued, self.sent, self.refused) = (false, false, false);
        if !comes && now < self.quiet_until {
            return Ok(self.idle_until(now));
        }
        if comes {
            self.take_answers(ends, now)?;
        }
        let sending = self.send(ends, now)?;
        self.issued = self.issue(now)?;
        let fetching = self.fetch(ends);
        self.attribute(now);
        self.quiet_until = if sending || fetching { 0 } else { self.next_action(now) };
        if self.issued {
            self.account_at = now + 1;
        }
        if self.issued || sending || fetching {
            return Ok(Next::Soon);
        }
        Ok(self.idle_until(now))
    }

    /// In a cycle in which nothing has arrived: whether nothing happens in this cycle, but a wavefront waits for a unit
    /// or may begin to wait for one in the next cycle.
    fn polls(&mut self, now: u64) -> bool {
        if now >= self.quiet_until {
            return false;
        }
        if now >= self.account_at {
            self.issued = false;
            self.attribute(now);
        }
        self.slots.next_ready() <= now + 1
    }

    /// Attributes this cycle to a cause. As long as nothing happens, only the vector units can change that.
    fn attribute(&mut self, now: u64) {
        let vector = now < self.vector_until;
        self.account.cycle(self.issued, vector, !self.coalescing.is_empty(), &self.slots.kept);
        self.account_at = if vector { self.vector_until } else { NEVER };
    }

    /// A cycle before which nothing happens unless something arrives; not later than `now` if that is not known.
    fn next_action(&self, now: u64) -> u64 {
        if !self.transactions.is_empty() || !self.scalar_requests.is_empty() {
            return now;
        }
        let coalesced = self.coalescing.front().map_or(NEVER, |(at, _)| match *at > now {
            true => (*at).max(self.lanes_sent_at),
            // The access waits for line slots, and these cycles are counted.
            false => now,
        });
        self.slots.next_issue().min(coalesced)
    }

    /// Whether a full wire to a cache was the only event of this cycle.
    fn finds_no_room(&self) -> bool {
        self.refused && !self.sent && !self.issued
    }

    /// Carries out a command of the dispatcher.
    async fn obey(&mut self, command: Command, ends: &Ends, now: u64) -> Result<(), String> {
        match command {
            Command::Launch => self.account.launching(true),
            Command::Launched => self.account.launching(false),
            Command::Start { running, index, simds } => {
                self.start(&running, index, &simds, now)?;
            }
            Command::Order { access, scope, page } => {
                // One cache is enough to pass a flush on to the shared caches below.
                let mut to = vec![&ends.vector.1];
                if self.leader && (scope < mem::Scope::System || access == Access::Invalidate) {
                    to.extend([&ends.scalar.1, &ends.code.1]);
                }
                self.orders = to.len();
                // An order for a page must not wait behind orders that wait for other pages.
                let lane = if page.is_some() { Lane::Coherence } else { Lane::Request };
                for cache in to {
                    cache.send(lane, memory::dispatcher_order(access, scope, page), HEADER).await;
                }
            }
        }
        Ok(())
    }

    /// Whether the next vector access waits for line slots.
    fn lacks_slots(&self, now: u64) -> bool {
        let free = self.transactions.is_empty() && self.lanes_sent_at <= now;
        free && self.coalescing.front().is_some_and(|(at, _)| *at <= now)
    }

    /// The first cycle in which a timed event happens.
    fn idle_until(&self, now: u64) -> Next {
        let ready = self.slots.next_ready();
        let sent = Some(self.lanes_sent_at).filter(|_| !self.transactions.is_empty());
        let coalesced = self.coalescing.front().map(|(at, _)| (*at).max(self.lanes_sent_at));
        // An access that is due already waits for line slots.
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
