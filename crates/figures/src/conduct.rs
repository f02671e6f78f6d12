//! Executes the runs of an experiment, several at a time, and stores their results.

use crate::native::{Others, Times};
use crate::{
    Experiment, Findings, Job, Measured, Options, RunError, Store, StoreError, native, run, run::Prepared, store::Kept,
};
use engine::Monitor;
use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZero,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// How an experiment is conducted.
pub struct Conductor<'a> {
    /// The store for results; `None`: results are not stored.
    pub store: Option<&'a Store>,
    /// Number of runs in parallel. Results do not depend on it.
    pub threads: NonZero<usize>,
    /// Stops all runs from outside.
    pub monitor: &'a Monitor,
    /// Called when a run begins and ends.
    pub tell: &'a (dyn Fn(Event) + Sync),
}

/// Progress of a run, the `number`-th of `of`.
pub struct Event<'a> {
    pub number: usize,
    pub of: usize,
    pub job: &'a Job,
    pub state: State<'a>,
}

pub enum State<'a> {
    Begun,
    /// The store had its result.
    Kept,
    /// The stored result is damaged: the run is repeated.
    Damaged,
    Done(Duration),
    Failed(&'a RunError),
}

/// The results of all runs.
#[derive(Clone, Debug, Default)]
pub struct Results {
    simulated: BTreeMap<Job, Measured>,
    native: BTreeMap<Job, Times>,
    /// The load by other programs while programs ran natively.
    others: Option<Others>,
}

impl Results {
    /// The result of a run, if it has one.
    pub fn get(&self, job: &Job) -> Option<&Measured> {
        self.simulated.get(job)
    }

    /// Seconds that the program's region of interest took on this computer.
    pub fn native(&self, job: &Job) -> Option<f64> {
        self.native.get(job).map(|times| times.best)
    }

    /// How much longer the median of a job's native runs was than the shortest, relative to that.
    pub fn native_spread(&self, job: &Job) -> Option<f64> {
        self.native.get(job).map(|times| times.spread)
    }

    /// Whether nothing else ran on this computer meanwhile.
    pub fn was_quiet(&self) -> bool {
        self.others.is_some_and(|others| others.are_quiet())
    }
}

/// A run without a result.
#[derive(Debug)]
pub struct Missing {
    pub job: Job,
    pub error: RunError,
}

/// Executes the runs of an experiment. Failed runs are returned beside the findings.
pub fn conduct(
    experiment: &'static Experiment,
    options: Options,
    conductor: &Conductor,
) -> Result<(Findings, Vec<Missing>), StoreError> {
    conductor.store.map_or(Ok(()), Store::check)?;
    let plan = (experiment.plan)(options);
    let threads = if plan.alone { NonZero::<usize>::MIN } else { conductor.threads };
    let (mut results, missing) = conductor.run_all(&plan.jobs, threads)?;
    let mut notes = plan.notes;
    if !plan.native.is_empty() {
        let (times, others) = native::run_all(&plan.native);
        for (job, times) in plan.native.iter().zip(times) {
            match times {
                Ok(times) => _ = results.native.insert(job.clone(), times),
                Err(error) => notes.push(format!("{} on this computer: {error}", job.program)),
            }
        }
        notes.push(match others {
            Some(others) => {
                let quiet = if others.are_quiet() { "quiet" } else { "not quiet: these times say little" };
                let native::Others { busy, processors } = others;
                format!("while programs ran natively, other programs used {busy:.2} of {processors} processors: the computer was {quiet}")
            }
            None => "what other programs did here meanwhile is not known".to_owned(),
        });
        results.others = others;
    }
    // A missing machine is reported once, not once per run.
    let absent: BTreeSet<String> = missing
        .iter()
        .filter(|missing| matches!(missing.error, RunError::NoMachine(_)))
        .map(|missing| format!("{}; its rows are left out", missing.error))
        .collect();
    notes.extend(absent);
    let Experiment { name, about, source, .. } = *experiment;
    Ok((Findings { experiment: name, about, source, rows: (plan.rows)(&results), notes }, missing))
}

