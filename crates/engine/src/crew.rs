//! The threads of a run: each runs its partitions window by window, and all meet in between.
//!
//! A window begins when anything is to be done anywhere (idle time is skipped) and is as long as the shortest link, so no
//! mail comes late, unless something is to take effect earlier ([`edges`](crate::edges)). When nothing can happen any more, or
//! only limits of waits pass that have ended, the run is over. Neither the start nor the end of a window depends on the number of
//! threads or on the cut. All threads see the same notices and come to the same verdict by themselves; none gives orders.

use crate::{
    barrier::{Barrier, Broken, Notice},
    core::Control,
    edges::{Edge, Edges},
    journal::{Audit, Finding},
    link::Placed,
    model::{Build, Model, Outcome, Run, RunOptions},
    partition::{Letterbox, Partition, PartitionSpec, Window},
    pressure::Pressure,
    report::{Knowledge, WaitReport},
    stats::{Region, Statistics},
    time::{Clock, Cycles, Hertz, Time},
    trace::{self, TraceEvent},
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Mutex, mpsc},
    thread,
};

/// Runs a model: builds its partitions, each in the thread that runs it, and goes on until the run is over.
pub(crate) fn run(mut model: Model, options: &RunOptions) -> Run {
    let (partitions, audits) = (std::mem::take(&mut model.partitions), std::mem::take(&mut model.audits));
    let audits = Mutex::new(audits);
    let wanted = options.threads.clamp(1, partitions.len().max(1));
    if wanted == 1 {
        let crew = Crew { audits, ..Crew::new(&model, partitions.len(), options, 1) };
        work(&crew, 0, deal(partitions, 1).remove(0)).unwrap_or_else(|panic| resume_unwind(panic));
        return crew.run();
    }
    let (crew, panics) = thread::scope(|scope| {
        // How many threads the operating system gives is known when they are there: only then is the work dealt.
        let hired: Vec<_> = (0..wanted).map_while(|me| Worker::hire(scope, me)).collect();
        let threads = hired.len().max(1);
        let crew = Arc::new(Crew { audits, ..Crew::new(&model, partitions.len(), options, threads) });
        let mut shares = deal(partitions, threads).into_iter();
        if hired.is_empty() {
            let worked = work(&crew, 0, shares.next().unwrap_or_default());
            return (crew, Vec::from_iter(worked.err()));
        }
        for (worker, share) in hired.iter().zip(shares) {
            _ = worker.task.send(Task { crew: Arc::clone(&crew), threads, share });
        }
        let panics = hired.into_iter().filter_map(|worker| worker.thread.join().unwrap_or_else(Err).err()).collect();
        (crew, panics)
    });
    if let Some(panic) = panics.into_iter().next() {
        resume_unwind(panic);
    }
    let Ok(crew) = Arc::try_unwrap(crew) else { unreachable!("every thread has ended and let go of the crew") };
    crew.run()
}

/// Partitions with their numbers.
type Share = Vec<(usize, Build)>;

/// How a thread's work ended: with a panic, if it is an error.
type Worked = thread::Result<()>;

/// Deals partitions over threads.
fn deal(partitions: Vec<Build>, threads: usize) -> Vec<Share> {
    let mut shares: Vec<Share> = (0..threads).map(|_| Vec::new()).collect();
    for (index, build) in partitions.into_iter().enumerate() {
        shares[index % threads].push((index, build));
    }
    shares
}

fn work(crew: &Crew<'_>, me: usize, share: Share) -> Worked {
    let worked = catch_unwind(AssertUnwindSafe(|| crew.work(me, share)));
    if worked.is_err() {
        crew.barrier.break_up();
    }
    worked
}

/// What a thread is to do.
struct Task<'a> {
    crew: Arc<Crew<'a>>,
    threads: usize,
    share: Share,
}

