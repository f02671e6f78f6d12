//! Runs a static program that only writes and exits, over a flat memory: `cargo run --example flat -- PROGRAM`.

use std::io::Write;
use x86::{Blocks, Cpu, Exit, Flat, Reg};

fn word(bytes: &[u8], at: usize, size: usize) -> u64 {
    let mut all = [0; 8];
    all[..size].copy_from_slice(&bytes[at..at + size]);
    u64::from_le_bytes(all)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: flat PROGRAM")?;
    let elf = std::fs::read(path)?;
    let (base, length) = (0x40_0000, 64 << 20);
    let mut memory = Flat::new(base, length);
    let (table, entries) = (word(&elf, 32, 8) as usize, word(&elf, 56, 2) as usize);
    for header in elf[table..].chunks_exact(56).take(entries).filter(|header| word(header, 0, 4) == 1) {
        let (offset, address, size) = (word(header, 8, 8), word(header, 16, 8), word(header, 32, 8));
        let place = (address - base) as usize;
        memory.bytes()[place..][..size as usize].copy_from_slice(&elf[offset as usize..][..size as usize]);
    }
    let mut cpu = Cpu::new();
    cpu.rip = word(&elf, 24, 8);
    cpu.gpr[Reg::Rsp] = base + length as u64 - 4096;
    let mut blocks = Blocks::new();
    let start = std::time::Instant::now();
    loop {
        match cpu.run(&mut memory, &mut blocks, u64::MAX) {
            Exit::Syscall if cpu.gpr[Reg::Rax] == 1 => {
                let (at, length) = (cpu.gpr[Reg::Rsi] - base, cpu.gpr[Reg::Rdx]);
                std::io::stdout().write_all(&memory.bytes()[at as usize..][..length as usize])?;
                cpu.gpr[Reg::Rax] = length;
            }
            Exit::Syscall => break,
            Exit::Fault(exception) => return Err(exception.into()),
            other => return Err(format!("{other:?}").into()),
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let speed = cpu.instructions as f64 / seconds / 1e6;
    println!("exit {}, {} instructions, {seconds:.2} s, {speed:.0} M/s", cpu.gpr[Reg::Rdi], cpu.instructions);
    Ok(())
}
