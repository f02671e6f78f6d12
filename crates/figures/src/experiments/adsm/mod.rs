//! The evaluation of GMAC (`[gmac 5]`) in the simulator: programs with explicit copies between two memories, and the
//! same programs under the three protocols of asymmetric distributed shared memory (ADSM).
//!
//! The machine is one GPU of `multi-pcie` behind 8 GB/s per direction, as PCI Express 2.0 with 16 lanes has, with the
//! host outside the machine. As in the paper, whole programs are timed, including the host's computations. "By hand"
//! means buffers that are written and read explicitly (`--copies explicit`, policy `memcpy`), as with cudaMemcpy. The
//! host reads all results, because the paper's programs write them to files.

pub mod fig10;
pub mod fig11;
pub mod fig12;
pub mod fig7;
pub mod fig8;
pub mod fig9;

use crate::{Job, Measured, Plan, Size, experiment::Compute};

const MACHINE: &str = "multi-pcie";

/// Seven programs of the Parboil suite, with their sizes for quick runs.
const PARBOIL: [(&str, &str); 7] = [
    ("cp", "256x512"),
    ("mri-fhd", "16384x512"),
    ("mri-q", "16384x512"),
    ("pns", "8192x16"),
    ("rpes", "256x8"),
    ("sad", "176x144"),
    ("tpacf", "256x10"),
];

/// How bytes are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    ByHand,
    Batch,
    Lazy,
    /// Block size in KiB, and maximum number of dirty blocks; `None`: the driver's default.
    Rolling(Option<u64>, Option<u64>),
}

const ROLLING: Way = Way::Rolling(None, None);

/// The protocols, as the paper calls them.
const PROTOCOLS: [(&str, Way); 3] = [("batch", Way::Batch), ("lazy", Way::Lazy), ("rolling", ROLLING)];

fn job(program: &str, arguments: &str, way: Way) -> Job {
    let (policy, copies) = match way {
        Way::ByHand => ("memcpy", "explicit"),
        Way::Batch => ("adsm-batch", "mapped"),
        Way::Lazy => ("adsm-lazy", "mapped"),
        Way::Rolling(..) => ("adsm-rolling", "mapped"),
    };
    let mut changes =
        vec!["gpus=1".to_owned(), "fabric.bandwidth=8 GB/s".to_owned(), format!("driver.policy={policy}")];
    if let Way::Rolling(block, rolling) = way {
        changes.extend(block.map(|kib| format!("driver.block={kib} KiB")));
        changes.extend(rolling.map(|blocks| format!("driver.rolling={blocks}")));
    }
    Job::new(MACHINE, program, &format!("{arguments} --copies {copies} --read-results --no-check")).with(&changes)
}

/// A program of [`PARBOIL`].
fn parboil(at: usize, size: Size, way: Way) -> Job {
    let (program, quick) = PARBOIL[at];
    job(program, &format!("--size {}", size.of(quick, "scaled-gmac", "paper-gmac")), way)
}

fn plan(jobs: Vec<Job>, notes: &[&str], rows: Compute) -> Plan {
    let machine = "on multi-pcie with one GPU at 8 GB/s each way (PCI Express 2.0) and the host outside: an instruction takes it 1 ns, a \
                   call 1 us, a fault 4 us and 100 ns for each halving of the blocks; times are of whole runs";
    let notes = std::iter::once(machine).chain(notes.iter().copied()).map(str::to_owned).collect();
    Plan { jobs, native: Vec::new(), alone: false, notes, rows }
}

/// The time of `run` divided by that of `other`, from start to end.
fn slowdown(run: &Measured, other: &Measured) -> f64 {
    run.end_fs as f64 / other.end_fs as f64
}

/// Simulated milliseconds.
fn milliseconds(run: &Measured) -> f64 {
    run.end_fs as f64 / 1e12
}

/// The text of `[gmac]` states few values of its figures; the rows also have the values that the native runtime
/// measured (crates/adsm/README.md).
const HARDWARE: &str = "'hardware' is not a result of this run: it is what the native runtime in crates/adsm took on an NVIDIA H200 at the \
                        paper's sizes (constants from its README.md)";
