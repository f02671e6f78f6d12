//! Claims of the papers about memory policies that are stated without numbers: which of two is faster for which kind of
//! program.

use crate::{Experiment, Job, Measured, Options, Plan, Results, Row, Size, job::ratio};

pub const EXPERIMENT: Experiment = Experiment {
    name: "policies",
    about: "memory policies where the papers say which is faster: how many times as fast",
    source: "UMH, 1 and 3; HALCONE, 2.1; GMAC, 4.3 and 5.1",
    plan,
};

/// A claim: on this program the first policy is faster than the second.
struct Claim {
    why: &'static str,
    program: &'static str,
    /// Sizes of quick and of other runs.
    sizes: [&'static str; 2],
    extra: &'static str,
    /// Changes of the machine that follow the paper.
    changes: &'static [&'static str],
    faster: &'static str,
    slower: &'static str,
    /// Minimum factor between the two.
    least: f64,
}

/// PCI Express 2.0.
const GMAC: &[&str] = &["fabric.bandwidth=8 GB/s"];

const CLAIMS: [Claim; 5] = [
    Claim {
        why: "data is reused",
        program: "matmul",
        sizes: ["128", "256"],
        extra: "--variant plain --read-results",
        changes: &[],
        faster: "memcpy",
        slower: "zero-copy",
        least: 1.0,
    },
    Claim {
        why: "data is touched once",
        program: "vecadd",
        sizes: ["65536", "1048576"],
        extra: "--read-results",
        changes: &[],
        faster: "zero-copy",
        slower: "memcpy",
        least: 1.0,
    },
    Claim {
        why: "the host touches one cell between steps",
        program: "stencil",
        sizes: ["64x64x64", "128x128x128"],
        extra: "--variant source --iterations 8",
        changes: &[],
        faster: "managed-fault",
        slower: "managed-eager",
        least: 1.0,
    },
    Claim {
        why: "data is streamed",
        program: "vecadd",
        sizes: ["524288", "2097152"],
        extra: "--read-results",
        changes: GMAC,
        faster: "adsm-rolling",
        slower: "adsm-lazy",
        least: 1.0,
    },
    Claim {
        why: "many small kernels: far behind",
        program: "pns",
        sizes: ["8192x16", "40000x80"],
        extra: "--read-results",
        changes: GMAC,
        faster: "adsm-lazy",
        slower: "adsm-batch",
        least: 2.0,
    },
];

fn job(claim: &Claim, policy: &str, size: Size) -> Job {
    let Claim { program, sizes, extra, changes, .. } = claim;
    let arguments = format!("--size {} {extra} --no-check", sizes[usize::from(!size.is_quick())]);
    let changes = changes.iter().map(|change| (*change).to_owned());
    let changes: Vec<String> =
        ["gpus=1".to_owned(), format!("driver.policy={policy}")].into_iter().chain(changes).collect();
    Job::new("multi-pcie", program, &arguments).with(&changes)
}

fn plan(options: Options) -> Plan {
    let size = options.size;
    let jobs = CLAIMS.iter().flat_map(|claim| [claim.faster, claim.slower].map(|policy| job(claim, policy, size)));
    let mut notes = vec![
        "on multi-pcie with one GPU, for claims of GMAC at 8 GB/s (PCI Express 2.0)".to_owned(),
        "times are of whole runs, in which the host makes the input; 'from input to result' is the region of interest alone, with \
         copies both ways"
            .to_owned(),
        "'paper' is the least value that the claim implies: a ratio above 1 confirms it".to_owned(),
    ];
    notes.push("as programs are, policies alone differ: maps of shared virtual memory (--copies mapped)".into());
    Plan {
        jobs: jobs.collect(),
        native: Vec::new(),
        alone: false,
        notes,
        rows: Box::new(move |results| rows(results, size)),
    }
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut came_out = 0;
    for claim in &CLAIMS {
        let run = |policy| results.get(&job(claim, policy, size));
        let (Some(faster), Some(slower)) = (run(claim.faster), run(claim.slower)) else { return rows };
        let gain = ratio(slower.end_fs, faster.end_fs);
        came_out += u32::from(gain > claim.least);
        let Claim { why, program, faster: one, slower: other, least, .. } = claim;
        rows.push(Row::new(format!("{one} over {other}, {program}: {why}"), *least, gain));
        let from_input_to_result = ratio(slower.region_fs, faster.region_fs);
        rows.push(Row::new(format!("... {program}: from input to result"), None, from_input_to_result));
        rows.extend([(one, faster), (other, slower)].map(|(policy, run)| moved(program, policy, run)));
    }
    rows.push(Row::new("confirmed claims", CLAIMS.len() as f64, came_out.into()));
    rows
}

fn moved(program: &str, policy: &str, run: &Measured) -> Row {
    Row::new(format!("... {policy}, {program}: moved (KiB)"), None, run.moved_data() as f64 / 1024.0)
}
