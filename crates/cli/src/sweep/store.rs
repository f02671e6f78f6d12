//! The store of sweep results by key, with the claims of running processes and the failures.
//!
//! Several processes on several computers may share one store on a network file system. There are no locks: a result is
//! a folder that is renamed to its place when complete, and a claim is a file that only one process can create. The
//! process renews its claim's modification time while it lives. A claim that is no longer renewed may be taken over. If
//! both processes live after all, both compute the same result, and the first one stays.
//!
//! - `runs/KEY/`: the files of `run --out`, and `task.json`
//! - `claims/KEY`: the process that works on the run
//! - `failures/KEY.json`: why the run failed, and how often
//! - `work/`: incomplete results
//! - `sweeps/ID/`: files of sweeps, batch jobs, cancellation requests

use super::task::Task;
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    /// Name of this process: host and process number.
    own: String,
}

/// Interval at which a claim is renewed, and the age at which it counts as abandoned.
pub const RENEWED: Duration = Duration::from_secs(10);
const GIVEN_UP: Duration = Duration::from_secs(60);

/// The state of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    Done,
    /// A process works on it.
    Claimed,
    Failed(Failure),
    Waiting,
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    pub attempts: u32,
    /// The end of its output.
    pub why: String,
}

/// The claim of this process on a run, released on drop.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    own: String,
}

impl Claim {
    /// Renews the claim: the write sets the modification time by the file system's clock.
    pub fn renew(&self) {
        if self.is_own() {
            let file = fs::File::options().write(true).open(&self.path);
            _ = file.and_then(|mut file| io::Write::write_all(&mut file, self.own.as_bytes()));
        }
    }

    /// False if another process has taken the claim over, because this one seemed dead.
    fn is_own(&self) -> bool {
        fs::read(&self.path).is_ok_and(|text| text == self.own.as_bytes())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.is_own() {
            _ = fs::remove_file(&self.path);
        }
    }
}

impl Store {
    pub fn new(root: PathBuf) -> io::Result<Self> {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let store = Self { root, own: format!("{}.{}", host.trim(), std::process::id()) };
        for folder in ["runs", "claims", "failures", "work", "sweeps"] {
            fs::create_dir_all(store.root.join(folder))?;
        }
        Ok(store)
    }

    /// The user's folder for results of sweeps.
    pub fn default_folder() -> Option<PathBuf> {
        Some(figures::Store::default_folder()?.with_file_name("sweeps"))
    }

    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The folder of a run's result.
    pub fn run(&self, key: &str) -> PathBuf {
        self.root.join("runs").join(key)
    }

    pub fn sweep(&self, id: &str) -> PathBuf {
        self.root.join("sweeps").join(id)
    }

    /// The folder in which this process writes a run's results.
    pub fn work(&self, key: &str) -> PathBuf {
        self.root.join("work").join(format!("{key}.{}", self.own))
    }

    pub fn state(&self, key: &str) -> State {
        if self.run(key).join("run.json").is_file() {
            return State::Done;
        }
        if self.claims(key).exists() && !self.is_given_up(key) {
            return State::Claimed;
        }
        self.failure(key).map_or(State::Waiting, State::Failed)
    }

    fn claims(&self, key: &str) -> PathBuf {
        self.root.join("claims").join(key)
    }

    /// Claims a run, unless another process works on it or it is done.
    pub fn claim(&self, key: &str) -> io::Result<Option<Claim>> {
        let path = self.claims(key);
        if path.exists() && self.is_given_up(key) {
            // Of all processes that see this, only one succeeds in renaming it.
            let aside = self.root.join("work").join(format!("given-up.{key}.{}", self.own));
            if fs::rename(&path, &aside).is_ok() {
                _ = fs::remove_file(&aside);
            }
        }
        match fs::File::options().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                io::Write::write_all(&mut file, self.own.as_bytes())?;
                let claim = Claim { path, own: self.own.clone() };
                // The run may have been completed between the check and the claim.
                Ok(if self.state_of_result(key) { None } else { Some(claim) })
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// When a claim was made or renewed, if there is one.
    pub fn claimed_at(&self, key: &str) -> Option<SystemTime> {
        fs::metadata(self.claims(key)).and_then(|meta| meta.modified()).ok()
    }

    fn state_of_result(&self, key: &str) -> bool {
        self.run(key).join("run.json").is_file()
    }

    /// Whether a claim has not been renewed for long, by the clock of the file system.
    fn is_given_up(&self, key: &str) -> bool {
        let modified = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified());
        let probe = self.root.join("work").join(format!("clock.{}.{key}", self.own));
        let now = fs::write(&probe, b"").and_then(|()| modified(&probe)).unwrap_or_else(|_| SystemTime::now());
        _ = fs::remove_file(&probe);
        modified(&self.claims(key)).is_ok_and(|then| now.duration_since(then).is_ok_and(|age| age > GIVEN_UP))
    }

