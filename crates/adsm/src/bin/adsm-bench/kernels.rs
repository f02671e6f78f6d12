//! The programs' kernels: PTX and OpenCL C as committed, and equivalent plain Rust.
//!
//! The Rust versions run on the simulated device, and are the reference for the results of the other two.

use adsm::{KernelSource, accel::Native};

const PTX: &str = include_str!("../../../kernels/kernels.ptx");
const OPENCL: &str = concat!(include_str!("../../../kernels/opencl.h"), include_str!("../../../kernels/kernels.c"));

/// A kernel, by its name, with its Rust version.
pub fn source(name: &'static str, native: fn(&mut Native<'_>)) -> KernelSource {
    KernelSource::new(name).ptx(PTX).opencl(OPENCL).native(native)
}

/// Device bytes as a slice of the kernel's type.
fn of<T: adsm::Pod>(bytes: &mut [u8]) -> &mut [T] {
    // SAFETY: any bytes are valid values of this type; device memory begins at a page.
    unsafe { bytes.align_to_mut().1 }
}

fn word(call: &Native<'_>, index: usize) -> usize {
    u32::from_ne_bytes(call.value(index)) as usize
}

pub fn vecadd(call: &mut Native<'_>) {
    let n = word(call, 0);
    let [a, b, c] = &mut call.memory[..] else { panic!("vecadd has three buffers") };
    let (a, b, c) = (of::<f32>(a), of::<f32>(b), of::<f32>(c));
    for i in 0..n {
        c[i] = a[i] + b[i];
    }
}

pub fn drift(call: &mut Native<'_>) {
    let n = word(call, 0);
    for x in &mut of::<f32>(call.memory[0])[..n] {
        *x = *x * 0.5 + 1.0;
    }
}

pub fn stir(call: &mut Native<'_>) {
    let n = word(call, 0);
    let [from, to] = &mut call.memory[..] else { panic!("stir has two buffers") };
    for i in (0..n).step_by(3) {
        to[i] = to[i].wrapping_add(from[i]).wrapping_add(1);
    }
}

pub fn stencil(call: &mut Native<'_>) {
    let n = word(call, 0);
    let [input, output] = &mut call.memory[..] else { panic!("stencil has two buffers") };
    let (input, output) = (of::<f32>(input), of::<f32>(output));
    for z in 0..n {
        for y in 0..n {
            for x in 0..n {
                let at = (z * n + y) * n + x;
                let rim = [x, y, z].iter().any(|&k| k == 0 || k == n - 1);
                output[at] = if rim {
                    input[at]
                } else {
                    let around = input[at - 1]
                        + input[at + 1]
                        + input[at - n]
                        + input[at + n]
                        + input[at - n * n]
                        + input[at + n * n];
                    input[at] + 0.1 * (around - 6.0 * input[at])
                };
            }
        }
    }
}

pub fn cp(call: &mut Native<'_>) {
    let (count, width) = (word(call, 0), word(call, 1));
    let spacing = f32::from_ne_bytes(call.value(2));
    let [atoms, plane] = &mut call.memory[..] else { panic!("cp has two buffers") };
    let (atoms, plane) = (of::<[f32; 4]>(atoms), of::<f32>(plane));
    for y in 0..width {
        for x in 0..width {
            let (px, py) = (spacing * x as f32, spacing * y as f32);
            let potential = atoms[..count].iter().fold(0.0f32, |sum, &[ax, ay, az, q]| {
                let (dx, dy) = (px - ax, py - ay);
                sum + q * (1.0 / (dx * dx + dy * dy + az * az).sqrt())
            });
            plane[y * width + x] += potential;
        }
    }
}

fn sine_turn(t: f32) -> f32 {
    let mut t = t - (t + 0.5).floor();
    if t > 0.25 {
        t = 0.5 - t;
    }
    if t < -0.25 {
        t = -0.5 - t;
    }
    let x = std::f32::consts::TAU * t;
    let xx = x * x;
    x * (1.0 + xx * (-0.166_666_67 + xx * (0.008_333_331 + xx * (-0.000_198_408_74 + xx * 0.000_002_752_556_2))))
}

pub fn mri_q(call: &mut Native<'_>) {
    let (count, n) = (word(call, 0), word(call, 1));
    let [samples, points, q] = &mut call.memory[..] else { panic!("mri_q has three buffers") };
    let (samples, points, q) = (of::<[f32; 4]>(samples), of::<[f32; 3]>(points), of::<[f32; 2]>(q));
    for i in 0..n {
        let [x, y, z] = points[i];
        q[i] = samples[..count].iter().fold([0.0f32; 2], |[re, im], &[kx, ky, kz, magnitude]| {
            let turn = kx * x + ky * y + kz * z;
            [re + magnitude * sine_turn(turn + 0.25), im + magnitude * sine_turn(turn)]
        });
    }
}

