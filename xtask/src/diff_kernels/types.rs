//! The types of generated kernels, and random values of them.

use workloads::Rng;

/// A scalar type of OpenCL C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

use Base::*;

impl Base {
    pub fn name(self) -> &'static str {
        match self {
            I8 => "char",
            U8 => "uchar",
            I16 => "short",
            U16 => "ushort",
            I32 => "int",
            U32 => "uint",
            I64 => "long",
            U64 => "ulong",
            F32 => "float",
            F64 => "double",
        }
    }

    pub fn bytes(self) -> usize {
        match self {
            I8 | U8 => 1,
            I16 | U16 => 2,
            I32 | U32 | F32 => 4,
            I64 | U64 | F64 => 8,
        }
    }

    pub fn bits(self) -> usize {
        8 * self.bytes()
    }

    pub fn is_float(self) -> bool {
        matches!(self, F32 | F64)
    }

    pub fn is_signed(self) -> bool {
        matches!(self, I8 | I16 | I32 | I64)
    }

    /// The unsigned integer of equal size.
    pub fn unsigned(self) -> Base {
        match self.bytes() {
            1 => U8,
            2 => U16,
            4 => U32,
            _ => U64,
        }
    }

    /// The integer of half the size and equal signedness, if there is one.
    pub fn half(self) -> Option<Base> {
        match self {
            I16 => Some(I8),
            U16 => Some(U8),
            I32 => Some(I16),
            U32 => Some(U16),
            I64 => Some(I32),
            U64 => Some(U32),
            _ => None,
        }
    }
}

/// A scalar, or a vector of 2, 4, 8 or 16 elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ty {
    pub base: Base,
    pub lanes: usize,
}

impl Ty {
    pub const fn scalar(base: Base) -> Self {
        Self { base, lanes: 1 }
    }

    pub fn with(self, base: Base) -> Self {
        Self { base, ..self }
    }

    pub fn is_scalar(self) -> bool {
        self.lanes == 1
    }

    pub fn name(self) -> String {
        if self.is_scalar() { self.base.name().to_owned() } else { format!("{}{}", self.base.name(), self.lanes) }
    }

    pub fn bytes(self) -> usize {
        self.base.bytes() * self.lanes
    }
}

/// The bytes of `count` random values of a scalar type, with many edge cases.
pub fn random_bytes(rng: &mut Rng, base: Base, count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..count {
        match base {
            F32 => bytes.extend((random_float(rng) as f32).to_le_bytes()),
            F64 => bytes.extend(random_float(rng).to_le_bytes()),
            _ => bytes.extend(&random_integer(rng, base).to_le_bytes()[..base.bytes()]),
        }
    }
    bytes
}

/// Random bits, small numbers, and the ends of the range.
pub fn random_integer(rng: &mut Rng, base: Base) -> u64 {
    match rng.below(8) {
        0 => u64::from(rng.below(16)),
        1 => u64::from(rng.below(16)).wrapping_neg(),
        2 => 1 << (base.bits() - 1),
        3 => (1 << (base.bits() - 1)) - 1,
        4 => 1 << rng.below(base.bits() as u32),
        _ => rng.u64(),
    }
}

/// Moderate numbers that floats of either size can represent, zeros, infinities and NaN; no denormals.
fn random_float(rng: &mut Rng) -> f64 {
    match rng.below(40) {
        0 => 0.0,
        1 => -0.0,
        2 => f64::INFINITY,
        3 => f64::NEG_INFINITY,
        4 => f64::NAN,
        5..10 => f64::from(rng.below(33) as i32 - 16) / 2.0,
        10..15 => f64::from(rng.f32(-10000.0, 10000.0)),
        _ => f64::from(rng.f32(-4.0, 4.0)),
    }
}
