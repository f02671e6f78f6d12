//! Runs many programs repeatedly on machines with and without a CPU, with every read checked: each must end as in a
//! functional run.
//!
//! The programs are the built-in ones, those of `tests/guests`, and those next to this file, which sleep, create
//! threads, map memory, read and write files, and use signals, timers, pipes, queues and shared memory. The first round
//! runs each program on each unchanged machine. Later rounds alternate between one and two threads and add random
//! delays to a core's accesses, with a new seed each.

mod programs;

use crate::{diff_programs, guests::Scratch, limited};
use programs::{Program, Words};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

const SYSTEMS: [&str; 3] = ["apu-c-l3", "apu-nc-mc", "r9nano"];

const USAGE: &str =
    "usage: cargo xtask soak --minutes N [--cohesim PATH] [--jobs N] [--only PROGRAM]... [--system NAME]...";

/// A run that exceeds one of these limits counts as hung: processor time, and wall time.
const CPU_LIMIT: Duration = Duration::from_secs(600);
const WALL_LIMIT: Duration = Duration::from_secs(1800);

struct Plan {
    time: Duration,
    cohesim: PathBuf,
    jobs: usize,
    only: Vec<String>,
    systems: Vec<String>,
}

/// `soak --minutes N ...`.
pub fn run(arguments: &[String]) -> Result<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let plan = parse(arguments, root)?;
    let scratch = Scratch::new("soak")?;
    let folder = scratch.0.canonicalize().map_err(|error| error.to_string())?;
    let all = programs::all(root, &folder)?;
    let chosen: Vec<&Program> =
        all.iter().filter(|program| plan.only.is_empty() || plan.only.contains(&program.name)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = all.iter().map(|program| program.name.as_str()).collect();
        return Err(format!("there is no such program; there are {}", names.join(", ")));
    }
    let start = Instant::now();
    let expected: Vec<Result<limited::Ended, String>> =
        chosen.iter().map(|program| inside(&plan.cohesim, program, &["--functional".to_owned()], &folder)).collect();
    for (program, expected) in chosen.iter().zip(&expected) {
        match expected {
            Ok(ended) if program.code.is_none_or(|code| ended.code == Some(code)) => {}
            Ok(ended) => return Err(format!("{}, functional run: {}", program.name, ended.told())),
            Err(error) => return Err(format!("{}, functional run: {error}", program.name)),
        }
    }
    println!("soak: {} programs run functionally in {} s", chosen.len(), start.elapsed().as_secs());

    let pairs: Vec<(usize, &String)> =
        (0..chosen.len()).flat_map(|place| plan.systems.iter().map(move |system| (place, system))).collect();
    let pairs: Vec<(usize, &String)> =
        pairs.into_iter().filter(|(place, system)| !chosen[*place].shares || shares(system)).collect();
    let runs = pairs.len();
    if runs == 0 {
        return Err("none of these programs runs on any of these machines".to_owned());
    }
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let (round, place) = (number / runs, number % runs);
        // The first round always completes, whatever the time limit.
        if round > 0 && start.elapsed() >= plan.time {
            next.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let (place, system) = pairs[place];
        let program = chosen[place];
        let Ok(expected) = &expected[place] else { continue };
        let begun = Instant::now();
        let options = options(system, round);
        let told = match inside(&plan.cohesim, program, &options, &folder) {
            Ok(ended) if ended.code == expected.code && (program.varies || ended.out == expected.out) => None,
            Ok(ended) => Some(format!("{}\nwithout time: {}", ended.told(), expected.told())),
            Err(error) => Some(error),
        };
        let verdict = if told.is_none() { "right" } else { "WRONG" };
        let seconds = begun.elapsed().as_secs_f64();
        println!("{:5} round {} {system} {}: {verdict} ({seconds:.1} s)", number + 1, round + 1, program.name);
        if let Some(told) = told {
            let how = format!(
                "cohesim run {} {} {}",
                program.path,
                options.join(" "),
                program.tail(&folder.join("out")).join(" ")
            );
            let text = format!("{} on {system}: {told}\n  {how}", program.name);
            println!("{text}");
            failures.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        }
    };
    thread::scope(|scope| (0..plan.jobs).for_each(|_| _ = scope.spawn(work)));
    let failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    let done = next.into_inner();
    let summary = format!(
        "soak: {} passed, {} failed; {} programs on {}, {:.1} rounds in {} s",
        done - failures.len(),
        failures.len(),
        chosen.len(),
        plan.systems.join(", "),
        done as f64 / runs as f64,
        start.elapsed().as_secs()
    );
    if failures.is_empty() { Ok(summary) } else { Err(format!("{}\n{summary}", failures.join("\n"))) }
}

