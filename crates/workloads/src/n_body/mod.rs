//! Gravity between all pairs of bodies: arithmetic and reciprocal square roots, fed from local memory.
//!
//! The work grows with the square of the number of bodies, so a single cluster that fills two L2 caches would take
//! minutes. Many smaller ones at once have the same mix of instructions.

use crate::{
    check::{Checked, within},
    gpu::{Arg, Gpu, NdRange},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};
use mem::Bytes;

pub const WORKLOAD: Workload = Workload {
    name: "n-body",
    about: "moves bodies under the gravity of all others, in many clusters at once",
    source: include_str!("n_body.cl"),
    object: include_bytes!("n_body.hsaco"),
    host: include_str!("n_body.c"),
    sizes: |size| {
        let (bodies, clusters) = shape(size);
        format!("{clusters} clusters of {bodies} bodies")
    },
    run,
};

const GROUP: usize = 128;
const SOFTENING: f32 = 0.01;
const DT: f32 = 0.001;

/// Bodies per cluster, and number of clusters.
fn shape(size: Size) -> (usize, usize) {
    size.pick((256, 2), (512, 128))
}

/// (x, y, z, w).
type Float4 = [f32; 4];

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (bodies, clusters) = shape(size);
    let n = bodies * clusters;
    let mut rng = Rng::new(13);
    let start: Vec<Float4> =
        (0..n).map(|_| [rng.f32(-1.0, 1.0), rng.f32(-1.0, 1.0), rng.f32(-1.0, 1.0), rng.f32(0.1, 1.0)]).collect();
    let speed: Vec<Float4> =
        (0..n).map(|_| [rng.f32(-0.1, 0.1), rng.f32(-0.1, 0.1), rng.f32(-0.1, 0.1), 0.0]).collect();

    let inputs = [gpu.upload(start.as_flattened())?, gpu.upload(speed.as_flattened())?];
    let outputs = [gpu.alloc_of::<f32>(4 * n)?, gpu.alloc_of::<f32>(4 * n)?];
    let tile = Arg::Local(Bytes((GROUP * size_of::<Float4>()) as u64));
    let buffers = inputs.into_iter().chain(outputs).map(Arg::Buffer);
    let args: Vec<Arg> = buffers.chain([tile, SOFTENING.into(), DT.into()]).collect();
    gpu.launch("n_body", NdRange::plane(bodies, clusters, [GROUP as u32, 1]), &args)?;

    let expected: Vec<Moved> = start
        .chunks(bodies)
        .zip(speed.chunks(bodies))
        .flat_map(|(start, speed)| start.iter().zip(speed).map(|(me, v)| Moved::new(me, v, start)))
        .collect();
    let flat = |part: fn(&Moved) -> Float4| expected.iter().flat_map(part).collect::<Vec<f32>>();
    let scales = flat(|moved| moved.scale);

    // OpenCL permits rsqrt to be off by 2 ulps (the reference rounds correctly), and its third power is used, with 3
    // more roundings. A term differs by at most 9 ulps, and so does the sum, in ulps of the sum of the terms'
    // magnitudes. The rest of the 16 covers the roundings of partial sums, which differ by as much as the terms do.
    let velocities = within("velocity", &gpu.download(outputs[1], 4 * n)?, &flat(|m| m.velocity), |i| scales[i], 16.0)?;
    // A position adds dt * velocity: the same bound, on the scale of the position and the step together.
    let position_scale = |i: usize| start[i / 4][i % 4].abs() + DT * scales[i];
    let positions = within("position", &gpu.download(outputs[0], 4 * n)?, &flat(|m| m.body), position_scale, 2.0)?;
    Ok(velocities.and(positions))
}

/// A body after one step.
struct Moved {
    body: Float4,
    velocity: Float4,
    /// Per component of the velocity: the sum of the magnitudes of its terms.
    scale: Float4,
}

impl Moved {
    fn new(me: &Float4, velocity: &Float4, cluster: &[Float4]) -> Self {
        let mut acceleration = [0.0f32; 3];
        let mut size = [0.0f32; 3];
        for other in cluster {
            let r: [f32; 3] = std::array::from_fn(|d| other[d] - me[d]);
            let squared = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + SOFTENING;
            let inverse = (1.0 / f64::from(squared).sqrt()) as f32;
            let strength = other[3] * inverse * inverse * inverse;
            for d in 0..3 {
                acceleration[d] += strength * r[d];
                size[d] += (strength * r[d]).abs();
            }
        }
        let mut moved = Moved { body: *me, velocity: [0.0; 4], scale: [1.0; 4] };
        for d in 0..3 {
            moved.velocity[d] = velocity[d] + acceleration[d] * DT;
            moved.body[d] = me[d] + moved.velocity[d] * DT;
            moved.scale[d] = velocity[d].abs() + size[d] * DT;
        }
        moved
    }
}
