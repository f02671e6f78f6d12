//! The experiments of the study of GPU virtual caches (`[vcache 3, 5]`), and their common parts: designs, workloads
//! with their sizes, and statistics.
//!
//! Sizes: the paper names its workloads but not their inputs. What matters is the number of pages that the wavefronts
//! of a compute unit use at a time, and the size of the input relative to an L2 of 2 MiB. The time of a simulation
//! depends on the number of accesses, not of pages. So `--quick` uses graphs with about as many nodes as the scaled
//! inputs, but 2 edges per node instead of 8, and only the first round of colourings and independent sets. Scaled
//! inputs are graphs of 100,000 to 300,000 nodes with few steps or rounds. Caches and TLBs keep their sizes, because
//! the number of pages that resident wavefronts use does not grow with the input.
//!
//! Graphs are uniform: in R-MAT graphs the nodes with many edges have low numbers, so one compute unit would get most
//! of the work. Of matrix programs only the first steps are run; the sides of matrices are not powers of two, so that
//! rows do not all begin in the same bank of the L2.

pub(super) mod area;
pub(super) mod fig12;
pub(super) mod fig2;
pub(super) mod overheads;
pub(super) mod performance;
pub(super) mod rates;

use crate::{Job, Measured, Results, Size, mean};

const IDEAL: &str = "vc-ideal";
const SMALL: &str = "vc-baseline-512";
const LARGE: &str = "vc-baseline-16k";
const BIG_TLB: &str = "vc-big-tlb";
const NO_OPT: &str = "vc-noopt";
const OPT: &str = "vc-opt";

/// A workload of the study.
struct Workload {
    /// The paper's name for it, and its name here.
    name: &'static str,
    program: &'static str,
    /// Whether section 5.2 counts it among the workloads with a high demand for translations.
    high: bool,
    quick: &'static str,
    scaled: &'static str,
    paper: &'static str,
}

const WORKLOADS: [Workload; 15] = [
    Workload {
        name: "bc",
        program: "betweenness",
        high: true,
        quick: "--size 24000 --graph uniform:4",
        scaled: "--size 150000 --graph uniform",
        paper: "--size paper-vcache",
    },
    Workload {
        name: "color_max",
        program: "colouring-max",
        high: true,
        quick: "--size 120000 --graph uniform:2 --iterations 1",
        scaled: "--size 100000 --graph uniform",
        paper: "--size paper-vcache",
    },
    Workload {
        name: "color_maxmin",
        program: "colouring-maxmin",
        high: true,
        quick: "--size 120000 --graph uniform:2 --iterations 1",
        scaled: "--size 100000 --graph uniform",
        paper: "--size paper-vcache",
    },
    Workload {
        name: "fw",
        program: "floyd-warshall",
        high: true,
        quick: "--size 704 --iterations 4 --variant columns",
        scaled: "--size 704 --iterations 16 --variant columns",
        paper: "--size paper-vcache --variant columns",
    },
    Workload {
        name: "fw_block",
        program: "floyd-warshall-blocked",
        high: true,
        quick: "--size 1040 --iterations 2",
        scaled: "--size 1040 --iterations 8",
        paper: "--size paper-vcache",
    },
    Workload {
        name: "mis",
        program: "independent-set",
        high: true,
        quick: "--size 120000 --graph uniform:2 --iterations 1",
        scaled: "--size 150000 --graph uniform",
        paper: "--size paper-vcache",
    },
    Workload {
        name: "pagerank",
        program: "pagerank",
        high: true,
        quick: "--size 150000 --graph uniform:2 --iterations 1",
        scaled: "--size 299067 --graph uniform --iterations 1",
        paper: "--size paper-vcache",
    },
    Workload {
        name: "pagerank_spmv",
        program: "pagerank-spmv",
        high: true,
        quick: "--size 150000 --graph uniform:2 --iterations 1",
        scaled: "--size 299067 --graph uniform --iterations 1",
        paper: "--size paper-vcache",
    },
    Workload {
        name: "backprop",
        program: "backprop",
        high: false,
        quick: "--size 16384 --iterations 1",
        scaled: "--size usual --iterations 1",
        paper: "--size paper-vcache --iterations 1",
    },
    Workload {
        name: "bfs",
        program: "bfs",
        high: true,
        quick: "--size 64000",
        scaled: "--size 250000",
        paper: "--size paper-vcache",
    },
    Workload {
        name: "hotspot",
        program: "hotspot",
        high: false,
        quick: "--size 256x256 --iterations 2",
        scaled: "--size 512x512 --iterations 2",
        paper: "--size paper-vcache",
    },
    Workload {
        name: "kmeans",
        program: "kmeans",
        high: false,
        quick: "--size 8192 --iterations 1",
        scaled: "--size 65536 --iterations 2",
        paper: "--size paper-vcache",
    },
    Workload {
        name: "lud",
        program: "lud",
        high: true,
        quick: "--size 304x1",
        scaled: "--size 784x1",
        paper: "--size paper-vcache",
    },
    Workload {
        name: "nw",
        program: "needleman-wunsch",
        high: false,
        quick: "--size 512",
        scaled: "--size 1024",
        paper: "--size paper-vcache",
    },
    Workload {
        name: "pathfinder",
        program: "pathfinder",
        high: false,
        quick: "--size 20000",
        scaled: "--size 100000",
        paper: "--size paper-vcache",
    },
];