fn parse(arguments: &[String], root: &Path) -> Result<Plan, String> {
    let (mut minutes, mut cohesim, mut jobs) = (None, None, 1);
    let (mut only, mut systems) = (Vec::new(), Vec::new());
    for pair in arguments.chunks(2) {
        let [flag, value] = pair else { return Err(USAGE.to_owned()) };
        let number = || value.parse::<u64>().map_err(|_| format!("{flag} takes a number, not '{value}'\n{USAGE}"));
        match flag.as_str() {
            "--minutes" => minutes = Some(number()?),
            "--cohesim" => cohesim = Some(PathBuf::from(value)),
            "--jobs" => jobs = number()?.clamp(1, 64) as usize,
            "--only" => only.push(value.clone()),
            "--system" => systems.push(value.clone()),
            _ => return Err(USAGE.to_owned()),
        }
    }
    let minutes = minutes.ok_or(USAGE)?;
    if systems.is_empty() {
        systems = SYSTEMS.map(str::to_owned).to_vec();
    }
    let cohesim = match cohesim {
        Some(path) => path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?,
        None => diff_programs::build(root)?,
    };
    Ok(Plan { time: Duration::from_secs(60 * minutes), cohesim, jobs, only, systems })
}

/// Whether host and GPU of a machine can use the same bytes concurrently.
fn shares(system: &str) -> bool {
    system.starts_with("apu-c") || system.starts_with("apu4-c")
}

/// The options of a run in a round.
fn options(system: &str, round: usize) -> Vec<String> {
    let mut words = vec!["--system".to_owned(), system.to_owned(), "--check".to_owned()];
    if round > 0 {
        words.extend(["--threads".to_owned(), (1 + round % 2).to_string()]);
        if system.starts_with("apu") {
            words.extend(["--set".to_owned(), format!("cpu.core.jitter={}", 1 + round % 9)]);
            words.extend(["--set".to_owned(), format!("cpu.core.jitter_seed={round}")]);
        }
    }
    words
}

/// Runs a program inside cohesim and returns the program's own output, which the report keeps apart from the machine's.
fn inside(cohesim: &Path, program: &Program, options: &[String], folder: &Path) -> Result<limited::Ended, String> {
    // Concurrent runs need separate output folders.
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let out = folder.join(format!("out{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
    fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let mut command = Command::new(cohesim);
    command.current_dir(folder).args(["run", &program.path, "--json"]).args(options).args(program.tail(&out));
    let ended = limited::run(&mut command, CPU_LIMIT, WALL_LIMIT);
    fs::remove_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let mut ended = ended?;
    let report: Option<serde_json::Value> = serde_json::from_str(&ended.out).ok();
    if let Some(output) = report.as_ref().and_then(|report| report["stdout"].as_str()) {
        ended.out = output.to_owned();
    }
    Ok(ended)
}

impl Program {
    /// Arguments after the options: mounts and the program's own arguments.
    fn tail(&self, out: &Path) -> Words {
        let mut words = Words::new();
        if self.writes {
            words.extend(["--mount".to_owned(), format!("{}:/out:rw", out.display())]);
        }
        if !self.arguments.is_empty() {
            words.push("--".to_owned());
            words.extend(self.arguments.iter().cloned());
        }
        words
    }
}
