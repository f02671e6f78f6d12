//! Caches, level by level.

use super::{
    Spread,
    elements::{Elements, level},
};
use crate::figures::ratio;
use engine::{Statistics, Value};
use serde::Serialize;

/// All caches of one level, or all banks of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CacheLevel {
    pub level: String,
    pub count: usize,
    pub reads: Accesses,
    pub writes: Accesses,
    pub evictions: u64,
    /// How often a request had to wait because every miss register was taken, or no way of its set could be given up.
    pub mshr_full: u64,
    pub no_way: u64,
    /// How often a request was left where it was because nobody else could wait here.
    pub refused: u64,
    /// From a load to its answer, in cycles; only where cores and compute units ask.
    pub load_cycles: f64,
    /// Share of kernel time in which the cache looked something up.
    pub busy: Spread,
}

/// What came of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Accesses {
    pub hits: u64,
    /// Something had to be asked below.
    pub misses: u64,
    /// The line was on its way already.
    pub merged: u64,
}

impl Accesses {
    pub fn total(&self) -> u64 {
        self.hits + self.misses + self.merged
    }

    /// The share that was answered at once.
    pub fn hit_rate(&self) -> Option<f64> {
        (self.total() > 0).then(|| self.hits as f64 / self.total() as f64)
    }

    /// The share for which something had to be asked below.
    pub fn miss_rate(&self) -> Option<f64> {
        (self.total() > 0).then(|| self.misses as f64 / self.total() as f64)
    }
}

/// Levels in the order in which a request meets them.
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

/// First by number, and of one number vector caches first.
fn order(name: &str) -> (String, usize, String) {
    let number = name.chars().filter(char::is_ascii_digit).collect();
    (number, usize::from(!name.ends_with('v')), name.to_owned())
}

fn summed(name: &str, paths: &[&String], total: &Statistics, kernel_cycles: u64) -> CacheLevel {
    let mut of = CacheLevel { level: name.to_owned(), count: paths.len(), ..CacheLevel::default() };
    let (mut loads, mut load_cycles, mut busy) = (0, 0, Vec::new());
    for path in paths {
        let count = |what: &str| total.count(&format!("{path}.{what}"));
        if let Some(Value::Matrix { counts, .. }) = total.0.get(&format!("{path}.accesses"))
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
        if let Some(Value::Histogram { count, sum, .. }) = total.0.get(&format!("{path}.load_cycles")) {
            (loads, load_cycles) = (loads + count, load_cycles + sum);
        }
        busy.push(ratio(count("control.busy_cycles") as f64, kernel_cycles as f64));
    }
    of.load_cycles = ratio(load_cycles as f64, loads as f64);
    of.busy = Spread::of(&busy);
    of
}
