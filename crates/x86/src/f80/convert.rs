//! Conversions between [`F80`] and memory formats: integers of 16, 32 and 64 bits, packed decimals, singles and
//! doubles. Loads are exact. Stores round, and store the format's "indefinite" value if the number does not fit.

use super::{Class, Exact, F80, Flags, Format, Number, Outcome, Rounded, Rounding, Settings};

/// An 18-digit packed decimal with its sign, the operand of FBLD and FBSTP.
pub type Decimal = [u8; 10];

const DECIMAL_INDEFINITE: Decimal = [0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0xff];

/// The fields of a format shorter than 80 bits.
struct Layout {
    fraction: u32,
    exponent: u32,
    format: Format,
}

const SINGLE: Layout = Layout { fraction: 23, exponent: 8, format: Format::SINGLE };
const DOUBLE: Layout = Layout { fraction: 52, exponent: 11, format: Format::DOUBLE };

impl F80 {
    /// FILD.
    pub fn from_i64(value: i64) -> F80 {
        match Exact::new(value < 0, u128::from(value.unsigned_abs()), 0) {
            Some(number) => number.to_f80(Settings::DEFAULT).value,
            None => F80::ZERO,
        }
    }

    /// Converts a single. The flag reports a denormal; a signalling NaN stays signalling.
    pub fn from_f32_bits(bits: u32) -> Outcome {
        widen(u64::from(bits), &SINGLE)
    }

    /// Converts a double. The flag reports a denormal; a signalling NaN stays signalling.
    pub fn from_f64_bits(bits: u64) -> Outcome {
        widen(bits, &DOUBLE)
    }

    /// FST m32fp.
    pub fn to_f32_bits(self, settings: Settings) -> (u32, Flags) {
        let (bits, flags) = narrow(self, &SINGLE, settings);
        (bits as u32, flags)
    }

    /// FST m64fp.
    pub fn to_f64_bits(self, settings: Settings) -> (u64, Flags) {
        narrow(self, &DOUBLE, settings)
    }

    /// FIST: an integer of `bits` bits (16, 32 or 64); the most negative one if it does not fit.
    pub fn to_int(self, bits: u32, rounding: Rounding) -> (i64, Flags) {
        let indefinite = (i64::MIN >> (64 - bits), Flags::INVALID);
        match self.whole(rounding) {
            Some((negative, magnitude, flags)) => {
                let limit = (1u128 << (bits - 1)) - u128::from(!negative);
                if magnitude > limit {
                    return indefinite;
                }
                let magnitude = magnitude as u64;
                (if negative { (magnitude as i64).wrapping_neg() } else { magnitude as i64 }, flags)
            }
            None => indefinite,
        }
    }

    /// FBLD. Digits above 9 count with their value, as in the hardware.
    pub fn from_decimal(digits: Decimal) -> F80 {
        let magnitude = digits[..9]
            .iter()
            .rev()
            .fold(0u64, |sum, byte| sum * 100 + u64::from(byte >> 4) * 10 + u64::from(byte & 15));
        let negative = digits[9] & 0x80 != 0;
        match Exact::new(negative, u128::from(magnitude), 0) {
            Some(number) => number.to_f80(Settings::DEFAULT).value,
            None => F80::zero(negative),
        }
    }

    /// FBSTP.
    pub fn to_decimal(self, rounding: Rounding) -> (Decimal, Flags) {
        let (negative, magnitude, flags) = match self.whole(rounding) {
            Some(whole) if whole.1 < 10u128.pow(18) => whole,
            _ => return (DECIMAL_INDEFINITE, Flags::INVALID),
        };
        let mut digits = [0; 10];
        let mut rest = magnitude as u64;
        for byte in &mut digits[..9] {
            *byte = ((rest / 10 % 10) << 4 | (rest % 10)) as u8;
            rest /= 100;
        }
        digits[9] = if negative { 0x80 } else { 0 };
        (digits, flags)
    }

    /// Sign and magnitude of the rounded integer; none if it is 2^127 or more.
    fn whole(self, rounding: Rounding) -> Option<(bool, u128, Flags)> {
        match self.class() {
            Class::Number(Number::Zero { negative }) => Some((negative, 0, Flags::NONE)),
            Class::Number(Number::Finite(number)) | Class::Denormal(number) => {
                number.to_integer(rounding).map(|(magnitude, flags)| (number.negative, magnitude, flags))
            }
            _ => None,
        }
    }
}

fn widen(bits: u64, layout: &Layout) -> Outcome {
    let top = (1u64 << layout.exponent) - 1;
    let negative = bits >> (layout.fraction + layout.exponent) != 0;
    let field = bits >> layout.fraction & top;
    let fraction = bits & ((1 << layout.fraction) - 1);
    if field == top {
        let significand = super::LEADING | fraction << (63 - layout.fraction);
        return Outcome::exactly(F80::from_parts(negative, 0x7fff, significand));
    }
    let unit = layout.format.min_exponent - layout.fraction as i32;
    let (significand, exponent) =
        if field == 0 { (fraction, unit) } else { (fraction | 1 << layout.fraction, unit + field as i32 - 1) };
    match Exact::new(negative, u128::from(significand), exponent) {
        Some(number) => number.to_f80(Settings::DEFAULT).with(Flags::DENORMAL.when(field == 0)),
        None => Outcome::exactly(F80::zero(negative)),
    }
}

fn narrow(value: F80, layout: &Layout, settings: Settings) -> (u64, Flags) {
    let sign = u64::from(value.is_negative()) << (layout.fraction + layout.exponent);
    let infinity = ((1u64 << layout.exponent) - 1) << layout.fraction;
    let quiet = 1u64 << (layout.fraction - 1);
    match value.class() {
        Class::Unsupported => (infinity | quiet | 1 << (layout.fraction + layout.exponent), Flags::INVALID),
        class @ (Class::Quiet | Class::Signalling) => {
            let payload = (value.significand & (super::LEADING - 1)) >> (63 - layout.fraction);
            (sign | infinity | quiet | payload, Flags::INVALID.when(class == Class::Signalling))
        }
        Class::Number(Number::Zero { .. }) => (sign, Flags::NONE),
        Class::Number(Number::Infinity { .. }) => (sign | infinity, Flags::NONE),
        Class::Number(Number::Finite(number)) | Class::Denormal(number) => {
            let rounded = number.round(layout.format, settings.rounding, settings.masked);
            (rounded.pack(layout.fraction, layout.exponent, layout.format), rounded.flags)
        }
    }
}

impl Rounded {
    /// Encodes as an IEEE number with these numbers of fraction and exponent bits.
    pub fn pack(self, fraction: u32, exponent: u32, format: Format) -> u64 {
        let sign = u64::from(self.negative) << (fraction + exponent);
        if self.exponent > format.max_exponent {
            return sign | ((1u64 << exponent) - 1) << fraction;
        }
        let bits = self.significand >> (63 - fraction);
        if bits >> fraction == 0 {
            return sign | bits;
        }
        let field = (self.exponent - format.min_exponent + 1) as u64;
        sign | field << fraction | bits & ((1 << fraction) - 1)
    }
}
