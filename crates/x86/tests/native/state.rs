//! The state before and after a sequence.

use super::random::Random;
use super::values;

/// The address of the scratch bytes that sequences work on: two pages with nothing around them.
pub const SCRATCH: u64 = 0x1579_0000;
pub const SCRATCH_BYTES: usize = 8192;
/// The address for instructions that store an x87 image; nothing else is stored there.
pub const IMAGE: u64 = SCRATCH + 0xc00;
/// The initial stack pointer.
const STACK: u64 = SCRATCH + 0x1800;
/// The address of the code: a readable and executable page, with zeros after the code.
pub const CODE: u64 = 0x1357_0000;
pub const CODE_BYTES: usize = 4096;
/// The address of the pointer that the last jump of a sequence loads.
pub const EXIT_POINTER: u64 = 0x1468_0000 + 144;

pub const RSP: usize = 4;
/// A register that holds a small index and is never written by a sequence.
pub const INDEX: usize = 14;
/// A register that points to the scratch bytes and is never written by a sequence.
pub const POINTER: usize = 15;

/// Registers and memory.
#[derive(Clone)]
pub struct State {
    pub gprs: [u64; 16],
    pub flags: u64,
    pub fx: [u8; 512],
    pub scratch: Box<[u8; SCRATCH_BYTES]>,
}

/// How a sequence ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The sequence ran to its end.
    Finished,
    /// An exception: its vector, its error code and address for a page fault, and its location.
    Fault { vector: u8, code: u64, address: u64, rip: u64 },
}

impl State {
    pub fn random(random: &mut Random) -> State {
        let mut gprs = std::array::from_fn(|_| values::integer(random));
        gprs[RSP] = STACK;
        gprs[INDEX] = random.below(64) as u64;
        gprs[POINTER] = SCRATCH + 0x400;
        let flags = 2 | random.bits() & 0x8d5 | if random.chance(10) { 0x400 } else { 0 };
        let mut scratch = Box::new([0; SCRATCH_BYTES]);
        for chunk in scratch.chunks_exact_mut(16) {
            let value = if random.chance(20) {
                let mut bytes = [0; 16];
                bytes[..10].copy_from_slice(&values::extended(random));
                bytes
            } else {
                values::vector(random).to_le_bytes()
            };
            chunk.copy_from_slice(&value);
        }
        State { gprs, flags, fx: fx(random), scratch }
    }
}

fn fx(random: &mut Random) -> [u8; 512] {
    let mut fx = [0; 512];
    let control = values::control(random);
    let flags = if random.chance(30) { random.bits() as u16 & 0x3f & control } else { 0 };
    let conditions = random.bits() as u16 & 0x4700;
    // In most cases a stack that is neither empty nor full.
    let (top, depth) = (random.below(8), random.below(9));
    let full = match random.below(10) {
        0 => random.bits() as u8,
        _ => (0..depth).fold(0, |full, i| full | 1u8 << ((top + i) % 8)),
    };
    fx[0..2].copy_from_slice(&control.to_le_bytes());
    fx[2..4].copy_from_slice(&(flags | conditions | (top as u16) << 11).to_le_bytes());
    fx[4] = full;
    fx[24..28].copy_from_slice(&values::mxcsr(random).to_le_bytes());
    for i in 0..8 {
        fx[32 + 16 * i..][..10].copy_from_slice(&values::extended(random));
    }
    for i in 0..16 {
        fx[160 + 16 * i..][..16].copy_from_slice(&values::vector(random).to_le_bytes());
    }
    fx
}
