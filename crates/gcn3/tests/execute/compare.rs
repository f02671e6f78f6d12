//! Compares.

use super::support::{Bench, inst, s, v};
use gcn3::{inst::Operand, ops::Op};

/// The results in lanes 0 to 3 of a compare of each pair of values.
fn holds32(op: Op, pairs: [(u32, u32); 4]) -> [bool; 4] {
    let mut bench = Bench::new();
    bench.set(0, |lane| pairs[lane % 4].0);
    bench.set(1, |lane| pairs[lane % 4].1);
    bench.run(&inst(op, Operand::NONE, &[v(0), v(1)]));
    std::array::from_fn(|n| bench.wave.vcc() >> n & 1 == 1)
}

#[test]
fn float_conditions_treat_nan_as_unordered() {
    let f = f32::to_bits;
    let pairs = [(f(1.0), f(2.0)), (f(2.0), f(2.0)), (f(3.0), f(2.0)), (f(f32::NAN), f(2.0))];
    #[rustfmt::skip]
    let rows = [
        // less, equal, greater, unordered
        (Op::VCmpFF32,   [false, false, false, false]), (Op::VCmpLtF32,  [true,  false, false, false]),
        (Op::VCmpEqF32,  [false, true,  false, false]), (Op::VCmpLeF32,  [true,  true,  false, false]),
        (Op::VCmpGtF32,  [false, false, true,  false]), (Op::VCmpLgF32,  [true,  false, true,  false]),
        (Op::VCmpGeF32,  [false, true,  true,  false]), (Op::VCmpOF32,   [true,  true,  true,  false]),
        (Op::VCmpUF32,   [false, false, false, true ]), (Op::VCmpNgeF32, [true,  false, false, true ]),
        (Op::VCmpNlgF32, [false, true,  false, true ]), (Op::VCmpNgtF32, [true,  true,  false, true ]),
        (Op::VCmpNleF32, [false, false, true,  true ]), (Op::VCmpNeqF32, [true,  false, true,  true ]),
        (Op::VCmpNltF32, [false, true,  true,  true ]), (Op::VCmpTruF32, [true,  true,  true,  true ]),
    ];
    for (op, expected) in rows {
        assert_eq!(holds32(op, pairs), expected, "{}", op.mnemonic());
    }
}

#[test]
fn integer_conditions_are_signed_or_not() {
    let pairs = [(!0, 1), (1, 1), (1, !0), (0x8000_0000, 0x7fff_ffff)];
    #[rustfmt::skip]
    let rows = [
        (Op::VCmpLtI32, [true,  false, false, true ]), (Op::VCmpLtU32, [false, false, true,  false]),
        (Op::VCmpEqI32, [false, true,  false, false]), (Op::VCmpNeU32, [true,  false, true,  true ]),
        (Op::VCmpLeI32, [true,  true,  false, true ]), (Op::VCmpGeU32, [true,  true,  false, true ]),
        (Op::VCmpGtI32, [false, false, true,  false]), (Op::VCmpGtU32, [true,  false, false, true ]),
        (Op::VCmpFI32,  [false, false, false, false]), (Op::VCmpTU32,  [true,  true,  true,  true ]),
    ];
    for (op, expected) in rows {
        assert_eq!(holds32(op, pairs), expected, "{}", op.mnemonic());
    }
    assert_eq!(holds32(Op::VCmpLtI16, [(0x1_ffff, 1), (1, 1), (0, 1), (1, 0)]), [true, false, true, false]);
    assert_eq!(holds32(Op::VCmpLtU16, [(0x1_ffff, 1), (1, 1), (0, 1), (1, 0)]), [false, false, true, false]);
    assert_eq!(
        holds32(Op::VCmpLtF16, [(0xbc00, 0x3c00), (0x3c00, 0x3c00), (0x7e00, 0), (0, 0x3c00)]),
        [true, false, false, true]
    );
}

#[test]
fn wide_compares() {
    let holds = |op: Op, a: u64, b: u64| {
        let mut bench = Bench::new();
        bench.set64(0, |_| a);
        bench.set64(2, |_| b);
        bench.run(&inst(op, Operand::NONE, &[v(0), v(2)]));
        bench.wave.vcc() == !0
    };
    assert!(holds(Op::VCmpLtI64, !0, 0) && !holds(Op::VCmpLtU64, !0, 0) && holds(Op::VCmpNeU64, 1 << 40, 0));
    assert!(holds(Op::VCmpGtF64, 2f64.to_bits(), 1f64.to_bits()));
    assert!(holds(Op::VCmpNgtF64, f64::NAN.to_bits(), 0));
}

#[test]
fn cmpx_writes_exec_too_and_lanes_that_are_off_stay_off() {
    let mut bench = Bench::new();
    bench.wave.set_exec(0xff);
    bench.set(0, |lane| lane as u32);
    let mut compare = inst(Op::VCmpxGtU32, Operand::NONE, &[v(0), super::support::int(3)]);
    compare.sdst = s(4);
    bench.run(&compare);
    assert_eq!((bench.wave.exec(), bench.wave.pair(4)), (0xf0, 0xf0));
}

#[test]
fn classes_of_floats() {
    let values = [
        0x7f80_0001u32, // signalling NaN
        0x7fc0_0000,    // quiet NaN
        0xff80_0000,    // -infinity
        0xbf80_0000,    // -normal
        0x8000_0001,    // -denormal
        0x8000_0000,    // -0
        0x0000_0000,    // +0
        0x0000_0001,    // +denormal
        0x3f80_0000,    // +normal
        0x7f80_0000,    // +infinity
    ];
    for class in 0..10 {
        let mut bench = Bench::new();
        bench.set(0, |lane| values[lane % 10]);
        bench.set(1, |_| 1 << class);
        bench.run(&inst(Op::VCmpClassF32, Operand::NONE, &[v(0), v(1)]));
        assert_eq!(bench.wave.vcc() & 0x3ff, 1 << class, "class {class}");
        bench.set64(2, |lane| match values[lane % 10] {
            0x7f80_0001 => 0x7ff0_0000_0000_0001,
            0x8000_0001 => 0x8000_0000_0000_0001,
            0x0000_0001 => 1,
            other => f64::from(f32::from_bits(other)).to_bits(),
        });
        bench.run(&inst(Op::VCmpClassF64, Operand::NONE, &[v(2), v(1)]));
        assert_eq!(bench.wave.vcc() & 0x3ff, 1 << class, "class {class} of doubles");
    }
}
