//! The core: six stages over a program and two caches.
//!
//! One context runs all of it, a cycle at a time while anything gets on, and sleeps otherwise: until a unit is done, or until
//! an answer comes. Within a cycle the stages run from the back to the front, so that nothing passes two of them at once:
//! `commit.rs`, then answers and results come in (write-back) and the next are issued (`issue.rs`), `dispatch.rs` with decode,
//! `fetch.rs` with `split.rs`. `memory.rs` has loads and stores, `account.rs` says where each cycle went.
//!
//! Left out: wrong paths (they would touch caches), limits on write-back, moves that take no unit because they are renamed.

mod account;
mod bits;
mod code;
mod commit;
mod dispatch;
mod fetch;
mod issue;
mod memory;
mod op;
mod split;
mod thread;
mod units;

pub use memory::thread_of;

use crate::{CoreSpec, Executed, Program, predictor::Predictor};
use account::{Account, Counts};
use engine::{Context, EventCount, Inlet, Lane, Reason, Scope};
use interconnect::{Pending, Sender, Wire};
use mem::{Reply, Request};
use rand_pcg::{Pcg64Mcg, rand_core::SeedableRng};
use std::{cell::RefCell, rc::Rc};
use thread::{Front, Shares, Thread};
use units::{Units, Wheel};

/// An out-of-order core.
pub struct Core {
    pipeline: Pipeline,
    /// Rung when an idle thread has something to run, and for a core of which a thread is idle also when an answer comes.
    bell: EventCount,
    /// Rung when an answer comes to a core that has no idle threads.
    answers: EventCount,
    /// Which of the two answers ring.
    rings_bell: bool,
}

/// For so many cycles at most a core says nothing while it waits for a time that is known.
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
    random: Option<Pcg64Mcg>,
    /// Requests that have not been answered.
    in_flight: usize,
    /// The thread that holds lines for an atomic access; others neither lock nor store meanwhile, as the cache can't tell
    /// threads apart. Once it has been executed: until which of its stores has been performed.
    lock: Option<(usize, u64)>,
    /// Whose turn it is to fetch.
    fetch_turn: usize,
    account: Account,
    counts: Counts,
    /// Whether anything got on in this cycle.
    active: bool,
    committed_now: bool,
    /// Whether a store was sent in this cycle.
    stored_now: bool,
    /// Whether an answer came in this cycle.
    answered_now: bool,
    dispatched_now: bool,
    // Kept for their room.
    executed: Executed,
    due: Vec<(u8, u64)>,
    again: Vec<u64>,
}

impl Core {
    /// Builds a core at `scope`, with so many hardware threads, between the caches of data and code. The bell is to be rung
    /// when a thread that was idle has something to run.
    ///
    /// Loads travel in the lane of requests and are answered in any order, stores and locks in the lane of coherence
    /// and are performed and answered in theirs. An empty store in the lane of requests asks for a line to store to.
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
            wheel: Wheel::new(units.longest()),
            units,
            predictor: Predictor::new(&spec.predictor, threads),
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

    /// Runs as long as the simulation does.
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
                // Nobody can say anything before.
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

    /// From now on answers ring the bell too, or do not: a core waits in one place, and an idle thread waits for the bell.
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
    /// One cycle. The bell has rung so often.
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
        self.fetch(rung, now, cx.time());
        self.account.cycle(&self.threads, self.committed_now || self.dispatched_now);
    }

    /// Tells a report on a run that does not get on what this core waits for.
    fn explain(&self, cx: &Context) {
        for (_, sender) in [&self.data, &self.code] {
            sender.explain(cx);
            if self.in_flight > 0 {
                let what = format!("answers, {} of all its requests", self.in_flight);
                cx.needs_of_receiver(what, sender.outlet(), Lane::Request);
            }
        }
    }

    /// The first cycle after this one in which something happens by itself.
    fn next_time(&mut self, now: u64) -> Option<u64> {
        let mut first = self.wheel.next(now).unwrap_or(u64::MAX).min(self.units.refused_until);
        for thread in &self.threads {
            if thread.stores_sent < thread.stores_committed && thread.send_from > now {
                first = first.min(thread.send_from);
            }
            match thread.front {
                Front::From(cycle) | Front::System(cycle) if cycle > now => first = first.min(cycle),
                _ => {}
            }
        }
        (first < u64::MAX).then_some(first)
    }

    /// Whether something came of this cycle. What a call of the kernel wrote may be performed for milliseconds after all of it has been
    /// sent, with nothing else to show for it but answers.
    fn gets_on(&self, now: u64) -> bool {
        self.committed_now || self.stored_now || self.answered_now || self.is_in_system(now)
    }

    /// Whether a thread is in the kernel for a time that is known.
    fn is_in_system(&self, now: u64) -> bool {
        self.threads.iter().any(|thread| matches!(thread.front, Front::System(until) if until > now))
    }

    fn has_idle(&self) -> bool {
        self.threads.iter().any(|thread| matches!(thread.front, Front::Idle(_) | Front::Waiting(_)))
    }

    /// The order in which threads are served in this cycle.
    fn turns(&self, now: u64) -> impl Iterator<Item = usize> + use<> {
        let count = self.threads.len();
        let first = if count == 1 { 0 } else { now as usize % count };
        around(first, count)
    }
}

/// All numbers below `count`, from `first` on.
fn around(first: usize, count: usize) -> impl Iterator<Item = usize> {
    (first..first + count).map(move |number| if number < count { number } else { number - count })
}
