//! Coulombic potential: compute-bound, with data that all work-items read; one launch for each part of the charges.

use crate::{
    check::{Checked, within},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "cp",
    about: "adds up the potential of charges in every point of a plane, some of the charges per launch",
    source: include_str!("cp.cl"),
    object: include_bytes!("cp.hsaco"),
    host: include_str!("cp.c"),
    sizes: |size| {
        let (width, atoms) = shape(size);
        format!("{width} x {width} points, {atoms} charges")
    },
    run,
};

const ATOMS_PER_LAUNCH: usize = 128;
const SPACING: f32 = 0.1;

/// Side of the plane, and number of charges.
fn shape(size: Size) -> (usize, usize) {
    size.pick((20, 150), (1024, 128))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (width, count) = shape(size);
    let mut rng = Rng::new(60);
    let side = SPACING * width as f32;
    let mut atom = |_| [rng.f32(0.0, side), rng.f32(0.0, side), rng.f32(1.0, 2.0), rng.f32(-0.5, 0.5)];
    let atoms: Vec<[f32; 4]> = (0..count).map(&mut atom).collect();

    let (atom_buffer, potential) = (gpu.upload(atoms.as_flattened())?, gpu.upload(&vec![0f32; width * width])?);
    for first in (0..count).step_by(ATOMS_PER_LAUNCH) {
        let end = count.min(first + ATOMS_PER_LAUNCH);
        let args = args![atom_buffer, potential, first, end, width, SPACING];
        gpu.launch("add_potential", NdRange::plane(width, width, [16, 16]), args)?;
    }

    let at = |cell: usize| {
        let (px, py) = (SPACING * (cell % width) as f32, SPACING * (cell / width) as f32);
        atoms.iter().fold((0.0, 0.0), |(sum, scale), &[x, y, z, charge]| {
            let (dx, dy) = (px - x, py - y);
            let term = charge * (1.0 / (dx * dx + dy * dy + z * z).sqrt());
            (sum + term, scale + term.abs())
        })
    };
    let (expected, scale): (Vec<f32>, Vec<f32>) = (0..width * width).map(at).unzip();
    // A reciprocal square root is within 2 ulps; after that, each sum may round differently.
    let ulps = 4.0 + count as f64;
    Ok(within("potential", &gpu.download(potential, expected.len())?, &expected, |i| scale[i], ulps)?)
}
