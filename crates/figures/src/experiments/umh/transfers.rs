//! Fig. 3: software-managed unified memory copies data that is not needed (`[umh 3]`): the bytes that it moves,
//! compared with explicit copies and with UMH's hardware.

use super::{PROGRAMS, System, job, mean, notes};
use crate::{Experiment, Options, Plan, Results, Row, Size};

pub const EXPERIMENT: Experiment = Experiment {
    name: "umh-fig3",
    about: "bytes between host and GPU: unified memory by software and copies by hand, over a unified memory hierarchy; 1 GPU, NVLink",
    source: "UMH, 3 and Fig. 3",
    plan,
};

const OTHERS: [(System, &str); 2] = [(System::Managed, "software UM"), (System::Memcpy, "MC")];

fn plan(options: Options) -> Plan {
    let size = options.size;
    let systems = [System::Umh, System::Managed, System::Memcpy];
    let of_program = |program| systems.map(|system| job(size, program, (system, "nvlink"), 1, &[]));
    let mut notes = notes(size);
    notes.push("the paper's example is a drawing of one program; what is redundant shows as a value above 1".into());
    Plan {
        jobs: PROGRAMS.iter().flat_map(|(_, program)| of_program(program)).collect(),
        native: Vec::new(),
        alone: false,
        notes,
        rows: Box::new(move |results| rows(results, size)),
    }
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    for (other, name) in OTHERS {
        let ratios = PROGRAMS.iter().filter_map(|(program_name, program)| {
            let bytes = |system| {
                let run = results.get(&job(size, program, (system, "nvlink"), 1, &[]))?;
                Some(run.links.values().sum::<u64>() as f64)
            };
            Some((*program_name, bytes(other)? / bytes(System::Umh).filter(|bytes| *bytes > 0.0)?))
        });
        let ratios: Vec<(&str, f64)> = ratios.collect();
        rows.extend(mean(&ratios).map(|mean| Row::new(format!("{name} over UMH, mean"), None, mean)));
        rows.extend(
            ratios.into_iter().map(|(program, ratio)| Row::new(format!("{program}, {name} over UMH"), None, ratio)),
        );
    }
    rows
}