pub fn mri_fhd(call: &mut Native<'_>) {
    let (count, n) = (word(call, 0), word(call, 1));
    let [samples, points, fhd] = &mut call.memory[..] else { panic!("mri_fhd has three buffers") };
    let (samples, points, fhd) = (of::<[f32; 5]>(samples), of::<[f32; 3]>(points), of::<[f32; 2]>(fhd));
    for i in 0..n {
        let [x, y, z] = points[i];
        fhd[i] = samples[..count].iter().fold([0.0f32; 2], |[re, im], &[kx, ky, kz, a, b]| {
            let turn = kx * x + ky * y + kz * z;
            let (c, s) = (sine_turn(turn + 0.25), sine_turn(turn));
            [re + (a * c + b * s), im + (b * c - a * s)]
        });
    }
}

pub fn pns(call: &mut Native<'_>) {
    let (places, steps, n) = (word(call, 0), word(call, 1), word(call, 2));
    let [marking, fired] = &mut call.memory[..] else { panic!("pns has two buffers") };
    let (marking, fired) = (of::<u32>(marking), of::<u32>(fired));
    for i in 0..n {
        let own = &mut marking[i * places..(i + 1) * places];
        let mut random = (i as u32).wrapping_mul(2_654_435_761).wrapping_add(fired[i]).wrapping_add(1);
        for _ in 0..steps {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let from = (random >> 8) as usize % places;
            if own[from] > 0 {
                own[from] -= 1;
                own[(from + 1) % places] += 1;
                fired[i] += 1;
            }
        }
    }
}

fn boys(t: f32) -> f32 {
    if t > 12.0 {
        return 0.886_226_93 / t.sqrt();
    }
    let (mut term, mut sum) = (1.0f32, 1.0f32);
    for k in 1..48 {
        term *= 2.0 * t / (2 * k + 1) as f32;
        sum += term;
    }
    sum * (-std::f32::consts::LOG2_E * t).exp2()
}

pub fn rpes(call: &mut Native<'_>) {
    let count = word(call, 0);
    let [shells, integrals] = &mut call.memory[..] else { panic!("rpes has two buffers") };
    let (shells, integrals) = (of::<[f32; 4]>(shells), of::<f32>(integrals));
    for b in 0..count {
        for d in 0..count {
            let mut sum = 0.0;
            for a in 0..count {
                for c in 0..count {
                    sum += integral([shells[a], shells[b], shells[c], shells[d]]);
                }
            }
            integrals[b * count + d] = sum;
        }
    }
}

/// (ab|cd) of four s-type Gaussians.
fn integral([a, b, c, d]: [[f32; 4]; 4]) -> f32 {
    let (p, q) = (a[3] + b[3], c[3] + d[3]);
    let (mut ab, mut cd, mut pq) = (0.0f32, 0.0f32, 0.0f32);
    for k in 0..3 {
        let centre = (a[3] * a[k] + b[3] * b[k]) / p - (c[3] * c[k] + d[3] * d[k]) / q;
        ab += (a[k] - b[k]) * (a[k] - b[k]);
        cd += (c[k] - d[k]) * (c[k] - d[k]);
        pq += centre * centre;
    }
    let decay = (-std::f32::consts::LOG2_E * (a[3] * b[3] / p * ab + c[3] * d[3] / q * cd)).exp2();
    34.986_836 / (p * q * (p + q).sqrt()) * decay * boys(p * q / (p + q) * pq)
}

pub fn sad(call: &mut Native<'_>) {
    let (width, height) = (word(call, 0), word(call, 1));
    let [frame, other, sums] = &mut call.memory[..] else { panic!("sad has three buffers") };
    let sums = of::<u16>(sums);
    let across = width / 4;
    for block in 0..across * (height / 4) {
        let (bx, by) = ((block % across) * 4, (block / across) * 4);
        for place in 0..289 {
            let (dx, dy) = (place as isize % 17 - 8, place as isize / 17 - 8);
            let mut sum = 0;
            for y in 0..4 {
                for x in 0..4 {
                    let ox = ((bx + x) as isize + dx).clamp(0, width as isize - 1) as usize;
                    let oy = ((by + y) as isize + dy).clamp(0, height as isize - 1) as usize;
                    sum += u16::from(frame[(by + y) * width + bx + x].abs_diff(other[oy * width + ox]));
                }
            }
            sums[block * 289 + place] = sum;
        }
    }
}

pub fn tpacf(call: &mut Native<'_>) {
    let (n, bins) = (word(call, 0), word(call, 1));
    let [one, two, bounds, histogram] = &mut call.memory[..] else { panic!("tpacf has four buffers") };
    let (one, two) = (of::<[f32; 3]>(one), of::<[f32; 3]>(two));
    let (bounds, histogram) = (of::<f32>(bounds), of::<u32>(histogram));
    for [x, y, z] in &one[..n] {
        for [ox, oy, oz] in &two[..n] {
            let cosine = x * ox + y * oy + z * oz;
            let bin = bounds[..bins - 1].iter().take_while(|&&bound| cosine < bound).count();
            histogram[bin] += 1;
        }
    }
}
