//! Runs the programs of M2S-CGM (`[giles chapter 4]`) on its four systems, every read checked, in one thread and in
//! two: is every result right, and are the statistics the same byte for byte?

use crate::guests::Scratch;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const SYSTEMS: [&str; 4] = ["apu-c-l3", "apu-c-mc", "apu-nc-l3", "apu-nc-mc"];

const GPU: [&str; 6] = ["backprop", "lud", "kmeans", "hotspot", "needleman-wunsch", "bfs"];
const OPENMP: [&str; 6] = ["backprop-omp", "lud-omp", "kmeans-omp", "hotspot-omp", "needleman-wunsch-omp", "bfs-omp"];
const COLLABORATIVE: [&str; 5] = ["backprop", "matmul", "edge", "knn", "write"];

const USAGE: &str = "usage: cargo xtask check-systems [--cohesim PATH] [--size SIZE]";

/// `check-systems [--cohesim PATH] [--size SIZE]`.
pub fn run(arguments: &[String]) -> Result<String, String> {
    let (mut cohesim, mut size) = (None, "small");
    for pair in arguments.chunks(2) {
        match pair {
            [flag, path] if flag == "--cohesim" => cohesim = Some(PathBuf::from(path)),
            [flag, word] if flag == "--size" => size = word,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let cohesim = cohesim.map_or_else(|| crate::diff_programs::build(root), Ok)?;
    let scratch = Scratch::new("systems")?;
    let (mut count, mut wrong) = (0, Vec::new());
    for system in SYSTEMS {
        for (program, more) in programs() {
            let name = [&[program], more].concat().join(" ");
            let start = Instant::now();
            let of = |threads| statistics(&cohesim, system, (program, more, size), threads, &scratch.0);
            let told = match (of("1"), of("2")) {
                (Ok(one), Ok(two)) if one == two => "right, and the same in two threads",
                (Ok(_), Ok(_)) => "right, but not the same in two threads",
                (Err(error), _) | (_, Err(error)) => {
                    eprintln!("{error}");
                    "wrong"
                }
            };
            count += 1;
            println!("{system} {name}: {told} ({:.1} s)", start.elapsed().as_secs_f64());
            if told != "right, and the same in two threads" {
                wrong.push(format!("{system} {name}: {told}"));
            }
        }
    }
    match wrong.is_empty() {
        true => Ok(format!("systems: {count} runs of {} programs are right, and the same in two threads", count / 4)),
        false => Err(format!("{} of {count} runs:\n{}", wrong.len(), wrong.join("\n"))),
    }
}

/// Every program, and its arguments beside the size.
fn programs() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let plain = GPU.map(|name| (name, &[][..]));
    let shared_out = OPENMP.map(|name| (name, &["--threads", "4"][..]));
    let together = COLLABORATIVE.map(|name| (name, &["--cpu-share", "50", "--threads", "4"][..]));
    plain.into_iter().chain(shared_out).chain(together)
}

/// The statistics of a run whose result and every read were right.
fn statistics(
    cohesim: &Path,
    system: &str,
    (program, more, size): (&str, &[&str], &str),
    threads: &str,
    folder: &Path,
) -> Result<Vec<u8>, String> {
    let out = folder.join(format!("{system}-{program}{}-{threads}", more.concat()));
    let mut run = Command::new(cohesim);
    run.args(["run", program, "--system", system, "--check", "--threads", threads, "--out"]).arg(&out);
    run.args(["--", "--size", size]).args(more);
    let ran = run.output().map_err(|error| format!("{} can't be started: {error}", cohesim.display()))?;
    if !ran.status.success() {
        let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        return Err(format!("{system} {program} in {threads} threads: {}\n{out}{err}", ran.status));
    }
    let path = out.join("stats.json");
    std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
}
