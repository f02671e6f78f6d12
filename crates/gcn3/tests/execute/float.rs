//! Vector instructions on floats, in the mode that compilers use: round to nearest, 32-bit denormals flushed.

use super::support::{Bench, Numbers, double, float, inst, v, vector};
use gcn3::{
    inst::{Omod, Operand},
    ops::Op,
};

const SMALLEST: f32 = f32::from_bits(1);

#[test]
#[rustfmt::skip]
fn results_of_32_bit_instructions() {
    let tiny = f32::MIN_POSITIVE;
    let rows: &[(Op, &[f32], f32)] = &[
        (Op::VAddF32,       &[1.5, 2.25],             3.75),
        (Op::VSubF32,       &[1.5, 2.25],             -0.75),
        (Op::VSubrevF32,    &[1.5, 2.25],             0.75),
        (Op::VMulF32,       &[1.5, -2.0],             -3.0),
        (Op::VMulLegacyF32, &[0.0, f32::INFINITY],    0.0),
        (Op::VMadF32,       &[3.0, 4.0, 5.0],         17.0),
        (Op::VMadLegacyF32, &[0.0, f32::NAN, 5.0],    5.0),
        (Op::VFmaF32,       &[3.0, 4.0, 5.0],         17.0),
        (Op::VAddF32,       &[SMALLEST, SMALLEST],    0.0),
        (Op::VMulF32,       &[tiny, 0.5],             0.0),
        (Op::VMinF32,       &[1.0, -1.0],             -1.0),
        (Op::VMaxF32,       &[f32::NAN, 2.0],         2.0),
        (Op::VMin3F32,      &[3.0, 1.0, 2.0],         1.0),
        (Op::VMax3F32,      &[3.0, 1.0, 2.0],         3.0),
        (Op::VMed3F32,      &[3.0, 1.0, 2.0],         2.0),
        (Op::VMed3F32,      &[3.0, f32::NAN, 2.0],    2.0),
        (Op::VTruncF32,     &[-2.75],                 -2.0),
        (Op::VCeilF32,      &[2.25],                  3.0),
        (Op::VFloorF32,     &[-2.25],                 -3.0),
        (Op::VRndneF32,     &[2.5],                   2.0),
        (Op::VFractF32,     &[-0.25],                 0.75),
        (Op::VFractF32,     &[-1e-10],                f32::from_bits(0x3f7f_ffff)),
        (Op::VRcpF32,       &[4.0],                   0.25),
        (Op::VRcpF32,       &[-0.0],                  f32::NEG_INFINITY),
        (Op::VRsqF32,       &[0.25],                  2.0),
        (Op::VSqrtF32,      &[2.25],                  1.5),
        (Op::VExpF32,       &[-3.0],                  0.125),
        (Op::VLogF32,       &[0.125],                 -3.0),
        (Op::VSinF32,       &[0.25],                  1.0),
        (Op::VCosF32,       &[0.5],                   -1.0),
        (Op::VFrexpMantF32, &[-12.0],                 -0.75),
        (Op::VCubeidF32,    &[1.0, 2.0, -3.0],        5.0),
        (Op::VCubescF32,    &[1.0, 2.0, -3.0],        -1.0),
        (Op::VCubetcF32,    &[1.0, 2.0, -3.0],        -2.0),
        (Op::VCubemaF32,    &[1.0, 2.0, -3.0],        -6.0),
    ];
    for (op, operands, result) in rows {
        let got = float(*op, operands);
        assert_eq!(got.to_bits(), result.to_bits(), "{} {operands:?} gave {got}", op.mnemonic());
    }
}

#[test]
fn the_product_of_a_mad_is_rounded_and_that_of_an_fma_is_not() {
    // (1 + e)^2 - 1 - 2e is e^2, which only the fused instruction computes.
    let e = 2f32.powi(-20);
    assert_eq!(float(Op::VMadF32, &[1.0 + e, 1.0 + e, -1.0 - 2.0 * e]), 0.0);
    assert_eq!(float(Op::VFmaF32, &[1.0 + e, 1.0 + e, -1.0 - 2.0 * e]), e * e);
}

#[test]
fn mac_adds_to_its_destination() {
    let mut bench = Bench::new();
    bench.set(0, |lane| (lane as f32).to_bits());
    bench.set(1, |_| 2f32.to_bits());
    bench.set(2, |_| 3f32.to_bits());
    bench.run(&inst(Op::VMacF32, v(0), &[v(1), v(2), v(0)]));
    assert!((0..64).all(|lane| f32::from_bits(bench.get(0, lane)) == 6.0 + lane as f32));
}

