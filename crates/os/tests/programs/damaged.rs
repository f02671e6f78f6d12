//! Files that are not valid programs.

use crate::support::GUESTS;
use os::{Options, Process};

fn refusal(program: &[u8]) -> String {
    match Process::start(program, Options::new("/guest")) {
        Ok(_) => panic!("it was taken for a program"),
        Err(error) => error.to_string(),
    }
}

fn changed(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut program = GUESTS.to_vec();
    program[at..at + bytes.len()].copy_from_slice(bytes);
    program
}

#[test]
fn what_is_wrong_and_what_would_be_right_is_said() {
    assert!(refusal(b"").contains("not an ELF file"));
    assert!(refusal(b"#!/bin/sh\n").contains("script"));
    assert!(refusal(&changed(4, &[1])).contains("32-bit program; compile it for x86-64"));
    assert!(refusal(&changed(18, &[183, 0])).contains("for AArch64"));
    assert!(refusal(&changed(18, &[224, 0])).contains("cohesim launch"));
    assert!(refusal(&changed(16, &[1, 0])).contains("object file"));
    assert!(refusal(&changed(24, &[0; 8])).contains("entry point lies outside its code"));
    assert!(refusal(&GUESTS[..100]).contains("program headers lie outside"));
    assert!(refusal(&GUESTS[..8000]).contains("a segment lies outside"));
}

#[test]
fn the_error_for_a_dynamically_linked_program_advises_static_linking() {
    // The first program header becomes PT_INTERP, with a path at the end of the file.
    let headers = u64::from_le_bytes(GUESTS[32..40].try_into().unwrap()) as usize;
    let mut program = changed(headers, &[3, 0, 0, 0]);
    program[headers + 8..headers + 16].copy_from_slice(&(GUESTS.len() as u64).to_le_bytes());
    program[headers + 32..headers + 40].copy_from_slice(&8_u64.to_le_bytes());
    program.extend(b"/lib/ld\0");
    assert!(refusal(&program).contains("it needs /lib/ld): link it with -static, or"));
}

#[test]
fn a_program_larger_than_its_memory_is_refused() {
    let mut options = Options::new("/guest");
    options.memory = mem::Bytes(64 << 10);
    let error = Process::start(GUESTS, options).err().expect("it can't fit").to_string();
    assert!(error.contains("--memory"), "{error}");
}

#[test]
fn no_damage_makes_the_loader_panic() {
    for place in 0..64 + 56 * 8 {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            // Any outcome is fine, except a panic.
            let _ = Process::start(&changed(place, &[value]), Options::new("/guest"));
        }
    }
}
