//! A run that an experiment needs, and its results.

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// A built-in program on a machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Job {
    /// A machine that comes with cohesim, or a file.
    pub machine: String,
    /// Keys of it that are changed: `gpu.clock=4 GHz`.
    pub changes: Vec<String>,
    /// A workload or a program for the CPU alone.
    pub program: String,
    pub arguments: Vec<String>,
    /// Patterns of statistics whose sums are wanted ([`Job::counting`]).
    pub counts: Vec<String>,
}

impl Job {
    /// A program on a machine as it is; the arguments are separated by blanks.
    pub fn new(machine: &str, program: &str, arguments: &str) -> Self {
        let arguments = arguments.split_whitespace().map(str::to_owned).collect();
        Self { machine: machine.into(), changes: Vec::new(), program: program.into(), arguments, counts: Vec::new() }
    }

    /// With these keys of the machine changed.
    pub fn with(mut self, changes: &[String]) -> Self {
        self.changes.extend_from_slice(changes);
        self
    }

    /// With the sums of statistics whose names match these patterns, in which `*` stands for any characters. A count is called by
    /// its path, a number of another statistic by the path and its own name: `PATH.sum`, `PATH.count` and `PATH.max` of a histogram and
    /// `PATH.nB` for its values of B bits, `PATH.area`, `PATH.cycles` and `PATH.max` of a level (of several, the largest), `PATH.ROW/COLUMN` of a matrix, `PATH.active` and `PATH.passive` of energy.
    pub fn counting(mut self, patterns: &[&str]) -> Self {
        self.counts.extend(patterns.iter().map(|pattern| (*pattern).to_owned()));
        self
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} on {}", self.program, self.arguments.join(" "), self.machine)?;
        self.changes.iter().try_for_each(|change| write!(f, " {change}"))
    }
}

/// The results of a run. All but the last are simulated, and equal in every run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The region of interest that the program marks; the whole run if it marks none.
    pub region_fs: u64,
    /// Longest busy time of a core in the region: the time until the CPU's part was done.
    pub cpu_fs: u64,
    /// Longest time that a compute unit had wavefronts in the region.
    pub gpu_fs: u64,
    /// Time in which one or several kernels ran, without launches and copies; of the whole run without warm-ups.
    pub kernels_fs: u64,
    /// End of the whole run.
    pub end_fs: u64,
    /// How many times a context of the model has run.
    pub events: u64,
    /// Number of context runs in the region of interest; `region_most_events`: the maximum at one time.
    pub region_events: u64,
    pub region_most_events: u64,
    /// Cycles of the region in which cores had a thread, of all cores together.
    pub region_core_cycles: u64,
    pub cpu_instructions: u64,
    /// Clock of the machine's cores.
    pub cpu_hertz: u64,
    /// Clock of the machine's GPUs, and of the DMA engine of a host outside the machine.
    pub gpu_hertz: u64,
    /// Bytes that went from one memory to another in the whole run, by cause: explicit copies, faults, remote lines and so on.
    pub moved: BTreeMap<String, u64>,
    /// Bytes on each link of the fabric in the whole run.
    pub links: BTreeMap<String, u64>,
    /// Accesses of the host to pages that the driver guards, in the whole run, and the time that answering them took, without waiting
    /// for bytes.
    pub host_faults: u64,
    pub fault_fs: u64,
    /// Sums over the whole run of what the job [counts](Job::counting), by pattern. A pattern that matches no statistic
    /// is left out.
    pub counts: BTreeMap<String, f64>,
    /// Processor time of the simulation, on the computer that ran it.
    pub host_seconds: f64,
}

impl Measured {
    /// How many times faster this was than `other`, by the region of interest.
    pub fn speedup_over(&self, other: &Measured) -> f64 {
        ratio(other.region_fs, self.region_fs)
    }

    /// Bytes that went from one memory to another, whatever the cause.
    pub fn moved_bytes(&self) -> u64 {
        self.moved.values().sum()
    }

    /// Variant of [`moved_bytes`](Self::moved_bytes) without code and arguments of kernels, which go to a GPU with each
    /// launch.
    pub fn moved_data(&self) -> u64 {
        self.moved_bytes() - self.moved.get("launch").copied().unwrap_or(0)
    }

    /// Events in a cycle of the cores, on average over the region.
    pub fn events_per_cycle(&self) -> f64 {
        let cycles = self.region_fs as f64 * self.cpu_hertz as f64 / 1e15;
        if cycles > 0.0 { self.region_events as f64 / cycles } else { 0.0 }
    }

    /// Events for each cycle of a core that had a thread.
    pub fn events_per_core_cycle(&self) -> f64 {
        ratio(self.region_events, self.region_core_cycles)
    }
}

/// The ratio of two times, the second of which may be 0.
pub(crate) fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(region_fs: u64) -> Measured {
        Measured {
            region_fs,
            cpu_fs: 0,
            gpu_fs: 0,
            kernels_fs: 0,
            end_fs: 9_000_000,
            events: 100,
            region_events: 26,
            region_most_events: 7,
            region_core_cycles: 13,
            cpu_instructions: 0,
            cpu_hertz: 4_000_000_000,
            gpu_hertz: 1_000_000_000,
            moved: BTreeMap::new(),
            links: BTreeMap::new(),
            counts: BTreeMap::new(),
            host_faults: 0,
            fault_fs: 0,
            host_seconds: 0.0,
        }
    }

    #[test]
    fn half_the_time_is_a_speedup_of_two() {
        assert_eq!(measured(50).speedup_over(&measured(100)), 2.0);
    }

    #[test]
    fn events_are_counted_against_cycles_of_the_cores() {
        // 2 ns are 8 cycles of 4 GHz.
        assert_eq!(measured(2_000_000).events_per_cycle(), 3.25);
        assert_eq!(measured(0).events_per_cycle(), 0.0);
        assert_eq!(measured(0).events_per_core_cycle(), 2.0);
    }

    #[test]
    fn a_job_is_described_in_one_line() {
        let job = Job::new("apu-c-l3", "write", "--size 10").with(&["cpu.cores=2".into()]);
        assert_eq!(job.to_string(), "write --size 10 on apu-c-l3 cpu.cores=2");
    }
}
