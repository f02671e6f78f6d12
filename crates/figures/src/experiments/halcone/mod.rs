//! The experiments of HALCONE (`[halcone 5]`), and their common parts: systems, benchmarks with their sizes, and
//! statistics.
//!
//! Sizes: the paper gives footprints (Table 3). Scaled inputs have a 64th of them or less, and run on an eighth of each
//! GPU: compute units, L2 banks, memory channels, entries of the second-level TLB, walkers of the IOMMU, and the
//! bandwidth of every wire between chips. So compute units, banks and wires keep the paper's proportions, each compute
//! unit runs several times as many workgroups as it can hold at once, and a resource that is scarce in the paper's
//! systems is scarce here. The input shrinks 64-fold or more and the GPU 8-fold, so a kernel's time shrinks by the
//! input's factor divided by eight; launches and calls are made cheaper by that factor. The L2s, and the TSU, which has
//! entries for their lines, have a 32nd of the paper's size: smaller L2s would hold less than the L1s above them. L1s
//! and first-level TLBs belong to a compute unit and keep their sizes: they hold the working set of resident
//! workgroups, which does not grow with the input.
//!
//! Xtreme's vectors are an eighth of the paper's, on an eighth of each GPU, with an eighth of the L2s: every compute
//! unit has exactly the paper's work.
//!
//! Quick inputs run on the paper's machines, which they do not fill.

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
    /// Factor by which the scaled footprint is smaller than the paper's.
    footprint: u64,
}

#[rustfmt::skip]
const BENCHMARKS: [Benchmark; 11] = [
    Benchmark { name: "aes", program: "aes", compute_bound: true, quick: "16384", scaled: "34668", footprint: 64 },
    Benchmark { name: "atax", program: "atax", compute_bound: true, quick: "256", scaled: "512", footprint: 64 },
    Benchmark { name: "bfs", program: "bfs", compute_bound: false, quick: "30000", scaled: "30000", footprint: 512 },
    Benchmark { name: "bicg", program: "bicg", compute_bound: true, quick: "256", scaled: "512", footprint: 64 },
    Benchmark { name: "bs", program: "bitonic-sort", compute_bound: false, quick: "16384", scaled: "65536", footprint: 128 },
    Benchmark { name: "fir", program: "fir", compute_bound: false, quick: "65536", scaled: "131072", footprint: 64 },
    Benchmark { name: "fws", program: "floyd-warshall", compute_bound: false, quick: "128x1", scaled: "192x1", footprint: 128 },
    Benchmark { name: "mm", program: "matmul", compute_bound: false, quick: "192", scaled: "256", footprint: 256 },
    Benchmark { name: "mp", program: "max-pooling", compute_bound: true, quick: "51x64x64", scaled: "51x64x64", footprint: 64 },
    Benchmark { name: "rl", program: "relu", compute_bound: false, quick: "131072", scaled: "131072", footprint: 64 },
    Benchmark { name: "conv", program: "convolution", compute_bound: false, quick: "266x266", scaled: "362x362", footprint: 128 },
];

/// The transactions that the paper counts (Fig. 7 b and c): reads and writes between L2s and memory, and between L1s
/// and L2s. Orders to invalidate lines are not counted.
const READS: &str = "*memory*.reads";
const WRITES: &str = "*memory*.writes";
const NOTICES: &str = "*memory*.notices";
const L2_READS: &str = "gpu*.l2_*.accesses.read/*";
const L2_WRITES: &str = "gpu*.l2_*.accesses.write/*";

/// Table 2: size of each GPU's L2, and entries of the TSU behind each channel.
const L2_KIB: u64 = 2048;
const TSU_ENTRIES: u64 = 4096;
/// Part of each GPU that scaled inputs run on, and of its L2 and of the TSU behind a channel.
const EIGHTH: u64 = 8;
const L2_PART: u64 = 32;

/// Costs of a launch and of a call, as in the machine files.
const FIRST_LAUNCH: u64 = 3600;
const LAUNCH: u64 = 1800;
const CALL_NS: u64 = 1000;
/// Factor by which they are smaller with quick inputs.
const QUICK_LAUNCHES: u64 = 16;

