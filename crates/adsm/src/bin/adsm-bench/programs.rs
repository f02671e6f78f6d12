//! The programs: streaming, sparse updates, a 3-D stencil with source and output to disk, and reimplementations of the
//! Parboil programs (`[gmac Table 2]`).
//!
//! A round creates its inputs on the CPU, runs kernels, and reads the results. Its digest must not depend on how data
//! is shared.

use crate::{
    kernels::{self, source},
    store::{Arg, Outcome, Store},
};
use adsm::KernelSource;
use std::{
    cell::Cell,
    fs,
    io::Write,
    rc::Rc,
    time::{Duration, Instant},
};

/// A program with its sizes.
pub struct Program {
    pub name: &'static str,
    /// Its class: `streaming`, `sparse`, `stencil`, or `kernel` where kernels dominate.
    pub kind: &'static str,
    /// Sizes of its buffers in bytes.
    pub buffers: Vec<usize>,
    round: Round,
    /// Time that rounds spent writing files.
    output: Rc<Cell<Duration>>,
}

type Round = Box<dyn Fn(&mut dyn Store, u32) -> Outcome<f64>>;

impl Program {
    /// Runs one round and returns the digest of its results.
    pub fn round(&self, store: &mut dyn Store, round: u32) -> Outcome<f64> {
        (self.round)(store, round)
    }

    /// Time spent writing files since the last call.
    pub fn spent_on_output(&self) -> Duration {
        self.output.take()
    }

    fn new(
        name: &'static str,
        kind: &'static str,
        buffers: Vec<usize>,
        round: impl Fn(&mut dyn Store, u32) -> Outcome<f64> + 'static,
    ) -> Self {
        Self { name, kind, buffers, round: Box::new(round), output: Rc::default() }
    }
}

/// All programs, at a size: 0 for tests, 1 for a quick look, 2 for measurements.
pub fn all(size: usize) -> Vec<Program> {
    vec![
        vecadd([40_000, 4 << 20, 64 << 20][size]),
        sparse("sparse", [40_000, 4 << 20, 64 << 20][size], false),
        sparse("sparse-read", [40_000, 4 << 20, 64 << 20][size], true),
        stencil([12, 128, 256][size], [4, 10, 20][size]),
        cp([16, 512, 1024][size], [50, 2_000, 40_000][size]),
        mri("mri-q", [64, 32_768, 262_144][size], [50, 512, 16_384][size], 4),
        mri("mri-fhd", [64, 32_768, 262_144][size], [50, 512, 16_384][size], 5),
        pns([64, 4_096, 65_536][size], [50, 500, 4_000][size]),
        rpes([5, 24, 72][size]),
        sad([64, 352, 1_920][size], [32, 288, 1_080][size]),
        tpacf([100, 4_096, 65_536][size]),
    ]
}

fn groups(n: usize, block: usize) -> u32 {
    n.div_ceil(block) as u32
}

/// A cheap pseudo-random sequence.
fn noise(seed: usize) -> f32 {
    let mixed = (seed as u32).wrapping_mul(2_654_435_761) >> 8;
    mixed as f32 / (1 << 24) as f32
}

fn digest(values: &[f32]) -> f64 {
    // Eight independent sums, so that reading is limited by memory only.
    let mut sums = [0.0f64; 8];
    for chunk in values.chunks(8) {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += f64::from(*value);
        }
    }
    sums.iter().sum()
}

/// The paper's micro-benchmark (5.2): two vectors are written, added by a kernel, and the sum is read.
pub fn vecadd(n: usize) -> Program {
    let kernel = source("vecadd", kernels::vecadd);
    let round = move |store: &mut dyn Store, round: u32| {
        for (buffer, base) in [(0, round as f32), (1, 2.0)] {
            for (i, value) in store.floats(buffer)[..n].iter_mut().enumerate() {
                *value = base + (i & 1023) as f32;
            }
            store.sent(buffer, 0..4 * n)?;
        }
        let arguments = [Arg::In(0), Arg::In(1), Arg::Out(2), (n as u32).into()];
        store.run(&kernel, [groups(n, 256), 1, 1], [256, 1, 1], &arguments)?;
        store.wanted(2, 0..4 * n)?;
        Ok(digest(&store.floats(2)[..n]))
    };
    Program::new("vecadd", "streaming", vec![4 * n; 3], round)
}

/// Changes one element, then a kernel processes all of them; with `reads`, the element is read afterwards.
fn sparse(name: &'static str, n: usize, reads: bool) -> Program {
    let kernel = source("drift", kernels::drift);
    let round = move |store: &mut dyn Store, round: u32| {
        let at = (round as usize).wrapping_mul(7_919_999) % n;
        store.floats(0)[at] = round as f32;
        store.sent(0, 4 * at..4 * at + 4)?;
        store.run(&kernel, [groups(n, 256), 1, 1], [256, 1, 1], &[Arg::Out(0), (n as u32).into()])?;
        // Reading everything is not part of the measurement; small sizes do it as a check.
        let looked_at = match (n < 100_000, reads) {
            (true, _) => 0..n,
            (false, true) => at..at + 1,
            (false, false) => 0..0,
        };
        store.wanted(0, 4 * looked_at.start..4 * looked_at.end)?;
        Ok(digest(&store.floats(0)[looked_at]))
    };
    Program::new(name, "sparse", vec![4 * n], round)
}

