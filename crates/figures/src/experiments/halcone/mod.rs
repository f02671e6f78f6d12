//! The experiments of HALCONE (`[halcone 5]`), and their common parts: systems, benchmarks with their sizes, and
//! statistics.
//!
//! Sizes: the paper gives footprints (Table 3). Scaled inputs have a sixteenth of them, and a 64th where a run would
//! take hours. The L2s, and the TSU, which has entries for their lines, are scaled to a quarter, so that inputs are
//! several times as large as the L2, as in the paper. The L2s are not scaled as much as the inputs, because first-level
//! caches keep their size: they hold the working set of resident workgroups, which does not grow with the input, and
//! leases only work if lines live longer in the L2s than in the L1s. Costs of launches and calls are scaled like the
//! inputs, because kernels are shorter by that factor. Quick inputs are smaller still, with the paper's caches.

pub(super) mod fig2;
pub(super) mod fig7;
pub(super) mod fig8;
pub(super) mod fig9;
pub(super) mod gtsc;
pub(super) mod leases;
pub(super) mod storage;
pub(super) mod traffic;

use crate::{Job, Measured, Results, Size, geomean};

const RDMA: &str = "halcone-rdma-wb-nc";
const HMG: &str = "halcone-rdma-wb-hmg";
const SM_WB: &str = "halcone-sm-wb-nc";
const SM_WT: &str = "halcone-sm-wt-nc";
const HALCONE: &str = "halcone-sm-wt";
const GTSC: &str = "halcone-gtsc";

/// A benchmark of Table 3.
struct Benchmark {
    /// The paper's name; `program`: the workload's name.
    name: &'static str,
    program: &'static str,
    /// Its type according to 5.1.
    compute_bound: bool,
    quick: &'static str,
    scaled: &'static str,
    /// Factor by which the footprint and the launch costs are smaller than the paper's.
    footprint: u64,
}

const BENCHMARKS: [Benchmark; 11] = [
    Benchmark { name: "aes", program: "aes", compute_bound: true, quick: "16384", scaled: "138672", footprint: 16 },
    Benchmark { name: "atax", program: "atax", compute_bound: true, quick: "256", scaled: "1024", footprint: 16 },
    Benchmark { name: "bfs", program: "bfs", compute_bound: false, quick: "30000", scaled: "236000", footprint: 64 },
    Benchmark { name: "bicg", program: "bicg", compute_bound: true, quick: "256", scaled: "1024", footprint: 16 },
    Benchmark {
        name: "bs",
        program: "bitonic-sort",
        compute_bound: false,
        quick: "16384",
        scaled: "131072",
        footprint: 64,
    },
    Benchmark { name: "fir", program: "fir", compute_bound: false, quick: "65536", scaled: "524288", footprint: 16 },
    Benchmark {
        name: "fws",
        program: "floyd-warshall",
        compute_bound: false,
        quick: "128x1",
        scaled: "256x1",
        footprint: 64,
    },
    Benchmark { name: "mm", program: "matmul", compute_bound: false, quick: "192", scaled: "512", footprint: 64 },
    Benchmark {
        name: "mp",
        program: "max-pooling",
        compute_bound: true,
        quick: "51x64x64",
        scaled: "205x64x64",
        footprint: 16,
    },
    Benchmark { name: "rl", program: "relu", compute_bound: false, quick: "131072", scaled: "524288", footprint: 16 },
    Benchmark {
        name: "conv",
        program: "convolution",
        compute_bound: false,
        quick: "266x266",
        scaled: "532x532",
        footprint: 64,
    },
];

/// The transactions that the paper counts (Fig. 7 b and c): reads and writes between L2s and memory, and between L1s and L2s. Orders to
/// forget lines are not counted.
const READS: &str = "*memory*.reads";
const WRITES: &str = "*memory*.writes";
const NOTICES: &str = "*memory*.notices";
const L2_READS: &str = "gpu*.l2_*.accesses.read/*";
const L2_WRITES: &str = "gpu*.l2_*.accesses.write/*";

