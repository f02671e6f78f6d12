//! The threads of a run: how many there are, which partitions each has, and how they end.

use crate::{
    crew::{Crew, Seat},
    deal::{deal, one_team},
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
        // How many threads the operating system gives is known when they are there: only then is the work dealt. One is here.
        let hired: Vec<_> = match wanted {
            1 => Vec::new(),
            _ => (0..wanted).map_while(|me| Worker::hire(scope, me)).collect(),
        };
        let threads = hired.len().max(1);
        let counts = Counts::new(&model.shares, &options.scaling);
        // Teams have windows of their own; what is counted is to depend on the model alone.
        let teams = if counts.is_some() { one_team(&model.shares, threads) } else { deal(&model.shares, threads) };
        let crew = Crew::new(model, options, &teams, audits, counts);
        let seats = teams
            .into_iter()
            .enumerate()
            .flat_map(|(team, hands)| hands.into_iter().enumerate().map(move |(number, hand)| (team, number, hand)));
        let mut tasks = seats.enumerate().map(|(me, (team, number, hand))| {
            let own = hand.into_iter().filter_map(|index| Some((index, builds[index].take()?))).collect();
            (Seat::new(me, team, number), own)
        });
        let crew = Arc::new(crew);
        if hired.is_empty() {
            let (seat, own) = tasks.next().expect("a team has a thread");
            let worked = work(&crew, seat, own);
            return (crew, Vec::from_iter(worked.err()));
        }
        for (worker, (seat, own)) in hired.iter().zip(tasks) {
            _ = worker.task.send(Task { crew: Arc::clone(&crew), threads, seat, own });
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

/// Partitions with their numbers.
type Own = Vec<(usize, Build)>;

/// How a thread's work ended: with a panic, if it is an error.
type Worked = thread::Result<()>;

fn work(crew: &Crew<'_>, seat: Seat, own: Own) -> Worked {
    let worked = catch_unwind(AssertUnwindSafe(|| crew.work(seat, own)));
    if worked.is_err() {
        crew.break_up();
    }
    worked
}

/// What a thread is to do.
struct Task<'a> {
    crew: Arc<Crew<'a>>,
    threads: usize,
    seat: Seat,
    own: Own,
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
            // Without a task, there is none for this thread, or the one that started it has panicked.
            let Ok(Task { crew, threads, seat, own }) = given.recv() else { return Ok(()) };
            pin(me, threads);
            work(&crew, seat, own)
        };
        let thread = thread::Builder::new().spawn_scoped(scope, run).ok()?;
        Some(Self { task, thread })
    }

    /// Waits for its end.
    fn dismiss(self) -> Worked {
        drop(self.task);
        self.thread.join().unwrap_or_else(Err)
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
