//! Compares the emulator with the host's processor. Both run generated sequences of instructions from the same
//! registers, flags, memory, MXCSR and x87 state, and everything that is architecturally defined must be equal
//! afterwards, including faults. A sequence that differs is shortened and printed with both results.
//!
//! The sequences here are the same in every run. To run others, and more of them:
//! `cargo xtask diff-x86 --sequences 1000000 --seed 7`.
//!
//! This is the only place of the crate with `unsafe` (in `host.rs`): generated machine code is executed directly.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod compare;
mod emulator;
mod generate;
mod host;
mod instructions;
mod operands;
mod random;
mod runner;
mod state;
mod transcendental;
mod undefined;
mod values;

use instructions::Family;
use runner::{Plan, run};

/// Whether the host is suitable for the comparison. The emulator follows Intel where the manuals leave something open
/// (the bits of `rcpps`, C1, the steps of `fprem`, the priority of faults); other processors differ there.
fn can_compare() -> bool {
    let known = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let can = known.contains("GenuineIntel") && known.contains("sse4_2");
    if !can {
        eprintln!("skipped: this comparison needs a processor of Intel's with SSE4.2");
    }
    can
}

/// Runs a plan, and fails with the first few sequences that differ.
fn check(families: &[Family], sequences: u64, seed: u64) {
    if !can_compare() {
        return;
    }
    let outcome = run(&Plan { families: families.to_vec(), sequences, seed, keep: 12 });
    assert!(outcome.differences.is_empty(), "{outcome}");
    assert!(outcome.finished > sequences / 2, "most sequences should end without a fault: {outcome}");
    println!("{outcome}");
}

#[test]
fn integer_instructions_do_what_the_host_does() {
    check(&[Family::Integer], 30_000, 1);
}

#[test]
fn sse_instructions_do_what_the_host_does() {
    check(&[Family::Sse], 30_000, 2);
}

#[test]
fn x87_instructions_do_what_the_host_does() {
    check(&[Family::X87], 30_000, 3);
}

#[test]
fn mmx_instructions_do_what_the_host_does() {
    check(&[Family::Mmx, Family::X87], 10_000, 5);
}

#[test]
fn instructions_of_all_kinds_together_do_what_the_host_does() {
    check(&[Family::Integer, Family::Sse, Family::X87, Family::Mmx], 20_000, 4);
}

/// The environment variables `DIFF_X86_SEQUENCES`, `DIFF_X86_SEED` and `DIFF_X86_FAMILIES` (integer, sse, x87, mmx)
/// select what to run.
#[test]
#[ignore = "as long as wanted: cargo xtask diff-x86"]
fn the_requested_number_of_sequences_runs() {
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is '{text}', not a number")),
        Err(_) => default,
    };
    let families = std::env::var("DIFF_X86_FAMILIES").unwrap_or_else(|_| "integer,sse,x87,mmx".to_owned());
    let families: Vec<Family> = families.split(',').map(Family::named).collect();
    check(&families, number("DIFF_X86_SEQUENCES", 1_000_000), number("DIFF_X86_SEED", 1));
}