/// Table 2: size of each GPU's L2, and entries of the TSU behind each channel.
const L2_KIB: u64 = 2048;
const TSU_ENTRIES: u64 = 4096;
/// Factor by which these are smaller with scaled inputs.
const L2_SCALE: u64 = 4;

/// Costs of a launch and of a call, as in the machine files.
const FIRST_LAUNCH: u64 = 3600;
const LAUNCH: u64 = 1800;
const CALL_NS: u64 = 1000;

/// The changes of a machine for a benchmark's size.
fn scale(benchmark: &Benchmark, machine: &str, size: Size) -> Vec<String> {
    if size == Size::Paper {
        return Vec::new();
    }
    let launches = benchmark.footprint;
    let mut changes = vec![
        format!("gpu.dispatcher.first_launch={}", FIRST_LAUNCH / launches),
        format!("gpu.dispatcher.launch={}", LAUNCH / launches),
        format!("host.call={} ns", CALL_NS / launches),
    ];
    if size == Size::Scaled {
        changes.push(format!("gpu.l2.size={} KiB", L2_KIB / L2_SCALE));
    }
    if size == Size::Scaled && machine == HALCONE {
        changes.push(format!("memory.tsu.entries={}", TSU_ENTRIES / L2_SCALE));
    }
    changes
}

/// A benchmark on a machine, with further changes.
fn job(benchmark: &Benchmark, machine: &str, size: Size, more: &[String]) -> Job {
    let input = size.of(benchmark.quick, benchmark.scaled, "paper-halcone");
    // At the paper's sizes the CPU's reference takes longer than the run.
    let check = if size == Size::Paper { " --no-check" } else { "" };
    Job::new(machine, benchmark.program, &format!("--size {input}{check}"))
        .with(&scale(benchmark, machine, size))
        .with(more)
        .counting(&[READS, WRITES, NOTICES, L2_READS, L2_WRITES])
}

fn sum(run: &Measured, patterns: &[&str]) -> f64 {
    patterns.iter().filter_map(|pattern| run.counts.get(*pattern)).sum()
}

/// The geometric mean of `of` over all benchmarks for which both results exist.
fn over_benchmarks(
    results: &Results,
    (one, other): (OfBenchmark<'_>, OfBenchmark<'_>),
    of: impl Fn(&Measured, &Measured) -> f64,
) -> Option<f64> {
    let both = |benchmark: &Benchmark| Some(of(results.get(&one(benchmark))?, results.get(&other(benchmark))?));
    geomean(&BENCHMARKS.iter().filter_map(both).collect::<Vec<f64>>())
}

/// A job for each benchmark.
type OfBenchmark<'a> = &'a dyn Fn(&Benchmark) -> Job;

/// Differences from the paper's set-up, by size.
fn notes(size: Size) -> Vec<String> {
    match size {
        Size::Quick => vec!["small inputs, over the paper's caches: direction only".to_owned()],
        Size::Scaled => vec![
            "inputs of a sixteenth of the paper's footprint (bfs, bs, fws, mm and conv: a 64th), and launches and calls that cost as much less; L2s and TSU of a \
             quarter; L1s and TLBs as they are"
                .to_owned(),
        ],
        Size::Paper => vec!["the paper's footprints; results are not checked by the programs".to_owned()],
    }
}

/// An Xtreme program with this vector length on four GPUs of 32 compute units, with one workgroup per compute unit.
fn xtreme(number: usize, elements: usize, machine: &str, more: &[String]) -> Job {
    // Without coherence the results of Xtreme3 are wrong, as expected.
    Job::new(machine, &format!("xtreme{number}"), &format!("--size {elements}x128x4 --no-check"))
        .with(&["gpu.dispatcher.placement=bound".to_owned()])
        .with(more)
        .counting(&[READS, WRITES, NOTICES, L2_READS, L2_WRITES])
}

/// Lengths of vectors, and their sizes in KB; the smallest and the largest are the paper's.
fn vectors(size: Size) -> Vec<(usize, u64)> {
    let all = [(49_152, 192), (196_608, 768), (786_432, 3072), (3_145_728, 12_288), (25_165_824, 98_304)];
    all[..size.of(2, 4, 5)].to_vec()
}
