//! Formats of buffer elements and texels: conversion between packed bits and registers.

use super::{
    float::{f16_to_f32, f32_to_f16},
    soft::{self, Round},
};
use crate::error::Fault;

/// The interpretation of a component's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// 0 to 1.
    Unorm,
    /// -1 to 1.
    Snorm,
    /// An integer, converted to a float.
    Uscaled,
    Sscaled,
    Uint,
    Sint,
    Float,
    /// 0 to 1 with the sRGB curve on the first three components.
    Srgb,
}

/// A format of one to four components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementFormat {
    /// Bits of each component, the lowest first; 0 for missing ones.
    bits: [u8; 4],
    pub number: Number,
}

impl ElementFormat {
    /// From the data and number format fields of a resource or instruction.
    pub fn new(data: u32, number: u32) -> Result<Self, Fault> {
        let bits = match data {
            1 => [8, 0, 0, 0],
            2 => [16, 0, 0, 0],
            3 => [8, 8, 0, 0],
            4 => [32, 0, 0, 0],
            5 => [16, 16, 0, 0],
            // Format names list components from the highest bits down.
            6 => [11, 11, 10, 0],
            7 => [10, 11, 11, 0],
            8 => [2, 10, 10, 10],
            9 => [10, 10, 10, 2],
            10 => [8, 8, 8, 8],
            11 => [32, 32, 0, 0],
            12 => [16, 16, 16, 16],
            13 => [32, 32, 32, 0],
            14 => [32, 32, 32, 32],
            16 => [5, 6, 5, 0],
            17 => [5, 5, 5, 1],
            18 => [1, 5, 5, 5],
            19 => [4, 4, 4, 4],
            _ => return Err(Fault::Descriptor(format!("data format {data} is not supported").into())),
        };
        let number = match number {
            0 => Number::Unorm,
            1 => Number::Snorm,
            2 => Number::Uscaled,
            3 => Number::Sscaled,
            4 => Number::Uint,
            5 => Number::Sint,
            7 => Number::Float,
            9 => Number::Srgb,
            _ => return Err(Fault::Descriptor(format!("number format {number} is not supported").into())),
        };
        let format = Self { bits, number };
        if number == Number::Float && bits.iter().any(|bits| !matches!(bits, 0 | 10 | 11 | 16 | 32)) {
            return Err(Fault::Descriptor(format!("data format {data} has no floats").into()));
        }
        Ok(format)
    }

    /// Bytes of an element.
    pub fn bytes(&self) -> u32 {
        self.bits.iter().map(|bits| u32::from(*bits)).sum::<u32>() / 8
    }

    /// Whether registers hold floats.
    pub fn is_float(&self) -> bool {
        !matches!(self.number, Number::Uint | Number::Sint)
    }

    /// The number 1 in register format.
    pub fn one(&self) -> u32 {
        if self.is_float() { 1f32.to_bits() } else { 1 }
    }

    /// The components of an element; missing ones are 0, a missing fourth is 1.
    pub fn unpack(&self, words: [u32; 4]) -> [u32; 4] {
        let mut place = 0;
        std::array::from_fn(|n| {
            let bits = u32::from(self.bits[n]);
            if bits == 0 {
                return if n == 3 { self.one() } else { 0 };
            }
            let raw = words[place / 32] >> (place % 32) & (u32::MAX >> (32 - bits));
            place += bits as usize;
            self.decode(raw, bits, n)
        })
    }

    fn decode(&self, raw: u32, bits: u32, n: usize) -> u32 {
        let signed = || (raw << (32 - bits)) as i32 >> (32 - bits);
        let largest = |bits: u32| (u64::from(u32::MAX) >> (32 - bits)) as f64;
        let unorm = f64::from(raw) / largest(bits);
        match self.number {
            Number::Uint => raw,
            Number::Sint => signed() as u32,
            Number::Unorm => (unorm as f32).to_bits(),
            Number::Srgb if n < 3 => (from_srgb(unorm) as f32).to_bits(),
            Number::Srgb => (unorm as f32).to_bits(),
            Number::Snorm => ((f64::from(signed()) / largest(bits.max(2) - 1)).max(-1.0) as f32).to_bits(),
            Number::Uscaled => (raw as f32).to_bits(),
            Number::Sscaled => (signed() as f32).to_bits(),
            Number::Float => match bits {
                32 => raw,
                16 => f16_to_f32(raw).to_bits(),
                // Unsigned floats with the exponent of a 16-bit float: shifting converts them.
                bits => f16_to_f32(raw << (15 - bits)).to_bits(),
            },
        }
    }

    /// Packs components into an element.
    pub fn pack(&self, components: [u32; 4]) -> [u32; 4] {
        let mut words = [0; 4];
        let mut place = 0;
        for (n, component) in components.into_iter().enumerate() {
            let bits = u32::from(self.bits[n]);
            if bits > 0 {
                words[place / 32] |= (self.encode(component, bits, n) & (u32::MAX >> (32 - bits))) << (place % 32);
                place += bits as usize;
            }
        }
        words
    }