/// The findings that follow from stored results, without running anything; also the number of runs needed and of those
/// without a stored result.
pub fn recall(experiment: &'static Experiment, options: Options, store: &Store) -> Recalled {
    let plan = (experiment.plan)(options);
    let jobs: BTreeSet<&Job> = plan.jobs.iter().collect();
    let mut results = Results::default();
    for job in &jobs {
        let Ok(prepared) = Prepared::new(job) else { continue };
        if let Kept::Whole(measured) = store.find(&store.key(job, &prepared)) {
            results.simulated.insert((*job).clone(), measured);
        }
    }
    let (runs, missing) = (jobs.len(), jobs.len() - results.simulated.len());
    // Without any result, an experiment may still have rows: constants of its paper.
    let rows = if missing == runs { Vec::new() } else { (plan.rows)(&results) };
    let Experiment { name, about, source, .. } = *experiment;
    Recalled { findings: Findings { experiment: name, about, source, rows, notes: plan.notes }, runs, missing }
}

/// The result of [`recall`].
pub struct Recalled {
    pub findings: Findings,
    pub runs: usize,
    pub missing: usize,
}

impl Conductor<'_> {
    /// The results of all jobs. A job that occurs twice is run once.
    fn run_all(&self, jobs: &[Job], threads: NonZero<usize>) -> Result<(Results, Vec<Missing>), StoreError> {
        let mut seen = BTreeSet::new();
        let jobs: Vec<&Job> = jobs.iter().filter(|job| seen.insert(*job)).collect();
        let next = Mutex::new(jobs.iter().enumerate());
        let done = Mutex::new((Results::default(), Vec::new()));
        let work = || -> Result<(), StoreError> {
            loop {
                let Some((number, job)) = next.lock().unwrap_or_else(PoisonError::into_inner).next() else {
                    return Ok(());
                };
                let tell = |state: State| (self.tell)(Event { number: number + 1, of: jobs.len(), job, state });
                let measured = self.one(job, &tell)?;
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                match measured {
                    Ok(measured) => _ = done.0.simulated.insert((*job).clone(), measured),
                    Err(error) => done.1.push((number, Missing { job: (*job).clone(), error })),
                }
            }
        };
        thread::scope(|scope| {
            // If the operating system refuses threads, the remaining threads do all the work.
            let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
            let workers: Vec<_> = (1..threads.get()).map_while(start).collect();
            work()?;
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?;
        let (results, mut missing) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        missing.sort_by_key(|(number, _)| *number);
        Ok((results, missing.into_iter().map(|(_, missing)| missing).collect()))
    }

    fn one(&self, job: &Job, tell: &dyn Fn(State)) -> Result<Result<Measured, RunError>, StoreError> {
        let prepared = match Prepared::new(job) {
            Ok(prepared) => prepared,
            Err(error) => return Ok(Err(error)),
        };
        let entry = self.store.map(|store| (store, store.key(job, &prepared)));
        match entry.as_ref().map(|(store, key)| store.find(key)) {
            Some(Kept::Whole(measured)) => {
                tell(State::Kept);
                return Ok(Ok(measured));
            }
            Some(Kept::Damaged) => tell(State::Damaged),
            Some(Kept::Nothing) | None => {}
        }
        if self.monitor.is_stopped() {
            return Ok(Err(RunError::Interrupted));
        }
        tell(State::Begun);
        let begun = Instant::now();
        let measured = run(job, self.monitor);
        match &measured {
            Ok(measured) => {
                tell(State::Done(begun.elapsed()));
                if let Some((store, key)) = entry {
                    store.keep(&key, job, measured)?;
                }
            }
            Err(error) => tell(State::Failed(error)),
        }
        Ok(measured)
    }
}
