//! The five collaborative programs of the dissertation (`[giles 3.3.2]`) as in studies 2 and 3: on the machine of Table
//! 4.1, with part of the work for threads of the CPU.
//!
//! The paper does not give problem sizes; it used those with the largest speed-up (4.4.1).

use crate::{Job, Plan, experiment::Compute};

const MACHINE: &str = "apu-c-l3";

pub struct Collaborative {
    pub name: &'static str,
    pub program: &'static str,
    /// The best settings in the paper (Table 4.2).
    pub best: Setting,
    /// Sizes of quick and of other experiments, large enough that thread creation does not dominate.
    sizes: [&'static str; 2],
    /// Further arguments. Of backprop only the second phase is measured (3.3.2.1).
    extra: &'static str,
}

pub const PROGRAMS: [Collaborative; 5] = [
    Collaborative {
        name: "BP",
        program: "backprop",
        best: Setting { threads: 8, share: 60 },
        sizes: ["16384", "65536"],
        extra: "--iterations 1 --region adjust",
    },
    Collaborative {
        name: "BMM",
        program: "matmul",
        best: Setting { threads: 8, share: 50 },
        sizes: ["128", "256"],
        extra: "--variant plain --chunk 2",
    },
    Collaborative {
        name: "Edge",
        program: "edge",
        best: Setting { threads: 8, share: 50 },
        sizes: ["512x256", "1024x512"],
        extra: "--chunk 8",
    },
    Collaborative {
        name: "KNN",
        program: "knn",
        best: Setting { threads: 8, share: 60 },
        sizes: ["262144", "1048576"],
        extra: "--chunk 2048",
    },
    Collaborative {
        name: "Write",
        program: "write",
        best: Setting { threads: 6, share: 20 },
        sizes: ["524288", "2097152"],
        extra: "--chunk 4096",
    },
];

/// Number of CPU threads, and the CPU's share of the work in per cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    pub threads: u32,
    pub share: u32,
}

impl Setting {
    /// Without a CPU share, the program runs on the GPU alone (4.4.1).
    pub const GPU_ALONE: Self = Self { threads: 8, share: 0 };
}

impl Collaborative {
    pub fn job(&self, quick: bool, Setting { threads, share }: Setting) -> Job {
        let (size, extra) = (self.sizes[usize::from(!quick)], self.extra);
        let arguments = format!("--size {size} --copies none --threads {threads} --cpu-share {share} {extra}");
        Job::new(MACHINE, self.program, &arguments)
    }
}

/// A plan with these runs of each program.
pub fn plan(runs: impl Fn(&Collaborative) -> Vec<Job>, notes: &[&str], rows: Compute) -> Plan {
    let notes = notes.iter().map(|note| (*note).to_owned()).collect();
    Plan { jobs: PROGRAMS.iter().flat_map(runs).collect(), native: Vec::new(), alone: false, notes, rows }
}
