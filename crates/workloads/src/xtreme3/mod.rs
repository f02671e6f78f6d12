//! Xtreme3 of `[halcone 4.3.2]`: a compute unit writes data that one of another GPU has read and reads again.

use crate::{
    check::Checked,
    gpu::Gpu,
    workload::{Size, Workload, WorkloadError},
    xtreme1::{OBJECT, SOURCE, Vectors, describe, write_others},
};

pub const WORKLOAD: Workload = Workload {
    name: "xtreme3",
    about: "adds vectors in one kernel; a compute unit writes what one of another GPU has read and reads again",
    source: SOURCE,
    object: OBJECT,
    host: include_str!("xtreme3.c"),
    sizes: describe,
    run,
};

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let vectors = Vectors::new(size, 42, gpu)?;
    write_others(&vectors, vectors.units - 1, gpu)
}
