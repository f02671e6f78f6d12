//! Digests of the statistics of every shipped machine, kept in `tests/baseline.txt`.
//!
//! A change that should not affect the model must leave the digests as they are; for other changes they show which
//! machines and programs are affected. Each run is made with one thread and with two, whose statistics must be equal.

use crate::{diff_programs, guests::Scratch};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

const USAGE: &str = "usage: cargo xtask baseline [--update] [--cohesim PATH] [--only TEXT]";

/// Programs for every machine, with their arguments. They cover local memory, atomic operations, many launches, host
/// work between kernels, scalar data, and streams.
const PROGRAMS: &[&str] = &[
    "matmul --size tiny",
    "histogram --size tiny",
    "bfs --size tiny",
    "kmeans --size tiny",
    "fft --size tiny",
    "stencil --size tiny",
    "backprop --size tiny",
];

/// Programs for machines with cores.
const ON_CORES: &[&str] = &[
    "edge --size tiny --cpu-share 50 --threads 4",
    "knn --size tiny --cpu-share 40 --threads 3",
    "lud-omp --size tiny --threads 4",
    "litmus all --runs 20",
];

/// Random accesses, with small caches and queues and with the unchanged machine.
const STRESS: &[&str] = &["stress --operations 10k", "stress --operations 10k --seed 7 --as-is"];

/// One run: a machine, and a program or `stress` with its arguments.
type Key = (String, String);

/// `baseline [--update] [--cohesim PATH] [--only TEXT]`.
pub fn run(arguments: &[String]) -> Result<String, String> {
    let (mut update, mut cohesim, mut only) = (false, None, "");
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--update" => update = true,
            "--cohesim" => cohesim = Some(PathBuf::from(rest.next().ok_or(USAGE)?)),
            "--only" => only = rest.next().ok_or(USAGE)?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let cohesim = cohesim.map_or_else(|| diff_programs::build(root), Ok)?;
    let cohesim = cohesim.canonicalize().map_err(|error| format!("{}: {error}", cohesim.display()))?;
    let file = root.join("tests/baseline.txt");
    let mut kept = match fs::read_to_string(&file) {
        Ok(text) => parse(&text)?,
        Err(_) if update => BTreeMap::new(),
        Err(error) => return Err(format!("{}: {error}", file.display())),
    };
    let mut keys = keys(&cohesim)?;
    let complete = only.is_empty();
    keys.retain(|(machine, command)| format!("{machine} {command}").contains(only));
    let measured = measure(&cohesim, &keys)?;
    let changes = changes(&kept, &measured, complete);
    let count = measured.len();
    if !update {
        return match changes.is_empty() {
            true => Ok(format!("baseline: {count} digests of statistics are unchanged, with one thread and with two")),
            false => Err(format!("{} of {count} digests changed:\n{}", changes.len(), changes.join("\n"))),
        };
    }
    if complete {
        kept.clear();
    }
    kept.extend(measured);
    fs::write(&file, text(&kept)).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(format!("baseline: {} of {count} digests rewritten\n{}", changes.len(), changes.join("\n")))
}

/// Every run of the baseline.
fn keys(cohesim: &Path) -> Result<Vec<Key>, String> {
    let listed = output(Command::new(cohesim).args(["list", "systems", "--json"]))?;
    let systems: Vec<serde_json::Value> = serde_json::from_slice(&listed).map_err(|error| error.to_string())?;
    let mut keys = Vec::new();
    for system in &systems {
        let name = system["name"].as_str().ok_or("a listed machine has no name")?;
        let shown = output(Command::new(cohesim).args(["show", "system", name, "--json"]))?;
        let shown: serde_json::Value = serde_json::from_slice(&shown).map_err(|error| error.to_string())?;
        let has_cores = shown["file"].as_str().ok_or("a shown machine has no file")?.contains("\n[cpu]\n");
        let programs = PROGRAMS.iter().chain(ON_CORES.iter().filter(|_| has_cores)).chain(STRESS);
        keys.extend(programs.map(|program| (name.to_owned(), (*program).to_owned())));
    }
    Ok(keys)
}

/// Makes all runs, one per processor at a time.
fn measure(cohesim: &Path, keys: &[Key]) -> Result<BTreeMap<Key, String>, String> {
    let scratch = Scratch::new("baseline")?;
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || -> Result<(), String> {
        while let Some(key) = keys.get(next.fetch_add(1, Ordering::Relaxed)) {
            let one = digest(cohesim, key, 1, &scratch.0)?;
            let two = digest(cohesim, key, 2, &scratch.0)?;
            if one != two {
                return Err(format!("{} {}: statistics differ between one thread and two", key.0, key.1));
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), one);
        }
        Ok(())
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker returns its errors"))
    })?;
    Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The digest of the statistics of one run, which must succeed.
