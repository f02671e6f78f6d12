//! Tests of the stack, instruction by instruction; numeric results are tested elsewhere.

use super::*;
use iced_x86::Code;

fn stack(x87: &mut X87, code: Code, i: u8) {
    match operation(code) {
        Some((Operation::Stack(run), _)) => run(x87, i),
        _ => panic!("{code:?} is not an instruction on the stack"),
    }
}

fn load(x87: &mut X87, code: Code, bytes: u128) {
    match operation(code) {
        Some((Operation::Load(run), _)) => run(x87, bytes),
        _ => panic!("{code:?} is not a load"),
    }
}

fn store(x87: &mut X87, code: Code) -> Option<u128> {
    match operation(code) {
        Some((Operation::Store(run), _)) => run(x87),
        _ => panic!("{code:?} is not a store"),
    }
}

#[test]
fn a_polish_sum_is_stored_and_leaves_the_stack_empty() {
    let mut x87 = X87::default();
    load(&mut x87, Code::Fld_m64fp, 1.5f64.to_bits().into());
    load(&mut x87, Code::Fild_m32int, 40);
    stack(&mut x87, Code::Faddp_sti_st0, 1);
    assert_eq!(store(&mut x87, Code::Fstp_m64fp), Some(41.5f64.to_bits().into()));
    assert_eq!(x87, X87 { registers: x87.registers, ..X87::default() });
}

#[test]
fn a_ninth_push_overflows_to_the_indefinite_value() {
    let mut x87 = X87::default();
    for _ in 0..8 {
        stack(&mut x87, Code::Fld1, 0);
    }
    assert_eq!(x87.status & 0x3f, 0);
    stack(&mut x87, Code::Fld1, 0);
    assert_eq!(x87.status & 0x2ff, 1 | bits::STACK_FAULT | bits::C1);
    assert_eq!(x87.get(0), Some(F80::INDEFINITE));
}

#[test]
fn an_unmasked_exception_stays_pending_and_withholds_the_store() {
    let mut x87 = X87::default();
    load(&mut x87, Code::Fldcw_m2byte, 0x37e);
    assert_eq!(store(&mut x87, Code::Fstp_m32fp), None);
    assert!(x87.pending());
    stack(&mut x87, Code::Fnclex, 0);
    assert!(!x87.pending());
}

#[test]
fn a_state_saved_in_any_image_comes_back() {
    let mut x87 = X87::default();
    stack(&mut x87, Code::Fldpi, 0);
    stack(&mut x87, Code::Fldz, 0);
    load(&mut x87, Code::Fldcw_m2byte, 0x27f);
    let mut image = [0; 160];
    x87.fxsave(&mut image);
    let mut other = X87::default();
    other.fxrstor(&image);
    assert_eq!(other, x87);
    let mut image = [0; 108];
    other.store_state(&mut image);
    assert_eq!((other.control, other.status), (0x37f, 0));
    other.load_state(&image);
    assert_eq!(other, x87);
    assert_eq!(image[8..10], [0xff, 0x1f], "two registers at the end are full, one of them with zero");
}
