//! The five collaborative programs of the dissertation (`003_07d33ec44b25be67.txt`, 3.3.2), as studies 2 and 3 run them: on the
//! machine of Table 4.1, with part of the work for threads of the CPU.
//!
//! The paper does not give problem sizes; it took those with the largest speedup (4.4.1).

use crate::{Job, Plan, experiment::Compute};

const MACHINE: &str = "apu-c-l3";

pub struct Collaborative {
    pub name: &'static str,
    pub program: &'static str,
    /// The settings that were best in the paper (Table 4.2).
    pub best: Setting,
    /// For quick experiments.
    small: &'static str,
    /// Further arguments: of backprop, the second phase alone is measured (3.3.2.1).
    extra: &'static str,
}

pub const PROGRAMS: [Collaborative; 5] = [
    Collaborative {
        name: "BP",
        program: "backprop",
        best: Setting { threads: 8, share: 60 },
        small: "8192",
        extra: "--iterations 1 --region adjust",
    },
    Collaborative {
        name: "BMM",
        program: "matmul",
        best: Setting { threads: 8, share: 50 },
        small: "128",
        extra: "--chunk 4",
    },
    Collaborative {
        name: "Edge",
        program: "edge",
        best: Setting { threads: 8, share: 50 },
        small: "512x256",
        extra: "--chunk 8",
    },
    Collaborative {
        name: "KNN",
        program: "knn",
        best: Setting { threads: 8, share: 60 },
        small: "131072",
        extra: "--chunk 1024",
    },
    Collaborative {
        name: "Write",
        program: "write",
        best: Setting { threads: 6, share: 20 },
        small: "524288",
        extra: "--chunk 4096",
    },
];

/// Threads of the CPU, and its share in per cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    pub threads: u32,
    pub share: u32,
}

impl Setting {
    /// Without a share of the CPU it is the program of the GPU alone (4.4.1).
    pub const GPU_ALONE: Self = Self { threads: 8, share: 0 };
}

impl Collaborative {
    pub fn job(&self, quick: bool, Setting { threads, share }: Setting) -> Job {
        let (size, extra) = (if quick { self.small } else { "usual" }, self.extra);
        let arguments = format!("--size {size} --copies none --threads {threads} --cpu-share {share} {extra}");
        Job::new(MACHINE, self.program, &arguments)
    }
}

/// A plan of these runs of each program.
pub fn plan(runs: impl Fn(&Collaborative) -> Vec<Job>, notes: &[&str], rows: Compute) -> Plan {
    let notes = notes.iter().map(|note| (*note).to_owned()).collect();
    Plan { jobs: PROGRAMS.iter().flat_map(runs).collect(), native: Vec::new(), alone: false, notes, rows }
}
