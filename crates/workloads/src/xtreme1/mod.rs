//! Xtreme1 of `[halcone 4.3.2]`: each compute unit writes its own addresses repeatedly; nothing is shared.
//!
//! The common parts of the three Xtreme programs are here as well: vectors in slices, one per compute unit, and one
//! kernel whose steps are separated by grid-wide barriers, for which all workgroups must be resident.

use crate::{
    check::{Checked, Mismatch, bit_equal},
    gpu::{Arg, Buffer, Gpu, GpuError, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "xtreme1",
    about: "adds vectors again and again in one kernel; every compute unit writes the places it has just read",
    source: SOURCE,
    object: OBJECT,
    host: include_str!("xtreme1.c"),
    sizes: describe,
    run,
};

const GROUP: usize = 256;
const REPEATS: u32 = 10;

pub(crate) fn describe(size: Size) -> String {
    let (count, units) = shape(size);
    format!("{count} elements on {units} compute units")
}

/// Number of elements and compute units: no more workgroups than every machine can hold at once.
fn shape(size: Size) -> (usize, usize) {
    size.pick((1000, 4), (1 << 19, 64))
}

/// The vectors before the kernel runs, and their buffers.
pub(crate) struct Vectors {
    pub count: usize,
    pub units: usize,
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
    buffers: [Buffer; 5],
}

impl Vectors {
    pub fn new(size: Size, seed: u64, gpu: &mut dyn Gpu) -> Result<Self, GpuError> {
        let (count, units) = shape(size);
        let mut rng = Rng::new(seed);
        let [a, b, c] = std::array::from_fn(|_| rng.f32s(count, -1.0, 1.0));
        let (seen, arrived) = (gpu.alloc_of::<f32>(units * GROUP)?, gpu.upload(&[0u32])?);
        let buffers = [gpu.upload(&a)?, gpu.upload(&b)?, gpu.upload(&c)?, seen, arrived];
        Ok(Self { count, units, a, b, c, buffers })
    }

    /// Runs a kernel with the common first arguments; returns the contents of `c` and `a`.
    pub fn run(
        &self,
        gpu: &mut dyn Gpu,
        kernel: &str,
        more: [Option<usize>; 3],
    ) -> Result<(Vec<f32>, Vec<f32>), GpuError> {
        let mut arguments: Vec<Arg> = self.buffers.iter().map(|&buffer| buffer.into()).collect();
        arguments.extend_from_slice(args![self.count, self.units, 1u32, REPEATS]);
        arguments.extend(more.into_iter().flatten().map(Arg::from));
        gpu.launch(kernel, NdRange::line(self.units * GROUP, GROUP as u32), &arguments)?;
        Ok((gpu.download(self.buffers[2], self.count)?, gpu.download(self.buffers[0], self.count)?))
    }

    /// Elements of a slice, in whole lines of 128 bytes.
    pub fn slice_length(&self) -> usize {
        self.count.div_ceil(self.units).next_multiple_of(32)
    }

    /// Checks the values that work-items have read at the beginning.
    pub fn check_seen(&self, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
        let mut expected = vec![0.0; self.units * GROUP];
        for i in 0..self.count {
            let (slice, at) = (i / self.slice_length(), i % self.slice_length());
            expected[slice * GROUP + at % GROUP] += self.a[i] + self.b[i] + self.c[i];
        }
        Ok(bit_equal("seen", &gpu.download(self.buffers[3], expected.len())?, &expected)?)
    }
}

/// The kernels of all three programs.
pub(crate) const SOURCE: &str = include_str!("xtreme1.cl");
pub(crate) const OBJECT: &[u8] = include_bytes!("xtreme1.hsaco");

/// Xtreme2 and Xtreme3: the compute unit of the first slice also writes the slice `distance` further on.
pub(crate) fn write_others(vectors: &Vectors, distance: usize, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let got = vectors.run(gpu, "write_others", [Some(1), Some(1), Some(distance)])?;
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

/// Checks both vectors that are written.
fn check(got: (Vec<f32>, Vec<f32>), c: &[f32], a: &[f32]) -> Result<Checked, Mismatch> {
    Ok(bit_equal("c", &got.0, c)?.and(bit_equal("a", &got.1, a)?))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let vectors = Vectors::new(size, 40, gpu)?;
    let got = vectors.run(gpu, "xtreme1", [None; 3])?;

    let c: Vec<f32> = vectors.a.iter().zip(&vectors.b).map(|(a, b)| a + b).collect();
    let a: Vec<f32> = c.iter().zip(&vectors.b).map(|(c, b)| c + b).collect();
    Ok(check(got, &c, &a)?.and(vectors.check_seen(gpu)?))
}
