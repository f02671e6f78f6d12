//! Runs programs on many systems, with every read checked, with one thread and with two: every result must be right,
//! and the statistics must be equal byte for byte.
//!
//! The systems are M2S-CGM's four (`[giles chapter 4]`) with its programs; HALCONE's six (`[halcone 4.1]`) of 1, 2 and
//! 4 GPUs with its benchmarks and with Xtreme; UMH's with CPU cores, of 1, 2 and 4 GPUs, with its workloads (`[umh Table
//! I]`) and with programs that share their work between cores and GPUs; and machines of 1, 2 and 4 GPUs, with a host outside and with cores,
//! under every memory policy, with every workload. Xtreme must read stale data where L2s cache shared memory and no
//! protocol keeps them coherent: on some of HALCONE's systems, and under the policy `zero-copy` with several GPUs. With
//! `--quick` only the last group is run, with six workloads and just enough combinations to cover every pair of
//! choices. Runs that were right are recorded in a file (`--state`) and skipped when the command is repeated, so that
//! an interrupted run can continue.

use crate::{
    cover::{self, Combination},
    diff_programs,
    guests::Scratch,
    limited,
};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

const SYSTEMS: [&str; 4] = ["apu-c-l3", "apu-c-mc", "apu-nc-l3", "apu-nc-mc"];
const GPU: [&str; 6] = ["backprop", "lud", "kmeans", "hotspot", "needleman-wunsch", "bfs"];
const OPENMP: [&str; 6] = ["backprop-omp", "lud-omp", "kmeans-omp", "hotspot-omp", "needleman-wunsch-omp", "bfs-omp"];
const COLLABORATIVE: [&str; 5] = ["backprop", "matmul", "edge", "knn", "write"];

/// HALCONE's systems, and whether a compute unit may read a stale value of what another GPU's compute unit wrote before
/// a barrier inside a kernel. Over RDMA it may not: every line is read from its owner's L2, and a barrier invalidates
/// the L1s.
const HALCONE: [(&str, bool); 6] = [
    ("halcone-rdma-wb-nc", false),
    ("halcone-rdma-wb-hmg", false),
    ("halcone-sm-wb-nc", true),
    ("halcone-sm-wt-nc", true),
    ("halcone-sm-wt", false),
    ("halcone-gtsc", false),
];
/// `[halcone Table 3]`.
const TABLE_3: [&str; 11] = [
    "aes",
    "atax",
    "bfs",
    "bicg",
    "bitonic-sort",
    "fir",
    "floyd-warshall",
    "matmul",
    "max-pooling",
    "relu",
    "convolution",
];
const XTREME: [&str; 3] = ["xtreme1", "xtreme2", "xtreme3"];

const POLICIES: [&str; 5] = ["memcpy", "zero-copy", "managed-eager", "managed-fault", "adsm-rolling"];
const GPUS: [&str; 3] = ["1", "2", "4"];
const MACHINES: [&str; 2] = ["multi-pcie", "multi-pcie-cores"];
/// UMH's systems whose CPU takes part in the protocol.
const UMH: [&str; 2] = ["umh-pcie-cores", "umh-nvlink-cores"];
/// `[umh Table I]`.
const TABLE_I: [&str; 14] = [
    "black-scholes",
    "dct",
    "haar-wavelet",
    "floyd-warshall",
    "fast-walsh",
    "histogram",
    "matmul",
    "transpose",
    "mersenne-twister",
    "reduction",
    "radix-sort",
    "convolution",
    "sobel",
    "scan",
];

/// Workloads with few kernels and with many, with data used once and repeatedly, with and without atomic accesses.
const QUICK: [&str; 6] = ["vecadd", "bfs", "histogram", "stencil", "reduction", "matmul"];

const USAGE: &str = "usage: cargo xtask check-systems [--quick] [--cohesim PATH] [--state FILE] [--only TEXT]";

/// Exit code of a workload whose result is wrong.
const WRONG: i32 = 1;

/// Time limit of a run: processor time, and wall time.
const MOST: Duration = Duration::from_secs(600);

/// A run: its name, and the arguments before and after `--`.
struct Case {
    name: String,
    before: Vec<String>,
    behind: Vec<String>,
    /// Whether the program must find its own result wrong, because it reads stale data.
    stale: bool,
}

