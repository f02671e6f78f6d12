//! Image formats: the channels of a texel, and how each is stored.
//!
//! All formats that OpenCL 1.2 requires (5.3.2.1), for every image type, and further ones that the hardware supports
//! and programs use.

use super::{call::uint, cl};
use crate::state::state;

/// The storage format of texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    order: u64,
    kind: u64,
    /// Bytes of a texel.
    pub texel: u64,
    /// The hardware's data format and number format.
    pub data: u32,
    pub number: u32,
    /// The stored component that each of red, green, blue and alpha is read from.
    pub selects: [u32; 4],
    /// The channel type and order as numbered by the device libraries.
    pub library: [u32; 2],
}

state!(struct Format { order, kind, texel, data, number, selects, library });

const ZERO: u32 = 0;
const ONE: u32 = 1;
const X: u32 = 4;
const Y: u32 = 5;
const Z: u32 = 6;
const W: u32 = 7;

/// Channel orders: components, selects, number in the device libraries.
const ORDERS: [(u64, usize, [u32; 4], u32); 9] = [
    (cl::R, 1, [X, ZERO, ZERO, ONE], 1),
    (cl::A, 1, [ZERO, ZERO, ZERO, X], 0),
    (cl::INTENSITY, 1, [X, X, X, X], 16),
    (cl::LUMINANCE, 1, [X, X, X, ONE], 17),
    (cl::RG, 2, [X, Y, ZERO, ONE], 3),
    (cl::RA, 2, [X, ZERO, ZERO, Y], 5),
    (cl::RGBA, 4, [X, Y, Z, W], 8),
    (cl::BGRA, 4, [Z, Y, X, W], 9),
    (cl::ARGB, 4, [Y, Z, W, X], 10),
];

/// Channel types: bytes per component, the hardware's number format, number in the device libraries.
const TYPES: [(u64, u64, u32, u32); 12] = [
    (cl::SNORM_INT8, 1, 1, 0),
    (cl::SNORM_INT16, 2, 1, 1),
    (cl::UNORM_INT8, 1, 0, 2),
    (cl::UNORM_INT16, 2, 0, 3),
    (cl::SIGNED_INT8, 1, 5, 8),
    (cl::SIGNED_INT16, 2, 5, 9),
    (cl::SIGNED_INT32, 4, 5, 10),
    (cl::UNSIGNED_INT8, 1, 4, 11),
    (cl::UNSIGNED_INT16, 2, 4, 12),
    (cl::UNSIGNED_INT32, 4, 4, 13),
    (cl::HALF_FLOAT, 2, 7, 14),
    (cl::FLOAT, 4, 7, 15),
];

impl Format {
    pub fn new(order: u64, kind: u64) -> Option<Self> {
        let (_, count, selects, library_order) = ORDERS.into_iter().find(|row| row.0 == order)?;
        let (_, bytes, number, library_type) = TYPES.into_iter().find(|row| row.0 == kind)?;
        let normed = number < 2 || number == 7;
        let sensible = match order {
            cl::INTENSITY | cl::LUMINANCE => normed,
            cl::BGRA | cl::ARGB => bytes == 1,
            _ => true,
        };
        let data = match (count, bytes) {
            (1, 1) => 1,
            (1, 2) => 2,
            (1, 4) => 4,
            (2, 1) => 3,
            (2, 2) => 5,
            (2, 4) => 11,
            (4, 1) => 10,
            (4, 2) => 12,
            _ => 14,
        };
        let library = [library_type, library_order];
        let texel = count as u64 * bytes;
        sensible.then_some(Self { order, kind, texel, data, number, selects, library })
    }

    pub fn all() -> impl Iterator<Item = Format> {
        ORDERS.into_iter().flat_map(|order| TYPES.into_iter().filter_map(move |kind| Format::new(order.0, kind.0)))
    }

    /// The `cl_image_format` structure.
    pub fn bytes(&self) -> Vec<u8> {
        [uint(self.order as u32), uint(self.kind as u32)].concat()
    }

    /// Encodes a colour as a texel. The colour is four floats or four integers, as the program passes them.
    pub fn pack(&self, colour: [u32; 4]) -> Vec<u8> {
        let bytes = (self.texel / (4 - self.missing()) as u64) as usize;
        let components = (0..4 - self.missing()).map(|n| {
            // The colour channel that reads this component.
            let place = self.selects.iter().position(|select| *select == X + n as u32).unwrap_or(n);
            let (value, float) = (colour[place], f32::from_bits(colour[place]));
            let bits = 8 * bytes as u32;
            let whole = match self.number {
                0 => (f64::from(float.clamp(0.0, 1.0)) * ((1u64 << bits) - 1) as f64).round_ties_even() as u64 as u32,
                1 => (f64::from(float.clamp(-1.0, 1.0)) * ((1u64 << (bits - 1)) - 1) as f64).round_ties_even() as i64
                    as u32,
                4 => value.min((u64::from(u32::MAX) >> (32 - bits)) as u32),
                5 => {
                    let most = i32::MAX >> (32 - bits);
                    (value as i32).clamp(-most - 1, most) as u32
                }
                _ if bits == 16 => gcn3::exec::float::f32_to_f16(float),
                _ => value,
            };
            whole.to_le_bytes()[..bytes].to_vec()
        });
        components.collect::<Vec<_>>().concat()
    }

    /// The number of the four components that are not stored.
    fn missing(&self) -> usize {
        4 - ORDERS.iter().find(|row| row.0 == self.order).map_or(4, |row| row.1)
    }
}
