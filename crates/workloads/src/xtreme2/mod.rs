//! Xtreme2 of `[halcone 4.3.2]`: a compute unit writes what another one of its GPU has read and reads again.

use crate::{
    check::Checked,
    gpu::Gpu,
    workload::{Size, Workload, WorkloadError},
    xtreme1::{Vectors, check, describe},
};

pub const WORKLOAD: Workload = Workload {
    name: "xtreme2",
    about: "adds vectors in one kernel; a compute unit writes what another one of its GPU has read and reads again",
    source: include_str!("xtreme2.cl"),
    object: include_bytes!("xtreme2.hsaco"),
    host: include_str!("xtreme2.c"),
    sizes: describe,
    run,
};

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let vectors = Vectors::new(size, 41, gpu)?;
    let distance = 1;
    // The unit of one slice writes the slice that lies `distance` further on.
    let got = vectors.run(gpu, "xtreme2", [Some(1), Some(1), Some(distance)])?;

    let (mut a, mut c) = (vectors.a.clone(), vec![0.0; vectors.count]);
    for i in 0..vectors.count {
        let b = vectors.b[i];
        if i / vectors.slice_length() == distance {
            a[i] = a[i] + b + b;
        }
        c[i] = a[i] + b;
    }
    Ok(check(got, &c, &a)?.and(vectors.check_seen(gpu)?))
}
