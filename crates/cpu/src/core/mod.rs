//! The core: six stages over a program and two caches.
//!
//! One context runs the whole core, cycle by cycle while anything makes progress. Otherwise it sleeps until a unit
//! finishes or a reply arrives. Within a cycle the stages run from back to front, so that nothing passes two stages at
//! once: commit (`commit.rs`), write-back of replies and results and issue (`issue.rs`), dispatch and decode
//! (`dispatch.rs`), fetch (`fetch.rs`, `split.rs`). `memory.rs` models loads and stores, `account.rs` attributes each
//! cycle to a cause.
//!
//! Left out: execution of wrong paths, limits on write-back, moves that are eliminated by renaming.

mod account;
mod bits;
mod code;
mod commit;
mod dispatch;
mod fetch;
mod issue;
mod memory;
mod op;
mod prefetch;
mod split;
mod thread;
mod units;
mod wrong_path;

pub use memory::thread_of;

use crate::{CoreSpec, Executed, Program, predictor::Predictor};
use account::{Account, Counts};
use engine::{Context, EventCount, Inlet, Lane, Reason, Scope};
use interconnect::{Pending, Sender, Wire};
use mem::{Reply, Request};
use prefetch::Prefetcher;
use rand_pcg::{Pcg64Mcg, rand_core::SeedableRng};
use std::{cell::RefCell, rc::Rc};
use thread::{Front, Shares, Thread};
use units::{Units, Wheel};

/// An out-of-order core.
pub struct Core {
    pipeline: Pipeline,
    /// Rung when an idle thread has work. While a thread of the core is idle, replies ring it too.
    bell: EventCount,
    /// Advanced when a reply arrives, while no thread is idle.
    answers: EventCount,
    /// Whether replies ring `bell` or `answers`.
    rings_bell: bool,
}

/// The longest time, in cycles, for which a core with a known next event goes without reporting progress.
const LONGEST: u64 = 100_000;

/// The running core.
struct Pipeline {
    spec: CoreSpec,
    shares: Shares,
    program: Rc<RefCell<dyn Program>>,
    data: (Inlet<Reply>, Sender<Request>),
    code: (Inlet<Reply>, Sender<Request>),
    threads: Vec<Thread>,
    units: Units,
    wheel: Wheel,
    predictor: Predictor,
    prefetcher: Prefetcher,
    random: Option<Pcg64Mcg>,
    /// Requests without a reply.
    in_flight: usize,
    /// The thread that holds locked lines for an atomic access. Other threads neither lock nor store meanwhile, because
    /// the cache can't distinguish threads. Once the access has been executed: the store after whose completion the
    /// lock ends.
    lock: Option<(usize, u64)>,
    /// The thread whose turn it is to fetch.
    fetch_turn: usize,
    account: Account,
    counts: Counts,
    /// Whether anything made progress in this cycle.
    active: bool,
    committed_now: bool,
    /// Whether a store was sent in this cycle.
    stored_now: bool,
    /// Whether a reply arrived in this cycle.
    answered_now: bool,
    dispatched_now: bool,
    // Buffers, kept to reuse their allocations.
    executed: Executed,
    due: Vec<(u8, u64)>,
    again: Vec<u64>,
}

impl Core {
    /// Builds a core at `scope`, with `threads` hardware threads, between the data cache and the instruction cache. The
    /// bell must be rung when a thread that was idle has work.
    ///
    /// Loads travel in the request lane and are answered in any order. Stores and locks travel in the coherence lane
    /// and are performed and answered in order. An empty store in the request lane prefetches a line for a store.
    ///
    /// # Panics
    /// If [`CoreSpec::check`] refuses the spec.
    pub fn new(
        spec: CoreSpec,
        threads: usize,
        program: Rc<RefCell<dyn Program>>,
        data: Wire<Reply, Request>,
        code: Wire<Reply, Request>,
        bell: EventCount,
        scope: &Scope,
    ) -> Self {
        if let Err(error) = spec.check(threads) {
            panic!("{}: {error}", scope.path());
        }
        let answers = scope.eventcount_for("answers", Reason::Resource);
        let end = |wire: Wire<Reply, Request>, name| {
            wire.from.ring(&answers);
            (wire.from, Sender::new(wire.to, &Pending::default(), &scope.scope(name), &answers))
        };
        let (data, code) = (end(data, "data"), end(code, "code"));
        let shares = Shares::new(&spec, threads);
        let units = Units::new(&spec);
        let pipeline = Pipeline {
            shares,
            program,
            data,
            code,
            threads: (0..threads).map(|_| Thread::new(&spec, &shares, &units)).collect(),
            wheel: Wheel::new(units.longest().max(spec.forwarding.0)),
            units,
            predictor: Predictor::new(&spec.predictor, threads),
            prefetcher: Prefetcher::new(spec.prefetch),
            random: spec.jitter.map(|jitter| Pcg64Mcg::seed_from_u64(jitter.seed)),
            in_flight: 0,
            lock: None,
            fetch_turn: 0,
            account: Account::new(scope),
            counts: Counts::new(scope),
            active: false,
            committed_now: false,
            stored_now: false,
            answered_now: false,
            dispatched_now: false,
            executed: Executed::default(),
            due: Vec::new(),
            again: Vec::new(),
            spec,
        };
        Self { pipeline, bell, answers, rings_bell: false }
    }