/// The statistics that every run counts, so that experiments can share runs.
const COUNTS: [&str; 22] = [
    TLB_HITS,
    TLB_MISSES,
    TLB_MERGED,
    L1_HIT,
    L1_MERGED,
    L1_MISS,
    L2_HIT,
    L2_MERGED,
    L2_MISS,
    ACCESSES,
    SQUARES,
    MOST,
    BUSY_1024,
    BUSY_2048,
    BUSY_4096,
    BUSY_8192,
    BUSY_16384,
    SECOND_HITS,
    SECOND_MISSES,
    PAGES_MOST,
    IOMMU_HITS,
    IOMMU_MISSES,
];

/// Look-ups of the TLBs of compute units by vector accesses.
const TLB_HITS: &str = "gpu*.mmu.vector.hits";
const TLB_MISSES: &str = "gpu*.mmu.vector.misses";
const TLB_MERGED: &str = "gpu*.mmu.vector.merged";
/// Where reads that missed in these TLBs found their line.
const L1_HIT: &str = "gpu*.l1v.tlb_missed.read/hit";
const L1_MERGED: &str = "gpu*.l1v.tlb_missed.read/merged";
const L1_MISS: &str = "gpu*.l1v.tlb_missed.read/miss";
const L2_HIT: &str = "gpu*.l2_*.tlb_missed.read/hit";
const L2_MERGED: &str = "gpu*.l2_*.tlb_missed.read/merged";
const L2_MISS: &str = "gpu*.l2_*.tlb_missed.read/miss";
/// Look-ups of the IOMMU's TLB per microsecond: their sum, the sum of their squares, the maximum, and the number of
/// microseconds with 1024 to 2047 look-ups, with 2048 to 4095, and so on.
const ACCESSES: &str = "iommu.tlb.accesses_per_us.sum";
const SQUARES: &str = "iommu.tlb.accesses_per_us.squares";
const MOST: &str = "iommu.tlb.accesses_per_us.max";
const BUSY_1024: &str = "iommu.tlb.accesses_per_us.n11";
const BUSY_2048: &str = "iommu.tlb.accesses_per_us.n12";
const BUSY_4096: &str = "iommu.tlb.accesses_per_us.n13";
const BUSY_8192: &str = "iommu.tlb.accesses_per_us.n14";
const BUSY_16384: &str = "iommu.tlb.accesses_per_us.n15";
const IOMMU_HITS: &str = "iommu.tlb.hits";
const IOMMU_MISSES: &str = "iommu.tlb.misses";
/// Statistics of a forward-backward table: look-ups of pages that the IOMMU's TLB does not have, and the maximum number
/// of pages with lines in the L2.
const SECOND_HITS: &str = "iommu.tlb.second_level.hits";
const SECOND_MISSES: &str = "iommu.tlb.second_level.misses";
const PAGES_MOST: &str = "gpu*.fbt.pages.max";

/// The change that lets the IOMMU's TLB handle any number of look-ups per cycle, as in Fig. 3.
const ANY_RATE: &str = "system.iommu.lookups=infinite";

/// A workload on a design, with further changes.
fn job(workload: &Workload, machine: &str, size: Size, more: &[String]) -> Job {
    let input = size.of(workload.quick, workload.scaled, workload.paper);
    // The reference on the host's processor takes longer than the run.
    Job::new(machine, workload.program, &format!("{input} --no-check")).with(more).counting(&COUNTS)
}

/// All workloads on a design.
fn jobs<'a>(machine: &'a str, size: Size, more: &'a [String]) -> impl Iterator<Item = Job> + 'a {
    WORKLOADS.iter().map(move |workload| job(workload, machine, size, more))
}

fn count(run: &Measured, path: &str) -> f64 {
    run.counts.get(path).copied().unwrap_or(0.0)
}

/// The kernel time of one run relative to another's; the paper reports kernel time only (`[vcache 5]`).
fn time_over(run: &Measured, base: &Measured) -> f64 {
    run.kernels_fs as f64 / base.kernels_fs.max(1) as f64
}

/// The workloads with a high demand for translations, the others, or all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    High,
    Low,
    All,
}

impl Group {
    fn has(self, workload: &Workload) -> bool {
        self == Self::All || workload.high == (self == Self::High)
    }
}

/// The arithmetic mean over those workloads of a group that have results.
fn over(group: Group, of: impl Fn(&Workload) -> Option<f64>) -> Option<f64> {
    mean(&WORKLOADS.iter().filter(|workload| group.has(workload)).filter_map(of).collect::<Vec<_>>())
}

/// The value of `of` for a design's run and its base's, if both have results.
fn pair(results: &Results, (one, base): (&Job, &Job), of: impl Fn(&Measured, &Measured) -> f64) -> Option<f64> {
    Some(of(results.get(one)?, results.get(base)?))
}

/// Differences from the paper's set-up, by size.
fn notes(size: Size) -> Vec<String> {
    let of_size = match size {
        Size::Quick => {
            "graphs of up to 150,000 nodes with few edges, first rounds, small matrices; caches and TLBs as the paper's: direction only"
        }
        Size::Scaled => {
            "graphs of 100,000 to 300,000 nodes, uniform; first steps of matrices; caches and TLBs as the paper's"
        }
        Size::Paper => "inputs chosen here: the paper names none",
    };
    vec![of_size.to_owned(), "times are of kernels; results are not checked by the programs".to_owned()]
}
