//! Executes the runs of a sweep on this computer, several at a time. Each run is a process of its own, so a run that is
//! killed, or exhausts the memory, does not affect the others.

use super::{
    live::Live,
    store::{Claim, Failure, RENEWED, State, Store},
    task::Task,
};
use crate::progress::{about, interrupted};
use miette::{IntoDiagnostic, WrapErr, miette};
use std::{
    fs,
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// A sweep that is being worked on.
pub struct Work<'a> {
    pub store: &'a Store,
    pub id: &'a str,
    /// Every run with its key.
    pub tasks: &'a [(String, Task)],
    pub retries: u32,
    /// The page that shows it.
    pub live: Option<&'a Live>,
}

const STEP: Duration = Duration::from_millis(100);
/// Interval of checks whether runs of other processes are done.
pub const LOOK: Duration = Duration::from_secs(2);
/// Maximum length of a failed run's output that is kept, in bytes.
const TAIL: usize = 4000;

impl Work<'_> {
    /// Works until everything is done or has failed for good; answers with how many of the runs have not been done.
    pub fn run(&self, jobs: usize) -> miette::Result<usize> {
        let (begun, ended) = (Instant::now(), AtomicUsize::new(0));
        let waiting = self.tasks.iter().filter(|(key, _)| self.store.state(key) != State::Done).count();
        let kept = self.tasks.len() - waiting;
        if kept > 0 {
            eprintln!("{kept} of {} runs are kept from before", self.tasks.len());
        }
        let told = |task: &Task, what: &str| {
            let ended = ended.fetch_add(1, Ordering::Relaxed) + 1;
            let left = begun.elapsed().mul_f64(waiting.saturating_sub(ended) as f64 / ended as f64);
            eprintln!("{} of {}: {task}: {what}; {} left", kept + ended, self.tasks.len(), about(left));
        };
        let taken = Mutex::new(vec![false; self.tasks.len()]);
        let worker = || -> miette::Result<()> {
            while !self.is_over() {
                if self.live.is_some_and(Live::is_paused) {
                    thread::sleep(STEP);
                    continue;
                }
                match self.next(&taken)? {
                    Next::Run(at, claim) => {
                        let (key, task) = &self.tasks[at];
                        self.one(key, task, claim, &told)?;
                    }
                    Next::Wait => thread::sleep(LOOK),
                    Next::Nothing => break,
                }
            }
            Ok(())
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (1..jobs).map(|_| scope.spawn(worker)).collect();
            let mut result = worker();
            for other in workers {
                let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                result = result.and(other);
            }
            result
        })?;
        Ok(self.tasks.iter().filter(|(key, _)| self.store.state(key) != State::Done).count())
    }

    fn is_over(&self) -> bool {
        interrupted() || self.store.is_cancelled(self.id) || self.live.is_some_and(Live::is_stopped)
    }

    /// A run that no process works on.
    fn next(&self, taken: &Mutex<Vec<bool>>) -> miette::Result<Next> {
        let mut elsewhere = false;
        for (at, (key, _)) in self.tasks.iter().enumerate() {
            if taken.lock().unwrap_or_else(PoisonError::into_inner)[at] {
                continue;
            }
            match self.store.state(key) {
                State::Done => continue,
                State::Failed(failure) if failure.attempts > self.retries => continue,
                State::Claimed => {
                    elsewhere = true;
                    continue;
                }
                State::Failed(_) | State::Waiting => {}
            }
            let claim = self.store.claim(key).into_diagnostic();
            let claim = claim.wrap_err_with(|| format!("can't write to '{}'", self.store.path().display()))?;
            if let Some(claim) = claim {
                taken.lock().unwrap_or_else(PoisonError::into_inner)[at] = true;
                return Ok(Next::Run(at, claim));
            }
            elsewhere = true;
        }
        Ok(if elsewhere { Next::Wait } else { Next::Nothing })
    }

    /// Runs one, and again if it fails.
    pub fn one(&self, key: &str, task: &Task, claim: Claim, told: &dyn Fn(&Task, &str)) -> miette::Result<bool> {
        loop {
            let begun = Instant::now();
            match self.attempt(key, task, &claim)? {
                None => return Ok(false),
                Some(Ok(())) => {
                    drop(claim);
                    told(task, &format!("done in {:.1} s", begun.elapsed().as_secs_f64()));
                    return Ok(true);
                }
                Some(Err(why)) => {
                    let attempts = self.store.failure(key).map_or(0, |failure| failure.attempts) + 1;
                    let line = why.lines().next_back().unwrap_or_default().to_owned();
                    self.store.fail(key, &Failure { attempts, why }).into_diagnostic()?;
                    if attempts > self.retries {
                        told(task, &format!("failed {attempts} times: {line}"));
                        return Ok(false);
                    }
                    eprintln!("{task}: failed, is tried again: {line}");
                }
            }
        }
    }

    /// Runs it in a process of its own. None: it was stopped.
    fn attempt(&self, key: &str, task: &Task, claim: &Claim) -> miette::Result<Option<Result<(), String>>> {
        let own = std::env::current_exe().into_diagnostic().wrap_err("can't find this program's own file")?;
        let (work, log) = (self.store.work(key), self.store.work(&format!("log.{key}")));
        let unwritable = |error: std::io::Error| miette!("can't write to '{}': {error}", self.store.path().display());
        let output = fs::File::create(&log).map_err(unwritable)?;
        let copy = output.try_clone().map_err(unwritable)?;
        let mut command = Command::new(own);
        command.args(task.command(&work, self.live.is_some())).stdin(Stdio::null()).stdout(output).stderr(copy);
        let mut child = command.spawn().into_diagnostic().wrap_err("a run can't be started")?;
        let mut watch = self.live.map(|live| live.begins(key));
        let mut renewed = Instant::now();
        let ended = loop {
            if let Some(status) = child.try_wait().into_diagnostic()? {
                break Some(status);
            }
            if self.is_over() {
                _ = child.kill();
                _ = child.wait();
                break None;
            }
            if renewed.elapsed() > RENEWED {
                claim.renew();
                renewed = Instant::now();
            }
            if let Some(watch) = &mut watch {
                watch.attend(&log);
            }
            thread::sleep(STEP);
        };
        let said = fs::read(&log).unwrap_or_default();
        _ = fs::remove_file(&log);
        let result = match ended {
            None => None,
            Some(status) if status.success() && work.join("run.json").is_file() => {
                self.store.keep(key, task, &work).map_err(unwritable)?;
                Some(Ok(()))
            }
            Some(status) => Some(Err(why(status, &said))),
        };
        // Removes the incomplete results of a run that failed or was stopped.
        abandon(&work);
        Ok(result)
    }
}

enum Next {
    Run(usize, Claim),
    /// Other processes work on all remaining runs.
    Wait,
    Nothing,
}

fn abandon(work: &Path) {
    _ = fs::remove_dir_all(work);
    if let Some(name) = work.file_name() {
        _ = fs::remove_dir_all(work.with_file_name(format!(".{}.partial", name.to_string_lossy())));
    }
}

fn why(status: ExitStatus, said: &[u8]) -> String {
    let tail = String::from_utf8_lossy(&said[said.len().saturating_sub(TAIL)..]);
    format!("{}\n{status}", tail.trim_end())
}