/// `check-systems [--quick] [--cohesim PATH] [--state FILE] [--only TEXT]`.
pub fn run(arguments: &[String]) -> Result<String, String> {
    let (mut quick, mut cohesim, mut state, mut only) = (false, None, None, "");
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--quick" => quick = true,
            "--cohesim" => cohesim = Some(PathBuf::from(rest.next().ok_or(USAGE)?)),
            "--state" => state = Some(PathBuf::from(rest.next().ok_or(USAGE)?)),
            "--only" => only = rest.next().ok_or(USAGE)?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let cohesim = cohesim.map_or_else(|| diff_programs::build(root), Ok)?;
    let cohesim = cohesim.canonicalize().map_err(|error| format!("{}: {error}", cohesim.display()))?;
    let mut cases = multi_gpu_cases(quick);
    if !quick {
        cases.extend(paper_cases());
        cases.extend(halcone_cases());
        cases.extend(umh_cases());
    }
    cases.retain(|case| case.name.contains(only));
    let count = cases.len();
    let done = Done::open(state.as_deref(), &cohesim)?;
    cases.retain(|case| !done.known.contains(&case.name));
    let (scratch, left, at) = (Scratch::new("systems")?, cases.len(), AtomicUsize::new(0));
    let wrong = cover::each(&cases, |case| {
        let of = |threads| statistics(&cohesim, case, threads, &scratch.0);
        let error = match (of("1"), of("2")) {
            (Ok(one), Ok(two)) if one == two => None,
            (Ok(_), Ok(_)) => Some("statistics of one thread and of two differ".to_owned()),
            (Err(error), _) | (_, Err(error)) => Some(error),
        };
        let number = at.fetch_add(1, Ordering::Relaxed) + 1;
        match &error {
            None => {
                println!("{number} of {left}: {}: right", case.name);
                done.note(&case.name);
                None
            }
            Some(error) => {
                println!("{number} of {left}: {}: wrong", case.name);
                Some(format!("{}: {error}", case.name))
            }
        }
    });
    match wrong.is_empty() {
        true => {
            Ok(format!("systems: {count} runs are right, every read checked, and equal with one thread and with two"))
        }
        false => Err(format!("{} of {count} runs:\n{}", wrong.len(), wrong.join("\n"))),
    }
}

/// Runs that this executable has already completed with right results.
struct Done {
    known: BTreeSet<String>,
    file: Option<Mutex<fs::File>>,
}

impl Done {
    fn open(path: Option<&Path>, cohesim: &Path) -> Result<Self, String> {
        let Some(path) = path else { return Ok(Self { known: BTreeSet::new(), file: None }) };
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let program = fs::read(cohesim).map_err(|error| format!("{}: {error}", cohesim.display()))?;
        let digest: String = Sha256::digest(&program).iter().map(|byte| format!("{byte:02x}")).collect();
        let kept = fs::read_to_string(path).unwrap_or_default();
        let mut lines = kept.lines();
        let same = lines.next() == Some(digest.as_str());
        let known = if same { lines.map(str::to_owned).collect() } else { BTreeSet::new() };
        if !same {
            fs::write(path, format!("{digest}\n")).map_err(failed)?;
        }
        let file = fs::OpenOptions::new().append(true).open(path).map_err(failed)?;
        Ok(Self { known, file: Some(Mutex::new(file)) })
    }

    fn note(&self, name: &str) {
        if let Some(file) = &self.file {
            // If recording fails, the run is repeated next time.
            _ = writeln!(file.lock().unwrap_or_else(PoisonError::into_inner), "{name}");
        }
    }
}

fn multi_gpu_cases(quick: bool) -> Vec<Case> {
    let workloads: Vec<&str> = match quick {
        true => QUICK.to_vec(),
        false => workloads::ALL.iter().map(|workload| workload.name).collect(),
    };
    let all = cover::combinations(&[workloads.len(), POLICIES.len(), GPUS.len(), MACHINES.len()]);
    let chosen = if quick { cover::pairwise(&all) } else { all };
    let case = |combination: Combination| {
        let [workload, policy, gpus, machine] = combination[..] else { unreachable!("there are four dimensions") };
        let (workload, policy, gpus, machine) = (workloads[workload], POLICIES[policy], GPUS[gpus], MACHINES[machine]);
        let set = format!("gpus={gpus}");
        let before = [workload, "--system", machine, "--set", &set, "--memory-policy", policy];
        Case {
            name: format!("{machine} {gpus} {policy} {workload}"),
            before: before.map(str::to_owned).to_vec(),
            behind: ["--size", "tiny"].map(str::to_owned).to_vec(),
            // Each GPU's L2 caches the host's lines, and no protocol keeps these L2s coherent inside a kernel.
            stale: policy == "zero-copy" && gpus != "1" && ["xtreme2", "xtreme3"].contains(&workload),
        }
    };
    chosen.into_iter().map(case).collect()
}

