//! UMH, a unified memory hierarchy of a CPU and several GPUs (`[umh]`): its runs, and what experiments share.
//!
//! Programs are those of Table I at the paper's sizes, or at a sixteenth of its footprint, or at sizes for tests. Machines are those of
//! Table III: memories of GPUs as caches of the host's (UMH), the same hardware with copies (MC) or with accesses from afar (ZC).

mod blocks;
mod flush;
mod masks;
mod peer;
mod performance;
mod storage;
mod traffic;
mod transfers;

pub use blocks::EXPERIMENT as BLOCKS;
pub use flush::{FLUSHED, SYNCHRONISATION};
pub use masks::EXPERIMENT as MASKS;
pub use peer::EXPERIMENT as PEER;
pub use performance::EXPERIMENT as PERFORMANCE;
pub use storage::EXPERIMENT as STORAGE;
pub use traffic::EXPERIMENT as TRAFFIC;
pub use transfers::EXPERIMENT as TRANSFERS;

use crate::{Job, Measured, Results, Size, geomean};

/// The programs of Table I: as the paper calls them, and as they are called here.
pub(super) const PROGRAMS: [(&str, &str); 14] = [
    ("BSch", "black-scholes"),
    ("DCT", "dct"),
    ("DH", "haar-wavelet"),
    ("FW", "floyd-warshall"),
    ("FWT", "fast-walsh"),
    ("Hist", "histogram"),
    ("MM", "matmul"),
    ("MT", "transpose"),
    ("MTw", "mersenne-twister"),
    ("RD", "reduction"),
    ("RS", "radix-sort"),
    ("SC", "convolution"),
    ("SF", "sobel"),
    ("SLA", "scan"),
];

/// The two fabrics of Table III.
pub(super) const FABRICS: [&str; 2] = ["pcie", "nvlink"];

/// The numbers of GPUs.
pub(super) const GPUS: [usize; 3] = [1, 2, 4];

/// What is counted in every run, so that experiments share runs.
const COUNTS: [&str; 7] = [
    "memory*.writes",
    "host.claims.cycles.sum",
    "host.claims.cycles.count",
    "front_end.flush.sum",
    "front_end.flush.count",
    "host.dma.to_host",
    "host.dma.to_host_cycles.sum",
];

/// How a system manages memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    Memcpy,
    ZeroCopy,
    Managed,
    Umh,
}

impl System {
    fn machine(self, fabric: &str) -> String {
        match self {
            Self::Memcpy => format!("umh-memcpy-{fabric}"),
            Self::ZeroCopy => format!("umh-zerocopy-{fabric}"),
            Self::Managed => format!("umh-managed-{fabric}"),
            Self::Umh => format!("umh-{fabric}"),
        }
    }
}

/// A program on so many GPUs of a system, with keys of its machine changed.
pub(super) fn job(size: Size, program: &str, (system, fabric): (System, &str), gpus: usize, changes: &[&str]) -> Job {
    let arguments = size.of("--size tiny", "--size scaled-umh", "--size paper-umh --no-check");
    let mut keys = vec![format!("gpus={gpus}")];
    // The ratio of footprint to caches is the paper's.
    if size == Size::Scaled {
        keys.extend(["gpu.l1v.size=1 KiB", "gpu.l1s.size=1 KiB", "gpu.l2.size=32 KiB"].map(str::to_owned));
    }
    keys.extend(changes.iter().map(|change| (*change).to_owned()));
    Job::new(&system.machine(fabric), program, arguments).with(&keys).counting(&COUNTS)
}

/// What a run differs in from the paper's.
pub(super) fn notes(size: Size) -> Vec<String> {
    let host = "the host is outside the machine: it executes an instruction a nanosecond, and each call of OpenCL takes a microsecond";
    let mut notes = vec![host.to_owned()];
    match size {
        Size::Quick => {
            notes.push("inputs are tiny: a few blocks for each GPU, and calls weigh more than in the paper".into())
        }
        Size::Scaled => notes.push(
            "a sixteenth of the paper's footprint, with a sixteenth of its caches; blocks and stacks as in the paper"
                .into(),
        ),
        Size::Paper => {}
    }
    notes
}

/// How many times faster one job was than another, of each program for which both are there; and the programs' names.
pub(super) fn speedups(
    results: &Results,
    faster: impl Fn(&'static str) -> Job,
    slower: impl Fn(&'static str) -> Job,
) -> Vec<(&'static str, f64)> {
    let of = |(name, program): &(&'static str, &'static str)| {
        let (fast, slow) = (results.get(&faster(program))?, results.get(&slower(program))?);
        Some((*name, fast.speedup_over(slow)))
    };
    PROGRAMS.iter().filter_map(of).collect()
}

/// The geometric mean over programs.
pub(super) fn mean(speedups: &[(&'static str, f64)]) -> Option<f64> {
    geomean(&speedups.iter().map(|(_, speedup)| *speedup).collect::<Vec<_>>())
}

/// A count of a run.
pub(super) fn count(run: &Measured, pattern: &str) -> f64 {
    run.counts.get(pattern).copied().unwrap_or(0.0)
}
