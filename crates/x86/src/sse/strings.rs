//! The string comparisons of SSE4.2. Every character of one operand is compared with every character of the other, and
//! one of four rules combines the results into a mask. The result is an index or the mask itself. The immediate gives
//! the character type (bits 0 and 1), the rule (2 and 3), the inversion of the mask (4 and 5) and the form of the
//! result (6).

use super::lanes::{u8s, u16s};
use crate::flags::{CF, OF, SF, ZF};

/// The result of a string comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringResult {
    /// The new value of xmm0, or of rcx in the low bits.
    pub value: u128,
    /// CF, ZF, SF and OF at their RFLAGS positions.
    pub flags: u64,
}

/// An operand: its characters, and the number of valid ones.
struct Text {
    characters: [i32; 16],
    length: usize,
}

/// The number of characters in a register.
fn capacity(imm: u8) -> usize {
    if imm & 1 != 0 { 8 } else { 16 }
}

impl Text {
    fn new(register: u128, imm: u8, length: Option<u64>) -> Text {
        let (bytes, words) = (u8s(register), u16s(register));
        let signed = imm & 2 != 0;
        let characters = std::array::from_fn(|i| match (imm & 1 != 0, signed) {
            (false, false) => i32::from(bytes[i]),
            (false, true) => i32::from(bytes[i] as i8),
            (true, false) => i32::from(words[i % 8]),
            (true, true) => i32::from(words[i % 8] as i16),
        });
        let capacity = capacity(imm);
        let length = match length {
            // Explicit lengths count by magnitude, limited to the size of the register.
            Some(length) => (length as i64).unsigned_abs().min(capacity as u64) as usize,
            None => characters[..capacity].iter().position(|&character| character == 0).unwrap_or(capacity),
        };
        Text { characters, length }
    }
}

/// The mask: bit j is the result of the rule for character j of the second operand.
fn gathered(a: &Text, b: &Text, imm: u8) -> u32 {
    let capacity = capacity(imm);
    let mask = |bit: &dyn Fn(usize) -> bool| (0..capacity).fold(0, |mask, j| mask | u32::from(bit(j)) << j);
    match imm >> 2 & 3 {
        // Equal any: is the character in the first operand?
        0 => mask(&|j| j < b.length && a.characters[..a.length].contains(&b.characters[j])),
        // Ranges: is the character in a range given by a pair of characters of the first operand?
        1 => mask(&|j| {
            j < b.length
                && a.characters[..a.length]
                    .chunks_exact(2)
                    .any(|range| range[0] <= b.characters[j] && b.characters[j] <= range[1])
        }),
        // Equal each: is the character equal to the first operand's at the same index? True beyond both ends.
        2 => mask(&|j| match (j < a.length, j < b.length) {
            (true, true) => a.characters[j] == b.characters[j],
            (false, false) => true,
            _ => false,
        }),
        // Equal ordered: does the first operand occur here?
        _ => mask(&|j| {
            (0..capacity - j).all(|i| i >= a.length || (i + j < b.length && a.characters[i] == b.characters[i + j]))
        }),
    }
}

fn compared(a: &Text, b: &Text, imm: u8, to_mask: bool) -> StringResult {
    let capacity = capacity(imm);
    let all = (1u32 << capacity) - 1;
    let gathered = gathered(a, b, imm);
    let result = match imm >> 4 & 3 {
        1 => !gathered & all,
        3 => gathered ^ ((1 << b.length) - 1),
        _ => gathered,
    };
    let value = match (to_mask, imm & 0x40 != 0) {
        (false, false) if result != 0 => result.trailing_zeros().into(),
        (false, true) if result != 0 => (31 - result.leading_zeros()).into(),
        (false, _) => capacity as u128,
        (true, false) => result.into(),
        (true, true) => {
            let width = 128 / capacity;
            let lane = u128::MAX >> (128 - width);
            (0..capacity).filter(|i| result >> i & 1 != 0).fold(0, |mask, i| mask | lane << (i * width))
        }
    };
    let flag = |set: bool, flag: u64| if set { flag } else { 0 };
    let flags = flag(result != 0, CF)
        | flag(b.length < capacity, ZF)
        | flag(a.length < capacity, SF)
        | flag(result & 1 != 0, OF);
    StringResult { value, flags }
}

/// `pcmpistri` and `pcmpistrm`: a zero ends a string.
pub(super) fn implicit<const TO_MASK: bool>(a: u128, b: u128, _: u64, _: u64, imm: u8) -> StringResult {
    compared(&Text::new(a, imm, None), &Text::new(b, imm, None), imm, TO_MASK)
}

/// `pcmpestri` and `pcmpestrm` with lengths in eax and edx.
pub(super) fn explicit<const TO_MASK: bool>(a: u128, b: u128, rax: u64, rdx: u64, imm: u8) -> StringResult {
    explicit_wide::<TO_MASK>(a, b, rax as i32 as u64, rdx as i32 as u64, imm)
}

/// `pcmpestri` and `pcmpestrm` with lengths in rax and rdx.
pub(super) fn explicit_wide<const TO_MASK: bool>(a: u128, b: u128, rax: u64, rdx: u64, imm: u8) -> StringResult {
    compared(&Text::new(a, imm, Some(rax)), &Text::new(b, imm, Some(rdx)), imm, TO_MASK)
}