    fn encode(&self, value: u32, bits: u32, n: usize) -> u32 {
        let float = f64::from(f32::from_bits(value));
        let float = if float.is_nan() { 0.0 } else { float };
        let largest = (u64::from(u32::MAX) >> (32 - bits)) as f64;
        let half = ((1u64 << (bits - 1)) - 1) as f64;
        match self.number {
            Number::Uint => value.min(u32::MAX >> (32 - bits)),
            Number::Sint => {
                (value as i32).clamp(-(1i64 << (bits - 1)) as i32, ((1i64 << (bits - 1)) - 1) as i32) as u32
            }
            Number::Unorm => (float.clamp(0.0, 1.0) * largest).round_ties_even() as u32,
            Number::Srgb if n < 3 => (to_srgb(float.clamp(0.0, 1.0)) * largest).round_ties_even() as u32,
            Number::Srgb => (float.clamp(0.0, 1.0) * largest).round_ties_even() as u32,
            Number::Snorm => (float.clamp(-1.0, 1.0) * half).round_ties_even() as i32 as u32,
            Number::Uscaled => float.clamp(0.0, largest) as u32,
            Number::Sscaled => float.clamp(-half - 1.0, half) as i32 as u32,
            Number::Float => match bits {
                32 => value,
                16 => f32_to_f16(f32::from_bits(value)),
                bits => {
                    let positive = f32::from_bits(value).max(0.0);
                    let narrow = soft::convert(soft::F32, soft::F16, positive.to_bits().into(), Round::Zero) as u32;
                    narrow >> (15 - bits)
                }
            },
        }
    }
}

fn from_srgb(value: f64) -> f64 {
    if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

fn to_srgb(value: f64) -> f64 {
    if value <= 0.003_130_8 { value * 12.92 } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 }
}

/// Selects the components for registers: each is one of the element's, or a constant.
pub fn select(components: [u32; 4], selects: [u8; 4], one: u32) -> [u32; 4] {
    selects.map(|select| match select {
        4..=7 => components[usize::from(select) - 4],
        1 => one,
        _ => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(value: f32) -> u32 {
        value.to_bits()
    }

    #[test]
    fn bytes_become_fractions_and_back() {
        let format = ElementFormat::new(10, 0).unwrap();
        let components = format.unpack([0xff80_3300, 0, 0, 0]);
        assert_eq!(components, [float(0.0), float(0.2), float(128.0 / 255.0), float(1.0)]);
        assert_eq!(format.pack(components), [0xff80_3300, 0, 0, 0]);
        assert_eq!(format.pack([float(-1.0), float(2.0), float(f32::NAN), 0])[0], 0x0000_ff00);
    }

    #[test]
    fn signed_fractions_reach_minus_one_twice() {
        let format = ElementFormat::new(3, 1).unwrap();
        assert_eq!(format.unpack([0x7f81, 0, 0, 0])[..2], [float(-1.0), float(1.0)]);
        assert_eq!(format.unpack([0x0080, 0, 0, 0])[0], float(-1.0));
        assert_eq!(format.bytes(), 2);
    }

    #[test]
    fn missing_components_are_zero_and_the_fourth_is_one() {
        let integers = ElementFormat::new(5, 5).unwrap();
        assert_eq!(integers.unpack([0xfffe_0003, 0, 0, 0]), [3, -2i32 as u32, 0, 1]);
        let floats = ElementFormat::new(4, 7).unwrap();
        assert_eq!(floats.unpack([float(2.5), 9, 9, 9]), [float(2.5), 0, 0, float(1.0)]);
    }

    #[test]
    fn packed_floats_and_halves_widen() {
        let format = ElementFormat::new(12, 7).unwrap();
        assert_eq!(
            format.unpack([0x3c00_c000, 0x7bff_0001, 0, 0]),
            [float(-2.0), float(1.0), float(2f32.powi(-24)), float(65504.0)]
        );
        let packed = ElementFormat::new(6, 7).unwrap();
        // Eleven bits with a 5-bit exponent: 1.0 is 15 << 6.
        assert_eq!(packed.unpack([15 << 6, 0, 0, 0])[0], float(1.0));
    }

    #[test]
    fn integers_are_clamped_when_stored() {
        let bytes = ElementFormat::new(10, 5).unwrap();
        assert_eq!(bytes.pack([200, -200i32 as u32, 5, 0])[0], 0x0005_807f);
        let unsigned = ElementFormat::new(10, 4).unwrap();
        assert_eq!(unsigned.pack([300, 7, 0, 0])[0], 0x0000_07ff);
    }

    #[test]
    fn unknown_formats_are_named() {
        let error = ElementFormat::new(25, 0).unwrap_err();
        assert!(error.to_string().contains("25"));
    }
}