#[test]
fn zeros_and_nans_have_an_order_in_minimum_and_maximum() {
    assert_eq!(vector(Op::VMinF32, &[0, 1 << 31]), 1 << 31);
    assert_eq!(vector(Op::VMaxF32, &[1 << 31, 0]), 0);
    assert_eq!(vector(Op::VMinF32, &[0x7f80_0001, 0]), 0x7fc0_0001, "IEEE: a signalling NaN wins, quieted");
    assert_eq!(vector(Op::VMinF32, &[0x7fc0_0001, 5]), 5, "denormals pass");
}

#[test]
fn sources_are_made_absolute_then_negated_and_results_are_scaled_and_clamped() {
    let mut bench = Bench::new();
    bench.wave.mode.0 = 0x1c0; // no IEEE mode: output modifiers work
    bench.set(1, |_| (-0.5f32).to_bits());
    bench.set(2, |_| 0.25f32.to_bits());
    let mut add = inst(Op::VAddF32, v(0), &[v(1), v(2)]);
    add.mods.abs = 0b01;
    add.mods.neg = 0b10;
    bench.run(&add);
    assert_eq!(f32::from_bits(bench.get(0, 5)), 0.25);
    add.mods.omod = Omod::Mul4;
    bench.run(&add);
    assert_eq!(f32::from_bits(bench.get(0, 5)), 1.0);
    add.mods.abs = 0;
    add.mods.clamp = true;
    bench.run(&add);
    assert_eq!(f32::from_bits(bench.get(0, 5)), 0.0);
    bench.set(1, |_| f32::NAN.to_bits());
    bench.run(&add);
    assert_eq!(bench.get(0, 5), 0, "DX10: NaN is clamped to 0");
    bench.wave.mode.0 = 0x0c0;
    bench.run(&add);
    assert!(f32::from_bits(bench.get(0, 5)).is_nan());
}

#[test]
#[rustfmt::skip]
fn results_of_64_bit_instructions() {
    let rows: &[(Op, &[f64], f64)] = &[
        (Op::VAddF64,       &[1.5, 2.25],               3.75),
        (Op::VMulF64,       &[1.5, -2.0],               -3.0),
        (Op::VFmaF64,       &[1.0 + 1e-10, 1.0 - 1e-10, -1.0], (1.0f64 + 1e-10).mul_add(1.0 - 1e-10, -1.0)),
        (Op::VMinF64,       &[1.0, -1.0],               -1.0),
        (Op::VMaxF64,       &[f64::NAN, -1.0],          -1.0),
        (Op::VTruncF64,     &[-2.75],                   -2.0),
        (Op::VCeilF64,      &[2.25],                    3.0),
        (Op::VFloorF64,     &[-2.25],                   -3.0),
        (Op::VRndneF64,     &[3.5],                     4.0),
        (Op::VFractF64,     &[-0.25],                   0.75),
        (Op::VRcpF64,       &[4.0],                     0.25),
        (Op::VRsqF64,       &[0.25],                    2.0),
        (Op::VSqrtF64,      &[2.25],                    1.5),
        (Op::VFrexpMantF64, &[-12.0],                   -0.75),
        (Op::VFrexpMantF64, &[5e-324],                  0.5),
        (Op::VAddF64,       &[5e-324, 5e-324],          1e-323),
    ];
    for (op, operands, result) in rows {
        let got = double(*op, operands);
        assert_eq!(got.to_bits(), result.to_bits(), "{} {operands:?} gave {got:e}", op.mnemonic());
    }
}

#[test]
fn powers_of_two_are_applied_with_one_rounding() {
    let ldexp = |value: f64, power: i32| {
        let mut bench = Bench::new();
        bench.set64(2, |_| value.to_bits());
        bench.set(4, |_| power as u32);
        bench.run(&inst(Op::VLdexpF64, v(0), &[v(2), v(4)]));
        f64::from_bits(bench.get64(0, 0))
    };
    assert_eq!(ldexp(1.5, 10), 1536.0);
    assert_eq!(ldexp(1.5, -1074), 1e-323, "ties to even");
    assert_eq!(ldexp(1.0, 1 << 30), f64::INFINITY);
    assert_eq!(ldexp(5e-324, 1074), 1.0);
    assert_eq!(float_power(0.75, 3), 6.0);
    assert_eq!(float_power(1.0, -200), 0.0);
}

