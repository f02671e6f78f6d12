//! Memory traffic, and its share of the channels' peak bandwidth.

use super::{
    Spread,
    elements::{Elements, own_cycles},
};
use crate::{facts::Facts, figures::ratio};
use engine::Statistics;
use mem::LINE;
use serde::{Deserialize, Serialize};

/// All channels together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryTraffic {
    pub channels: usize,
    /// Lines read; `writes`: lines written.
    pub reads: u64,
    pub writes: u64,
    pub bytes: u64,
    /// Bytes per second, over kernel time or, on a machine with a CPU, over the run.
    pub bandwidth: f64,
    pub peak_bandwidth: f64,
    /// Share of that time in which a channel could accept no other access, or a DRAM's data bus was busy.
    pub busy: Spread,
    /// `None` for memories that are not DRAM.
    pub rows: Option<Rows>,
}

/// What accesses found in their bank: their row open, no row open, or another row open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    pub hits: u64,
    pub closed: u64,
    pub conflicts: u64,
}

impl Rows {
    /// The share of accesses that found their row open.
    pub fn hit_rate(&self) -> f64 {
        ratio(self.hits as f64, (self.hits + self.closed + self.conflicts) as f64)
    }
}

impl MemoryTraffic {
    /// `cycles`: duration of the run; `kernel_cycles`: the cycles over which bandwidth is measured.
    pub(super) fn of(
        elements: &Elements,
        total: &Statistics,
        facts: Facts,
        cycles: u64,
        kernel_cycles: u64,
    ) -> Option<Self> {
        if elements.memories.is_empty() {
            return None;
        }
        let count = |path: &String, what: &str| total.count(&format!("{path}.{what}"));
        let sum = |of: &[String], what: &str| of.iter().map(|path| count(path, what)).sum::<u64>();
        let (reads, writes) = (sum(&elements.memories, "reads"), sum(&elements.memories, "writes"));
        let mut memory = Self {
            channels: elements.memories.len(),
            reads,
            writes,
            bytes: (reads + writes) * LINE as u64,
            bandwidth: 0.0,
            peak_bandwidth: facts.memory_peak,
            busy: Spread::default(),
            rows: None,
        };
        let mut busy = Vec::new();
        if elements.channels.is_empty() {
            let share = |path: &String| ratio(count(path, "control.busy_cycles") as f64, kernel_cycles as f64);
            busy.extend(elements.memories.iter().map(share));
        } else {
            let channels = &elements.channels;
            memory.channels = channels.len();
            memory.bytes = sum(channels, "bytes_read") + sum(channels, "bytes_written");
            let (hits, closed, conflicts) =
                (sum(channels, "row_hits"), sum(channels, "row_closed"), sum(channels, "row_conflicts"));
            memory.rows = Some(Rows { hits, closed, conflicts });
            // A DRAM has a clock of its own.
            let in_kernels = ratio(kernel_cycles as f64, cycles as f64);
            let share = |path: &String| {
                let own = own_cycles(total, path).unwrap_or(cycles) as f64 * in_kernels;
                ratio(count(path, "bus_busy_cycles") as f64, own)
            };
            busy.extend(channels.iter().map(share));
        }
        memory.bandwidth = ratio(memory.bytes as f64, kernel_cycles as f64 / facts.clock.0 as f64);
        memory.busy = Spread::of(&busy);
        Some(memory)
    }

    /// The share of peak bandwidth that was used.
    pub fn used(&self) -> f64 {
        ratio(self.bandwidth, self.peak_bandwidth)
    }
}
