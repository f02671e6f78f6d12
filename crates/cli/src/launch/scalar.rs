//! Number types of kernels, by their names on the command line: `f32`, `u64`.

use serde::Serialize;
use std::{fmt, str::FromStr};

/// A type of number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
}

const NAMES: [(&str, Scalar); 11] = [
    ("i8", Scalar::I8),
    ("u8", Scalar::U8),
    ("i16", Scalar::I16),
    ("u16", Scalar::U16),
    ("i32", Scalar::I32),
    ("u32", Scalar::U32),
    ("i64", Scalar::I64),
    ("u64", Scalar::U64),
    ("f16", Scalar::F16),
    ("f32", Scalar::F32),
    ("f64", Scalar::F64),
];

impl FromStr for Scalar {
    type Err = String;

    fn from_str(name: &str) -> Result<Scalar, String> {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, scalar)| *scalar).ok_or_else(|| {
            let known: Vec<&str> = NAMES.iter().map(|(known, _)| *known).collect();
            format!("'{name}' is not a type of number; there are {}", known.join(", "))
        })
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, scalar)| scalar == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

impl Scalar {
    pub fn bytes(self) -> usize {
        match self {
            Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 | Scalar::F16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Scalar::F16 | Scalar::F32 | Scalar::F64)
    }

    /// Parses a number: decimal, `0x` for integers, `inf` and `nan` for floats.
    pub fn parse(self, text: &str) -> Result<Vec<u8>, String> {
        if self.is_float() {
            let number: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
            return Ok(match self {
                Scalar::F16 => to_f16(number).to_le_bytes().to_vec(),
                // Rounded once, from the decimal text.
                Scalar::F32 => text.parse::<f32>().unwrap_or(number as f32).to_le_bytes().to_vec(),
                _ => number.to_le_bytes().to_vec(),
            });
        }
        let (negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let magnitude = match digits.strip_prefix("0x") {
            Some(digits) => i128::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        let magnitude = magnitude.map_err(|_| format!("'{text}' is not a whole number"))?;
        let number = if negative { -magnitude } else { magnitude };
        let bits = self.bytes() as u32 * 8;
        let signed = matches!(self, Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64);
        let (least, most) =
            if signed { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
        // A hexadecimal number may give the bits of a negative one.
        let spelt = signed && digits.starts_with("0x") && !negative && number < 1i128 << bits;
        if number < least || number > most && !spelt {
            return Err(format!("{text} is not between {least} and {most}, the range of {self}"));
        }
        Ok(number.to_le_bytes()[..self.bytes()].to_vec())
    }

    /// Formats a number so that parsing it gives the same bytes.
    pub fn format(self, bytes: &[u8]) -> String {
        let mut wide = [0; 8];
        wide[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
        let bits = u64::from_le_bytes(wide);
        match self {
            Scalar::I8 => (bits as i8).to_string(),
            Scalar::I16 => (bits as i16).to_string(),
            Scalar::I32 => (bits as i32).to_string(),
            Scalar::I64 => (bits as i64).to_string(),
            Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => bits.to_string(),
            Scalar::F16 => from_f16(bits as u16).to_string(),
            Scalar::F32 => f32::from_bits(bits as u32).to_string(),
            Scalar::F64 => f64::from_bits(bits).to_string(),
        }
    }
}

/// Rounds to the nearest half-precision number, ties to even.
fn to_f16(number: f64) -> u16 {
    let sign = if number.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = number.abs();
    if magnitude.is_nan() {
        return sign | 0x7e00;
    }
    if magnitude >= 65520.0 {
        return sign | 0x7c00; // the next step after 65504 would be 65536
    }
    // The distance between neighbours; below 2^-14 it stays 2^-24.
    let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
    let exponent = exponent.max(-14);
    let steps = (magnitude / 2f64.powi(exponent - 10)).round_ties_even() as u16;
    // From 1024 steps on, the implicit bit carries into the exponent.
    sign | ((((exponent + 14) as u16) << 10) + steps)
}

fn from_f16(bits: u16) -> f32 {
    let sign = if bits & 0x8000 != 0 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_written_back() {
        for (scalar, text) in [
            (Scalar::I8, "-128"),
            (Scalar::U8, "255"),
            (Scalar::I16, "-1"),
            (Scalar::U16, "65535"),
            (Scalar::I32, "-2147483648"),
            (Scalar::U32, "4294967295"),
            (Scalar::I64, "-9223372036854775808"),
            (Scalar::U64, "18446744073709551615"),
            (Scalar::F32, "1.5"),
            (Scalar::F32, "-inf"),
            (Scalar::F64, "0.1"),
            (Scalar::F16, "65504"),
            (Scalar::F16, "-0.5"),
        ] {
            let bytes = scalar.parse(text).unwrap();
            assert_eq!(bytes.len(), scalar.bytes());
            assert_eq!(scalar.format(&bytes), text);
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused_with_the_range() {
        assert_eq!(Scalar::U8.parse("256").unwrap_err(), "256 is not between 0 and 255, the range of u8");
        assert!(Scalar::U32.parse("-1").is_err());
        assert!(Scalar::I32.parse("2147483648").is_err());
        assert_eq!(Scalar::I32.parse("1.5").unwrap_err(), "'1.5' is not a whole number");
        assert_eq!(Scalar::F32.parse("one").unwrap_err(), "'one' is not a number");
    }

    #[test]
    fn hexadecimal_spells_bits() {
        assert_eq!(Scalar::I32.parse("0xffffffff").unwrap(), [0xff; 4]);
        assert_eq!(Scalar::U64.parse("0x10").unwrap(), 16u64.to_le_bytes());
        assert!(Scalar::I32.parse("0x1ffffffff").is_err());
    }

    #[test]
    fn halves_round_to_the_nearest_even() {
        assert_eq!(to_f16(1.0), 0x3c00);
        assert_eq!(to_f16(1.0 + 1.0 / 2048.0), 0x3c00, "a tie goes to the even neighbour");
        assert_eq!(to_f16(1.0 + 3.0 / 2048.0), 0x3c02);
        assert_eq!(to_f16(65519.9), 0x7bff);
        assert_eq!(to_f16(65520.0), 0x7c00);
        assert_eq!(to_f16(2f64.powi(-24)), 1);
        assert_eq!(to_f16(2047.9 / 2048.0 * 2f64.powi(-14)), 0x400);
        assert_eq!(to_f16(-0.0), 0x8000);
        for bits in (0..=0x7c00u16).chain(0x8000..=0xfc00) {
            assert_eq!(to_f16(from_f16(bits).into()), bits);
        }
    }
}
