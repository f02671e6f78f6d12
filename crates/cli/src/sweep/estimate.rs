//! Estimates the time and memory of a run from earlier runs in the store.
//!
//! If the program has run before with these arguments, the estimate is the longest of those runs times a factor, since
//! changed keys and slower nodes may take longer. Runs on other machines count only if there is none on the task's
//! machine; their factor is larger. There is no estimate for arguments that have not run.

use super::{store::Store, task::Task};
use serde::Deserialize;
use std::{fs, time::Duration};

/// The time and memory of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    pub time: Duration,
    /// Peak memory in bytes; 0 if unknown.
    pub memory: u64,
}

/// Factors on the longest earlier run: if it was on the task's machine, and if it was on a different one.
const ROOM: [f64; 2] = [2.0, 4.0];
/// Least time, and memory added to each estimate: for the start on a busy node, and for what does not belong to a run.
const LEAST_TIME: Duration = Duration::from_secs(120);
const LEAST_MEMORY: u64 = 256 << 20;
/// Upper bound of an estimate: sbatch rejects times that a partition does not allow.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

#[derive(Deserialize)]
struct RunFile {
    host: Host,
}

#[derive(Deserialize)]
struct Host {
    seconds: f64,
    #[serde(default)]
    memory_bytes: u64,
}

/// Time and memory of all runs of a store. Runs whose results can't be read, or have no valid time, are left out.
pub fn earlier(store: &Store) -> Vec<(Task, Cost)> {
    let entries = fs::read_dir(store.path().join("runs")).into_iter().flatten().flatten();
    let read = |folder: std::path::PathBuf| -> Option<(Task, Cost)> {
        let task = serde_json::from_slice(&fs::read(folder.join("task.json")).ok()?).ok()?;
        let run: RunFile = serde_json::from_slice(&fs::read(folder.join("run.json")).ok()?).ok()?;
        let time = Duration::try_from_secs_f64(run.host.seconds).ok()?;
        Some((task, Cost { time, memory: run.host.memory_bytes }))
    };
    entries.filter_map(|entry| read(entry.path())).collect()
}

/// The largest estimate among these tasks, and the number of earlier runs behind it. `None` if one of the tasks has no
/// earlier run.
pub fn of<'a>(tasks: impl Iterator<Item = &'a Task>, earlier: &[(Task, Cost)]) -> Option<(Cost, usize)> {
    let (mut most, mut from) = (Cost { time: LEAST_TIME, memory: LEAST_MEMORY }, 0);
    let (mut memory_is_known, mut any) = (true, false);
    for task in tasks {
        any = true;
        let alike = |other: &&(Task, Cost)| {
            (&other.0.program, &other.0.arguments, &other.0.options) == (&task.program, &task.arguments, &task.options)
        };
        let (own, others): (Vec<_>, Vec<_>) =
            earlier.iter().filter(alike).partition(|(other, _)| other.system == task.system);
        let (known, room) = if own.is_empty() { (others, ROOM[1]) } else { (own, ROOM[0]) };
        let time = known.iter().map(|(_, cost)| cost.time).max()?;
        let memory = known.iter().map(|(_, cost)| cost.memory).max()?;
        memory_is_known &= memory > 0;
        most.time = most.time.max(time.min(LONGEST).mul_f64(room) + LEAST_TIME);
        most.memory = most.memory.max((memory as f64 * room) as u64 + LEAST_MEMORY);
        from = from.max(known.len());
    }
    most.time = most.time.min(LONGEST);
    most.memory = if memory_is_known { most.memory } else { 0 };
    any.then_some((most, from))
}

/// Formats a duration for sbatch's `--time`: days, hours, minutes and seconds, rounded up to whole minutes.
pub fn time(time: Duration) -> String {
    let minutes = time.as_secs().div_ceil(60);
    format!("{}-{:02}:{:02}:00", minutes / 1440, minutes / 60 % 24, minutes % 60)
}

/// Formats a size for sbatch's `--mem`.
pub fn memory(bytes: u64) -> String {
    format!("{}M", bytes.div_ceil(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(system: &str, size: &str) -> Task {
        let arguments = vec![("--size".to_owned(), size.to_owned())];
        Task { program: "fir".into(), system: system.into(), arguments, ..Task::default() }
    }

    fn took(system: &str, size: &str, seconds: u64, mib: u64) -> (Task, Cost) {
        (task(system, size), Cost { time: Duration::from_secs(seconds), memory: mib << 20 })
    }

    #[test]
    fn the_longest_run_of_the_same_kind_counts_and_other_machines_only_where_there_is_none() {
        let earlier =
            [took("a", "64", 100, 200), took("a", "64", 300, 100), took("b", "64", 1000, 900), took("a", "65", 1, 1)];
        let of = |tasks: &[Task]| of(tasks.iter(), &earlier);
        let (cost, from) = of(&[task("a", "64")]).unwrap();
        assert_eq!((cost.time.as_secs(), cost.memory >> 20, from), (2 * 300 + 120, 2 * 200 + 256, 2));
        let (cost, from) = of(&[task("c", "64")]).unwrap();
        assert_eq!((cost.time.as_secs(), cost.memory >> 20, from), (4 * 1000 + 120, 4 * 900 + 256, 3));
        let both = of(&[task("a", "64"), task("a", "65")]).unwrap();
        assert_eq!(both.0.time.as_secs(), 720, "every task of an array gets what the longest needs");
        assert_eq!(of(&[task("a", "64"), task("a", "66")]), None, "nothing is known of size 66");
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn runs_that_did_not_note_their_memory_tell_the_time_alone() {
        let earlier = [took("a", "64", 100, 0)];
        assert_eq!(of([task("a", "64")].iter(), &earlier).unwrap().0.memory, 0);
    }

    #[test]
    fn an_impossible_time_is_not_requested() {
        let earlier = [took("a", "64", u64::MAX / 4, 1)];
        assert_eq!(of([task("a", "64")].iter(), &earlier).unwrap().0.time, LONGEST);
    }

    #[test]
    fn resources_are_written_as_sbatch_reads_them() {
        let minutes = |minutes: u64| time(Duration::from_secs(60 * minutes));
        assert_eq!((&minutes(3)[..], &minutes(61)[..], &minutes(1500)[..]), ("0-00:03:00", "0-01:01:00", "1-01:00:00"));
        assert_eq!(time(Duration::from_secs(61)), "0-00:02:00");
        assert_eq!(memory((256 << 20) + 1), "257M");
    }
}
