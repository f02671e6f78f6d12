//! Caches, level by level.

use super::{
    Spread,
    elements::{Elements, level},
};
use crate::figures::ratio;
use engine::{Statistics, Value};
use serde::{Deserialize, Serialize};

/// All caches of one level, or all banks of one cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CacheLevel {
    pub level: String,
    pub count: usize,
    pub reads: Accesses,
    pub writes: Accesses,
    pub evictions: u64,
    /// Requests that waited because all MSHRs were in use; `no_way`: because no way of the set could be evicted.
    pub mshr_full: u64,
    pub no_way: u64,
    /// Requests left on the wire, or refused (MESI), because no more requests could wait here.
    pub refused: u64,
    /// Latency of a load in cycles; only for caches that serve cores or compute units directly.
    pub load_cycles: f64,
    /// Share of kernel time in which the cache's look-up was busy.
    pub busy: Spread,
}

/// Outcomes of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accesses {
    pub hits: u64,
    /// A request had to be sent to the level below.
    pub misses: u64,
    /// The line was already in flight.
    pub merged: u64,
}

impl Accesses {
    pub fn total(&self) -> u64 {
        self.hits + self.misses + self.merged
    }

    /// The share of hits.
    pub fn hit_rate(&self) -> Option<f64> {
        (self.total() > 0).then(|| self.hits as f64 / self.total() as f64)
    }

    /// The share of misses.
    pub fn miss_rate(&self) -> Option<f64> {
        (self.total() > 0).then(|| self.misses as f64 / self.total() as f64)
    }
}

/// Cache levels in the order in which a request passes them.
pub(super) fn levels(elements: &Elements, total: &Statistics, kernel_cycles: u64) -> Vec<CacheLevel> {
    let mut names: Vec<&str> = elements.caches.iter().map(|path| level(path)).collect();
    names.sort_unstable_by_key(|name| order(name));
    names.dedup();
    let of_level = |name: &str| {
        let paths: Vec<&String> = elements.caches.iter().filter(|path| level(path) == name).collect();
        summed(name, &paths, total, kernel_cycles)
    };
    names.into_iter().map(of_level).collect()
}

/// By level number; within a level, vector caches first.
fn order(name: &str) -> (String, usize, String) {
    let number = name.chars().filter(char::is_ascii_digit).collect();
    (number, usize::from(!name.ends_with('v')), name.to_owned())
}

fn summed(name: &str, paths: &[&String], total: &Statistics, kernel_cycles: u64) -> CacheLevel {
    let mut of = CacheLevel { level: name.to_owned(), count: paths.len(), ..CacheLevel::default() };
    let (mut loads, mut load_cycles, mut busy) = (0, 0, Vec::new());
    for path in paths {
        let count = |what: &str| total.count(&format!("{path}.{what}"));
        if let Some(Value::Matrix { counts, .. }) = total.get(&format!("{path}.accesses"))
            && let [read_hits, read_misses, read_merged, write_hits, write_misses, write_merged] = counts[..]
        {
            of.reads.hits += read_hits;
            of.reads.misses += read_misses;
            of.reads.merged += read_merged;
            of.writes.hits += write_hits;
            of.writes.misses += write_misses;
            of.writes.merged += write_merged;
        }
        of.evictions += count("evictions");
        of.mshr_full += count("mshr_full");
        of.no_way += count("no_way");
        of.refused += count("refused");
        if let Some(Value::Histogram { count, sum, .. }) = total.get(&format!("{path}.load_cycles")) {
            (loads, load_cycles) = (loads + count, load_cycles + sum);
        }
        busy.push(ratio(count("control.busy_cycles") as f64, kernel_cycles as f64));
    }
    of.load_cycles = ratio(load_cycles as f64, loads as f64);
    of.busy = Spread::of(&busy);
    of
}
