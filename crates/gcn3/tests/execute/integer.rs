//! Vector instructions on integers.

use super::support::{Bench, inst, s, v, vector};
use gcn3::{inst::Operand, ops::Op};

#[test]
#[rustfmt::skip]
fn results_of_32_bit_instructions() {
    let rows: &[(Op, &[u32], u32)] = &[
        (Op::VMovB32,       &[5],                            5),
        (Op::VNotB32,       &[0xff],                         0xffff_ff00),
        (Op::VBfrevB32,     &[0x8000_0001],                  0x8000_0001),
        (Op::VFfbhU32,      &[0x0000_8000],                  16),
        (Op::VFfbhU32,      &[0],                            !0),
        (Op::VFfblB32,      &[0x0000_8000],                  15),
        (Op::VFfbhI32,      &[0xffff_7fff],                  16),
        (Op::VFfbhI32,      &[!0],                           !0),
        (Op::VAndB32,       &[0xff00, 0x0ff0],               0x0f00),
        (Op::VLshlrevB32,   &[36, 1],                        16),
        (Op::VLshrrevB32,   &[4, 0x8000_0000],               0x0800_0000),
        (Op::VAshrrevI32,   &[4, 0x8000_0000],               0xf800_0000),
        (Op::VMinI32,       &[!0, 1],                        !0),
        (Op::VMinU32,       &[!0, 1],                        1),
        (Op::VMaxI32,       &[!0, 1],                        1),
        (Op::VMulLoU32,     &[0xffff_ffff, 3],               0xffff_fffd),
        (Op::VMulHiU32,     &[0xffff_ffff, 3],               2),
        (Op::VMulHiI32,     &[0xffff_ffff, 3],               0xffff_ffff),
        (Op::VMulU32U24,    &[0xff00_0003, 0x0100_0005],     15),
        (Op::VMulHiU32U24,  &[0x00ff_ffff, 0x00ff_ffff],     0xffff),
        (Op::VMulI32I24,    &[0x00ff_ffff, 7],               0xffff_fff9),
        (Op::VMulHiI32I24,  &[0x00ff_ffff, 7],               0xffff_ffff),
        (Op::VMadU32U24,    &[0xff00_0003, 5, 100],          115),
        (Op::VMadI32I24,    &[0x00ff_fffe, 5, 100],          90),
        (Op::VBfeU32,       &[0x1234_5678, 4, 8],            0x67),
        (Op::VBfeU32,       &[0x1234_5678, 28, 8],           0x1),
        (Op::VBfeI32,       &[0x0000_0f00, 8, 4],            !0),
        (Op::VBfeI32,       &[0x8000_0000, 28, 8],           0xffff_fff8),
        (Op::VBfiB32,       &[0x00ff_00ff, 0x1111_1111, 0x2222_2222], 0x2211_2211),
        (Op::VBfmB32,       &[8, 4],                         0xff0),
        (Op::VAlignbitB32,  &[0x0000_00ab, 0xcdef_0123, 8],  0xabcd_ef01),
        (Op::VAlignbyteB32, &[0x0000_00ab, 0xcdef_0123, 1],  0xabcd_ef01),
        (Op::VPermB32,      &[0x8765_4321, 0x0fed_cba9, 0x0c00_0704], 0x00a9_8721),
        (Op::VPermB32,      &[0x8765_4321, 0x0fed_cba9, 0x0d0b_0908], 0xffff_00ff),
        (Op::VLerpU8,       &[0x0001_0203, 0x0002_0402, 0x0001_0001], 0x0002_0303),
        (Op::VMin3I32,      &[3, !0, 5],                     !0),
        (Op::VMax3U32,      &[3, !0, 5],                     !0),
        (Op::VMed3I32,      &[3, !0, 5],                     3),
        (Op::VMed3U32,      &[3, !0, 5],                     5),
        (Op::VMin3U32,      &[3, !0, 5],                     3),
        (Op::VMax3I32,      &[3, !0, 5],                     5),
        (Op::VSadU8,        &[0x0102_0304, 0x0403_0201, 10], 18),
        (Op::VSadHiU8,      &[0x0102_0304, 0x0403_0201, 10], (8 << 16) + 10),
        (Op::VMsadU8,       &[0x0102_0304, 0x0403_0001, 10], 17),
        (Op::VSadU16,       &[0x0001_0005, 0x0003_0001, 1],  7),
        (Op::VSadU32,       &[5, 9, 1],                      5),
        (Op::VBcntU32B32,   &[0xf0f0, 3],                    11),
        (Op::VCvtPkU16U32,  &[0x1_0000, 7],                  0x0007_ffff),
        (Op::VCvtPkI16I32,  &[0xffff_0000, 40000],           0x7fff_8000),
    ];
    for (op, operands, result) in rows {
        assert_eq!(vector(*op, operands), *result, "{} {operands:x?}", op.mnemonic());
    }
}

