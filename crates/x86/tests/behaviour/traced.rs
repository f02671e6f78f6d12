//! A traced single-stepped run ends in the same state as a run from blocks.

use x86::trace::Recorder;
use x86::{Blocks, Cpu, Exit, Flat, Reg};

const BASE: u64 = 0x40_0000;
const BYTES: usize = 16 << 20;
const INSTRUCTIONS: u64 = 150_000;

/// Loads a static program, ready to start.
fn load(elf: &[u8]) -> (Cpu, Flat) {
    let word = |at: usize| u64::from_le_bytes(elf[at..at + 8].try_into().expect("eight bytes"));
    let mut memory = Flat::new(BASE, BYTES);
    let headers = usize::from(elf[56]);
    for header in (0..headers).map(|i| word(32) as usize + 56 * i).filter(|at| word(*at) as u32 == 1) {
        let (offset, size) = (word(header + 8) as usize, word(header + 32) as usize);
        let place = (word(header + 16) - BASE) as usize;
        memory.bytes()[place..place + size].copy_from_slice(&elf[offset..offset + size]);
    }
    let mut cpu = Cpu::new();
    cpu.rip = word(24);
    cpu.gpr[Reg::Rsp] = BASE + BYTES as u64 - 4096;
    (cpu, memory)
}

fn check(elf: &[u8]) {
    let (mut plain, mut memory) = load(elf);
    assert_eq!(plain.run(&mut memory, &mut Blocks::new(), INSTRUCTIONS), Exit::Limit);

    let (mut traced, memory_of_traced) = load(elf);
    let mut recorder = Recorder::new(memory_of_traced);
    let mut blocks = Blocks::new();
    while traced.instructions < INSTRUCTIONS {
        traced.step_traced(&mut recorder, &mut blocks).expect("nothing faults");
    }

    assert_eq!((&traced.gpr, traced.rip, traced.flags), (&plain.gpr, plain.rip, plain.flags));
    assert_eq!((traced.xmm, traced.mxcsr), (plain.xmm, plain.mxcsr));
    assert!(recorder.memory().bytes() == memory.bytes(), "memory differs");
}

#[test]
fn integer_code_ends_alike_step_by_step() {
    check(include_bytes!("../../bench/integer.elf"));
}

#[test]
fn floating_point_code_ends_alike_step_by_step() {
    check(include_bytes!("../../bench/sse2.elf"));
}