/// A thread that waits for its task.
struct Worker<'scope, 'a> {
    task: mpsc::Sender<Task<'a>>,
    thread: thread::ScopedJoinHandle<'scope, Worked>,
}

impl<'scope, 'a: 'scope> Worker<'scope, 'a> {
    /// Starts thread `me`, if the operating system allows it.
    fn hire(scope: &'scope thread::Scope<'scope, '_>, me: usize) -> Option<Self> {
        let (task, given) = mpsc::channel::<Task<'a>>();
        let run = move || {
            // Without a task, whoever started this thread has panicked.
            let Ok(Task { crew, threads, share }) = given.recv() else { return Ok(()) };
            pin(me, threads);
            work(&crew, me, share)
        };
        let thread = thread::Builder::new().spawn_scoped(scope, run).ok()?;
        Some(Self { task, thread })
    }
}

/// Keeps thread `me` on one core, if there is one for each: a thread that moves finds its caches cold.
fn pin(me: usize, threads: usize) {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return };
    let cores: Vec<usize> = (0..rustix::thread::CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    if threads <= cores.len() {
        let mut one = rustix::thread::CpuSet::new();
        one.set(cores[me]);
        // A thread that can't be pinned runs all the same.
        _ = rustix::thread::sched_setaffinity(None, &one);
    }
}

/// Something out of the ordinary in a window.
enum Incident {
    /// The model has asked for something, which takes effect later.
    Asked(Control),
    /// The run is to end at once; with the rank of the reason.
    Over(u8, Outcome),
}

/// What the threads gather at the end.
#[derive(Default)]
struct Gathered {
    /// For each region that has begun: its name, its start, and its statistics once it has ended.
    regions: Vec<Region>,
    outcome: Option<Outcome>,
    end: Time,
    knowledge: Vec<Knowledge>,
    trace: Vec<(Time, TraceEvent)>,
    /// Of each region.
    pressure: Vec<Pressure>,
    /// What the last audit found.
    found: Option<Finding>,
}

/// How a run is to end, as every thread finds for itself from the same notices.
enum Verdict {
    /// Nothing is left to do.
    Idle,
    Stuck,
    Other(Outcome),
}

/// The threads of a run and what they share.
struct Crew<'a> {
    options: &'a RunOptions,
    barrier: Barrier,
    spec: PartitionSpec,
    links: &'a [Arc<dyn Placed>],
    window: Time,
    /// From what the model asks for until that takes effect.
    delay: Time,
    /// By window; rare.
    incidents: Mutex<Vec<(u64, Time, Incident)>>,
    gathered: Mutex<Gathered>,
    audits: Mutex<Vec<Box<dyn Audit>>>,
    /// The thread that audits: it has the fewest partitions.
    auditor: usize,
}

/// With one partition and no link, a window is only how often a run looks up, in cycles of its fastest clock.
const CYCLES_ALONE: Cycles = Cycles(4096);

