//! A CPU with memory and a program.

use x86::{Blocks, Cpu, Exit, Flat, Memory, Reg, Size};

/// The address of the program.
pub const CODE: u64 = 0x1000;
/// The address of its data.
pub const DATA: u64 = 0x2000;
/// The end of memory, and of its last page.
pub const END: u64 = 0x4000;

pub struct Machine {
    pub cpu: Cpu,
    pub memory: Flat,
    pub blocks: Blocks<Flat>,
}

/// A machine that is ready to run a program.
pub fn machine(code: &[u8]) -> Machine {
    let mut memory = Flat::new(CODE, (END - CODE) as usize);
    memory.bytes()[..code.len()].copy_from_slice(code);
    let mut cpu = Cpu::new();
    cpu.rip = CODE;
    cpu.gpr[Reg::Rsp] = END - 0x100;
    Machine { cpu, memory, blocks: Blocks::new() }
}

impl Machine {
    pub fn run(&mut self) -> Exit {
        self.run_for(1_000_000)
    }

    pub fn run_for(&mut self, budget: u64) -> Exit {
        self.cpu.run(&mut self.memory, &mut self.blocks, budget)
    }

    pub fn put(&mut self, address: u64, bytes: &[u8]) {
        let place = (address - CODE) as usize;
        self.memory.bytes()[place..place + bytes.len()].copy_from_slice(bytes);
    }

    pub fn get(&mut self, address: u64, length: usize) -> Vec<u8> {
        let place = (address - CODE) as usize;
        self.memory.bytes()[place..place + length].to_vec()
    }

    pub fn word(&mut self, address: u64) -> u64 {
        self.memory.load(address, Size::B8).expect("an address of the machine")
    }
}
