//! Tests with known results. Most of the checking is the comparison with the host's units in `tests/native`.

use super::*;
use iced_x86::Code;

fn vector(code: Code, mxcsr: &mut Mxcsr, a: u128, b: u128, imm: u8) -> u128 {
    match operation(code, false) {
        Some(Operation::Vector(run)) => run(mxcsr, a, b, imm),
        _ => panic!("{code:?} takes other operands"),
    }
}

#[test]
fn the_first_inexact_sum_sets_the_flag_and_later_ones_keep_it() {
    let mut mxcsr = Mxcsr::default();
    let (a, b) = (1.0f64.to_bits().into(), 1e-20f64.to_bits().into());
    for _ in 0..2 {
        assert_eq!(vector(Code::Addsd_xmm_xmmm64, &mut mxcsr, a, b, 0), a);
        assert_eq!(mxcsr.0, 0x1fa0);
        assert!(!mxcsr.take_fault());
    }
}

#[test]
fn an_unmasked_division_by_zero_faults_and_says_why() {
    let mut mxcsr = Mxcsr(0x1f80 & !(1 << 9));
    vector(Code::Divss_xmm_xmmm32, &mut mxcsr, 1.0f32.to_bits().into(), 0, 0);
    assert!(mxcsr.take_fault());
    assert_eq!(mxcsr.0 & 0x3f, 4);
    // The sticky flag alone does not fault again.
    vector(Code::Divss_xmm_xmmm32, &mut mxcsr, 1.0f32.to_bits().into(), 1.0f32.to_bits().into(), 0);
    assert!(!mxcsr.take_fault());
}

#[test]
fn rounding_up_changes_the_last_bit_of_a_third() {
    let third = |mxcsr: u32| {
        let (one, three) = (1.0f64.to_bits().into(), 3.0f64.to_bits().into());
        vector(Code::Divsd_xmm_xmmm64, &mut Mxcsr(mxcsr), one, three, 0)
    };
    assert_eq!(third(0x1f80), u128::from((1.0f64 / 3.0).to_bits()));
    assert_eq!(third(0x1f80 | 2 << 13), u128::from((1.0f64 / 3.0).to_bits()) + 1);
}

#[test]
fn a_byte_is_found_in_a_string() {
    let Some(Operation::Strings { run, to_xmm0: false }) = operation(Code::Pcmpistri_xmm_xmmm128_imm8, false) else {
        panic!("pcmpistri compares strings");
    };
    let needle = u128::from(b'x');
    let text = u128::from_le_bytes(*b"there is an x in");
    assert_eq!(run(needle, text, 0, 0, 0).value, 12);
}

#[test]
fn the_checksum_of_the_digits_is_the_published_one() {
    let sum = b"123456789".iter().fold(!0, |crc, &byte| crc32(crc, byte.into(), 1));
    assert_eq!(!sum, 0xe306_9283);
}