/// Heat in a cube (5.1, Fig. 9): in each step the CPU adds a source at one point; the cube is written to disk now and
/// then.
pub fn stencil(n: usize, steps: u32) -> Program {
    let kernel = source("stencil", kernels::stencil);
    let bytes = 4 * n * n * n;
    let output = Rc::<Cell<Duration>>::default();
    let spent = Rc::clone(&output);
    let round = move |store: &mut dyn Store, round: u32| {
        let centre = (n / 2 * n + n / 2) * n + n / 2;
        let spot = 4 * centre..4 * centre + 4;
        let file = std::env::temp_dir().join(format!("adsm-stencil-{}.raw", std::process::id()));
        let groups = [groups(n, 32), groups(n, 4), groups(n, 2)];
        for step in 0..steps {
            let (from, to) = (step as usize % 2, (step as usize + 1) % 2);
            store.wanted(from, spot.clone())?;
            store.floats(from)[centre] += 1.0 + round as f32 / 64.0;
            store.sent(from, spot.clone())?;
            store.run(&kernel, groups, [32, 4, 2], &[Arg::In(from), Arg::Out(to), (n as u32).into()])?;
            if (step + 1) % (steps / 2).max(1) == 0 {
                store.wanted(to, 0..bytes)?;
                spent.set(spent.get() + write_out(store, to, &file)?);
            }
        }
        let last = steps as usize % 2;
        store.wanted(last, 0..bytes)?;
        let sum = digest(&store.floats(last)[..n * n * n]);
        let _ = fs::remove_file(&file);
        Ok(sum)
    };
    Program { output, ..Program::new("stencil", "stencil", vec![bytes; 2], round) }
}

/// Writes a buffer to a file. Returns the time spent on the file, without the time to fetch the data.
fn write_out(store: &mut dyn Store, buffer: usize, file: &std::path::Path) -> Outcome<Duration> {
    let mut spent = Duration::ZERO;
    let mut file = fs::File::create(file)?;
    let (mut at, len) = (0, store.host(buffer).len());
    while at < len {
        let end = (at + (4 << 20)).min(len);
        store.before_write(buffer, at..end)?;
        let begin = Instant::now();
        file.write_all(&store.host(buffer)[at..end])?;
        spent += begin.elapsed();
        at = end;
    }
    Ok(spent)
}

/// Fills a buffer with floats and reports that it was written.
fn put(store: &mut dyn Store, buffer: usize, count: usize, value: impl Fn(usize) -> f32) -> Outcome {
    for (i, to) in store.floats(buffer)[..count].iter_mut().enumerate() {
        *to = value(i);
    }
    store.sent(buffer, 0..4 * count)
}

/// The potential of point charges in a plane.
fn cp(width: usize, atoms: usize) -> Program {
    let kernel = source("cp", kernels::cp);
    let cells = width * width;
    let round = move |store: &mut dyn Store, round: u32| {
        let side = 0.1 * width as f32;
        let value = |i: usize| match i % 4 {
            2 => 1.0 + noise(i),
            3 => noise(i + round as usize) - 0.5,
            _ => side * noise(i),
        };
        put(store, 0, 4 * atoms, value)?;
        put(store, 1, cells, |_| 0.0)?;
        let arguments = [Arg::In(0), Arg::Out(1), (atoms as u32).into(), (width as u32).into(), 0.1f32.into()];
        store.run(&kernel, [groups(width, 16), groups(width, 16), 1], [16, 16, 1], &arguments)?;
        store.wanted(1, 0..4 * cells)?;
        Ok(digest(&store.floats(1)[..cells]))
    };
    Program::new("cp", "kernel", vec![16 * atoms, 4 * cells], round)
}

/// Both MRI programs: samples of `parts` numbers, points, and two sums for each point.
fn mri(name: &'static str, points: usize, samples: usize, parts: usize) -> Program {
    let kernel = if parts == 4 { source("mri_q", kernels::mri_q) } else { source("mri_fhd", kernels::mri_fhd) };
    let round = move |store: &mut dyn Store, round: u32| {
        put(store, 0, parts * samples, |i| noise(i + round as usize) - 0.5)?;
        put(store, 1, 3 * points, |i| 8.0 * noise(i * 3 + 1))?;
        let arguments = [Arg::In(0), Arg::In(1), Arg::Out(2), (samples as u32).into(), (points as u32).into()];
        store.run(&kernel, [groups(points, 256), 1, 1], [256, 1, 1], &arguments)?;
        store.wanted(2, 0..8 * points)?;
        Ok(digest(&store.floats(2)[..2 * points]))
    };
    let buffers = vec![4 * parts * samples, 12 * points, 8 * points];
    Program::new(name, "kernel", buffers, round)
}

