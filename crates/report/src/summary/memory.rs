//! Memory: what was read and written, and how much of what the channels could carry that was.

use super::{Spread, elements::Elements};
use crate::{facts::Facts, figures::ratio};
use engine::Statistics;
use mem::LINE;
use serde::Serialize;

/// All channels together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Memory {
    pub channels: usize,
    /// Lines.
    pub reads: u64,
    pub writes: u64,
    pub bytes: u64,
    /// Over kernel time, in bytes a second.
    pub bandwidth: f64,
    pub peak_bandwidth: f64,
    /// Share of kernel time in which a channel could take nothing else.
    pub busy: Spread,
}

impl Memory {
    pub(super) fn of(elements: &Elements, total: &Statistics, facts: Facts, kernel_cycles: u64) -> Option<Self> {
        if elements.memories.is_empty() {
            return None;
        }
        let count = |path: &String, what: &str| total.count(&format!("{path}.{what}"));
        let sum = |what: &str| elements.memories.iter().map(|path| count(path, what)).sum::<u64>();
        let busy =
            elements.memories.iter().map(|path| ratio(count(path, "control.busy_cycles") as f64, kernel_cycles as f64));
        let (reads, writes) = (sum("reads"), sum("writes"));
        let bytes = (reads + writes) * LINE as u64;
        let seconds = kernel_cycles as f64 / facts.clock.0 as f64;
        Some(Self {
            channels: elements.memories.len(),
            reads,
            writes,
            bytes,
            bandwidth: ratio(bytes as f64, seconds),
            peak_bandwidth: facts.memory_peak,
            busy: Spread::of(&busy.collect::<Vec<_>>()),
        })
    }

    /// How much of the peak was used.
    pub fn used(&self) -> f64 {
        ratio(self.bandwidth, self.peak_bandwidth)
    }
}
