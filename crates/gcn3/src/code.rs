//! Loaded machine code, decoded once.
//!
//! A kernel executes the same instructions millions of times, so each is decoded and its handler looked up when the
//! code is loaded. Instructions start at multiples of four bytes. Every such position is decoded independently, because
//! code may be followed by data, and a jump may go anywhere.

use crate::{
    decode::{DecodeError, decode},
    error::Fault,
    exec::{Group, Handler, Outcome, Step, handler},
    inst::{Inst, Operand},
    ops::{Encoding, Op},
    wave::Wavefront,
};

/// A position where an instruction may start.
#[derive(Clone, Copy)]
struct Slot {
    handler: Handler,
    inst: Inst,
}

/// A range of code at its address, ready to be executed.
pub struct Code {
    start: u64,
    slots: Vec<Slot>,
    bytes: Vec<u8>,
    vgprs: usize,
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").field("start", &self.start).field("words", &self.slots.len()).finish()
    }
}

impl Code {
    /// Decodes `bytes`, which are located at address `start`.
    pub fn new(start: u64, bytes: &[u8]) -> Self {
        let slots: Vec<Slot> = (0..bytes.len() / 4).map(|word| slot(bytes, 4 * word)).collect();
        let vgprs = slots.iter().map(|slot| reach(&slot.inst)).max().unwrap_or(0);
        Self { start, slots, bytes: bytes.to_vec(), vgprs }
    }

    /// A bound on the vector registers that any instruction here can reach, whatever the kernel declares: only
    /// registers below it must be cleared for a new wavefront.
    pub fn vgprs(&self) -> usize {
        self.vgprs
    }

    /// The address of the first byte.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The address after the last byte.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// The instruction at an address; none outside the code.
    pub fn instruction(&self, pc: u64) -> Option<Result<Inst, DecodeError>> {
        let offset = pc.checked_sub(self.start).filter(|offset| *offset < self.bytes.len() as u64)?;
        Some(decode(&self.bytes, offset as usize))
    }

    /// The instructions at every position where one may start, four bytes apart; a placeholder where the bytes do not
    /// decode.
    pub fn instructions(&self) -> impl Iterator<Item = &Inst> {
        self.slots.iter().map(|slot| &slot.inst)
    }

    fn outside(&self) -> Fault {
        Fault::OutsideCode { start: self.start, end: self.end() }
    }
}

fn slot(bytes: &[u8], offset: usize) -> Slot {
    match decode(bytes, offset) {
        Ok(inst) => Slot { handler: supported(&inst).unwrap_or(unsupported), inst },
        Err(_) => Slot { handler: illegal, inst: NOWHERE },
    }
}

/// An upper bound on the vector registers that an instruction can reach: their highest number plus one, or slightly
/// more.
fn reach(inst: &Inst) -> usize {
    // The widest access: eight registers of data or address, followed by a status word.
    const WIDEST: usize = 16;
    let indexed = matches!(
        inst.op,
        Op::VMovreldB32
            | Op::VMovrelsB32
            | Op::VMovrelsdB32
            | Op::SSetGprIdxOn
            | Op::SSetGprIdxIdx
            | Op::SSetGprIdxMode
    );
    let operands = [inst.dst, inst.sdst, inst.src[0], inst.src[1], inst.src[2]];
    let last = operands.iter().filter_map(|operand| operand.as_vgpr()).max();
    if indexed { 256 } else { last.map_or(0, |last| (usize::from(last) + WIDEST).min(256)) }
}

/// The handler of an instruction; none if the instruction uses a feature that its handler would ignore.
fn supported(inst: &Inst) -> Option<Handler> {
    let info = inst.op.info();
    let vector = matches!(info.encoding, Encoding::Vop1 | Encoding::Vop2 | Encoding::Vop3 | Encoding::Vopc);
    let direct = vector && inst.src.contains(&Operand::LDS_DIRECT);
    let clamps = matches!(
        inst.op,
        Op::VAddU32
            | Op::VSubU32
            | Op::VSubrevU32
            | Op::VAddcU32
            | Op::VSubbU32
            | Op::VSubbrevU32
            | Op::VAddU16
            | Op::VSubU16
            | Op::VSubrevU16
    );
    let clamped_integer = vector && inst.mods.clamp && !info.dst.is_float() && !clamps;
    if direct || clamped_integer { None } else { handler(inst.op) }
}

fn unsupported(_: &mut Wavefront, inst: &Inst, _: &mut Group) -> Outcome {
    Err(Fault::Unsupported(inst.op.mnemonic()))
}

fn illegal(_: &mut Wavefront, _: &Inst, _: &mut Group) -> Outcome {
    Err(Fault::Illegal("it does not decode".into()))
}

/// The placeholder for an instruction that does not decode.
const NOWHERE: Inst = Inst {
    op: Op::SNop,
    format: crate::inst::Format::Sopp,
    size: 4,
    dst: Operand::NONE,
    sdst: Operand::NONE,
    src: [Operand::NONE; 3],
    imm: 0,
    mods: crate::inst::Mods { abs: 0, neg: 0, omod: crate::inst::Omod::None, clamp: false },
    extra: crate::inst::Extra::None,
};

impl Wavefront {
    /// Executes the instruction at the program counter.
    ///
    /// After an error the program counter is that of the instruction that failed.
    #[inline]
    pub fn step(&mut self, code: &Code, group: &mut Group) -> Result<Step, Fault> {
        let pc = self.pc;
        let offset = pc.wrapping_sub(code.start);
        let slot = match code.slots.get((offset / 4) as usize) {
            Some(slot) if offset & 3 == 0 => slot,
            _ => return Err(code.outside()),
        };
        self.pc = pc.wrapping_add(u64::from(slot.inst.size));
        self.executed += 1;
        let outcome = if self.gpr_index && is_indexed(&slot.inst) {
            (slot.handler)(self, &self.indexed(&slot.inst), group)
        } else {
            (slot.handler)(self, &slot.inst, group)
        };
        if outcome.is_err() {
            self.pc = pc;
        }
        match outcome {
            Err(Fault::Illegal(_)) => {
                let why = code.instruction(pc).and_then(Result::err).map(|error| error.to_string());
                Err(Fault::Illegal(why.unwrap_or_default().into()))
            }
            outcome => outcome,
        }
    }
}

/// Whether the index in M0 applies to an instruction: only to vector arithmetic.
fn is_indexed(inst: &Inst) -> bool {
    matches!(inst.op.info().encoding, Encoding::Vop1 | Encoding::Vop2 | Encoding::Vop3 | Encoding::Vopc)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vgprs(words: &[u32]) -> usize {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        Code::new(0x1000, &bytes).vgprs()
    }

    #[test]
    fn code_says_how_many_vector_registers_it_can_reach() {
        let v_mov_b32_v200_0 = 0x7f90_0280;
        let s_endpgm = 0xbf81_0000;
        assert!((201..=256).contains(&vgprs(&[v_mov_b32_v200_0, s_endpgm])));
        assert_eq!(vgprs(&[s_endpgm]), 0);
    }

    #[test]
    fn code_that_indexes_registers_can_reach_all() {
        let v_movrels_b32_v0_v1 = 0x7e00_6f01;
        assert_eq!(vgprs(&[v_movrels_b32_v0_v1]), 256);
    }
}
