//! MODE, and its effect on floating-point arithmetic: denormals, NaNs, clamping, 16-bit formats.

use super::soft::Round;

/// The MODE register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode(pub u32);

/// Whether denormal operands and results are kept; otherwise only their sign is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denormals {
    input: bool,
    output: bool,
}

impl Mode {
    /// Rounding of 32-bit operations.
    #[inline(always)]
    pub fn round32(self) -> Round {
        Round::from_bits(self.0)
    }

    /// Rounding of 16- and 64-bit operations.
    #[inline(always)]
    pub fn round64(self) -> Round {
        Round::from_bits(self.0 >> 2)
    }

    /// Denormals of 32-bit operations.
    #[inline(always)]
    pub fn denormals32(self) -> Denormals {
        Denormals { input: self.0 >> 4 & 1 == 1, output: self.0 >> 5 & 1 == 1 }
    }

    /// Denormals of 16- and 64-bit operations.
    #[inline(always)]
    pub fn denormals64(self) -> Denormals {
        Denormals { input: self.0 >> 6 & 1 == 1, output: self.0 >> 7 & 1 == 1 }
    }

    /// Whether clamping turns NaN into 0.
    #[inline(always)]
    pub fn dx10_clamp(self) -> bool {
        self.0 >> 8 & 1 == 1
    }

    /// Whether minimum and maximum quiet a signalling NaN, and output modifiers are disabled.
    #[inline(always)]
    pub fn ieee(self) -> bool {
        self.0 >> 9 & 1 == 1
    }
}

impl Denormals {
    /// Denormal operands and results become zeros.
    pub const FLUSH: Self = Self { input: false, output: false };

    pub fn output_kept(self) -> bool {
        self.output
    }

    /// The bits to keep of a 32-bit denormal operand.
    #[inline(always)]
    pub fn keep_in32(self) -> u32 {
        if self.input { !0 } else { 1 << 31 }
    }

    /// The bits to keep of a 32-bit denormal result.
    #[inline(always)]
    pub fn keep_out32(self) -> u32 {
        if self.output { !0 } else { 1 << 31 }
    }

    #[inline(always)]
    pub fn keep_in64(self) -> u64 {
        if self.input { !0 } else { 1 << 63 }
    }

    #[inline(always)]
    pub fn keep_out64(self) -> u64 {
        if self.output { !0 } else { 1 << 63 }
    }

    #[inline(always)]
    pub fn keep_in16(self) -> u32 {
        if self.input { 0xffff } else { 0x8000 }
    }

    #[inline(always)]
    pub fn keep_out16(self) -> u32 {
        if self.output { 0xffff } else { 0x8000 }
    }
}

/// A 32-bit number; if it is denormal, only the bits of `keep`.
#[inline(always)]
pub fn flush32(bits: u32, keep: u32) -> u32 {
    // Not `if .. { bits & keep }`: the unconditional use of `keep` lets the compiler vectorise this well.
    let normal = if bits & 0x7f80_0000 == 0 { 0 } else { !0 };
    bits & (keep | normal)
}

/// A 64-bit number; if it is denormal, only the bits of `keep`.
#[inline(always)]
pub fn flush64(bits: u64, keep: u64) -> u64 {
    let normal = if bits & 0x7ff0_0000_0000_0000 == 0 { 0 } else { !0 };
    bits & (keep | normal)
}

/// A 16-bit number; if it is denormal, only the bits of `keep`.
#[inline(always)]
pub fn flush16(bits: u32, keep: u32) -> u32 {
    let normal = if bits & 0x7c00 == 0 { 0 } else { !0 };
    bits & (keep | normal)
}

/// Converts a 16-bit number to 32 bits, exactly.
#[inline(always)]
pub fn f16_to_f32(half: u32) -> f32 {
    let sign = (half & 0x8000) << 16;
    let magnitude = (half & 0x7fff) << 13;
    let exponent = magnitude & 0x0f80_0000;
    let rebased = magnitude + (112 << 23);
    let denormal = f32::from_bits(rebased + (1 << 23)) - f32::from_bits(113 << 23);
    let bits = if exponent == 0x0f80_0000 {
        rebased + (112 << 23)
    } else if exponent == 0 {
        denormal.to_bits()
    } else {
        rebased
    };
    f32::from_bits(sign | bits)
}

/// Rounds a 32-bit number to the nearest 16-bit one.
#[inline(always)]
pub fn f32_to_f16(value: f32) -> u32 {
    let bits = value.to_bits();
    let sign = bits >> 16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    // Adding one half aligns the last bit of a 16-bit denormal with the last bit of the sum, which rounds.
    let denormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let normal = magnitude.wrapping_add(0xc800_0fff).wrapping_add(magnitude >> 13 & 1) >> 13;
    let half = if magnitude > 0x7f80_0000 {
        0x7e00 | (magnitude >> 13 & 0x3ff)
    } else if magnitude >= 0x477f_f000 {
        0x7c00
    } else if magnitude < 0x3880_0000 {
        denormal
    } else {
        normal
    };
    sign | half
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::soft;

    #[test]
    fn every_half_widens_to_what_exact_arithmetic_says() {
        for half in 0..=0xffffu32 {
            let want = soft::convert(soft::F16, soft::F32, half.into(), Round::NearestEven) as u32;
            let got = f16_to_f32(half);
            assert!(got.to_bits() == want || got.is_nan() && f32::from_bits(want).is_nan(), "{half:#x}");
        }
    }

    #[test]
    fn narrowing_to_half_rounds_to_nearest_even() {
        for bits in (0..=u32::MAX).step_by(4099) {
            let value = f32::from_bits(bits);
            let want = soft::convert(soft::F32, soft::F16, bits.into(), Round::NearestEven) as u32;
            assert!(f32_to_f16(value) == want || value.is_nan(), "{bits:#x}: {:#x}, not {want:#x}", f32_to_f16(value));
        }
        assert_eq!(f32_to_f16(f32::from_bits(0x3300_0001)), 1, "just above half of the smallest denormal");
        assert_eq!(f32_to_f16(f32::from_bits(0x3300_0000)), 0, "exactly half of it ties to even");
    }

    #[test]
    fn flushing_keeps_the_sign() {
        let keep = Denormals::FLUSH.keep_in32();
        assert_eq!(flush32(0x8000_0001, keep), 0x8000_0000);
        assert_eq!(flush32(0x0080_0000, keep), 0x0080_0000);
        assert_eq!(flush32(0x8000_0001, Mode(0x30).denormals32().keep_in32()), 0x8000_0001);
        assert_eq!(flush64(1, Mode(0x40).denormals64().keep_out64()), 0);
    }
}
