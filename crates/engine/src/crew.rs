//! The main loop of the threads of a run: each runs its partitions window by window, and all meet in between.
//!
//! A round begins at the earliest pending event of any partition, so idle time is skipped. Its length is the latency of
//! the shortest link between groups of partitions ([`Share::group`]), and at most the delay of control requests
//! ([`edges`](crate::edges)). All threads meet at the end of a round. Within a round each team of threads
//! ([`deal`](crate::deal)) runs windows as long as the shortest link among its partitions and meets on its own in
//! between, so no mail comes late. In most models a round is one window. The run is over when nothing can happen any
//! more, or when only timeouts of waits that have already ended are left.
//!
//! **Invariant**: the start and the end of a round do not depend on the number of threads, and windows change nothing
//! in the model. All threads see the same notices and reach the same verdict independently; there is no coordinator.

use crate::{
    barrier::{Barrier, Broken, Notice},
    core::Control,
    deal::{self, Seating, Share},
    edges::{Edge, Edges},
    journal::{Audit, Finding},
    link::Placed,
    model::{Build, Model, Outcome, Run, RunOptions},
    partition::{Letterbox, Partition, PartitionSpec, Window},
    pressure::Pressure,
    report::{Knowledge, WaitReport},
    scaling::Counts,
    stats::{Region, Statistics},
    time::{Clock, Cycles, Hertz, Time},
    trace::{self, TraceEvent},
};
use std::{
    ops::Range,
    sync::{Arc, Mutex},
};

/// A thread's work in one team: its number there, and its partitions with their numbers.
pub(crate) struct Task {
    pub(crate) team: usize,
    pub(crate) number: usize,
    pub(crate) builds: Vec<(usize, Build)>,
}

/// A thread's part in a team.
struct Seat {
    /// The thread's number in the run, its team, and its number within that team.
    me: usize,
    team: usize,
    number: usize,
    /// The thread's partitions that belong to this team, as a range of its own list.
    partitions: Range<usize>,
    /// Number of windows run, and number of meetings with the team within rounds.
    windows: u64,
    meetings: u64,
    /// The length of a window; known when all ends of links are in place.
    window: Time,
}

/// When the round ends whose first event is at `start`. Rounds end at multiples of `length`, so that mail in flight
/// between windows, and the length of those windows, do not influence when all threads meet.
fn end_of_round(length: Time, start: Time) -> Time {
    let rounds = start.0.checked_div(length.0).and_then(|rounds| rounds.checked_add(1));
    rounds.and_then(|rounds| rounds.checked_mul(length.0)).map_or(Time::NEVER, Time)
}

/// An exceptional event in a round.
enum Incident {
    /// A control request of the model, which takes effect later.
    Asked(Control),
    /// The run ends at once, with the rank of the reason (lower wins).
    Over(u8, Outcome),
}

/// Results that the threads collect at the end.
#[derive(Default)]
struct Gathered {
    /// Every region that has begun: its name, its start, and its statistics once it has ended.
    regions: Vec<Region>,
    outcome: Option<Outcome>,
    end: Time,
    knowledge: Vec<Knowledge>,
    trace: Vec<(Time, TraceEvent)>,
    /// One entry for each region.
    pressure: Vec<Pressure>,
    /// The result of the last audit.
    found: Option<Finding>,
}

/// How a run ends. Every thread derives it independently from the same notices.
enum Verdict {
    /// Nothing is left to do.
    Idle,
    Stuck,
    Other(Outcome),
}

/// The threads of a run and the state they share.
pub(crate) struct Crew<'a> {
    options: &'a RunOptions,
    barrier: Barrier,
    /// The barriers at which the threads of each team meet within a round.
    teams: Vec<Barrier>,
    spec: PartitionSpec,
    links: &'a [Arc<dyn Placed>],
    shares: &'a [Share],
    /// The length of a round if there are no links between groups.
    longest_round: Time,
    /// The delay until a control request of the model takes effect.
    delay: Time,
    /// Incidents with their round and time. Rare.
    incidents: Mutex<Vec<(u64, Time, Incident)>>,
    gathered: Mutex<Gathered>,
    audits: Mutex<Vec<Box<dyn Audit>>>,
    /// The thread that audits: the one with the least work.
    auditor: usize,
    counts: Option<Counts>,
}