fn float_power(value: f32, power: i32) -> f32 {
    f32::from_bits(vector(Op::VLdexpF32, &[value.to_bits(), power as u32]))
}

#[test]
#[rustfmt::skip]
fn conversions_saturate() {
    let rows: &[(Op, f32, u32)] = &[
        (Op::VCvtI32F32, -1.9, -1i32 as u32), (Op::VCvtI32F32, 3e9, i32::MAX as u32), (Op::VCvtI32F32, f32::NAN, 0),
        (Op::VCvtU32F32, -5.0, 0), (Op::VCvtU32F32, 1e10, u32::MAX), (Op::VCvtU32F32, 3.99, 3),
        (Op::VCvtRpiI32F32, 2.5, 3), (Op::VCvtRpiI32F32, -2.5, -2i32 as u32), (Op::VCvtFlrI32F32, -2.5, -3i32 as u32),
        (Op::VCvtF16F32, 65536.0, 0x7c00), (Op::VCvtF16F32, 1.0 + 1.0 / 2048.0, 0x3c00),
        (Op::VFrexpExpI32F32, -12.0, 4), (Op::VFrexpExpI32F32, f32::INFINITY, 0),
    ];
    for (op, value, result) in rows {
        assert_eq!(vector(*op, &[value.to_bits()]), *result, "{} {value}", op.mnemonic());
    }
    let integers: &[(Op, u32, f32)] = &[
        (Op::VCvtF32I32, -3i32 as u32, -3.0), (Op::VCvtF32U32, u32::MAX, 4_294_967_296.0),
        (Op::VCvtF32Ubyte0, 0x1234_5678, 120.0), (Op::VCvtF32Ubyte1, 0x1234_5678, 86.0),
        (Op::VCvtF32Ubyte2, 0x1234_5678, 52.0), (Op::VCvtF32Ubyte3, 0x1234_5678, 18.0),
        (Op::VCvtF32F16, 0x3800, 0.5), (Op::VCvtOffF32I4, 0xf, -0.0625),
    ];
    for (op, value, result) in integers {
        assert_eq!(f32::from_bits(vector(*op, &[*value])), *result, "{} {value:#x}", op.mnemonic());
    }
    assert_eq!(vector(Op::VCvtPkrtzF16F32, &[1.999_999f32.to_bits(), (-1.0f32).to_bits()]), 0xbc00_3fff);
    assert_eq!(vector(Op::VCvtPknormI16F32, &[1f32.to_bits(), (-2f32).to_bits()]), 0x8001_7fff);
    assert_eq!(vector(Op::VCvtPknormU16F32, &[0.5f32.to_bits(), (-2f32).to_bits()]), 0x0000_8000);
    assert_eq!(vector(Op::VCvtPkU8F32, &[300f32.to_bits(), 1, 0x1234_5678]), 0x1234_ff78);
}

#[test]
fn doubles_convert() {
    let mut bench = Bench::new();
    bench.set64(2, |lane| (lane as f64 - 31.7).to_bits());
    bench.run(&inst(Op::VCvtI32F64, v(0), &[v(2)]));
    bench.run(&inst(Op::VCvtF32F64, v(1), &[v(2)]));
    bench.run(&inst(Op::VCvtF64F32, v(4), &[v(1)]));
    bench.run(&inst(Op::VCvtF64I32, v(6), &[v(0)]));
    bench.run(&inst(Op::VCvtF64U32, v(8), &[v(0)]));
    for lane in 0..64 {
        let value = lane as f64 - 31.7;
        assert_eq!(bench.get(0, lane), value as i32 as u32);
        assert_eq!(f32::from_bits(bench.get(1, lane)), value as f32);
        assert_eq!(f64::from_bits(bench.get64(4, lane)), f64::from(value as f32));
        assert_eq!(f64::from_bits(bench.get64(6, lane)), f64::from(value as i32));
        assert_eq!(f64::from_bits(bench.get64(8, lane)), f64::from(value as i32 as u32));
    }
}

