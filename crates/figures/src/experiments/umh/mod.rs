//! UMH, a unified memory hierarchy of a CPU and several GPUs (`[umh]`): the runs and common parts of its experiments.
//!
//! Programs are those of Table I, at the paper's sizes, at a sixteenth of its footprint, or at sizes for tests.
//! Machines are those of Table III: memories of GPUs as caches of the host's memory (UMH), and the same hardware with
//! copies (MC) or with remote accesses (ZC).

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

/// The programs of Table I: the paper's names, and their names here.
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

/// Scaled inputs, in the order of [`PROGRAMS`], and their fraction of the paper's: a sixteenth, or a quarter if a
/// sixteenth would be a few blocks only. RS has a sixty-fourth, and a sixteenth of the launch costs, because it takes a
/// hundred times as long to simulate as the others.
const SCALED: [(&str, u32); 14] = [
    ("131072", 16),
    ("256", 16),
    ("131072", 16),
    ("128x1", 4),
    ("16", 4),
    ("262144", 16),
    ("256", 16),
    ("256x256", 16),
    ("8192x4", 16),
    ("131072", 16),
    ("32768", 16),
    ("256x256", 4),
    ("256x192", 16),
    ("131072", 16),
];

/// The size of the caches for smaller inputs as a fraction of the paper's. A sixteenth, as for the footprint, would
/// leave an L1 sixteen lines. That is fewer than its wavefronts have in flight, and their number does not shrink with
/// the input.
const CACHES: u32 = 4;

/// Sizes of quick runs, in the order of [`PROGRAMS`].
const QUICK: [&str; 14] = [
    "32768", "128", "32768", "64", "12", "65536", "128", "128x128", "2048x4", "32768", "8192", "64x64", "128x96",
    "32768",
];

/// Programs whose workgroups process more elements in AMD's suite than here, and how many times as many: four elements
/// per work-item, or (haar-wavelet) a workgroup of twice the size. So many workgroups are dealt to a GPU at a time, so
/// each GPU's contiguous pieces of memory are as long as in the paper.
const DEALT: [(&str, u32); 5] =
    [("black-scholes", 4), ("matmul", 4), ("transpose", 4), ("reduction", 4), ("haar-wavelet", 2)];

/// How programs are run as in AMD's suite. Its histogram leaves a row of counts for each workgroup, which the host adds
/// up: no atomic access to global memory. Its Sobel filter hands over the image and reads the result in each iteration,
/// so no kernel uses what an earlier one left, and all iterations are alike: one is run.
const LIKE_AMD: [(&str, &str); 2] = [("histogram", "--variant rows"), ("sobel", "--iterations 1")];

/// The two fabrics of Table III.
pub(super) const FABRICS: [&str; 2] = ["pcie", "nvlink"];

/// Numbers of GPUs.
pub(super) const GPUS: [usize; 3] = [1, 2, 4];

/// The statistics that every run counts, so that experiments can share runs.
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

/// A program on a system with `gpus` GPUs, with changes of its machine.
pub(super) fn job(size: Size, program: &str, (system, fabric): (System, &str), gpus: usize, changes: &[&str]) -> Job {
    let place = PROGRAMS.iter().position(|(_, name)| *name == program).unwrap_or(0);
    let arguments = match size {
        Size::Quick => format!("--size {}", QUICK[place]),
        Size::Scaled => format!("--size {}", SCALED[place].0),
        Size::Paper => "--size paper-umh --no-check".to_owned(),
    };
    let arguments = match LIKE_AMD.iter().find(|(name, _)| *name == program) {
        Some((_, more)) => format!("{arguments} {more}"),
        None => arguments,
    };
    let mut keys = vec![format!("gpus={gpus}")];
    // The costs of driver calls and launches keep the paper's proportion to the input.
    let part = match size {
        Size::Quick => 16,
        Size::Scaled => SCALED[place].1,
        Size::Paper => 1,
    };
    if part > 1 {
        let caches = [("l1v", 16), ("l1s", 16), ("l2", 512)];
        keys.extend(caches.map(|(cache, kib)| format!("gpu.{cache}.size={} KiB", kib / CACHES)));
        keys.push(format!("host.call={} ns", 1000 / part));
        keys.extend(
            [("first_launch", 3600), ("launch", 1800)]
                .map(|(key, cycles)| format!("gpu.dispatcher.{key}={}", cycles / part)),
        );
    }
    if let Some((_, workgroups)) = DEALT.iter().find(|(name, _)| gpus > 1 && *name == program) {
        keys.push(format!("gpu.dispatcher.deal={workgroups}"));
    }
    keys.extend(changes.iter().map(|change| (*change).to_owned()));
    Job::new(&system.machine(fabric), program, &arguments).with(&keys).counting(&COUNTS)
}

/// Differences between a run and the paper's.
pub(super) fn notes(size: Size) -> Vec<String> {
    let host = "the host is outside the machine: it executes an instruction a nanosecond, and each call of OpenCL takes a microsecond";
    let dealt = "workgroups are dealt to GPUs in turn, those of BSch, MM, MT and RD by fours and of DH by twos: in AMD's suite a workgroup takes so many times as many elements";
    let alike = "as in AMD's suite, Hist leaves a row of counts per workgroup to the host, and iterations of SF do not depend on each other: one is run";
    let mut notes = vec![host.to_owned(), dealt.to_owned(), alike.to_owned()];
    match size {
        Size::Quick => {
            notes.push("about a sixty-fourth of the paper's footprint, with a quarter of its caches and a sixteenth of what calls and launches take: whole blocks weigh more than in the paper".into())
        }
        Size::Scaled => notes.push(
            "a sixteenth of the paper's footprint (FW, FWT, SC: a quarter; RS: a sixty-fourth), with that part of what calls and launches take (RS: a sixteenth), and a quarter of its caches; blocks and stacks as in the paper"
                .into(),
        ),
        Size::Paper => {}
    }
    notes
}

/// The speed-ups of one job over another for each program that has results of both, and the names of these programs.
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