/// With one partition and no link, a round only sets how often the run checks for interrupts and control requests. In
/// cycles of the fastest clock.
const CYCLES_ALONE: Cycles = Cycles(4096);

impl<'a> Crew<'a> {
    pub(crate) fn new(
        model: &'a Model,
        options: &'a RunOptions,
        seating: &Seating,
        audits: Vec<Box<dyn Audit>>,
        counts: Option<Counts>,
    ) -> Crew<'a> {
        let (shares, threads) = (model.shares.as_slice(), seating.threads.len());
        let partitions = shares.len();
        let fastest = Clock::new(model.clocks.iter().max().copied().unwrap_or(Hertz::giga(1)));
        let alone = partitions == 1 && model.links.is_empty();
        let delay = model.control_delay.or(model.shortest_link).unwrap_or_else(|| fastest.span(Cycles(1)));
        let mut team_of = vec![0; partitions];
        for deal::Seat { team, hand, .. } in seating.threads.iter().flatten() {
            hand.iter().for_each(|partition| team_of[*partition] = *team);
        }
        let letterboxes = || (0..partitions).map(|_| Letterbox::default()).collect();
        let spec = PartitionSpec {
            clocks: model.clocks.clone().into(),
            letterboxes: letterboxes(),
            far_letterboxes: letterboxes(),
            team_of: team_of.into(),
            has_teams: seating.teams.len() > 1,
            delta_limit: options.delta_limit,
            trace: options.trace,
            alone: alone.then_some(delay),
            monitor: options.monitor.clone(),
        };
        let start =
            Region { name: "start".to_owned(), start: Time::ZERO, end: Time::ZERO, statistics: Statistics::default() };
        Crew {
            options,
            barrier: Barrier::new(threads, threads),
            teams: seating.teams.iter().map(|team| Barrier::new(*team, threads)).collect(),
            spec,
            links: &model.links,
            shares,
            longest_round: if alone { fastest.span(CYCLES_ALONE) } else { delay },
            delay,
            incidents: Mutex::default(),
            gathered: Mutex::new(Gathered {
                regions: vec![start],
                pressure: vec![Pressure::default()],
                ..Gathered::default()
            }),
            audits: Mutex::new(audits),
            auditor: seating.least_busy(shares),
            counts,
        }
    }

    /// Releases all threads from their barriers, because one has died.
    pub(crate) fn break_up(&self) {
        self.teams.iter().chain([&self.barrier]).for_each(Barrier::break_up);
    }

    /// The length of a round. Like the length of windows, it is known when all ends of links are in place.
    fn length_of_rounds(&self) -> Time {
        let between_groups = self
            .links
            .iter()
            .filter(|link| ends(link).map(|end| self.shares[end].group).windows(2).any(|g| g[0] != g[1]));
        between_groups.map(|link| link.latency()).fold(self.longest_round, Time::min)
    }

    /// The length of the windows of a team.
    fn length_of_windows(&self, team: usize) -> Time {
        let within = self.links.iter().filter(|link| ends(link).iter().all(|end| self.spec.team_of[*end] == team));
        within.map(|link| link.latency()).fold(self.longest_round, Time::min)
    }

    /// The body of thread `me`: builds its partitions, runs them window by window, and hands in their results.
    pub(crate) fn work(&self, me: usize, own: Vec<Task>) {
        let (mut partitions, mut seats) = (Vec::new(), Vec::new());
        for Task { team, number, builds } in own {
            let first = partitions.len();
            for (index, build) in builds {
                let partition = Partition::new(index, self.spec.clone());
                build(&partition);
                if let Some(mistake) = partition.mistake() {
                    panic!("the model is built wrong: {mistake}");
                }
                partitions.push(partition);
            }
            let partitions = first..partitions.len();
            seats.push(Seat { me, team, number, partitions, windows: 0, meetings: 0, window: Time::ZERO });
        }
        let finished = self.rounds(me, &mut seats, &mut partitions);
        if finished.is_ok() {
            self.hand_in(&partitions);
            // Only a run in which every context has done its work leaves nothing to be told on a drop.
            if self.options.leave && matches!(lock(&self.gathered).outcome, Some(Outcome::Finished)) {
                std::mem::forget(partitions);
            }
        }
    }

    fn rounds(&self, me: usize, seats: &mut [Seat], partitions: &mut [Partition]) -> Result<(), Broken> {
        let built = |partition: &Partition| {
            if partition.is_abandoned() {
                lock(&self.incidents).push((0, Time::ZERO, Incident::Over(2, Outcome::Stopped)));
            }
            let (next, incident) = (partition.next(), partition.is_abandoned());
            Notice { next, live: partition.is_live(), incident, ..Notice::NOTHING }
        };
        let mut own = partitions.iter().map(built).fold(Notice::NOTHING, Notice::and);
        let (mut start, mut end) = (Time::ZERO, Time::ZERO);
        // How often contexts have run since a context last reported progress.
        let mut restless = 0;
        let mut edges = Edges::new(self.delay, self.options.until);
        let mut length = Time::ZERO;
        let mut answered = 0;
        for round in 0.. {
            self.options.monitor.attend(partitions, self.shares.len(), &mut answered);
            // All threads see the same combined notice and so reach the same verdict.
            let together = self.barrier.meet(me, round, own)?;
            self.add_up(&seats[0], true);
            if me == 0 {
                self.options.monitor.note(together.reached);
            }
            let loose_end = || self.links.iter().find_map(|link| link.missing());
            if let Some(missing) = (round == 0 && !together.incident).then(loose_end).flatten() {
                panic!("the model is built wrong: {missing}");
            }
            restless = if together.progress >= start { 0 } else { restless + together.events };
            if together.incident && self.note_incidents(round, &mut edges) {
                // A single partition stops where it is instead of running to the end of the round.
                let end = if self.spec.alone.is_some() { together.reached } else { end };
                let outcome = edges.outcome().expect("a run that is over ends somehow");
                return self.end(me, partitions, Verdict::Other(outcome), end, round + 1);
            }
            // A single partition has already ended its round at the next edge by itself.
            end = end.min(edges.next());
            let (verdict, end_of_run) = self.judge(partitions, &mut edges, together, (end, restless));
            if let Some(verdict) = verdict {
                return self.end(me, partitions, verdict, end_of_run, round + 1);
            }
            if me == 0 {
                self.options.monitor.note_next(together.next);
            }
            start = together.next;
            if round == 0 {
                length = self.length_of_rounds();
                seats.iter_mut().for_each(|seat| seat.window = self.length_of_windows(seat.team));
            }
            end = end_of_round(length, start).min(self.options.until).min(edges.next());
            own = self.audit_while_others_run(me, round);
            for seat in &mut *seats {
                let of_team = &mut partitions[seat.partitions.clone()];
                own = own.and(self.round(seat, of_team, round, (start, end))?);
            }
        }
        unreachable!("2^64 rounds outlast time")
    }

    /// Runs the thread's partitions of one team from `start` to `end`, in windows of that team.
    fn round(
        &self,
        seat: &mut Seat,
        partitions: &mut [Partition],
        round: u64,
        (start, end): (Time, Time),
    ) -> Result<Notice, Broken> {
        if self.spec.has_teams {
            partitions.iter().for_each(|partition| partition.take_far_mail_in(start, round));
        }
        let (mut events, mut incident, mut from) = (0, false, start);
        let last = loop {
            let until = (from + seat.window).min(end);
            let mut own = Notice::NOTHING;
            for partition in partitions.iter_mut() {
                let brought = partition.window(from, until, seat.windows, end);
                if let Some(counts) = &self.counts {
                    counts.put(seat.windows, partition.index(), brought.events);
                }
                own = own.and(self.notice(seat.me, partition, brought, round + 1));
            }
            seat.windows += 1;
            (events, incident) = (events + own.events, incident || own.incident);
            if until == end {
                break own;
            }
            let team = self.teams[seat.team].meet(seat.number, seat.meetings, own)?;
            seat.meetings += 1;
            if team.next >= end {
                break own;
            }
            self.add_up(seat, false);
            from = team.next;
        };
        let mail = partitions.iter_mut().map(|partition| partition.end_round(round)).fold(Time::NEVER, Time::min);
        Ok(Notice { next: last.next.min(mail), live: last.live || mail != Time::NEVER, events, incident, ..last })
    }

    /// Adds up the events of the last window, which all threads have finished, if events are counted.
    fn add_up(&self, seat: &Seat, ends_round: bool) {
        if let (Some(counts), 0, 1..) = (&self.counts, seat.me, seat.windows) {
            counts.add_up(seat.windows - 1, ends_round);
        }
    }

    /// If this thread is the auditor, audits the entries of the previous round while partitions run `round`. A finding
    /// is an incident of `round`.
    fn audit_while_others_run(&self, me: usize, round: u64) -> Notice {
        let found = if me == self.auditor && round > 0 { self.audit(round - 1) } else { None };
        if let Some(Finding { time, auditor, message }) = &found {
            let failed = Outcome::Failed { time: *time, context: auditor.clone(), message: message.clone() };
            lock(&self.incidents).push((round + 1, *time, Incident::Over(0, failed)));
        }
        Notice { incident: found.is_some(), ..Notice::NOTHING }
    }

    /// The earliest error that the auditors find in the entries of `round`.
    fn audit(&self, round: u64) -> Option<Finding> {
        let mut audits = lock(&self.audits);
        let found = audits.iter_mut().filter_map(|audit| audit.read((round % 2) as usize).err());
        found.min_by(|one, other| one.time.cmp(&other.time))
    }

    /// The notice for a partition after a window of `round`. Incidents are stored where all threads find them.
    fn notice(&self, me: usize, partition: &Partition, brought: Window, round: u64) -> Notice {
        let interrupted = me == 0 && self.options.monitor.is_stopped();
        let incident = interrupted || brought.livelock.is_some() || !brought.control.is_empty();
        if incident {
            let time = partition.reached();
            let livelock = |contexts| (time, Incident::Over(1, Outcome::Livelock { time, contexts }));
            let incidents = (brought.control.into_iter().map(|(time, control)| (time, Incident::Asked(control))))
                .chain(brought.livelock.map(livelock))
                .chain(interrupted.then_some((Time::NEVER, Incident::Over(3, Outcome::Interrupted))));
            lock(&self.incidents).extend(incidents.map(|(time, incident)| (round, time, incident)));
        }
        let (reached, progress) = (partition.reached(), partition.progress());
        let Window { next, live, events, .. } = brought;
        Notice { next, reached, progress, events, live, incident }
    }

    /// Processes the incidents of `round`; returns whether the run is over at once.
    fn note_incidents(&self, round: u64, edges: &mut Edges) -> bool {
        let mut over = false;
        for (_, time, incident) in lock(&self.incidents).iter().filter(|(when, ..)| *when == round) {
            match incident {
                Incident::Asked(control) => edges.ask(*time, control),
                Incident::Over(rank, outcome) => {
                    edges.over(*time, *rank, outcome);
                    over = true;
                }
            }
        }
        over
    }

    /// After a round that ended at `end`: starts the regions that begin before the next event, and returns whether and
    /// when the run ends. `restless` is how often contexts have run without progress.
    fn judge(
        &self,
        partitions: &mut [Partition],
        edges: &mut Edges,
        together: Notice,
        (end, restless): (Time, u64),
    ) -> (Option<Verdict>, Time) {
        let Notice { next, reached, live, .. } = together;
        let next = if live { next.min(self.options.until) } else { self.options.until };
        let mut last = Time::ZERO;
        while let Some((time, edge)) = edges.take(next) {
            match edge {
                Edge::Region(name) => self.next_region(partitions, &name, time),
                Edge::End(outcome) => return (Some(Verdict::Other(outcome)), time),
            }
            last = time;
        }
        if !live {
            return (Some(Verdict::Idle), reached.max(last));
        }
        if next == self.options.until {
            return (Some(Verdict::Other(Outcome::TimeLimit)), next);
        }
        if self.options.watchdog.is_some_and(|limit| restless > limit) {
            return (Some(edges.outcome().map_or(Verdict::Stuck, Verdict::Other)), end);
        }
        (None, end)
    }

    /// Ends the current region at `boundary` and starts the next. Every thread calls this for the same regions in the
    /// same order. The first caller opens the new region; each caller adds what its partitions measured in the old one.
    fn next_region(&self, partitions: &mut [Partition], name: &str, boundary: Time) {
        let mut measured = Vec::new();
        partitions.iter_mut().for_each(|partition| partition.read_statistics(boundary, &mut measured));
        let mut gathered = lock(&self.gathered);
        let gathered = &mut *gathered;
        // The region of this thread's partitions: all of them have passed the same number of boundaries.
        let current = partitions.first().map_or(0, |partition| partition.boundaries() - 1);
        let old = &mut gathered.regions[current];
        old.statistics.gather(measured);
        old.end = boundary;
        partitions.iter_mut().for_each(|partition| gathered.pressure[current].add(partition.pressure()));
        if gathered.regions.len() == current + 1 {
            let (name, statistics) = (name.to_owned(), Statistics::default());
            gathered.regions.push(Region { name, start: boundary, end: boundary, statistics });
            gathered.pressure.push(Pressure::default());
        }
    }

    /// Ends the run for one thread: reads the last region and collects what is known about waiting contexts.
    fn end(
        &self,
        me: usize,
        partitions: &mut [Partition],
        verdict: Verdict,
        end: Time,
        round: u64,
    ) -> Result<(), Broken> {
        {
            let mut measured = Vec::new();
            partitions.iter_mut().for_each(|partition| partition.read_statistics(end, &mut measured));
            let mut gathered = lock(&self.gathered);
            gathered.end = end;
            let last = gathered.regions.last_mut().expect("there is always a region");
            last.statistics.gather(measured);
            last.end = end;
            let pressure = gathered.pressure.last_mut().expect("every region has one");
            partitions.iter_mut().for_each(|partition| pressure.add(partition.pressure()));
            gathered.knowledge.extend(partitions.iter().map(Partition::knowledge));
            if me == self.auditor {
                gathered.found = (round > 1).then(|| self.audit(round - 2)).flatten();
            }
        }
        self.barrier.meet(me, round, Notice::NOTHING)?;
        if me == 0 {
            let mut gathered = lock(&self.gathered);
            let report = WaitReport::new(end, std::mem::take(&mut gathered.knowledge));
            gathered.outcome = Some(match verdict {
                Verdict::Idle if report.anybody_held_up() => Outcome::Deadlock(report),
                Verdict::Idle => Outcome::Finished,
                Verdict::Stuck => Outcome::Stuck(report),
                Verdict::Other(outcome) => outcome,
            });
            // Errors of the last round are found only now.
            if let Some(Finding { time, auditor: context, message }) = gathered.found.take()
                && !matches!(gathered.outcome, Some(Outcome::Failed { time: other, .. }) if other < time)
            {
                gathered.outcome = Some(Outcome::Failed { time, context, message });
            }
        }
        Ok(())
    }

    fn hand_in(&self, partitions: &[Partition]) {
        let mut gathered = lock(&self.gathered);
        for partition in partitions {
            gathered.trace.append(&mut partition.trace());
        }
    }

    /// The result of the run, when every thread is done.
    pub(crate) fn run(self) -> Run {
        let gathered = self.gathered.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        Run {
            outcome: gathered.outcome.expect("a run that is over has an outcome"),
            end: gathered.end,
            regions: gathered.regions,
            trace: trace::merge(gathered.trace, self.options.trace.map_or(0, |trace| trace.events)),
            events: gathered.pressure.iter().map(|pressure| pressure.events).sum(),
            pressure: gathered.pressure,
            scaling: self.counts.map(Counts::scaling).unwrap_or_default(),
        }
    }
}

/// The partitions at the ends of a link.
fn ends(link: &Arc<dyn Placed>) -> [usize; 2] {
    link.ends().into()
}

/// A thread that died while it held a lock has broken the barrier too, so its results are not used.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
