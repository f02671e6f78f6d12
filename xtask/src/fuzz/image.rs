//! Small static programs, built without a compiler: segments, and the few instructions that generated guests need.

/// A segment of a program.
pub struct Segment {
    /// First address; must be page-aligned.
    pub address: u64,
    pub bytes: Vec<u8>,
    /// Size in memory; bytes beyond `bytes` are zero.
    pub size: u64,
    /// ELF segment flags: 1 execute, 2 write, 4 read.
    pub flags: u32,
}

const PAGE: usize = 4096;
const HEADER: usize = 64;
const SEGMENT: usize = 56;

/// An executable for x86-64 Linux with these segments.
pub fn elf(entry: u64, segments: &[Segment]) -> Vec<u8> {
    let mut file = vec![0; (HEADER + SEGMENT * segments.len()).next_multiple_of(PAGE)];
    file[..8].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0]);
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    // An executable for x86-64, version 1.
    put(16, &[2, 0, 62, 0, 1, 0, 0, 0]);
    put(24, &entry.to_le_bytes());
    put(32, &(HEADER as u64).to_le_bytes());
    put(52, &(HEADER as u16).to_le_bytes());
    put(54, &(SEGMENT as u16).to_le_bytes());
    put(56, &(segments.len() as u16).to_le_bytes());
    for (number, segment) in segments.iter().enumerate() {
        let offset = file.len() as u64;
        let head = 1_u64 | u64::from(segment.flags) << 32;
        let (size, address) = (segment.bytes.len() as u64, segment.address);
        let words = [head, offset, address, address, size, segment.size.max(size), PAGE as u64];
        for (word, value) in words.into_iter().enumerate() {
            let at = HEADER + SEGMENT * number + 8 * word;
            file[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        file.extend(&segment.bytes);
        file.resize(file.len().next_multiple_of(PAGE), 0);
    }
    file
}

/// A register, by its number in machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register(pub u8);

pub const RAX: Register = Register(0);
pub const RCX: Register = Register(1);
pub const RDX: Register = Register(2);
pub const RSP: Register = Register(4);
pub const RSI: Register = Register(6);
pub const RDI: Register = Register(7);

/// The arguments of a system call.
pub const ARGUMENTS: [Register; 6] = [RDI, RSI, RDX, Register(10), Register(8), Register(9)];

/// A buffer of machine code.
#[derive(Default)]
pub struct Code(pub Vec<u8>);

impl Code {
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend(bytes);
        self
    }

    /// Address of the next instruction, if the code begins at `base`.
    pub fn here(&self, base: u64) -> u64 {
        base + self.0.len() as u64
    }

    /// `mov register, value`.
    pub fn set(&mut self, register: Register, value: u64) -> &mut Self {
        self.bytes(&[0x48 | register.0 >> 3, 0xb8 | register.0 & 7]).bytes(&value.to_le_bytes())
    }

    /// `mov rax, [address]`.
    pub fn load(&mut self, address: u64) -> &mut Self {
        self.bytes(&[0x48, 0xa1]).bytes(&address.to_le_bytes())
    }

    /// `mov [address], rax`.
    pub fn store(&mut self, address: u64) -> &mut Self {
        self.bytes(&[0x48, 0xa3]).bytes(&address.to_le_bytes())
    }

    /// `mov register, rax`.
    pub fn copy_rax(&mut self, register: Register) -> &mut Self {
        self.bytes(&[0x48 | register.0 >> 3, 0x89, 0xc0 | register.0 & 7])
    }

    /// `mov [rax + offset], register`.
    pub fn store_at_rax(&mut self, register: Register, offset: u32) -> &mut Self {
        self.bytes(&[0x48 | (register.0 >> 3) << 2, 0x89, 0x80 | (register.0 & 7) << 3]).bytes(&offset.to_le_bytes())
    }

    pub fn syscall(&mut self) -> &mut Self {
        self.bytes(&[0x0f, 0x05])
    }

    /// A system call with constant arguments.
    pub fn call(&mut self, number: u64, arguments: &[u64]) -> &mut Self {
        for (register, value) in ARGUMENTS.into_iter().zip(arguments) {
            self.set(register, *value);
        }
        self.set(RAX, number).syscall()
    }

    /// Copies `words` of eight bytes.
    pub fn copy(&mut self, to: u64, from: u64, words: u64) -> &mut Self {
        self.set(RDI, to).set(RSI, from).set(RCX, words).bytes(&[0xf3, 0x48, 0xa5])
    }

    /// `exit_group(0)`.
    pub fn exit(&mut self) -> &mut Self {
        self.call(231, &[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::guest::{Guest, functional};
    use os::End;

    #[test]
    fn a_generated_program_runs() {
        let mut code = Code::default();
        code.call(1, &[1, 0x50_0000, 5]).exit();
        let size = code.0.len() as u64;
        let segments = [
            Segment { address: 0x40_0000, bytes: code.0, size, flags: 5 },
            Segment { address: 0x50_0000, bytes: b"hello".to_vec(), size: 4096, flags: 6 },
        ];
        let guest = Guest::new(elf(0x40_0000, &segments));
        let (ended, _) = functional(&guest).expect("it is a program");
        assert_eq!((ended.end, ended.out.as_slice()), (End::Exited { code: 0 }, &b"hello"[..]));
    }
}
