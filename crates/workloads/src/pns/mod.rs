//! Petri nets: after each of several launches the host reads one number, and all other data stay on the GPU.

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "pns",
    about: "simulates Petri nets, in eight launches after each of which the host looks at what has fired",
    source: include_str!("pns.cl"),
    object: include_bytes!("pns.hsaco"),
    host: include_str!("pns.c"),
    sizes: |size| {
        let (nets, steps) = shape(size);
        format!("{nets} nets, {steps} steps")
    },
    run,
};

const PLACES: usize = 32;
const LAUNCHES: usize = 8;

/// Number of nets and steps.
fn shape(size: Size) -> (usize, usize) {
    size.pick((130, 16), (40_000, 80))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (nets, steps) = shape(size);
    let (mut marking, mut fired) = (vec![1u32; PLACES * nets], vec![0u32; nets]);

    let (marking_buffer, fired_buffer) = (gpu.upload(&marking)?, gpu.upload(&fired)?);
    let total = gpu.upload(&[0u32])?;
    let mut seen = Vec::new();
    for _ in 0..LAUNCHES {
        let args = args![marking_buffer, fired_buffer, total, steps / LAUNCHES, nets];
        gpu.launch("fire", NdRange::line(nets, 128), args)?;
        seen.extend(gpu.download::<u32>(total, 1)?);
    }

    let mut expected = Vec::new();
    for _ in 0..LAUNCHES {
        (0..nets).for_each(|net| fired[net] += fire(&mut marking, fired[net], net, nets, steps / LAUNCHES));
        expected.push(fired.iter().sum());
    }
    let marking = equal("marking", &gpu.download(marking_buffer, marking.len())?, &marking)?;
    let fired = equal("fired", &gpu.download(fired_buffer, nets)?, &fired)?;
    Ok(marking.and(fired).and(equal("seen", &seen, &expected)?))
}

/// Number of transitions of a net that fire in `steps` steps.
fn fire(marking: &mut [u32], fired: u32, net: usize, nets: usize, steps: usize) -> u32 {
    let mut random = (net as u32).wrapping_mul(2_654_435_761).wrapping_add(fired).wrapping_add(1);
    let mut count = 0;
    for _ in 0..steps {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let from = (random >> 8) as usize;
        if marking[from % PLACES * nets + net] > 0 {
            marking[from % PLACES * nets + net] -= 1;
            marking[(from + 1) % PLACES * nets + net] += 1;
            count += 1;
        }
    }
    count
}