/// M2S-CGM's programs on its machines.
fn paper_cases() -> Vec<Case> {
    let plain = GPU.map(|name| (name, &[][..]));
    let shared_out = OPENMP.map(|name| (name, &["--threads", "4"][..]));
    let together = COLLABORATIVE.map(|name| (name, &["--cpu-share", "50", "--threads", "4"][..]));
    let programs: Vec<(&str, &[&str])> = plain.into_iter().chain(shared_out).chain(together).collect();
    let case = |system: &str, (program, more): (&str, &[&str])| Case {
        name: [&[system, program], more].concat().join(" "),
        before: [program, "--system", system].map(str::to_owned).to_vec(),
        behind: [&["--size", "small"], more].concat().into_iter().map(str::to_owned).collect(),
        stale: false,
    };
    SYSTEMS.iter().flat_map(|system| programs.iter().map(move |program| case(system, *program))).collect()
}

/// HALCONE's benchmarks on its systems.
fn halcone_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (machine, may_be_stale) in HALCONE {
        for gpus in GPUS {
            for program in TABLE_3.iter().chain(&XTREME) {
                let xtreme = XTREME.contains(program);
                // Four workgroups per GPU, each with a slice of whole lines.
                let size = match gpus.parse::<usize>() {
                    Ok(count) if xtreme => format!("4096x{}x{count}", 4 * count),
                    _ => "tiny".to_owned(),
                };
                cases.push(Case {
                    name: format!("{machine} {gpus} {program}"),
                    before: [*program, "--system", machine, "--set", &format!("gpus={gpus}")]
                        .map(str::to_owned)
                        .to_vec(),
                    behind: ["--size", &size].map(str::to_owned).to_vec(),
                    stale: may_be_stale && *program == "xtreme3" && gpus != "1",
                });
            }
        }
    }
    cases
}

/// UMH's workloads, and programs that share their work between cores and GPUs, on its systems with CPU cores.
fn umh_cases() -> Vec<Case> {
    let plain = TABLE_I.map(|name| (name, &[][..]));
    let together = COLLABORATIVE.map(|name| (name, &["--cpu-share", "50", "--threads", "4"][..]));
    let mut cases = Vec::new();
    for (machine, gpus) in UMH.iter().flat_map(|machine| GPUS.map(|gpus| (machine, gpus))) {
        for (program, more) in plain.iter().chain(&together) {
            cases.push(Case {
                name: [&[*machine, gpus, *program], *more].concat().join(" "),
                before: [*program, "--system", machine, "--set", &format!("gpus={gpus}")].map(str::to_owned).to_vec(),
                behind: [&["--size", "tiny"], *more].concat().into_iter().map(str::to_owned).collect(),
                stale: false,
            });
        }
    }
    cases
}

/// The statistics of a run in which the result and every read were right.
fn statistics(cohesim: &Path, case: &Case, threads: &str, folder: &Path) -> Result<Vec<u8>, String> {
    let out = folder.join(format!("{}-{threads}", case.name.replace([' ', '/'], "_")));
    let mut run = Command::new(cohesim);
    run.arg("run").args(&case.before).args(["--check", "--threads", threads, "--out"]).arg(&out);
    run.arg("--").args(&case.behind).current_dir(folder);
    let ended = limited::run(&mut run, MOST, 4 * MOST).map_err(|error| format!("{run:?}: {error}"))?;
    if ended.code != Some(if case.stale { WRONG } else { 0 }) {
        return Err(format!("{run:?}: {}", ended.told()));
    }
    let path = out.join("stats.json");
    let statistics = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    _ = fs::remove_dir_all(&out);
    Ok(statistics)
}