impl<'a> Crew<'a> {
    fn new(model: &'a Model, partitions: usize, options: &'a RunOptions, threads: usize) -> Crew<'a> {
        let fastest = Clock::new(model.clocks.iter().max().copied().unwrap_or(Hertz::giga(1)));
        let alone = partitions == 1 && model.links.is_empty();
        let delay = model.control_delay.or(model.shortest_link).unwrap_or_else(|| fastest.span(Cycles(1)));
        let window =
            if alone { fastest.span(CYCLES_ALONE) } else { model.shortest_link.map_or(delay, |link| link.min(delay)) };
        let spec = PartitionSpec {
            clocks: model.clocks.clone().into(),
            letterboxes: (0..partitions).map(|_| Letterbox::default()).collect(),
            delta_limit: options.delta_limit,
            trace: options.trace,
            alone: alone.then_some(delay),
            monitor: options.monitor.clone(),
        };
        let start =
            Region { name: "start".to_owned(), start: Time::ZERO, end: Time::ZERO, statistics: Statistics::default() };
        Crew {
            options,
            barrier: Barrier::new(threads),
            spec,
            links: &model.links,
            window,
            delay,
            incidents: Mutex::default(),
            gathered: Mutex::new(Gathered {
                regions: vec![start],
                pressure: vec![Pressure::default()],
                ..Gathered::default()
            }),
            audits: Mutex::default(),
            auditor: threads - 1,
        }
    }

    /// What one thread does: builds its partitions, runs them window by window, and hands in what they brought.
    fn work(&self, me: usize, share: Vec<(usize, Build)>) {
        let mut partitions = Vec::new();
        for (index, build) in share {
            let partition = Partition::new(index, self.spec.clone());
            build(&partition);
            if let Some(mistake) = partition.mistake() {
                panic!("the model is built wrong: {mistake}");
            }
            partitions.push(partition);
        }
        let finished = self.windows(me, &mut partitions);
        if finished.is_ok() {
            self.hand_in(&partitions);
        }
    }

    fn windows(&self, me: usize, partitions: &mut [Partition]) -> Result<(), Broken> {
        let built = |partition: &Partition| {
            if partition.is_abandoned() {
                lock(&self.incidents).push((0, Time::ZERO, Incident::Over(2, Outcome::Stopped)));
            }
            let (next, incident) = (partition.next(), partition.is_abandoned());
            Notice { next, live: partition.is_live(), incident, ..Notice::NOTHING }
        };
        let mut own = partitions.iter().map(built).fold(Notice::NOTHING, Notice::and);
        let (mut start, mut end) = (Time::ZERO, Time::ZERO);
        // How often contexts have run since the model last said that it gets on.
        let mut restless = 0;
        let mut edges = Edges::new(self.delay, self.options.until);
        for window in 0.. {
            // All threads see the same notice and so come to the same verdict.
            let together = self.barrier.meet(me, window, own)?;
            if me == 0 {
                self.options.monitor.note(together.reached);
            }
            let loose_end = || self.links.iter().find_map(|link| link.missing());
            if let Some(missing) = (window == 0 && !together.incident).then(loose_end).flatten() {
                panic!("the model is built wrong: {missing}");
            }
            restless = if together.progress >= start { 0 } else { restless + together.events };
            if together.incident && self.note_incidents(window, &mut edges) {
                // A lone partition does not run on to the end of the window.
                let end = if self.spec.alone.is_some() { together.reached } else { end };
                let outcome = edges.outcome().expect("a run that is over ends somehow");
                return self.end(me, partitions, Verdict::Other(outcome), end, window + 1);
            }
            // A lone partition has cut its window by itself.
            end = end.min(edges.next());
            let (verdict, end_of_run) = self.judge(partitions, &mut edges, together, (end, restless));
            if let Some(verdict) = verdict {
                return self.end(me, partitions, verdict, end_of_run, window + 1);
            }
            if me == 0 {
                self.options.monitor.note_next(together.next);
            }
            start = together.next;
            end = (start + self.window).min(self.options.until).min(edges.next());
            own = self.audit_while_others_run(me, window);
            for partition in partitions.iter_mut() {
                let brought = partition.window(start, end, window);
                own = own.and(self.notice(me, partition, brought, window + 1));
            }
        }
        unreachable!("2^64 windows outlast time")
    }

    /// Audits what the window before `window` brought, if that is this thread's part, while partitions run `window`: what is found is
    /// an incident of `window`.
    fn audit_while_others_run(&self, me: usize, window: u64) -> Notice {
        let found = if me == self.auditor && window > 0 { self.audit(window - 1) } else { None };
        if let Some(Finding { time, auditor, message }) = &found {
            let failed = Outcome::Failed { time: *time, context: auditor.clone(), message: message.clone() };
            lock(&self.incidents).push((window + 1, *time, Incident::Over(0, failed)));
        }
        Notice { incident: found.is_some(), ..Notice::NOTHING }
    }

    /// The first thing that is wrong in what `window` brought.
    fn audit(&self, window: u64) -> Option<Finding> {
        let mut audits = lock(&self.audits);
        let found = audits.iter_mut().filter_map(|audit| audit.read((window % 2) as usize).err());
        found.min_by(|one, other| one.time.cmp(&other.time))
    }

    /// What is to be said of a partition after `window`. Incidents are put where all find them.
    fn notice(&self, me: usize, partition: &Partition, brought: Window, window: u64) -> Notice {
        let interrupted = me == 0 && self.options.monitor.is_stopped();
        let livelock = |contexts| {
            let time = partition.reached();
            (time, Incident::Over(1, Outcome::Livelock { time, contexts }))
        };
        let incidents = (brought.control.into_iter().map(|(time, control)| (time, Incident::Asked(control))))
            .chain(brought.livelock.map(livelock))
            .chain(interrupted.then_some((Time::NEVER, Incident::Over(3, Outcome::Interrupted))));
        let mut incidents = incidents.peekable();
        let incident = incidents.peek().is_some();
        if incident {
            lock(&self.incidents).extend(incidents.map(|(time, incident)| (window, time, incident)));
        }
        let (reached, progress) = (partition.reached(), partition.progress());
        let Window { next, live, events, .. } = brought;
        Notice { next, reached, progress, events, live, incident }
    }

    /// Notes what happened in `window`; says whether the run is over at once.
    fn note_incidents(&self, window: u64, edges: &mut Edges) -> bool {
        let mut over = false;
        for (_, time, incident) in lock(&self.incidents).iter().filter(|(when, ..)| *when == window) {
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

    /// After a window that ended at `end`: starts the regions that begin before anything else happens, and says whether the run
    /// is over, and when it then ends. `restless`: how often contexts have run without progress.
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

    /// Ends the current region at `boundary` and starts the next. Called by every thread in the same order; the first to
    /// come opens the new region, each adds what its partitions measured in the old one.
    fn next_region(&self, partitions: &mut [Partition], name: &str, boundary: Time) {
        let mut measured = Vec::new();
        partitions.iter_mut().for_each(|partition| partition.read_statistics(boundary, &mut measured));
        let mut gathered = lock(&self.gathered);
        let gathered = &mut *gathered;
        // Which region this thread's partitions are in: they all have passed the same number of boundaries.
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

    /// Ends the run for one thread: the last region is read, and what is known about waiting contexts gathered.
    fn end(
        &self,
        me: usize,
        partitions: &mut [Partition],
        verdict: Verdict,
        end: Time,
        window: u64,
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
                gathered.found = (window > 1).then(|| self.audit(window - 2)).flatten();
            }
        }
        self.barrier.meet(me, window, Notice::NOTHING)?;
        if me == 0 {
            let mut gathered = lock(&self.gathered);
            let report = WaitReport::new(end, std::mem::take(&mut gathered.knowledge));
            gathered.outcome = Some(match verdict {
                Verdict::Idle if report.anybody_held_up() => Outcome::Deadlock(report),
                Verdict::Idle => Outcome::Finished,
                Verdict::Stuck => Outcome::Stuck(report),
                Verdict::Other(outcome) => outcome,
            });
            // What is wrong in the last window has been found only now.
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

    /// The run, when every thread is done.
    fn run(self) -> Run {
        let gathered = self.gathered.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        Run {
            outcome: gathered.outcome.expect("a run that is over has an outcome"),
            end: gathered.end,
            regions: gathered.regions,
            trace: trace::merge(gathered.trace, self.options.trace.map_or(0, |trace| trace.events)),
            events: gathered.pressure.iter().map(|pressure| pressure.events).sum(),
            pressure: gathered.pressure,
        }
    }
}

/// A thread that died while it held a lock has broken the barrier too: what it left is not used.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
