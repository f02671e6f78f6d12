//! Tests with known results. Most of the checking is the comparison with the host's units in `tests/native`.

use super::transcendental as t;
use super::*;

fn f80(value: f64) -> F80 {
    F80::from_f64_bits(value.to_bits()).value
}

fn f64_of(value: F80) -> f64 {
    f64::from_bits(value.to_f64_bits(Settings::DEFAULT).0)
}

#[test]
fn doubles_survive_the_way_through_eighty_bits() {
    for value in [0.0, -0.0, 1.0, -1.5, 0.1, 1e308, 5e-324, f64::MAX, f64::MIN_POSITIVE, f64::INFINITY] {
        assert_eq!(f64_of(f80(value)).to_bits(), value.to_bits());
    }
}

#[test]
fn a_third_has_all_sixty_four_bits() {
    let third = F80::ONE.over(F80::from_i64(3), Settings::DEFAULT);
    assert_eq!(third.value, F80 { sign_exponent: 0x3ffd, significand: 0xaaaa_aaaa_aaaa_aaab });
    assert_eq!(third.flags, Flags::INEXACT | Flags::ROUNDED_UP);
    let down = Settings { rounding: Rounding::Down, ..Settings::DEFAULT };
    assert_eq!(F80::ONE.over(F80::from_i64(3), down).value.significand, 0xaaaa_aaaa_aaaa_aaaa);
}

#[test]
fn precision_control_shortens_the_significand() {
    let single = Settings { precision: 24, ..Settings::DEFAULT };
    let third = F80::ONE.over(F80::from_i64(3), single).value;
    assert_eq!(third.significand, 0xaaaa_ab00_0000_0000);
}

#[test]
fn the_root_of_two_is_right_to_the_last_bit() {
    let root = F80::from_i64(2).root(Settings::DEFAULT).value;
    assert_eq!(root, F80 { sign_exponent: 0x3fff, significand: 0xb504_f333_f9de_6484 });
}

#[test]
fn unnormals_are_invalid_operands() {
    let unnormal = F80 { sign_exponent: 0x3fff, significand: 1 };
    assert_eq!(unnormal.plus(F80::ONE, Settings::DEFAULT), Outcome::INVALID);
}

#[test]
fn an_unmasked_overflow_leaves_the_wrapped_exponent() {
    let huge = F80 { sign_exponent: 0x7ffe, significand: 1 << 63 };
    let masked = Settings { masked: Flags::NONE, ..Settings::DEFAULT };
    let square = huge.times(huge, masked);
    assert_eq!(square.flags, Flags::OVERFLOW);
    assert_eq!(square.value.exponent(), 2 * 16383 - 24576);
}

#[test]
fn decimals_go_to_memory_and_back() {
    let (digits, flags) = F80::from_i64(-123_456_789_012_345_678).to_decimal(Rounding::Nearest);
    assert_eq!(digits, [0x78, 0x56, 0x34, 0x12, 0x90, 0x78, 0x56, 0x34, 0x12, 0x80]);
    assert_eq!(flags, Flags::NONE);
    assert_eq!(F80::from_decimal(digits), F80::from_i64(-123_456_789_012_345_678));
}

#[test]
fn a_long_remainder_takes_several_steps() {
    let (mut x, divisor) = (f80(1e300), F80::from_i64(7));
    let mut steps = 0;
    loop {
        let step = x.remainder(divisor, Rounding::Zero, Settings::DEFAULT);
        x = step.outcome.value;
        steps += 1;
        if !step.partial {
            break;
        }
    }
    assert_eq!(f64_of(x), 1e300 % 7.0);
    assert!(steps > 10);
}

#[test]
fn transcendental_functions_are_near_those_of_doubles() {
    let s = Settings::DEFAULT;
    let near = |ours: F80, theirs: f64| {
        let ours = f64_of(ours);
        assert!((ours - theirs).abs() <= 4.0 * f64::EPSILON * theirs.abs(), "{ours} {theirs}");
    };
    for n in -40..=40 {
        let x = f64::from(n) / 16.0 + 0.003;
        near(t::sin(f80(x), s).unwrap().value, x.sin());
        near(t::cos(f80(x), s).unwrap().value, x.cos());
        near(t::tan(f80(x), s).unwrap().value, x.tan());
        near(t::atan2(f80(x), f80(0.7), s).value, x.atan2(0.7));
        near(t::atan2(f80(x), f80(-3.0), s).value, x.atan2(-3.0));
        near(t::y_log2_x(f80(3.0), f80(x.abs()), s).value, 3.0 * x.abs().log2());
        near(t::exp2_minus_one(f80(x / 3.0), s).value, (x / 3.0 * std::f64::consts::LN_2).exp_m1());
        near(t::y_log2_x_plus_one(f80(1.0), f80(x / 10.0), s).value, (x / 10.0).ln_1p() / std::f64::consts::LN_2);
    }
    assert_eq!(t::sin(f80(1e20), s), None);
}