    /// Moves a complete result to its place. An existing one stays: it is equal.
    pub fn keep(&self, key: &str, task: &Task, work: &Path) -> io::Result<()> {
        fs::write(work.join("task.json"), serde_json::to_vec_pretty(task)?)?;
        let place = self.run(key);
        match fs::rename(work, &place) {
            Err(_) if self.state_of_result(key) => fs::remove_dir_all(work)?,
            other => other?,
        }
        self.forget_failure(key);
        Ok(())
    }

    pub fn failure(&self, key: &str) -> Option<Failure> {
        serde_json::from_slice(&fs::read(self.failures(key)).ok()?).ok()
    }

    fn failures(&self, key: &str) -> PathBuf {
        self.root.join("failures").join(format!("{key}.json"))
    }

    pub fn fail(&self, key: &str, failure: &Failure) -> io::Result<()> {
        let partial = self.root.join("work").join(format!("failure.{key}.{}", self.own));
        fs::write(&partial, serde_json::to_vec_pretty(failure)?)?;
        fs::rename(partial, self.failures(key))
    }

    pub fn forget_failure(&self, key: &str) {
        _ = fs::remove_file(self.failures(key));
    }

    fn order(&self, id: &str) -> PathBuf {
        self.sweep(id).join("cancel")
    }

    /// Requests all processes of a sweep to stop, or withdraws the request.
    pub fn cancel(&self, id: &str, on: bool) -> io::Result<()> {
        fs::create_dir_all(self.sweep(id))?;
        match on {
            true => fs::write(self.order(id), b""),
            false if self.order(id).exists() => fs::remove_file(self.order(id)),
            false => Ok(()),
        }
    }

    pub fn is_cancelled(&self, id: &str) -> bool {
        self.order(id).exists()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(name: &str) -> Store {
        let root = std::env::temp_dir().join(format!("cohesim-sweep-{name}-{}", std::process::id()));
        _ = fs::remove_dir_all(&root);
        Store::new(root).unwrap()
    }

    #[test]
    fn a_run_is_claimed_once_and_free_again_when_the_claim_is_dropped() {
        let store = store("claims");
        let claim = store.claim("k").unwrap().expect("it is free");
        assert_eq!(store.state("k"), State::Claimed);
        assert!(store.claim("k").unwrap().is_none());
        drop(claim);
        assert_eq!(store.state("k"), State::Waiting);
        assert!(store.claim("k").unwrap().is_some());
        fs::remove_dir_all(store.path()).unwrap();
    }

    #[test]
    fn a_claim_that_is_not_renewed_is_taken_over() {
        let store = store("old");
        let claim = store.claim("k").unwrap().unwrap();
        let file = fs::File::options().write(true).open(store.claims("k")).unwrap();
        file.set_modified(SystemTime::now() - 2 * GIVEN_UP).unwrap();
        assert_eq!(store.state("k"), State::Waiting);
        let mine = store.claim("k").unwrap().expect("it was given up");
        assert_eq!(store.state("k"), State::Claimed);
        std::mem::forget(claim);
        drop(mine);
        fs::remove_dir_all(store.path()).unwrap();
    }

    #[test]
    fn a_result_is_kept_whole_and_the_first_stays() {
        let store = store("keep");
        for text in ["first", "second"] {
            let work = store.work("k");
            fs::create_dir_all(&work).unwrap();
            fs::write(work.join("run.json"), text).unwrap();
            store.keep("k", &Task::default(), &work).unwrap();
            assert!(!work.exists());
        }
        assert_eq!(fs::read_to_string(store.run("k").join("run.json")).unwrap(), "first");
        assert_eq!(store.state("k"), State::Done);
        assert!(store.claim("k").unwrap().is_none());
        fs::remove_dir_all(store.path()).unwrap();
    }
}
