//! Decodes bytes to [`Inst`], with one file per family of encodings.
//!
//! The decoder accepts everything that the hardware defines, and rejects the rest with the words and the reason. Fields
//! that an instruction does not use are ignored, as in the hardware. Modifiers on an instruction that does not support
//! them (a negated source of `v_and_b32`) are rejected rather than dropped.
//!
//! Interpolation and export belong to graphics pipelines, which are not simulated: they are rejected by name.

mod data_share;
mod error;
mod operand;
mod scalar;
mod scalar_memory;
mod sub_dword;
mod vector;
mod vector_memory;
mod vop3;

pub(crate) use vector_memory::image_data_registers;

pub use error::{DecodeError, Reason};

use crate::inst::{Extra, Format, Inst, Mods, Operand};
use crate::ops::Op;

/// Decodes the instruction that starts `offset` bytes into `code`.
///
/// ```
/// let code = [0x01, 0x05, 0x06, 0x02]; // v_add_f32_e32 v3, v1, v2
/// let inst = gcn3::decode::decode(&code, 0).unwrap();
/// assert_eq!(inst.op, gcn3::ops::Op::VAddF32);
/// assert_eq!(inst.size, 4);
/// ```
pub fn decode(code: &[u8], offset: usize) -> Result<Inst, DecodeError> {
    let rest = code.get(offset..).unwrap_or_default();
    let Some(first) = word(rest, 0) else {
        return Err(DecodeError { offset, first: None, second: None, reason: Reason::Truncated { have: rest.len() } });
    };
    let words = Words { first, second: word(rest, 4) };
    decode_words(words).map_err(|reason| DecodeError { offset, first: Some(first), second: words.second, reason })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Determines the encoding from the first bits of the first word, in most cases from the top six.
fn decode_words(words: Words) -> Result<Inst, Reason> {
    let first = words.first;
    match first >> 26 {
        0b000000..0b100000 => vector::decode(words),
        0b100000..0b110000 => scalar::decode(words),
        0b110000 => scalar_memory::decode(words.pair()?),
        0b110001 => Err(Reason::Graphics { mnemonic: "exp" }),
        0b110100 => vop3::decode(words.pair()?),
        0b110101 => Err(vector::interpolation(first)),
        0b110110 => data_share::decode(words.pair()?),
        0b110111 => vector_memory::flat(words.pair()?),
        0b111000 => vector_memory::untyped_buffer(words.pair()?),
        0b111010 => vector_memory::typed_buffer(words.pair()?),
        0b111100 => vector_memory::image(words.pair()?),
        _ => Err(Reason::UnknownEncoding),
    }
}

/// The first word of an instruction, and the word after it, which may belong to it.
#[derive(Clone, Copy)]
struct Words {
    first: u32,
    second: Option<u32>,
}

impl Words {
    /// Bits `low..low + width` of the first word.
    fn field(self, low: u32, width: u32) -> u32 {
        self.first >> low & ((1 << width) - 1)
    }

    /// The second word, for an instruction that needs one.
    fn second(self) -> Result<u32, Reason> {
        self.second.ok_or(Reason::Truncated { have: 4 })
    }

    /// Both words of an encoding that always has two.
    fn pair(self) -> Result<Pair, Reason> {
        Ok(Pair(u64::from(self.second()?) << 32 | u64::from(self.first)))
    }
}

/// The two words of a long encoding, its bits numbered 0 to 63 as in the ISA manual.
#[derive(Clone, Copy)]
struct Pair(u64);

impl Pair {
    /// Bits `low..low + width`.
    fn field(self, low: u32, width: u32) -> u32 {
        (self.0 >> low) as u32 & ((1 << width) - 1)
    }

    fn bit(self, n: u32) -> bool {
        self.0 >> n & 1 != 0
    }
}

/// The instruction with this number in a table of [`crate::ops::by_opcode`].
fn lookup(table: &[Option<Op>], opcode: u32, encoding: &'static str) -> Result<Op, Reason> {
    table.get(opcode as usize).copied().flatten().ok_or(Reason::UnknownOpcode { encoding, opcode })
}

impl Inst {
    /// An instruction without operands, for a decoder to fill in.
    fn bare(op: Op, format: Format, size: u8) -> Inst {
        Inst {
            op,
            format,
            size,
            dst: Operand::NONE,
            sdst: Operand::NONE,
            src: [Operand::NONE; 3],
            imm: 0,
            mods: Mods::default(),
            extra: Extra::None,
        }
    }
}
