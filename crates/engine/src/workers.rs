//! The threads of a run: how many there are, which partitions each has, and how they end.

use crate::{
    crew::{Crew, Task},
    deal::{Seat, Seating, deal, one_team},
    model::{Build, Model, Run, RunOptions},
    scaling::Counts,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, mpsc},
    thread,
};

/// Runs a model: builds its partitions, each in the thread that runs it, and goes on until the run is over.
pub(crate) fn run(mut model: Model, options: &RunOptions) -> Run {
    let (builds, audits) = (std::mem::take(&mut model.partitions), std::mem::take(&mut model.audits));
    let mut builds: Vec<Option<Build>> = builds.into_iter().map(Some).collect();
    let model = &model;
    let wanted = options.threads.clamp(1, builds.len().max(1));
    let (crew, panics) = thread::scope(|scope| {
        // The work is dealt after the threads have started, because the operating system may refuse some. A run with
        // one thread uses the calling thread.
        let hired: Vec<_> = match wanted {
            1 => Vec::new(),
            _ => (0..wanted).map_while(|me| Worker::hire(scope, me)).collect(),
        };
        let threads = hired.len().max(1);
        let counts = Counts::new(&model.shares, &options.scaling);
        // Teams have windows of their own, but the counted events must depend on the model alone, so there is only one
        // team.
        let seating = match counts.is_some() {
            true => Seating::whole(one_team(&model.shares, threads)),
            false => Seating::by_group(&model.shares, deal(&model.shares, threads)),
        };
        let crew = Arc::new(Crew::new(model, options, &seating, audits, counts));
        let mut task = |Seat { team, number, hand }| {
            let builds = hand.into_iter().filter_map(|index| Some((index, builds[index].take()?))).collect();
            Task { team, number, builds }
        };
        let mut tasks = seating.threads.into_iter().map(|seats| seats.into_iter().map(&mut task).collect::<Vec<_>>());
        if hired.is_empty() {
            let worked = work(&crew, 0, tasks.next().expect("a team has a thread"));
            return (crew, Vec::from_iter(worked.err()));
        }
        for (worker, own) in hired.iter().zip(tasks) {
            _ = worker.orders.send(Order { crew: Arc::clone(&crew), threads, own });
        }
        let panics = hired.into_iter().filter_map(|worker| worker.dismiss().err()).collect();
        (crew, panics)
    });
    if let Some(panic) = panics.into_iter().next() {
        resume_unwind(panic);
    }
    let Ok(crew) = Arc::try_unwrap(crew) else { unreachable!("every thread has ended and let go of the crew") };
    crew.run()
}

/// The result of a thread's work; an error is a panic.
type Worked = thread::Result<()>;

fn work(crew: &Crew<'_>, me: usize, own: Vec<Task>) -> Worked {
    let worked = catch_unwind(AssertUnwindSafe(|| crew.work(me, own)));
    if worked.is_err() {
        crew.break_up();
    }
    worked
}

/// The work for a thread.
struct Order<'a> {
    crew: Arc<Crew<'a>>,
    threads: usize,
    own: Vec<Task>,
}

/// A thread that waits for its order.
struct Worker<'scope, 'a> {
    orders: mpsc::Sender<Order<'a>>,
    thread: thread::ScopedJoinHandle<'scope, Worked>,
}

impl<'scope, 'a: 'scope> Worker<'scope, 'a> {
    /// Starts thread `me`, if the operating system allows it.
    fn hire(scope: &'scope thread::Scope<'scope, '_>, me: usize) -> Option<Self> {
        let (orders, given) = mpsc::channel::<Order<'a>>();
        let run = move || {
            // Without an order, the thread is not needed, or the one that started it has panicked.
            let Ok(Order { crew, threads, own }) = given.recv() else { return Ok(()) };
            pin(me, threads);
            work(&crew, me, own)
        };
        let thread = thread::Builder::new().spawn_scoped(scope, run).ok()?;
        Some(Self { orders, thread })
    }

    /// Waits for the thread to end.
    fn dismiss(self) -> Worked {
        drop(self.orders);
        self.thread.join().unwrap_or_else(Err)
    }
}

/// Pins thread `me` to one core, if there is one for each thread: a thread that moves finds its caches cold.
fn pin(me: usize, threads: usize) {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return };
    let cores: Vec<usize> = (0..rustix::thread::CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    if threads <= cores.len() {
        let mut one = rustix::thread::CpuSet::new();
        one.set(cores[me]);
        // A thread that can't be pinned still runs.
        _ = rustix::thread::sched_setaffinity(None, &one);
    }
}