    /// Runs until the end of the simulation.
    pub async fn run(mut self, cx: Context) {
        loop {
            let now = cx.now().0;
            let (answered, rung) = (self.answers.count(), self.bell.count());
            self.pipeline.tick(rung, &cx);
            if self.pipeline.gets_on(now) {
                cx.progress();
            }
            if self.pipeline.active {
                cx.pause(1).await;
                continue;
            }
            let until = self.pipeline.next_time(now).map(|cycle| cycle.min(now + LONGEST));
            self.listen(self.pipeline.has_idle());
            match until {
                // No event can come before that cycle.
                Some(cycle) if self.pipeline.in_flight == 0 && !self.rings_bell => cx.pause(cycle - now).await,
                Some(cycle) if self.rings_bell => _ = self.bell.wait_for(rung + 1, cycle - now).await,
                Some(cycle) => _ = self.answers.wait_for(answered + 1, cycle - now).await,
                None => {
                    let (bell, value) =
                        if self.rings_bell { (&self.bell, rung + 1) } else { (&self.answers, answered + 1) };
                    while bell.rest(value).await {
                        self.pipeline.explain(&cx);
                    }
                }
            }
        }
    }

    /// Selects whether replies ring the bell. A core waits for one eventcount, and an idle thread waits for the bell.
    fn listen(&mut self, to_bell: bool) {
        if to_bell == self.rings_bell {
            return;
        }
        self.rings_bell = to_bell;
        let ring = if to_bell { &self.bell } else { &self.answers };
        self.pipeline.data.0.ring(ring);
        self.pipeline.code.0.ring(ring);
    }
}

impl Pipeline {
    /// Runs one cycle. `rung` is the count of the bell.
    fn tick(&mut self, rung: u64, cx: &Context) {
        let now = cx.now().0;
        self.active = false;
        self.committed_now = false;
        self.stored_now = false;
        self.answered_now = false;
        self.dispatched_now = false;
        self.commit(now);
        self.take_answers(now);
        self.write_back(now);
        self.issue(now);
        self.dispatch(now);
        self.decode(now);
        if self.spec.wrong_path {
            self.follow_wrong_paths(now);
        }
        self.fetch(rung, now, cx.time());
        self.account.cycle(&self.threads, self.committed_now || self.dispatched_now);
    }

    /// Tells a report on a stuck run what this core waits for.
    fn explain(&self, cx: &Context) {
        for (_, sender) in [&self.data, &self.code] {
            sender.explain(cx);
            if self.in_flight > 0 {
                let what = format!("answers, {} of all its requests", self.in_flight);
                cx.needs_of_receiver(what, sender.outlet(), Lane::Request);
            }
        }
    }

    /// The next cycle after this one in which a timed event happens.
    fn next_time(&mut self, now: u64) -> Option<u64> {
        let mut first = self.wheel.next(now).unwrap_or(u64::MAX).min(self.units.refused_until);
        for thread in &self.threads {
            if thread.stores_sent < thread.stores_committed && thread.send_from > now {
                first = first.min(thread.send_from);
            }
            if let Some(path) = thread.wrong_path {
                first = first.min(path.at);
            }
            match thread.front {
                Front::From(cycle) | Front::System(cycle) if cycle > now => first = first.min(cycle),
                _ => {}
            }
        }
        (first < u64::MAX).then_some(first)
    }

    /// Whether this cycle made progress. The stores of a kernel call may take milliseconds after all of them have been
    /// sent; during that time replies are the only progress.
    fn gets_on(&self, now: u64) -> bool {
        self.committed_now || self.stored_now || self.answered_now || self.is_in_system(now)
    }

    /// Whether a thread is in the kernel for a known time.
    fn is_in_system(&self, now: u64) -> bool {
        self.threads.iter().any(|thread| matches!(thread.front, Front::System(until) if until > now))
    }

    fn has_idle(&self) -> bool {
        self.threads.iter().any(|thread| matches!(thread.front, Front::Idle(_) | Front::Waiting(_)))
    }

    /// The order in which threads are served in this cycle.
    fn turns(&self, now: u64) -> Around {
        let count = self.threads.len();
        let first = if count == 1 { 0 } else { now as usize % count };
        around(first, count)
    }
}

/// All numbers below `count`, starting with `first` and wrapping around.
#[inline]
fn around(first: usize, count: usize) -> Around {
    Around { next: first, left: count, count }
}

/// The iterator of [`around`].
struct Around {
    next: usize,
    left: usize,
    count: usize,
}

impl Iterator for Around {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let number = self.next;
        self.next = if number + 1 == self.count { 0 } else { number + 1 };
        Some(number)
    }
}