#[test]
#[rustfmt::skip]
fn results_of_16_bit_instructions() {
    let rows: &[(Op, &[u32], u32)] = &[
        (Op::VAddF16,       &[0x3c00, 0x4000],         0x4200), // 1 + 2 = 3
        (Op::VSubF16,       &[0x3c00, 0x4000],         0xbc00),
        (Op::VSubrevF16,    &[0x3c00, 0x4000],         0x3c00),
        (Op::VMulF16,       &[0x4200, 0x4200],         0x4880), // 9
        (Op::VMadF16,       &[0x4200, 0x4200, 0x3c00], 0x4900), // 10
        (Op::VFmaF16,       &[0x3c01, 0x3c01, 0xbc02], 0x0010), // (1 + u)^2 - 1 - 2u = u^2 = 2^-20
        (Op::VMinF16,       &[0x3c00, 0xbc00],         0xbc00),
        (Op::VMaxF16,       &[0x7e00, 0xbc00],         0xbc00),
        (Op::VRcpF16,       &[0x4400],                 0x3400),
        (Op::VSqrtF16,      &[0x4400],                 0x4000),
        (Op::VRsqF16,       &[0x4400],                 0x3800),
        (Op::VExpF16,       &[0x4000],                 0x4400),
        (Op::VLogF16,       &[0x4400],                 0x4000),
        (Op::VSinF16,       &[0x3400],                 0x3c00),
        (Op::VCosF16,       &[0x3800],                 0xbc00),
        (Op::VFloorF16,     &[0xbe00],                 0xc000),
        (Op::VCeilF16,      &[0x3e00],                 0x4000),
        (Op::VTruncF16,     &[0xbe00],                 0xbc00),
        (Op::VRndneF16,     &[0x4100],                 0x4000),
        (Op::VFractF16,     &[0xb400],                 0x3a00),
        (Op::VLdexpF16,     &[0x3c00, 3],              0x4800),
        (Op::VFrexpMantF16, &[0x4a00],                 0x3a00),
        (Op::VFrexpExpI16F16, &[0x4a00],               4),
        (Op::VCvtF16U16,    &[0xffff],                 0x7c00),
        (Op::VCvtF16I16,    &[0xffff],                 0xbc00),
        (Op::VCvtU16F16,    &[0xbc00],                 0),
        (Op::VCvtI16F16,    &[0xbe00],                 0xffff),
    ];
    for (op, operands, result) in rows {
        assert_eq!(vector(*op, operands), *result, "{} {operands:x?}", op.mnemonic());
    }
}

#[test]
fn constants_take_the_width_of_the_operand() {
    let mut bench = Bench::new();
    bench.run(&inst(Op::VAddF16, v(0), &[Operand::HALF, Operand::HALF]));
    assert_eq!(bench.get(0, 0), 0x3c00);
    bench.run(&inst(Op::VAddF64, v(0), &[Operand::HALF, Operand::HALF]));
    assert_eq!(bench.get64(0, 0), 1f64.to_bits());
    let mut literal = inst(Op::VAddF64, v(0), &[Operand::LITERAL, Operand::ZERO]);
    literal.imm = 0x4008_0000;
    bench.run(&literal);
    assert_eq!(f64::from_bits(bench.get64(0, 0)), 3.0, "a literal is the high half");
}

/// The 32-bit division sequence of compilers, with denormals enabled inside.
fn divide32(numerators: &[f32; 64], denominators: &[f32; 64], mode: u32) -> [f32; 64] {
    let mut b = Bench::new();
    b.wave.mode.0 = mode;
    b.set(1, |lane| numerators[lane].to_bits());
    b.set(2, |lane| denominators[lane].to_bits());
    let neg0 = |mut i: gcn3::inst::Inst| {
        i.mods.neg = 1;
        i
    };
    let one = Operand::from_field(242);
    let mut scale = inst(Op::VDivScaleF32, v(3), &[v(2), v(2), v(1)]);
    scale.sdst = super::support::s(10);
    b.run(&scale);
    b.run(&inst(Op::VDivScaleF32, v(4), &[v(1), v(2), v(1)]));
    b.run(&inst(Op::VRcpF32, v(5), &[v(3)]));
    b.wave.mode.0 = mode | 0x30;
    b.run(&neg0(inst(Op::VFmaF32, v(6), &[v(3), v(5), one])));
    b.run(&inst(Op::VFmaF32, v(5), &[v(6), v(5), v(5)]));
    b.run(&inst(Op::VMulF32, v(7), &[v(4), v(5)]));
    b.run(&neg0(inst(Op::VFmaF32, v(8), &[v(3), v(7), v(4)])));
    b.run(&inst(Op::VFmaF32, v(7), &[v(8), v(5), v(7)]));
    b.run(&neg0(inst(Op::VFmaF32, v(8), &[v(3), v(7), v(4)])));
    b.run(&inst(Op::VDivFmasF32, v(8), &[v(8), v(5), v(7)]));
    b.wave.mode.0 = mode;
    b.run(&inst(Op::VDivFixupF32, v(0), &[v(8), v(2), v(1)]));
    std::array::from_fn(|lane| f32::from_bits(b.get(0, lane)))
}

