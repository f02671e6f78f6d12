//! Runs a sequence in the emulator: from blocks, as programs run, or step by step, as a timing model does.

use crate::state::{CODE, CODE_BYTES, EXIT_POINTER, End, SCRATCH, SCRATCH_BYTES, State};
use x86::{Access, Blocks, Cpu, Exit, Fault, Memory, Reg, Size, Stop};

/// The target of the last jump: there is no code, so the emulator stops.
const EXIT: u64 = 0x1680_0000;

pub struct Emulator {
    memory: Bytes,
    blocks: Blocks<Bytes>,
    steps: Blocks<Bytes>,
}

/// How the emulator runs a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Blocks,
    Steps,
}

/// An instruction limit above the length of any sequence.
const LIMIT: u64 = 1_000_000;

struct Bytes {
    scratch: Box<[u8; SCRATCH_BYTES]>,
    code: Vec<u8>,
    version: u64,
}

const REGISTERS: [Reg; 16] = [
    Reg::Rax,
    Reg::Rcx,
    Reg::Rdx,
    Reg::Rbx,
    Reg::Rsp,
    Reg::Rbp,
    Reg::Rsi,
    Reg::Rdi,
    Reg::R8,
    Reg::R9,
    Reg::R10,
    Reg::R11,
    Reg::R12,
    Reg::R13,
    Reg::R14,
    Reg::R15,
];

impl Emulator {
    pub fn new() -> Emulator {
        let memory = Bytes { scratch: Box::new([0; SCRATCH_BYTES]), code: Vec::new(), version: 0 };
        Emulator { memory, blocks: Blocks::new(), steps: Blocks::new() }
    }

    pub fn run(&mut self, code: &[u8], start: &State, way: Way) -> (State, End) {
        let mut cpu = Cpu::new();
        cpu.rip = CODE;
        for (register, value) in REGISTERS.into_iter().zip(start.gprs) {
            cpu.gpr[register] = value;
        }
        cpu.flags.set(start.flags);
        cpu.fxrstor(&start.fx);
        self.memory.prepare(code, start);
        let exit = match way {
            Way::Blocks => cpu.run(&mut self.memory, &mut self.blocks, LIMIT),
            Way::Steps => {
                let stopped = (0..LIMIT).find_map(|_| cpu.step(&mut self.memory, &mut self.steps).err());
                stopped.unwrap_or(Exit::Limit)
            }
        };
        let end = match exit {
            Exit::Fault(exception) if exception.rip == EXIT => End::Finished,
            Exit::Fault(exception) => {
                let address = if let Fault::Page { address, .. } = exception.fault { address } else { 0 };
                let (vector, code) = (exception.fault.vector(), exception.fault.error_code());
                End::Fault { vector, code, address, rip: exception.rip }
            }
            other => panic!("a sequence ended with {other:?}"),
        };
        let gprs = REGISTERS.map(|register| cpu.gpr[register]);
        let state = State { gprs, flags: cpu.flags.get(), fx: cpu.fxsave(), scratch: self.memory.scratch.clone() };
        (state, end)
    }
}

impl Bytes {
    fn prepare(&mut self, code: &[u8], start: &State) {
        self.scratch.copy_from_slice(&*start.scratch);
        self.code.clear();
        self.code.extend_from_slice(code);
        self.code.resize(CODE_BYTES, 0);
        self.version += 1;
    }

    /// Bytes of the code, read as data.
    fn code_at(&self, address: u64, bytes: u64) -> Option<&[u8]> {
        let at = address.checked_sub(CODE)? as usize;
        self.code.get(at..at.checked_add(bytes as usize)?)
    }

    /// The range of `bytes` scratch bytes at `address`, or a fault at the first byte outside.
    fn range(&self, address: u64, bytes: u64, access: Access) -> Result<std::ops::Range<usize>, Stop> {
        let outside = |address: u64| address.wrapping_sub(SCRATCH) >= SCRATCH_BYTES as u64;
        match (0..bytes).map(|i| address.wrapping_add(i)).find(|&address| outside(address)) {
            Some(address) => Err(Stop::PageFault { address, access, present: false }),
            None => {
                let at = (address - SCRATCH) as usize;
                Ok(at..at + bytes as usize)
            }
        }
    }
}

impl Memory for Bytes {
    fn load(&mut self, address: u64, size: Size) -> Result<u64, Stop> {
        if address == EXIT_POINTER && size == Size::B8 {
            return Ok(EXIT);
        }
        let mut value = [0; 8];
        let to = &mut value[..size.bytes() as usize];
        match self.code_at(address, size.bytes()) {
            Some(code) => to.copy_from_slice(code),
            None => to.copy_from_slice(&self.scratch[self.range(address, size.bytes(), Access::Read)?]),
        }
        Ok(u64::from_le_bytes(value))
    }

    fn store(&mut self, address: u64, size: Size, value: u64) -> Result<(), Stop> {
        let range = self.range(address, size.bytes(), Access::Write)?;
        self.scratch[range].copy_from_slice(&value.to_le_bytes()[..size.bytes() as usize]);
        Ok(())
    }

    fn load128(&mut self, address: u64) -> Result<u128, Stop> {
        if let Some(code) = self.code_at(address, 16) {
            return Ok(u128::from_le_bytes(code.try_into().expect("sixteen bytes")));
        }
        let range = self.range(address, 16, Access::Read)?;
        Ok(u128::from_le_bytes(self.scratch[range].try_into().expect("sixteen bytes")))
    }

    fn store128(&mut self, address: u64, value: u128) -> Result<(), Stop> {
        let range = self.range(address, 16, Access::Write)?;
        self.scratch[range].copy_from_slice(&value.to_le_bytes());
        Ok(())
    }

    fn probe_write(&mut self, address: u64, bytes: u64) -> Result<(), Stop> {
        self.range(address, bytes, Access::Write).map(|_| ())
    }

    fn fetch(&mut self, address: u64, bytes: &mut [u8]) -> Result<usize, Stop> {
        let at = address.wrapping_sub(CODE);
        if at >= self.code.len() as u64 {
            return Err(Stop::PageFault { address, access: Access::Execute, present: false });
        }
        let rest = &self.code[at as usize..];
        let count = rest.len().min(bytes.len());
        bytes[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn code_version(&self) -> u64 {
        self.version
    }
}
