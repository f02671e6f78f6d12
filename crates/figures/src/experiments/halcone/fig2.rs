//! Fig. 2: a matrix product with the matrices in the GPU's own memory, and in another GPU's (`[halcone 1]`).

use super::RDMA;
use crate::{Experiment, Job, Options, Plan, Results, Row, Size};

pub const EXPERIMENT: Experiment = Experiment {
    name: "halcone-fig2",
    about: "matmul on one GPU: kernel time with matrices in another GPU's memory over that with matrices in its own",
    source: "HALCONE, 1 and Fig. 2",
    plan,
};

/// Sides of the matrices, and the paper's value if its text states one.
const SIDES: [(usize, Option<f64>); 4] = [(256, None), (512, Some(2895.0)), (1024, None), (2048, None)];

/// The matrices lie in GPU `owner`'s memory, and GPU 0 multiplies them, over links of 50 GB/s as in the paper's DGX-1.
fn placed(side: usize, owner: usize) -> Job {
    let changes = [
        "gpus=2".to_owned(),
        "fabric.part=nvlink".to_owned(),
        "fabric.bandwidth=50 GB/s".to_owned(),
        "driver.devices=each".to_owned(),
        format!("driver.spread=device {owner}"),
    ];
    Job::new(RDMA, "matmul", &format!("--size {side} --no-check")).with(&changes)
}

fn sides(size: Size) -> &'static [(usize, Option<f64>)] {
    size.of(&SIDES[..2], &SIDES[1..3], &SIDES[1..])
}

fn plan(options: Options) -> Plan {
    let size = options.size;
    let jobs = sides(size).iter().flat_map(|(side, _)| [0, 1].map(|owner| placed(*side, owner)));
    Plan {
        jobs: jobs.collect(),
        native: Vec::new(),
        alone: false,
        notes: vec![
            "direction only: the paper measured cuBLAS on two real GPUs, whose remote pages are also mapped and moved by the driver; here lines cross a wire"
                .to_owned(),
        ],
        rows: Box::new(move |results| rows(results, size)),
    }
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    for (side, paper) in sides(size) {
        let (Some(local), Some(remote)) = (results.get(&placed(*side, 0)), results.get(&placed(*side, 1))) else {
            continue;
        };
        if local.kernels_fs > 0 {
            let slower = remote.kernels_fs as f64 / local.kernels_fs as f64;
            rows.push(Row::new(format!("matmul of {side}, remote over local"), *paper, slower));
        }
    }
    rows
}