fn digest(cohesim: &Path, (machine, command): &Key, threads: usize, scratch: &Path) -> Result<String, String> {
    let mut run = Command::new(cohesim);
    // A program's environment contains its current folder, which shifts its stack; so every run uses one folder.
    run.current_dir("/tmp");
    let threads = threads.to_string();
    if let Some(options) = command.strip_prefix("stress ") {
        run.args(["stress", "--json", "--system", machine, "--threads", &threads]).args(options.split(' '));
        let told = output(&mut run)?;
        let told: serde_json::Value = serde_json::from_slice(&told).map_err(|error| error.to_string())?;
        let digest = told["runs"][0]["statistics_sha256"].as_str().ok_or("stress reported no digest")?;
        return Ok(digest[..32].to_owned());
    }
    let (program, arguments) = command.split_once(' ').unwrap_or((command, ""));
    let out = scratch.join(format!("{machine} {} {threads}", command.replace(['/', ' '], "_")));
    run.args(["run", program, "--system", machine, "--threads", &threads, "--out"]).arg(&out);
    output(run.arg("--").args(arguments.split(' ')))?;
    let statistics = fs::read(out.join("stats.json")).map_err(|error| format!("{}: {error}", out.display()))?;
    fs::remove_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let digest = Sha256::digest(statistics);
    Ok(digest.iter().take(16).fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes any text");
        text
    }))
}

/// The standard output of a command; an error if it failed.
fn output(command: &mut Command) -> Result<Vec<u8>, String> {
    let done = command.output().map_err(|error| format!("{:?} can't be started: {error}", command.get_program()))?;
    match done.status.success() {
        true => Ok(done.stdout),
        false => Err(format!("{command:?}: {}\n{}", done.status, String::from_utf8_lossy(&done.stderr))),
    }
}

/// A line for each digest that is new, gone or different.
fn changes(kept: &BTreeMap<Key, String>, measured: &BTreeMap<Key, String>, complete: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (key @ (machine, command), digest) in measured {
        match kept.get(key) {
            None => lines.push(format!("  new:     {machine} {command}")),
            Some(before) if before != digest => lines.push(format!("  changed: {machine} {command}")),
            Some(_) => {}
        }
    }
    let gone = kept.keys().filter(|key| complete && !measured.contains_key(*key));
    lines.extend(gone.map(|(machine, command)| format!("  gone:    {machine} {command}")));
    lines
}

const HEAD: &str =
    "# Digests of statistics, for one thread and for two: machine | program | start of the SHA-256 of its stats.json.
# `cargo xtask baseline` compares, `cargo xtask baseline --update` writes this file anew.
";

fn text(digests: &BTreeMap<Key, String>) -> String {
    let lines = digests.iter().map(|((machine, command), digest)| format!("{machine} | {command} | {digest}\n"));
    HEAD.to_owned() + &lines.collect::<String>()
}

fn parse(text: &str) -> Result<BTreeMap<Key, String>, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let entry = |line: &str| {
        let mut fields = line.split(" | ").map(str::to_owned);
        match (fields.next(), fields.next(), fields.next()) {
            (Some(machine), Some(command), Some(digest)) => Ok(((machine, command), digest)),
            _ => Err(format!("tests/baseline.txt: '{line}' is not MACHINE | PROGRAM | DIGEST")),
        }
    };
    lines.map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_results_are_read_again_and_changes_are_reported() {
        let key = |machine: &str| (machine.to_owned(), "matmul --size tiny".to_owned());
        let kept = BTreeMap::from([(key("a"), "01".to_owned()), (key("b"), "02".to_owned())]);
        assert_eq!(parse(&text(&kept)), Ok(kept.clone()));
        assert!(changes(&kept, &kept, true).is_empty());
        let measured = BTreeMap::from([(key("b"), "03".to_owned()), (key("c"), "04".to_owned())]);
        let lines =
            ["  changed: b matmul --size tiny", "  new:     c matmul --size tiny", "  gone:    a matmul --size tiny"];
        assert_eq!(changes(&kept, &measured, true), lines);
        assert_eq!(changes(&kept, &measured, false), lines[..2]);
    }
}
