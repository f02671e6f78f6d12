//! A core that runs ahead of its stores ends where one that does not ends.

use x86::trace::Recorder;
use x86::{Blocks, Cpu, Exit, Flat, Reg, StoreQueue};

const BASE: u64 = 0x40_0000;
const BYTES: usize = 16 << 20;
const INSTRUCTIONS: u64 = 150_000;
/// So many stores may wait.
const QUEUE: usize = 40;

/// A static program in memory, about to start.
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

    let (mut ahead, behind) = load(elf);
    let mut queue = Recorder::new(StoreQueue::new(behind));
    let mut blocks = Blocks::new();
    while ahead.instructions < INSTRUCTIONS {
        ahead.step_traced(&mut queue, &mut blocks).expect("nothing faults");
        while queue.memory().pending().len() > QUEUE {
            queue.memory().commit().expect("it was probed");
        }
    }
    assert_eq!(queue.memory().pending().len(), QUEUE, "the core did run ahead");
    queue.memory().drain().expect("all were probed");

    assert_eq!((&ahead.gpr, ahead.rip, ahead.flags), (&plain.gpr, plain.rip, plain.flags));
    assert_eq!((ahead.xmm, ahead.mxcsr), (plain.xmm, plain.mxcsr));
    assert!(queue.memory().memory().bytes() == memory.bytes(), "memory differs");
}

#[test]
fn integer_code_ends_the_same_ahead_of_its_stores() {
    check(include_bytes!("../../bench/integer.elf"));
}

#[test]
fn floating_point_code_ends_the_same_ahead_of_its_stores() {
    check(include_bytes!("../../bench/sse2.elf"));
}
