//! Splits registers into lanes, and applies operations to lanes.

macro_rules! lanes {
    ($split:ident $join:ident $lane:ty, $count:literal) => {
        #[inline(always)]
        pub(super) fn $split(register: u128) -> [$lane; $count] {
            let bytes = register.to_le_bytes();
            let (chunks, _) = bytes.as_chunks();
            std::array::from_fn(|i| <$lane>::from_le_bytes(chunks[i]))
        }

        #[inline(always)]
        pub(super) fn $join(lanes: [$lane; $count]) -> u128 {
            let mut bytes = [0; 16];
            let (chunks, _) = bytes.as_chunks_mut();
            for (chunk, lane) in chunks.iter_mut().zip(lanes) {
                *chunk = lane.to_le_bytes();
            }
            u128::from_le_bytes(bytes)
        }
    };
}

lanes!(u8s from_u8s u8, 16);
lanes!(i8s from_i8s i8, 16);
lanes!(u16s from_u16s u16, 8);
lanes!(i16s from_i16s i16, 8);
lanes!(u32s from_u32s u32, 4);
lanes!(i32s from_i32s i32, 4);
lanes!(u64s from_u64s u64, 2);
lanes!(i64s from_i64s i64, 2);
lanes!(f32s from_f32s f32, 4);
lanes!(f64s from_f64s f64, 2);

/// Applies `operation` to each pair of lanes.
#[inline(always)]
pub(super) fn zip<A: Copy, R, const N: usize>(a: [A; N], b: [A; N], operation: impl Fn(A, A) -> R) -> [R; N] {
    std::array::from_fn(|i| operation(a[i], b[i]))
}
