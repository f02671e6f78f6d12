//! One program on several machines, side by side.

mod page;
mod text;

use crate::Summary;
use serde::Serialize;
use std::collections::BTreeMap;

/// A program on several machines. Speed-ups are relative to the first machine with a result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    pub program: String,
    pub arguments: Vec<String>,
    pub runs: Vec<Compared>,
}

/// One machine of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    pub system: String,
    /// Speed-up over the first machine: by total time, and by kernel time.
    pub speedup: Option<f64>,
    pub kernel_speedup: Option<f64>,
    /// Bytes moved between memories, or between caches and remote memories, by cause; `links`: bytes on each link of
    /// the fabric.
    pub moved: BTreeMap<String, u64>,
    pub links: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// Why there is no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Comparison {
    pub fn new(program: impl Into<String>, arguments: &[String]) -> Self {
        Self { program: program.into(), arguments: arguments.to_vec(), runs: Vec::new() }
    }

    /// Adds the next machine's result.
    pub fn add(&mut self, summary: Summary) {
        let first = self.first().unwrap_or(&summary);
        let times = |first: u64, this: u64| (this > 0).then(|| first as f64 / this as f64);
        let speedup = times(first.total_fs, summary.total_fs);
        let kernel_speedup = times(first.kernel_fs, summary.kernel_fs);
        let system = summary.system.clone();
        let (moved, links) = (summary.moved.clone(), summary.links.clone());
        let (summary, error) = (Some(summary), None);
        self.runs.push(Compared { system, speedup, kernel_speedup, moved, links, summary, error });
    }

    /// Adds a machine that gave no result.
    pub fn failed(&mut self, system: impl Into<String>, why: impl Into<String>) {
        let (system, error) = (system.into(), Some(why.into()));
        let (moved, links) = (BTreeMap::new(), BTreeMap::new());
        self.runs.push(Compared { system, speedup: None, kernel_speedup: None, moved, links, summary: None, error });
    }

    /// The result that the others are compared with.
    pub fn first(&self) -> Option<&Summary> {
        self.runs.iter().find_map(|run| run.summary.as_ref())
    }

    fn summaries(&self) -> impl Iterator<Item = (&Compared, &Summary)> {
        self.runs.iter().filter_map(|run| Some((run, run.summary.as_ref()?)))
    }
}
