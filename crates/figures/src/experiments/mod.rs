//! The experiments, a file each.

mod events;
mod study1;
mod study2;
mod study3;
mod validation;

use crate::Experiment;

/// All experiments, in the order in which they are listed.
pub static ALL: &[Experiment] =
    &[study1::EXPERIMENT, study2::EXPERIMENT, study3::EXPERIMENT, validation::EXPERIMENT, events::EXPERIMENT];

/// The experiment called so.
pub fn find(name: &str) -> Option<&'static Experiment> {
    ALL.iter().find(|experiment| experiment.name == name)
}

/// The six programs of the Rodinia suite as the dissertation calls them, and as they are called here.
const RODINIA: [(&str, &str); 6] = [
    ("BP", "backprop"),
    ("LUD", "lud"),
    ("Kmeans", "kmeans"),
    ("Hotspot", "hotspot"),
    ("NW", "needleman-wunsch"),
    ("BFS", "bfs"),
];

/// The five collaborative programs (3.3.2), with the settings that were best in the dissertation (Table 4.2): threads, and the
/// CPU's share in per cent.
struct Collaborative {
    name: &'static str,
    program: &'static str,
    best: (u32, u32),
    /// For quick experiments.
    small: &'static str,
    /// Further arguments: of backprop, the second phase alone is measured (3.3.2.1).
    extra: &'static str,
}

const COLLABORATIVE: [Collaborative; 5] = [
    Collaborative { name: "BP", program: "backprop", best: (8, 60), small: "2048", extra: "--region adjust" },
    Collaborative { name: "BMM", program: "matmul", best: (8, 50), small: "96", extra: "--chunk 4" },
    Collaborative { name: "Edge", program: "edge", best: (8, 50), small: "192x96", extra: "--chunk 4" },
    Collaborative { name: "KNN", program: "knn", best: (8, 60), small: "24576", extra: "--chunk 512" },
    Collaborative { name: "Write", program: "write", best: (6, 20), small: "98304", extra: "--chunk 2048" },
];

impl Collaborative {
    /// Its arguments; without a share of the CPU it is the program of the GPU alone.
    fn arguments(&self, quick: bool, threads: u32, share: u32) -> String {
        let size = if quick { self.small } else { "usual" };
        format!("--size {size} --copies none --threads {threads} --cpu-share {share} {}", self.extra)
    }
}
