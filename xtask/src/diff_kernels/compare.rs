//! Runs a program on a GPU, and compares the results of two GPUs.

use workloads::{Arg, Gpu, GpuError, NdRange, Rng};

use super::{
    program::{BufferArg, Program, Role, Variable},
    types::{Base, random_bytes},
};

/// The first place where two GPUs differ.
#[derive(Debug)]
pub struct Difference {
    pub buffer: String,
    pub element: usize,
    pub lane: usize,
    pub ours: String,
    pub theirs: String,
    /// The distance of the two values, if they are numbers.
    pub ulps: Option<f64>,
    pub allowed: f64,
}

/// The buffers of `program` after a run on the inputs of `seed`.
pub fn outputs(program: &Program, seed: u64, gpu: &mut dyn Gpu) -> Result<Vec<Vec<u8>>, GpuError> {
    let arguments = program.buffers();
    let buffers = inputs(program, seed).iter().map(|bytes| gpu.upload(bytes)).collect::<Result<Vec<_>, _>>()?;
    let scalars = [Arg::U32(program.uniform.0), Arg::F32(program.uniform.1)];
    let args: Vec<Arg> = buffers.iter().map(|b| Arg::Buffer(*b)).chain(scalars).collect();
    let [grid, group] = [program.grid, program.group].map(|[x, y]| [x, y, 1]);
    gpu.launch("k", NdRange { grid, group }, &args)?;
    let sizes = arguments.iter().map(|argument| argument.count * argument.ty.bytes());
    buffers.iter().zip(sizes).map(|(buffer, size)| gpu.download(*buffer, size)).collect()
}

/// The initial contents of the buffers of `program`.
fn inputs(program: &Program, seed: u64) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(seed);
    let contents = |argument: &BufferArg| {
        let scalars = argument.count * argument.ty.lanes;
        match argument.role {
            Role::Variable(_) | Role::Table => random_bytes(&mut rng, argument.ty.base, scalars),
            Role::Cells | Role::Counters => vec![0; scalars * argument.ty.base.bytes()],
        }
    };
    program.buffers().iter().map(contents).collect()
}

/// The initial values of one work-item's variables, as text.
pub fn inputs_of(program: &Program, seed: u64, item: usize) -> String {
    let variable = |v: &Variable, bytes: &Vec<u8>| {
        let scalars = bytes.chunks(v.ty.base.bytes()).skip(item * v.ty.lanes).take(v.ty.lanes);
        format!("{} = {}", v.name, scalars.map(|s| show(v.ty.base, s)).collect::<Vec<_>>().join(" "))
    };
    let values = inputs(program, seed);
    program.variables.iter().zip(&values).map(|(v, bytes)| variable(v, bytes)).collect::<Vec<_>>().join(", ")
}

/// The first difference between two runs that OpenCL does not allow.
pub fn difference(program: &Program, ours: &[Vec<u8>], theirs: &[Vec<u8>]) -> Option<Difference> {
    for (argument, (ours, theirs)) in program.buffers().iter().zip(ours.iter().zip(theirs)) {
        let base = argument.ty.base;
        let allowed = match argument.role {
            Role::Variable(i) => program.variables[i].function.map_or(0.0, |f| f.ulps_apart(base)),
            _ => 0.0,
        };
        let pairs = ours.chunks(base.bytes()).zip(theirs.chunks(base.bytes()));
        for (i, (a, b)) in pairs.enumerate() {
            let ulps = distance(base, a, b);
            if ulps.is_none_or(|ulps| ulps > allowed) {
                return Some(Difference {
                    buffer: argument.name.clone(),
                    element: i / argument.ty.lanes,
                    lane: i % argument.ty.lanes,
                    ours: show(base, a),
                    theirs: show(base, b),
                    ulps,
                    allowed,
                });
            }
        }
    }
    None
}

/// Number of values between two; `None` if they can't be compared. Integers are equal or not. Both zeros are equal, and
/// all NaNs are equal. A denormal float counts as zero, because this target flushes denormals.
fn distance(base: Base, a: &[u8], b: &[u8]) -> Option<f64> {
    match base {
        _ if a == b => Some(0.0),
        Base::F32 => {
            let [a, b] = [a, b].map(|x| f32::from_le_bytes(x.try_into().expect("has 4 bytes")));
            let [a, b] = [a, b].map(|x| if x.is_subnormal() { 0.0 } else { x });
            if a.is_nan() && b.is_nan() {
                return Some(0.0);
            }
            (a.is_finite() && b.is_finite()).then(|| f64::from(workloads::ulps_between(a, b)))
        }
        Base::F64 => {
            let [a, b] = [a, b].map(|x| f64::from_le_bytes(x.try_into().expect("has 8 bytes")));
            if a.is_nan() && b.is_nan() {
                return Some(0.0);
            }
            let line = |x: f64| {
                let bits = x.to_bits() as i64;
                if bits < 0 { i64::MIN - bits } else { bits }
            };
            (a.is_finite() && b.is_finite()).then(|| line(a).abs_diff(line(b)) as f64)
        }
        _ => None,
    }
}

fn show(base: Base, bytes: &[u8]) -> String {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(wide);
    match base {
        Base::F32 => format!("{:?} ({bits:#010x})", f32::from_bits(bits as u32)),
        Base::F64 => format!("{:?} ({bits:#018x})", f64::from_bits(bits)),
        _ => format!("{bits:#0width$x}", width = 2 + 2 * base.bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_equal_or_not() {
        assert_eq!(distance(Base::I32, &[1, 0, 0, 0], &[1, 0, 0, 0]), Some(0.0));
        assert_eq!(distance(Base::I32, &[1, 0, 0, 0], &[2, 0, 0, 0]), None);
    }

    #[test]
    fn floats_are_compared_by_what_lies_between_them() {
        let f32s = |a: f32, b: f32| distance(Base::F32, &a.to_le_bytes(), &b.to_le_bytes());
        assert_eq!(f32s(1.0, 1.0 + f32::EPSILON), Some(1.0));
        assert_eq!(f32s(0.0, -0.0), Some(0.0));
        assert_eq!(f32s(f32::NAN, -f32::NAN), Some(0.0));
        assert_eq!(f32s(f32::NAN, 1.0), None);
        assert_eq!(f32s(f32::INFINITY, f32::MAX), None);
        let f64s = |a: f64, b: f64| distance(Base::F64, &a.to_le_bytes(), &b.to_le_bytes());
        assert_eq!(f64s(1.0, 1.0 - f64::EPSILON), Some(2.0));
    }
}