/// An eighth of each GPU of a machine of Table 2, with a part of its L2.
fn eighth(machine: &str, l2_part: u64) -> Vec<String> {
    let mut changes = vec![
        "gpu.arrays=1".to_owned(),
        "gpu.l2.banks=1".to_owned(),
        format!("gpu.l2.size={} KiB", L2_KIB / l2_part),
        format!("gpu.l2_tlb.entries={}", 512 / EIGHTH),
        format!("system.iommu.walkers={}", 16 / EIGHTH),
    ];
    if [RDMA, HMG].contains(&machine) {
        changes.push(format!("fabric.bandwidth={} GB/s", 32 / EIGHTH));
    } else {
        changes.extend([format!("fabric.bandwidth={} GB/s", 256 / EIGHTH), "memory.channels=1".to_owned()]);
    }
    if machine == HALCONE && l2_part > EIGHTH {
        changes.push(format!("memory.tsu.entries={}", TSU_ENTRIES * EIGHTH / l2_part));
    }
    changes
}

/// The changes of a machine for a benchmark's size.
fn scale(benchmark: &Benchmark, machine: &str, size: Size) -> Vec<String> {
    let (mut changes, cheaper) = match size {
        Size::Quick => (Vec::new(), QUICK_LAUNCHES),
        Size::Scaled => (eighth(machine, L2_PART), benchmark.footprint / EIGHTH),
        Size::Paper => return Vec::new(),
    };
    changes.extend([
        format!("gpu.dispatcher.first_launch={}", FIRST_LAUNCH / cheaper),
        format!("gpu.dispatcher.launch={}", LAUNCH / cheaper),
        format!("host.call={} ns", CALL_NS / cheaper),
    ]);
    changes
}

/// A benchmark on a machine, with further changes.
fn job(benchmark: &Benchmark, machine: &str, size: Size, more: &[String]) -> Job {
    let input = size.of(benchmark.quick, benchmark.scaled, "paper-halcone");
    // The host's reference takes a good part of the processor's time, at the paper's sizes more than the run.
    let check = if size == Size::Quick { "" } else { " --no-check" };
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
        Size::Quick => vec!["small inputs, over the paper's machines, which they do not fill: direction only".to_owned()],
        Size::Scaled => vec![
            "an eighth of each GPU, of every wire between chips and of the IOMMU's walkers; inputs of a 64th of the paper's footprint (bs, fws and conv a 128th, mm a 256th, bfs a 512th), and \
             launches and calls that cost as much less as kernels are shorter; L2s and TSU of a 32nd; L1s and their TLBs as they are; results are not checked by the programs"
                .to_owned(),
        ],
        Size::Paper => vec!["the paper's footprints; results are not checked by the programs".to_owned()],
    }
}

/// An Xtreme program with vectors of this many KB of the paper, with one workgroup per compute unit, on four GPUs: of 32
/// compute units, or of an eighth of everything, the vectors included.
fn xtreme(number: usize, kib: usize, machine: &str, size: Size, more: &[String]) -> Job {
    let (part, changes) = match size {
        Size::Scaled => (EIGHTH as usize, eighth(machine, EIGHTH)),
        Size::Quick | Size::Paper => (1, Vec::new()),
    };
    let (elements, units) = (kib * 256 / part, 128 / part);
    // Without coherence the results of Xtreme3 are wrong, as expected.
    Job::new(machine, &format!("xtreme{number}"), &format!("--size {elements}x{units}x4 --no-check"))
        .with(&["gpu.dispatcher.placement=bound".to_owned()])
        .with(&changes)
        .with(more)
        .counting(&[READS, WRITES, NOTICES, L2_READS, L2_WRITES])
}

/// Sizes of vectors in KB of the paper; the smallest and the largest are stated there.
fn vectors(size: Size) -> &'static [usize] {
    const ALL: [usize; 5] = [192, 768, 3072, 12_288, 98_304];
    &ALL[..size.of(2, 4, 5)]
}