/// Petri nets: after each of several calls the CPU reads what fired, and leaves the markings on the device.
fn pns(nets: usize, steps: u32) -> Program {
    const PLACES: usize = 32;
    let kernel = source("pns", kernels::pns);
    let round = move |store: &mut dyn Store, round: u32| {
        store.words(0)[..PLACES * nets].fill(1 + round % 3);
        store.words(1)[..nets].fill(0);
        store.sent(0, 0..4 * PLACES * nets)?;
        store.sent(1, 0..4 * nets)?;
        let mut sum = 0.0;
        for _ in 0..8 {
            let values: [Arg; 3] = [(PLACES as u32).into(), (steps / 8).into(), (nets as u32).into()];
            let arguments = [Arg::Out(0), Arg::Out(1), values[0], values[1], values[2]];
            store.run(&kernel, [groups(nets, 128), 1, 1], [128, 1, 1], &arguments)?;
            store.wanted(1, 0..4)?;
            sum += f64::from(store.words(1)[0]);
        }
        store.wanted(1, 0..4 * nets)?;
        Ok(store.words(1)[..nets].iter().fold(sum, |sum, &count| sum + f64::from(count)))
    };
    Program::new("pns", "kernel", vec![4 * PLACES * nets, 4 * nets], round)
}

/// Two-electron integrals over some shells.
fn rpes(shells: usize) -> Program {
    let kernel = source("rpes", kernels::rpes);
    let round = move |store: &mut dyn Store, round: u32| {
        let value = |i: usize| if i % 4 == 3 { 0.3 + noise(i) } else { 4.0 * noise(i + round as usize) };
        put(store, 0, 4 * shells, value)?;
        let arguments = [Arg::In(0), Arg::Out(1), (shells as u32).into()];
        store.run(&kernel, [groups(shells, 8), groups(shells, 8), 1], [8, 8, 1], &arguments)?;
        store.wanted(1, 0..4 * shells * shells)?;
        Ok(digest(&store.floats(1)[..shells * shells]))
    };
    Program::new("rpes", "kernel", vec![16 * shells, 4 * shells * shells], round)
}

/// Motion estimation: all 289 positions for each 4 x 4 block of a frame.
fn sad(width: usize, height: usize) -> Program {
    let kernel = source("sad", kernels::sad);
    let blocks = width / 4 * (height / 4);
    let round = move |store: &mut dyn Store, round: u32| {
        for (buffer, shift) in [(0, 0), (1, 1 + round as usize)] {
            for (i, pixel) in store.host(buffer)[..width * height].iter_mut().enumerate() {
                *pixel = ((i + shift) as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0];
            }
            store.sent(buffer, 0..width * height)?;
        }
        let arguments = [Arg::In(0), Arg::In(1), Arg::Out(2), (width as u32).into(), (height as u32).into()];
        store.run(&kernel, [groups(blocks, 32), groups(289, 8), 1], [32, 8, 1], &arguments)?;
        store.wanted(2, 0..2 * 289 * blocks)?;
        let pairs = store.words(2)[..289 * blocks / 2].iter();
        Ok(pairs.fold(0.0, |sum, &two| sum + f64::from(two >> 16) + f64::from(two & 0xFFFF)))
    };
    let buffers = vec![width * height, width * height, 2 * 289 * blocks];
    Program::new("sad", "kernel", buffers, round)
}

/// Angles between points of the sky. Like the paper's program, it initialises its input in several passes.
pub fn tpacf(n: usize) -> Program {
    const BINS: usize = 20;
    let kernel = source("tpacf", kernels::tpacf);
    let round = move |store: &mut dyn Store, round: u32| {
        for buffer in 0..2 {
            // Passes over the same points, as when a catalogue's columns are read one by one.
            for axis in 0..3 {
                for (i, point) in store.floats(buffer)[..3 * n].chunks_mut(3).enumerate() {
                    point[axis] = noise(3 * i + axis + round as usize + 1000 * buffer) - 0.5;
                }
            }
            for point in store.floats(buffer)[..3 * n].chunks_mut(3) {
                let length = point.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-6);
                point.iter_mut().for_each(|x| *x /= length);
            }
            store.sent(buffer, 0..12 * n)?;
        }
        put(store, 2, BINS, |bin| 1.0 - 2.0 * (bin + 1) as f32 / BINS as f32)?;
        store.words(3)[..BINS].fill(0);
        store.sent(3, 0..4 * BINS)?;
        let arguments = [Arg::In(0), Arg::In(1), Arg::In(2), Arg::Out(3), (n as u32).into(), (BINS as u32).into()];
        store.run(&kernel, [groups(n, 64), 1, 1], [64, 1, 1], &arguments)?;
        store.wanted(3, 0..4 * BINS)?;
        let histogram = &store.words(3)[..BINS];
        Ok(histogram.iter().enumerate().map(|(bin, &count)| (bin + 1) as f64 * f64::from(count)).sum())
    };
    Program::new("tpacf", "kernel", vec![12 * n, 12 * n, 4 * 32, 4 * 32], round)
}

/// The kernel that tests use.
pub fn stir() -> KernelSource {
    source("stir", kernels::stir)
}
