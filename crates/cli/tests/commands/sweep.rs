//! `cohesim sweep`: runs are stored, interrupted, resumed and collected.

use crate::support::cohesim;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const SWEEP: &str = "programs = ['vecadd']\nsystems = ['skeleton', 'r9nano']\n[arguments]\n'--size' = [64, 128, 256]\n";

struct Place(PathBuf);

impl Place {
    fn new(name: &str, sweep: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("sweep-{name}"));
        _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("sweep.toml"), sweep).unwrap();
        Self(folder)
    }

    /// `cohesim sweep WHAT FILE --store STORE MORE`.
    fn sweep(&self, what: &[&str], store: &str, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
        command.arg("sweep").args(what).arg(self.0.join("sweep.toml"));
        command.arg("--store").arg(self.0.join(store)).args(more);
        command
    }

    fn done(&self, what: &[&str], store: &str, more: &[&str]) -> (bool, String) {
        let out = self.sweep(what, store, more).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
        (out.status.success(), text)
    }

    fn count(&self, store: &str, what: &str) -> u64 {
        let out = self.sweep(&["status"], store, &["--json"]).output().unwrap();
        let status: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        status[what].as_u64().unwrap()
    }

    fn collect(&self, store: &str) -> String {
        let out = self.0.join(format!("{store}-table"));
        let (good, said) = self.done(&["collect"], store, &["--out", out.to_str().unwrap()]);
        assert!(good, "{said}");
        assert!(out.join("stats.parquet").is_file());
        fs::read_to_string(out.join("runs.csv")).unwrap()
    }
}

#[test]
fn a_killed_sweep_can_be_continued_and_its_table_is_that_of_an_undisturbed_one() {
    let place = Place::new("killed", SWEEP);
    let (good, said) = place.done(&[], "whole", &["--jobs", "1"]);
    assert!(good && said.contains("6 runs: 6 done"), "{said}");
    let table = place.collect("whole");
    assert_eq!(table.lines().count(), 7, "{table}");
    assert!(table.lines().nth(1).unwrap().contains(",vecadd,skeleton,64,finished,"), "{table}");

    let mut killed = place.sweep(&[], "broken", &["--jobs", "2"]).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while runs(&place.0.join("broken")).is_none_or(|runs| runs < 2) && begun.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(20));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let done = place.count("broken", "done");
    assert!(done >= 2, "{done}");
    // The killed process has left claims; make them old.
    for claim in fs::read_dir(place.0.join("broken/claims")).unwrap() {
        let file = fs::File::options().write(true).open(claim.unwrap().path()).unwrap();
        file.set_modified(std::time::SystemTime::now() - Duration::from_secs(600)).unwrap();
    }
    let before = times(&place.0.join("broken"));
    let (good, said) = place.done(&["resume"], "broken", &["--jobs", "2"]);
    assert!(good && said.contains("6 done"), "{said}");
    let after = times(&place.0.join("broken"));
    assert!(before.iter().all(|run| after.contains(run)), "what was done is not done again");
    assert_eq!(place.collect("broken"), table);
}

/// How many runs a store has.
fn runs(store: &Path) -> Option<usize> {
    Some(fs::read_dir(store.join("runs")).ok()?.count())
}

/// The runs of a store, and when each was written.
fn times(store: &Path) -> Vec<(PathBuf, std::time::SystemTime)> {
    let runs = fs::read_dir(store.join("runs")).unwrap().map(|run| run.unwrap().path());
    runs.map(|run| (run.clone(), fs::metadata(run.join("run.json")).unwrap().modified().unwrap())).collect()
}

#[test]
fn a_failed_run_is_reported_and_does_not_stop_the_others() {
    let place = Place::new("failed", &SWEEP.replace("[64, 128, 256]", "['nonsense', 64]"));
    let (good, said) = place.done(&[], "store", &["--jobs", "2"]);
    assert!(!good && said.contains("2 done") && said.contains("2 failed"), "{said}");
    assert_eq!((place.count("store", "done"), place.count("store", "failed")), (2, 2));
    let (good, said) = place.done(&["collect"], "store", &["--out", "/nowhere"]);
    assert!(!good && said.contains("--partial"), "{said}");
}

#[test]
fn a_sweep_that_can_not_be_is_refused_before_anything_runs() {
    let place = Place::new("refused", &SWEEP.replace("r9nano", "no-such-machine"));
    let (good, said) = place.done(&[], "store", &[]);
    assert!(!good && said.contains("no-such-machine"), "{said}");
    assert!(!place.0.join("store/runs").exists());
    assert!(cohesim(&["sweep", "no-such-file.toml"]).error().contains("no-such-file.toml"));
}
