//! Xtreme2 of `[halcone 4.3.2]`: a compute unit writes data that another one of the same GPU has read and reads again.

use crate::{
    check::Checked,
    gpu::Gpu,
    workload::{Size, Workload, WorkloadError},
    xtreme1::{OBJECT, SOURCE, Vectors, describe, write_others},
};

pub const WORKLOAD: Workload = Workload {
    name: "xtreme2",
    about: "adds vectors in one kernel; a compute unit writes what another one of its GPU has read and reads again",
    source: SOURCE,
    object: OBJECT,
    host: include_str!("xtreme2.c"),
    sizes: describe,
    run,
};

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let vectors = Vectors::new(size, 41, gpu)?;
    write_others(&vectors, 1, gpu)
}