#[test]
#[rustfmt::skip]
fn results_of_16_bit_instructions_have_a_zero_upper_half() {
    let rows: &[(Op, &[u32], u32)] = &[
        (Op::VAddU16,     &[0x1234_ffff, 0x5678_0002],    1),
        (Op::VSubU16,     &[1, 2],                        0xffff),
        (Op::VSubrevU16,  &[1, 2],                        1),
        (Op::VMulLoU16,   &[0x0101, 0x0101],              0x0201),
        (Op::VLshlrevB16, &[17, 0x8001],                  2),
        (Op::VLshrrevB16, &[1, 0x1_8000],                 0x4000),
        (Op::VAshrrevI16, &[1, 0x8000],                   0xc000),
        (Op::VMinI16,     &[0xffff, 1],                   0xffff),
        (Op::VMaxU16,     &[0xffff, 1],                   0xffff),
        (Op::VMaxI16,     &[0xffff, 1],                   1),
        (Op::VMinU16,     &[0xffff, 1],                   1),
        (Op::VMadU16,     &[0x100, 0x101, 0xff],          0x01ff),
    ];
    for (op, operands, result) in rows {
        assert_eq!(vector(*op, operands), *result, "{} {operands:x?}", op.mnemonic());
    }
}

#[test]
fn carries_go_to_and_come_from_a_mask() {
    let mut bench = Bench::new();
    bench.wave.set_exec(0x0000_ffff_ffff_0000);
    bench.wave.set_vcc(!0);
    bench.set(1, |lane| if lane % 2 == 0 { !0 } else { 5 });
    bench.set(2, |_| 1);
    bench.set(0, |_| 99);
    bench.run(&inst(Op::VAddU32, v(0), &[v(1), v(2)]));
    assert_eq!(bench.wave.vcc(), 0x0000_5555_5555_0000, "lanes that are off get no carry");
    assert_eq!((bench.get(0, 16), bench.get(0, 17), bench.get(0, 0)), (0, 6, 99));

    bench.run(&inst(Op::VAddcU32, v(3), &[v(2), v(2), Operand::VCC]));
    assert_eq!((bench.get(3, 16), bench.get(3, 17)), (3, 2));
    assert_eq!(bench.wave.vcc(), 0);

    let mut subtract = inst(Op::VSubbU32, v(3), &[v(2), v(2), s(4)]);
    subtract.sdst = s(6);
    bench.wave.set_pair(4, !0);
    bench.run(&subtract);
    assert_eq!(bench.get(3, 20), !0);
    assert_eq!(bench.wave.pair(6), 0x0000_ffff_ffff_0000);
    bench.run(&inst(Op::VSubbrevU32, v(3), &[v(2), v(1), s(4)]));
    assert_eq!(bench.get(3, 17), 3, "5 - 1 - 1");
}

