//! MODE: rounding, denormals, IEEE.

use super::support::{Bench, double_in_mode, inst, v, vector_in_mode};
use gcn3::ops::Op;

/// MODE with rounding modes for 32-bit and for 16- and 64-bit operations; all denormals are kept.
fn rounding(single: u32, double: u32) -> u32 {
    0x3f0 | single | double << 2
}

#[test]
fn sums_round_in_the_four_directions() {
    let (one, half_ulp) = (1f32.to_bits(), 2f32.powi(-24).to_bits());
    let negative = |bits: u32| bits | 1 << 31;
    let add = |a: u32, b: u32, mode: u32| vector_in_mode(Op::VAddF32, &[a, b], rounding(mode, 0));
    // Nearest even, up, down, towards zero.
    assert_eq!([0, 1, 2, 3].map(|mode| add(one, half_ulp, mode)), [one, one + 1, one, one]);
    let below = negative(one);
    assert_eq!([0, 1, 2, 3].map(|mode| add(below, negative(half_ulp), mode)), [below, below, below + 1, below]);
    // Numbers below 1 have half the spacing: 2^-25 is half of it.
    let quarter_ulp = 2f32.powi(-25).to_bits();
    let sub = |mode: u32| vector_in_mode(Op::VSubF32, &[one, quarter_ulp], rounding(mode, 0));
    assert_eq!([0, 1, 2, 3].map(sub), [one, one, one - 1, one - 1]);
}

#[test]
fn the_two_rounding_fields_are_apart() {
    let (one, tiny) = (1f64, 2f64.powi(-60));
    let up = f64::from_bits(one.to_bits() + 1);
    assert_eq!(double_in_mode(Op::VAddF64, &[one, tiny], rounding(1, 0)), one);
    assert_eq!(double_in_mode(Op::VAddF64, &[one, tiny], rounding(0, 1)), up);
    assert_eq!(double_in_mode(Op::VMulF64, &[up, up], rounding(0, 3)), 1.0 + 2.0 * f64::EPSILON);
    let fused = double_in_mode(Op::VFmaF64, &[one, one, tiny], rounding(0, 1));
    assert_eq!(fused, up);
}

#[test]
fn conversions_follow_the_rounding_of_their_result() {
    let odd = 0x0100_0001; // 2^24 + 1 lies between two floats
    let cvt = |mode: u32| f32::from_bits(vector_in_mode(Op::VCvtF32U32, &[odd], rounding(mode, 0)));
    assert_eq!([0, 1, 2, 3].map(cvt), [16_777_216.0, 16_777_218.0, 16_777_216.0, 16_777_216.0]);
    let value = (1.0 + 2f32.powi(-11)).to_bits();
    let half = |mode: u32| vector_in_mode(Op::VCvtF16F32, &[value], rounding(0, mode));
    assert_eq!([0, 1, 2, 3].map(half), [0x3c00, 0x3c01, 0x3c00, 0x3c00]);
}

#[test]
fn denormals_are_kept_or_flushed_on_the_way_in_and_out() {
    let (denormal, smallest_normal) = (0x0040_0000u32, 0x0080_0000u32);
    let half = 0.5f32.to_bits();
    let mul = |a: u32, denormals: u32| vector_in_mode(Op::VMulF32, &[a, 1f32.to_bits()], 0x3c0 | denormals << 4);
    let down = |denormals: u32| vector_in_mode(Op::VMulF32, &[smallest_normal, half], 0x3c0 | denormals << 4);
    // Flush both; keep in, flush out; flush in, keep out; keep both.
    assert_eq!([0, 1, 2, 3].map(|denormals| mul(denormal, denormals)), [0, 0, 0, denormal]);
    assert_eq!([0, 1, 2, 3].map(down), [0, 0, denormal, denormal]);
    assert_eq!(vector_in_mode(Op::VMulF32, &[denormal | 1 << 31, 1f32.to_bits()], 0x3c0), 1 << 31, "the sign stays");
    assert_eq!(vector_in_mode(Op::VFmaF32, &[denormal, 1f32.to_bits(), 0], 0x3f0), denormal);
    assert_eq!(vector_in_mode(Op::VMadF32, &[denormal, 1f32.to_bits(), 0], 0x3f0), 0, "v_mad_f32 always flushes");
    assert_eq!(double_in_mode(Op::VAddF64, &[5e-324, 0.0], 0x3c0), 5e-324);
    assert_eq!(double_in_mode(Op::VAddF64, &[5e-324, 0.0], 0x300), 0.0);
    assert_eq!(vector_in_mode(Op::VAddF16, &[1, 1], 0x3c0), 2);
    assert_eq!(vector_in_mode(Op::VAddF16, &[1, 1], 0x300), 0);
}

#[test]
fn without_ieee_mode_a_signalling_nan_loses_like_any_other() {
    let signalling = 0x7f80_0001;
    assert_eq!(vector_in_mode(Op::VMaxF32, &[signalling, 7], 0x1f0), 7);
    assert_eq!(vector_in_mode(Op::VMaxF32, &[signalling, 7], 0x3f0), 0x7fc0_0001);
}

#[test]
fn lanes_that_are_off_keep_their_values_in_every_mode() {
    for mode in [0x3c0, 0x3c1, 0x3cf] {
        let mut bench = Bench::new();
        bench.wave.mode.0 = mode;
        bench.wave.set_exec(0x8000_0000_0000_0001);
        bench.set(0, |_| 1234);
        bench.set(1, |_| 2f32.to_bits());
        bench.run(&inst(Op::VAddF32, v(0), &[v(1), v(1)]));
        let changed: Vec<usize> = (0..64).filter(|lane| bench.get(0, *lane) != 1234).collect();
        assert_eq!(changed, [0, 63]);
        assert_eq!(f32::from_bits(bench.get(0, 63)), 4.0);
    }
}
