//! A partition: the part of a model that one thread runs by itself for a window of time.
//!
//! A partition owns everything in it. The mail of its links is all that it shares with other threads. Its clock domains
//! take turns: the earliest edge runs first; among simultaneous edges, the clock that the model declared first.

use crate::{
    calendar::Agenda,
    context::Scope,
    core::{Control, Core, Moment, Shared, WIRE, request},
    domain::{Domain, Ran},
    eventcount::Waiter,
    link::{Arrives, Outgoing, Sent},
    model::{ClockId, Monitor},
    name::Name,
    pressure::{Peak, Pressure},
    report::{Knowledge, Waiting},
    stats::{Path, Value},
    time::{Clock, Hertz, Time},
    trace::{Recorder, TraceEvent, TraceSpec},
};
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::{Rc, Weak},
    sync::{Arc, Mutex},
};

/// The mail for one partition: the wires with new mail, by the parity of the window (for far mail, of the round).
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct Letterbox([Mutex<Vec<u32>>; 2]);

impl Letterbox {
    fn with<R>(&self, parity: usize, f: impl FnOnce(&mut Vec<u32>) -> R) -> R {
        f(&mut self.0[parity].lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

/// The parameters of a partition that are known before it is built.
#[derive(Clone)]
pub(crate) struct PartitionSpec {
    pub(crate) clocks: Arc<[Hertz]>,
    pub(crate) letterboxes: Arc<[Letterbox]>,
    /// For mail from other teams of threads.
    pub(crate) far_letterboxes: Arc<[Letterbox]>,
    /// The team of threads that runs each partition, and whether there are several teams.
    pub(crate) team_of: Arc<[usize]>,
    pub(crate) has_teams: bool,
    pub(crate) delta_limit: usize,
    pub(crate) trace: Option<TraceSpec>,
    /// See [`Shared::alone`].
    pub(crate) alone: Option<Time>,
    pub(crate) monitor: Monitor,
}

/// A partition. While the model is built, it is the root from which scopes are made.
pub struct Partition {
    shared: Rc<Shared>,
    spec: PartitionSpec,
    domains: RefCell<Vec<Domain>>,
    /// For each partition, the wires with mail for it at the end of this window.
    letters: RefCell<Vec<Vec<u32>>>,
    /// Wires with mail for other teams, handed over at the end of this round.
    far: RefCell<Vec<Rc<dyn Outgoing>>>,
    /// When the first mail of this round arrives that does not arrive within the round. Credits that no context waits
    /// for are in no agenda but must start a round too: the start of the next round must not depend on which mail has
    /// been taken in.
    beyond: Time,
    /// Set after a livelock: nothing more can run.
    is_stuck: bool,
    /// Number of regions that have ended.
    boundaries: Cell<usize>,
    /// The most events at one time in this region, and the number of events before this region.
    peak: Peak,
    told: u64,
    /// The number of events before this window.
    ran: u64,
    /// The time of the next event here, and whether anything can still happen here, as they were at the end of the last
    /// window; `None` if that is not known.
    rests: Cell<Option<(Time, bool)>>,
}

/// The result of a window.
pub(crate) struct Window {
    /// Time of the next event, here or in a partition to which mail went.
    pub(crate) next: Time,
    /// Whether anything can still happen without new mail, here or in a partition to which mail went.
    pub(crate) live: bool,
    /// How often contexts have run.
    pub(crate) events: u64,
    /// The paths of the contexts of a livelock, if there is one.
    pub(crate) livelock: Option<Vec<String>>,
    pub(crate) control: Vec<(Time, Control)>,
}

impl Partition {
    pub(crate) fn new(index: usize, spec: PartitionSpec) -> Partition {
        let shared = Shared::new(index, spec.alone, spec.trace.map(Recorder::new), spec.monitor.clone());
        let letters = vec![Vec::new(); spec.letterboxes.len()];
        Partition {
            shared,
            spec,
            domains: RefCell::default(),
            letters: RefCell::new(letters),
            far: RefCell::default(),
            beyond: Time::NEVER,
            is_stuck: false,
            boundaries: Cell::new(0),
            peak: Peak::default(),
            told: 0,
            ran: 0,
            rests: Cell::new(None),
        }
    }

    /// The root of the tree of names, in the domain of `clock`.
    pub fn scope(&self, clock: ClockId) -> Scope {
        let core = self.shared.core(clock.0).unwrap_or_else(|| self.domain(clock.0));
        Scope { core, name: Name::ROOT }
    }

    fn domain(&self, index: u32) -> Rc<Core> {
        let core = Rc::new(Core {
            index,
            clock: Clock::new(self.spec.clocks[index as usize]),
            tracing: self.shared.recorder.is_some(),
            now: Cell::new(0),
            running: Cell::new(false),
            names: RefCell::default(),
            context: Cell::new(WIRE),
            request: Cell::new(request::NONE),
            has_gate: Cell::new(false),
            gate: Cell::new(None),
            waits_on: Cell::new(Name::ROOT),
            ready: RefCell::default(),
            ready_at: Cell::new(u64::MAX),
            born: RefCell::default(),
            due: RefCell::new(Agenda::new()),
            arrivals: RefCell::new(Agenda::new()),
            alarm: Cell::new(u64::MAX),
            shared: Rc::clone(&self.shared),
        });
        self.shared.cores.borrow_mut().push(Rc::clone(&core));
        let mut domains = self.domains.borrow_mut();
        domains.push(Domain::new(Rc::clone(&core), self.spec.delta_limit));
        domains.sort_by_key(|domain| domain.core.index);
        core
    }

    /// An error in the model as built, if there is one.
    pub(crate) fn mistake(&self) -> Option<String> {
        let twice = self.shared.stats.borrow().duplicate()?;
        Some(format!("two statistics are called '{}'", self.shared.path(twice)))
    }

    /// Runs everything from `start` until `end`, in window `number` of a round that ends at `round`. Takes in the mail
    /// of the last window and hands over the mail of this one.
    pub(crate) fn window(&mut self, start: Time, end: Time, number: u64, round: Time) -> Window {
        let this = (number % 2) as usize;
        let has_mail = self.take_mail_in(&self.spec.letterboxes, start, 1 - this);
        if let Some((next, live)) = self.rests.take().filter(|(next, _)| !has_mail && *next >= end) {
            self.rests.set(Some((next, live)));
            return Window { next, live, events: 0, livelock: None, control: Vec::new() };
        }
        let livelock = if self.is_stuck { None } else { self.run_domains(end) };
        self.is_stuck |= livelock.is_some();
        let Arrives { first: mail, beyond } = self.hand_mail_over(this, round);
        self.beyond = self.beyond.min(beyond);
        let control = self.shared.control.take();
        let ran = self.events();
        let events = ran - std::mem::replace(&mut self.ran, ran);
        let (next, live) = (self.next(), self.is_live());
        if !self.is_stuck {
            self.rests.set(Some((next, live)));
        }
        Window { next: next.min(mail), live: mail != Time::NEVER || live, events, livelock, control }
    }

    /// Abandons the model: the builder of this partition has found that there is nothing to run. No partition then
    /// runs, so ends of links need not be placed.
    pub fn give_up(&self) {
        self.shared.abandoned.set(true);
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.shared.abandoned.get()
    }

    /// Whether anything can still happen here without new mail.
    pub(crate) fn is_live(&self) -> bool {
        self.domains.borrow().iter().any(Domain::is_live)
    }

    /// How often contexts have run here.
    pub(crate) fn events(&self) -> u64 {
        self.domains.borrow().iter().map(|domain| domain.events).sum()
    }

    /// Takes in the mail that other teams sent in the last round; this round begins at `start`.
    pub(crate) fn take_far_mail_in(&self, start: Time, round: u64) {
        if self.take_mail_in(&self.spec.far_letterboxes, start, 1 - (round % 2) as usize) {
            self.rests.set(None);
        }
    }

    /// Hands over the mail for other teams and the journal entries of this round. Returns when the first mail of this
    /// round arrives, at any team, that did not arrive within the round.
    #[inline]
    pub(crate) fn end_round(&mut self, round: u64) -> Time {
        if !self.far.get_mut().is_empty() || !self.shared.written.borrow().is_empty() {
            self.hand_far_mail_over((round % 2) as usize);
        }
        std::mem::replace(&mut self.beyond, Time::NEVER)
    }

    #[cold]
    fn hand_far_mail_over(&mut self, parity: usize) {
        self.shared.written.borrow_mut().drain(..).for_each(|pen| pen.hand_over(parity));
        for outgoing in self.far.get_mut().drain(..) {
            let Sent { to, wire, arrives } = outgoing.hand_over(parity, Time::ZERO);
            self.spec.far_letterboxes[to].with(parity, |wires| wires.push(wire));
            self.beyond = self.beyond.min(arrives.first);
        }
    }

    /// The number of this partition.
    pub(crate) fn index(&self) -> usize {
        self.shared.partition
    }

    /// Takes mail in; returns whether there was any.
    fn take_mail_in(&self, letterboxes: &[Letterbox], start: Time, parity: usize) -> bool {
        letterboxes[self.shared.partition].with(parity, |wires| {
            let ends = self.shared.ends.borrow();
            let has_mail = !wires.is_empty();
            wires.drain(..).for_each(|wire| ends.incoming(wire).take_in(parity, start));
            has_mail
        })
    }

    /// Hands over the mail for this team, in a round that ends at `end`. Returns when the first of it arrives.
    fn hand_mail_over(&self, parity: usize, end: Time) -> Arrives {
        let mut first = Arrives::NEVER;
        let mut letters = self.letters.borrow_mut();
        let PartitionSpec { team_of, has_teams, .. } = &self.spec;
        for outgoing in self.shared.outgoing.borrow_mut().drain(..) {
            if *has_teams && team_of[outgoing.to()] != team_of[self.shared.partition] {
                self.far.borrow_mut().push(outgoing);
                continue;
            }
            let Sent { to, wire, arrives } = outgoing.hand_over(parity, end);
            letters[to].push(wire);
            first = first.and(arrives);
        }
        for (letters, letterbox) in letters.iter_mut().zip(&*self.spec.letterboxes) {
            if !letters.is_empty() {
                letterbox.with(parity, |wires| wires.append(letters));
            }
        }
        first
    }

    /// Time of the next event here.
    pub(crate) fn next(&self) -> Time {
        let domains = self.domains.borrow();
        domains.iter().map(|domain| domain.core.clock.edge(domain.next_cycle())).min().unwrap_or(Time::NEVER)
    }

    fn run_domains(&mut self, mut end: Time) -> Option<Vec<String>> {
        let ends = &self.shared.ends;
        let deliver = |wire: u32| ends.borrow().incoming(wire).deliver();
        let domains = self.domains.get_mut();
        loop {
            let several = domains.len() > 1;
            // The earliest edge; among simultaneous ones, that of the first clock. Then the earliest edges of the clocks
            // before and after that one.
            let (mut earliest, mut first) = (0, Time::NEVER);
            let (mut before, mut after) = (Time::NEVER, Time::NEVER);
            for (at, domain) in domains.iter().enumerate() {
                let edge = domain.core.clock.edge(domain.next_cycle());
                if edge < first {
                    (before, after) = (before.min(after).min(first), Time::NEVER);
                    (earliest, first) = (at, edge);
                } else {
                    after = after.min(edge);
                }
            }
            // The domain may run on until another domain's turn comes.
            let clock = domains.get(earliest)?.core.clock;
            let follows = if after == Time::NEVER { u64::MAX } else { clock.first_after(after) };
            let until = clock.first_at(end).min(clock.first_at(before)).min(follows);
            let domain = &mut domains[earliest];
            if domain.next_cycle() >= until {
                return None;
            }
            self.shared.interrupt.set(false);
            let ran = domain.run(until, &deliver);
            let reached = clock.edge(domain.core.now.get());
            self.shared.note_reached(reached);
            self.peak.note(several.then_some(first), reached, domain.tally);
            if ran == Ran::Livelock {
                return Some(domain.livelock().map(|name| self.shared.path(name)).collect());
            }
            if let Some(delay) = self.shared.alone
                && let Some((asked, _)) = self.shared.control.borrow().first()
            {
                end = end.min(*asked + delay);
            }
        }
    }

    /// Everything that has run began before this time.
    pub(crate) fn reached(&self) -> Time {
        self.shared.reached.get()
    }

    pub(crate) fn progress(&self) -> Time {
        self.shared.progress.get()
    }

    /// The events since the last call.
    pub(crate) fn pressure(&mut self) -> Pressure {
        let events = self.events();
        let pressure = Pressure { events: events - self.told, most: self.peak.most };
        (self.told, self.peak.most) = (events, 0);
        pressure
    }

    /// How many regions have ended.
    pub(crate) fn boundaries(&self) -> usize {
        self.boundaries.get()
    }

    /// Reads every statistic at the end of a region into `values` and resets it.
    pub(crate) fn read_statistics(&mut self, end: Time, values: &mut Vec<(Path, Value)>) {
        self.boundaries.set(self.boundaries.get() + 1);
        let first = self.boundaries.get() == 1;
        let names = self.shared.names.borrow();
        self.shared.stats.borrow_mut().read(&names, end, first, values);
        // These come in the order of their paths, too.
        let mut all_busy = Vec::new();
        for domain in self.domains.get_mut() {
            let cycle = domain.core.clock.first_at(end);
            let busy = domain.take_busy(cycle).into_iter().filter(|(_, busy)| first || *busy > 0);
            all_busy.extend(busy.map(|(name, busy)| (names.path(name) + ".busy_cycles", busy)));
        }
        all_busy.sort_unstable();
        values.extend(all_busy.into_iter().map(|(path, busy)| (path.into(), Value::Count(busy))));
    }

    /// Asks the contexts that can explain their wait what they need. Returns these contexts, with the start of their
    /// waits.
    fn explanations(&self) -> BTreeMap<Name, Time> {
        let mut asked = BTreeMap::new();
        let mut domains = self.domains.borrow_mut();
        let eventcounts: Vec<_> = self.shared.eventcounts.borrow().iter().filter_map(Weak::upgrade).collect();
        self.shared.explaining.set(true);
        for eventcount in eventcounts.into_iter().filter(|eventcount| eventcount.explains.get()) {
            let domain = domains.iter_mut().find(|domain| domain.core.index == eventcount.core.index);
            let domain = domain.expect("an eventcount belongs to a domain of its partition");
            for waiter in eventcount.waiters() {
                asked.insert(domain.name_of(waiter.id), domain.core.clock.edge(waiter.since));
                domain.explain(waiter.id);
            }
        }
        self.shared.explaining.set(false);
        asked
    }

    /// The contexts that wait here, and those that could wake contexts elsewhere. Contexts that can explain their wait
    /// are asked.
    pub(crate) fn knowledge(&self) -> Knowledge {
        self.known(self.explanations(), false)
    }

    /// The contexts that are held up here, without asking them and without histories. This is quick, and the model
    /// can't notice it.
    pub(crate) fn held_up(&self) -> Knowledge {
        self.known(BTreeMap::new(), true)
    }

    /// Adds the levels here that are above zero.
    pub(crate) fn levels(&self, levels: &mut Vec<(String, u64)>) {
        self.shared.stats.borrow().levels(&self.shared.names.borrow(), levels);
    }

    /// The wait report of this partition. `asked`: the contexts that explained their wait, with its start.
    /// `held_up_only`: without contexts at rest.
    fn known(&self, asked: BTreeMap<Name, Time>, held_up_only: bool) -> Knowledge {
        let path_of = |name: Name| (name != Name::ROOT).then(|| self.shared.path(name));
        let needs = self.shared.needs.take().into_iter().map(|need| Waiting {
            context: self.shared.path(need.context),
            on: need.what,
            held_up: true,
            explained: true,
            since: asked.get(&need.context).copied().unwrap_or(Time::ZERO),
            wakers: need.from,
            advances: 0,
            last_advances: Vec::new(),
            wire: need.wire,
        });
        let mut waiting: Vec<Waiting> = needs.collect();
        for eventcount in self.shared.eventcounts.borrow().iter().filter_map(|eventcount| eventcount.upgrade()) {
            let domains = self.domains.borrow();
            let domain = domains.iter().find(|domain| domain.core.index == eventcount.core.index);
            let domain = domain.expect("an eventcount belongs to a domain of its partition");
            let held_up = |waiter: &Waiter| Waiting::held_up(domain.slot(waiter.id).server, eventcount.reason);
            let mut waiters = eventcount.waiters();
            waiters.retain(|waiter| !held_up_only || held_up(waiter));
            if waiters.is_empty() {
                continue;
            }
            let (advances, history) = eventcount.history();
            let told = |advance: &Moment| {
                let time = self.shared.core(advance.domain)?.clock.edge(advance.cycle);
                Some((time, path_of(advance.who).unwrap_or_else(|| "the wire".to_owned())))
            };
            let last_advances: Vec<(Time, String)> =
                if held_up_only { Vec::new() } else { history.iter().filter_map(told).collect() };
            let known = history.iter().map(|advance| advance.who).chain([eventcount.expected.get()]);
            let wakers: BTreeSet<Name> = known.collect();
            let wakers: Vec<String> = wakers.into_iter().filter_map(path_of).collect();
            for waiter in waiters {
                let name = domain.name_of(waiter.id);
                // A context that was asked has stated its needs. If it stated none it is idle, and no other context is
                // to blame for that.
                let since = asked.get(&name).copied();
                waiting.push(Waiting {
                    context: self.shared.path(name),
                    on: self.shared.path(eventcount.name),
                    held_up: held_up(&waiter),
                    explained: false,
                    since: since.unwrap_or_else(|| domain.core.clock.edge(waiter.since)),
                    wakers: if since.is_some() { Vec::new() } else { wakers.clone() },
                    advances,
                    last_advances: last_advances.clone(),
                    wire: eventcount.wire.get().filter(|_| since.is_none()),
                });
            }
        }
        let ends = self.shared.ends.borrow();
        let bringers = ends.bringers.iter().filter_map(|(wire, who)| Some((*wire, path_of(who.get())?)));
        let aliases = self.shared.aliases.borrow();
        let aliases = aliases.iter().map(|(alias, name)| (alias.clone(), self.shared.path(*name)));
        Knowledge { waiting, bringers: bringers.collect(), aliases: aliases.collect() }
    }

    /// The trace taken here, each event with the time at which it was recorded.
    pub(crate) fn trace(&self) -> Vec<(Time, TraceEvent)> {
        let edge = |index, cycle| self.shared.core(index).map_or(Time::ZERO, |core| core.clock.edge(cycle));
        let recorder = self.shared.recorder.as_ref();
        recorder.map(|recorder| recorder.events(edge, |name| self.shared.path(name))).unwrap_or_default()
    }
}

impl Drop for Partition {
    /// Breaks the reference cycles among contexts, domains and ends of links.
    fn drop(&mut self) {
        self.domains.get_mut().clear();
        for core in self.shared.cores.take() {
            core.born.take();
            core.due.replace(Agenda::new());
        }
        self.shared.ends.take();
        self.shared.outgoing.take();
        self.far.take();
        self.shared.written.take();
        self.shared.stats.replace(crate::stats::Registry::new());
    }
}