#[test]
fn clamped_sums_stop_at_the_end_of_the_range() {
    let clamped = |op: Op, a: u32, b: u32| {
        let mut bench = Bench::new();
        (bench.wave.scalars[0], bench.wave.scalars[1]) = (a, b);
        let mut add = inst(op, v(0), &[s(0), s(1)]);
        add.mods.clamp = true;
        bench.run(&add);
        bench.get(0, 3)
    };
    assert_eq!(clamped(Op::VAddU32, !0, 2), !0);
    assert_eq!(clamped(Op::VSubU32, 1, 2), 0);
    assert_eq!(clamped(Op::VAddU16, 0xffff, 2), 0xffff);
    assert_eq!(clamped(Op::VSubU16, 1, 2), 0);
}

#[test]
fn wide_products_and_shifts() {
    let mut bench = Bench::new();
    bench.set(1, |_| 0xffff_ffff);
    bench.set(2, |_| 3);
    bench.set64(4, |_| u64::MAX - 5);
    bench.run(&inst(Op::VMadU64U32, v(6), &[v(1), v(2), v(4)]));
    let (want, carry) = (0xffff_ffffu64 * 3).overflowing_add(u64::MAX - 5);
    assert_eq!((bench.get64(6, 9), bench.wave.vcc()), (want, if carry { !0 } else { 0 }));
    bench.run(&inst(Op::VMadI64I32, v(6), &[v(1), v(2), v(4)]));
    assert_eq!(bench.get64(6, 9), (-3i64).wrapping_add(-6) as u64);

    bench.set64(4, |_| 0x8000_0000_0000_0001);
    bench.set(1, |lane| lane as u32);
    bench.run(&inst(Op::VLshlrevB64, v(6), &[v(1), v(4)]));
    bench.run(&inst(Op::VLshrrevB64, v(8), &[v(1), v(4)]));
    bench.run(&inst(Op::VAshrrevI64, v(10), &[v(1), v(4)]));
    for lane in 0..64 {
        let value = 0x8000_0000_0000_0001u64;
        assert_eq!(bench.get64(6, lane), value << lane);
        assert_eq!(bench.get64(8, lane), value >> lane);
        assert_eq!(bench.get64(10, lane), (value as i64 >> lane) as u64);
    }
}

#[test]
fn sliding_sums_of_differences() {
    let mut bench = Bench::new();
    bench.set64(2, |_| 0x0807_0605_0403_0201);
    bench.set(4, |_| 0x0101_0101);
    bench.set64(6, |_| 0x0001_0002_0003_0004);
    bench.run(&inst(Op::VQsadPkU16U8, v(8), &[v(2), v(4), v(6)]));
    // Windows 1..4, 2..5, 3..6, 4..7 against ones: 6, 10, 14, 18.
    assert_eq!(bench.get64(8, 0), (18 + 1) << 48 | (14 + 2) << 32 | (10 + 3) << 16 | (6 + 4));
}

#[test]
fn bits_below_a_lane_are_counted_in_halves() {
    let mut bench = Bench::new();
    bench.run(&inst(Op::VMbcntLoU32B32, v(0), &[Operand::from_field(193), Operand::ZERO]));
    bench.run(&inst(Op::VMbcntHiU32B32, v(0), &[Operand::from_field(193), v(0)]));
    for lane in 0..64 {
        assert_eq!(bench.get(0, lane), lane as u32);
    }
}

#[test]
fn a_mask_chooses_between_two_sources() {
    let mut bench = Bench::new();
    bench.wave.set_exec(0xffff_ffff);
    bench.wave.set_vcc(0xaaaa_aaaa_aaaa_aaaa);
    bench.set(1, |_| 10);
    bench.set(2, |_| 20);
    bench.run(&inst(Op::VCndmaskB32, v(0), &[v(1), v(2), Operand::VCC]));
    assert_eq!((bench.get(0, 0), bench.get(0, 1), bench.get(0, 33)), (10, 20, 0));
}