#[test]
fn a_division_of_floats_is_correctly_rounded() {
    let mut numbers = Numbers(1);
    let special = [0.0, -0.0, 1.0, f32::MAX, f32::MIN_POSITIVE, SMALLEST, f32::INFINITY, f32::NAN, 3.0, 1e-38, 1e38];
    for round in 0..400 {
        let mut pick = |lane: usize| match (round, lane) {
            (0..8, _) => special[(numbers.next() % special.len() as u64) as usize],
            _ => f32::from_bits(numbers.next() as u32),
        };
        let (n, d): ([f32; 64], [f32; 64]) = (std::array::from_fn(&mut pick), std::array::from_fn(&mut pick));
        let got = divide32(&n, &d, 0x3f0);
        for lane in 0..64 {
            let want = n[lane] / d[lane];
            let same = got[lane].to_bits() == want.to_bits() || got[lane].is_nan() && want.is_nan();
            assert!(same, "{:e} / {:e} = {want:e}, not {:e}", n[lane], d[lane], got[lane]);
        }
    }
}

/// The 64-bit division sequence of compilers.
fn divide64(numerators: &[f64; 64], denominators: &[f64; 64]) -> [f64; 64] {
    let mut b = Bench::new();
    b.set64(2, |lane| numerators[lane].to_bits());
    b.set64(4, |lane| denominators[lane].to_bits());
    let neg0 = |mut i: gcn3::inst::Inst| {
        i.mods.neg = 1;
        i
    };
    let one = Operand::from_field(242);
    let mut scale = inst(Op::VDivScaleF64, v(6), &[v(4), v(4), v(2)]);
    scale.sdst = super::support::s(10);
    b.run(&scale);
    b.run(&inst(Op::VDivScaleF64, v(12), &[v(2), v(4), v(2)]));
    b.run(&inst(Op::VRcpF64, v(8), &[v(6)]));
    for _ in 0..2 {
        b.run(&neg0(inst(Op::VFmaF64, v(10), &[v(6), v(8), one])));
        b.run(&inst(Op::VFmaF64, v(8), &[v(8), v(10), v(8)]));
    }
    b.run(&inst(Op::VMulF64, v(10), &[v(12), v(8)]));
    b.run(&neg0(inst(Op::VFmaF64, v(6), &[v(6), v(10), v(12)])));
    b.run(&inst(Op::VDivFmasF64, v(6), &[v(6), v(8), v(10)]));
    b.run(&inst(Op::VDivFixupF64, v(0), &[v(6), v(4), v(2)]));
    std::array::from_fn(|lane| f64::from_bits(b.get64(0, lane)))
}

#[test]
fn a_division_of_doubles_is_correctly_rounded() {
    let mut numbers = Numbers(2);
    let special = [0.0, -0.0, 1.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, f64::INFINITY, f64::NAN, 3.0, 1e-308, 1e308];
    for round in 0..400 {
        let mut pick = |_: usize| match round {
            0..8 => special[(numbers.next() % special.len() as u64) as usize],
            _ => f64::from_bits(numbers.next()),
        };
        let (n, d): ([f64; 64], [f64; 64]) = (std::array::from_fn(&mut pick), std::array::from_fn(&mut pick));
        let got = divide64(&n, &d);
        for lane in 0..64 {
            let want = n[lane] / d[lane];
            let same = got[lane].to_bits() == want.to_bits() || got[lane].is_nan() && want.is_nan();
            assert!(same, "{:e} / {:e} = {want:e}, not {:e}", n[lane], d[lane], got[lane]);
        }
    }
}

#[test]
fn pieces_of_two_over_pi_add_up() {
    let piece = |value: f64, segment: u32| {
        let mut bench = Bench::new();
        bench.set64(2, |_| value.to_bits());
        bench.set(4, |_| segment);
        bench.run(&inst(Op::VTrigPreopF64, v(0), &[v(2), v(4)]));
        f64::from_bits(bench.get64(0, 0))
    };
    assert_eq!(piece(1.0, 0), 0.636_619_772_367_581_3, "the first 53 bits, cut");
    assert!(piece(1.0, 0) + piece(1.0, 1) == std::f64::consts::FRAC_2_PI);
    assert!(piece(1.0, 1) > 0.0 && piece(1.0, 1) < 2f64.powi(-53));
    // A large argument shifts the pieces: those that would be a multiple of a full turn are left out.
    assert!(piece(2f64.powi(60), 0) < piece(1.0, 0));
}
