//! The decoded form of an instruction: small, `Copy`, and with everything resolved that its bytes determine.
//!
//! Implicit registers are made explicit (the VCC that `v_addc_u32_e32` reads and writes, the destination that
//! `v_mac_f32` adds to), so one implementation per [`Op`] serves every encoding.
//!
//! Where memory instructions keep their operands:
//!
//! | family | `dst` | `src[0]` | `src[1]` | `src[2]` | `imm` |
//! | --- | --- | --- | --- | --- | --- |
//! | SMEM | loaded registers | base | offset: a register, or the literal `imm` | stored registers | offset if `src[1]` is the literal |
//! | DS | loaded registers | address | data 0 | data 1 | offset; or offset0 in bits 7:0 and offset1 in 15:8 |
//! | FLAT | loaded registers | address | data | | |
//! | MUBUF, MTBUF | *data, loaded or stored* | VGPR address, none if neither offen nor idxen | resource | SGPR offset | 12-bit offset |
//! | MIMG | *data, loaded or stored* | VGPR address | resource | sampler | |

use crate::ops::Op;

/// One instruction, decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inst {
    pub op: Op,
    /// The encoding the instruction came in.
    pub format: Format,
    /// Length of the encoding in bytes: 4 or 8.
    pub size: u8,
    pub dst: Operand,
    /// The second destination: the carry out, or the lane mask a compare writes.
    pub sdst: Operand,
    pub src: [Operand; 3],
    /// The literal constant if an operand is [`Operand::LITERAL`]; else the 16-bit constant of SOPK (extended as the
    /// instruction requires) and SOPP (sign-extended), or the offset of a memory instruction.
    pub imm: u32,
    /// Modifiers of sources and of the result.
    pub mods: Mods,
    /// Fields that only some encodings have.
    pub extra: Extra,
}

impl Inst {
    /// The target of a branch at `pc`. Meaningful for SOPP branches and `s_cbranch_i_fork`.
    pub fn branch_target(&self, pc: u64) -> u64 {
        let words = i64::from(self.imm as u16 as i16);
        pc.wrapping_add(u64::from(self.size)).wrapping_add_signed(words * 4)
    }

    /// The byte and word selects of an SDWA encoding.
    pub fn sdwa(&self) -> Option<Sdwa> {
        match self.extra {
            Extra::Sdwa(sdwa) => Some(sdwa),
            _ => None,
        }
    }

    /// The lane shuffle of a DPP encoding.
    pub fn dpp(&self) -> Option<Dpp> {
        match self.extra {
            Extra::Dpp(dpp) => Some(dpp),
            _ => None,
        }
    }

    /// The fields of a memory instruction; all zero for others.
    pub fn memory(&self) -> MemoryFields {
        match self.extra {
            Extra::Memory(memory) => memory,
            _ => MemoryFields::default(),
        }
    }
}

/// The encoding an instruction came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Format {
    Sop2,
    Sopk,
    Sop1,
    Sopc,
    Sopp,
    Smem,
    Vop2,
    Vop1,
    Vopc,
    /// VOP3 with the absolute-value bits.
    Vop3a,
    /// VOP3 with a scalar destination in their place.
    Vop3b,
    /// VOP1, VOP2 or VOPC with sub-dword addressing.
    Sdwa,
    /// VOP1, VOP2 or VOPC with data-parallel primitives.
    Dpp,
    Ds,
    Flat,
    Mubuf,
    Mtbuf,
    Mimg,
}

/// A register or constant in the numbering of GCN's nine-bit source fields.
///
/// If an instruction reads several registers, this is the first; the row of the [`Op`] says how many.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Operand(u16);

impl Operand {
    pub const FLAT_SCRATCH_LO: Operand = Operand(102);
    pub const FLAT_SCRATCH_HI: Operand = Operand(103);
    pub const VCC: Operand = Operand(106);
    pub const M0: Operand = Operand(124);
    pub const EXEC: Operand = Operand(126);
    /// The integer 0; 1 to 64 and then -1 to -16 follow.
    pub const ZERO: Operand = Operand(128);
    /// The float 0.5; -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0 and 1/(2 pi) follow.
    pub const HALF: Operand = Operand(240);
    pub const INV_2PI: Operand = Operand(248);
    pub const VCCZ: Operand = Operand(251);
    pub const EXECZ: Operand = Operand(252);
    pub const SCC: Operand = Operand(253);
    pub const LDS_DIRECT: Operand = Operand(254);
    /// The constant in [`Inst::imm`].
    pub const LITERAL: Operand = Operand(255);
    /// No operand.
    pub const NONE: Operand = Operand(u16::MAX);

    /// The number of general scalar registers that an instruction can name.
    pub const SGPRS: u16 = 102;

    /// The operand of a nine-bit source field.
    pub const fn from_field(field: u16) -> Operand {
        Operand(field & 0x1ff)
    }

    /// Scalar register `n`; the special registers start at 102.
    pub const fn sgpr(n: u8) -> Operand {
        Operand((n & 0x7f) as u16)
    }

    /// Vector register `n`.
    pub const fn vgpr(n: u8) -> Operand {
        Operand(256 + n as u16)
    }

    /// The number in the nine-bit source space; [`Operand::NONE`] is outside of it.
    #[inline]
    pub const fn code(self) -> u16 {
        self.0
    }

    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == Operand::NONE.0
    }

    /// The number of a vector register.
    #[inline]
    pub const fn as_vgpr(self) -> Option<u8> {
        match self.0 {
            256..=511 => Some((self.0 - 256) as u8),
            _ => None,
        }
    }

    #[inline]
    pub const fn is_vgpr(self) -> bool {
        self.as_vgpr().is_some()
    }

    /// The number of a scalar register, general or special (VCC is 106, M0 124, EXEC 126).
    #[inline]
    pub const fn as_scalar_register(self) -> Option<u8> {
        match self.0 {
            0..=127 => Some(self.0 as u8),
            _ => None,
        }
    }

    /// The value of an integer inline constant.
    #[inline]
    pub const fn as_inline_integer(self) -> Option<i32> {
        match self.0 {
            128..=192 => Some(self.0 as i32 - 128),
            193..=208 => Some(192 - self.0 as i32),
            _ => None,
        }
    }

    /// The value of a float inline constant. Each width rounds 1/(2 pi) separately: see [`Operand::INV_2PI`].
    pub const fn as_inline_float(self) -> Option<f64> {
        match self.0 {
            240 => Some(0.5),
            241 => Some(-0.5),
            242 => Some(1.0),
            243 => Some(-1.0),
            244 => Some(2.0),
            245 => Some(-2.0),
            246 => Some(4.0),
            247 => Some(-4.0),
            248 => Some(std::f64::consts::FRAC_1_PI / 2.0),
            _ => None,
        }
    }
}

/// A name for messages, without the width. The disassembler writes assembly text.
impl std::fmt::Debug for Operand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            0..=101 => write!(f, "s{}", self.0),
            256..=511 => write!(f, "v{}", self.0 - 256),
            255 => f.write_str("literal"),
            65535 => f.write_str("none"),
            code => match (self.as_inline_integer(), self.as_inline_float()) {
                (Some(integer), _) => write!(f, "{integer}"),
                (_, Some(float)) => write!(f, "{float:?}"),
                _ => write!(f, "operand {code}"),
            },
        }
    }
}

/// Modifiers of the sources (bit n for source n) and of the result of a vector instruction.
///
/// Only floats have them, except that `v_cndmask_b32` treats the values it moves as floats here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mods {
    /// Sources whose absolute value is used, before any negation.
    pub abs: u8,
    /// Negated sources.
    pub neg: u8,
    pub omod: Omod,
    /// Clamps a float result to 0..=1, an integer result to its range.
    pub clamp: bool,
}

/// A factor on a float result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Omod {
    #[default]
    None,
    Mul2,
    Mul4,
    Div2,
}

/// Fields that only some encodings have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Extra {
    #[default]
    None,
    Sdwa(Sdwa),
    Dpp(Dpp),
    /// The hardware register field that `s_getreg_b32` and `s_setreg_*` access.
    HwReg(HwReg),
    Memory(MemoryFields),
}

/// Sub-dword addressing: the register parts that sources and the destination use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sdwa {
    pub dst_sel: Select,
    pub dst_unused: Unused,
    pub src_sel: [Select; 2],
    /// Sources whose selected part is sign-extended, bit n for source n; the others are zero-extended.
    pub sext: u8,
}

/// A part of a 32-bit register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Select {
    Byte0,
    Byte1,
    Byte2,
    Byte3,
    Word0,
    Word1,
    Dword,
}

/// What an SDWA instruction does to the unselected bits of the destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Unused {
    Pad,
    Sext,
    Preserve,
}

/// Data-parallel primitives: source 0 comes from another lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dpp {
    pub control: DppControl,
    /// Rows of 16 lanes that write, one bit each.
    pub row_mask: u8,
    /// Banks of 4 lanes in each row that write, one bit each.
    pub bank_mask: u8,
    /// As encoded: a lane whose source is out of range reads 0 if set, and does not write otherwise.
    pub bound_ctrl: bool,
}

/// The lane that each lane of a DPP instruction reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DppControl {
    /// Lane n of each quad reads lane `(selects >> 2n) & 3` of it.
    QuadPerm(u8),
    /// Shift within rows, by 1 to 15.
    RowShl(u8),
    RowShr(u8),
    /// Rotate right within rows, by 1 to 15.
    RowRor(u8),
    /// Shift or rotate the whole wavefront by one lane.
    WaveShl,
    WaveRol,
    WaveShr,
    WaveRor,
    RowMirror,
    RowHalfMirror,
    /// The last lane of each row goes to every lane of the next row.
    RowBcast15,
    /// Lane 31 goes to every lane of rows 2 and 3.
    RowBcast31,
}

/// A field of a hardware register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HwReg {
    pub id: u8,
    /// First bit.
    pub offset: u8,
    /// Number of bits, 1 to 32.
    pub size: u8,
}

/// Fields of memory instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryFields {
    pub flags: Flags,
    /// Image components that are accessed, one bit each; for `s_atc_probe`, the kind of access to probe for.
    pub dmask: u8,
    /// Data format of a typed buffer access.
    pub dfmt: u8,
    /// Number format of a typed buffer access.
    pub nfmt: u8,
}

impl MemoryFields {
    /// The number of registers after the loaded data for a status word: 0 or 1.
    pub fn status_registers(self) -> u8 {
        self.flags.contains(Flags::TFE).into()
    }

    /// Globally coherent; for an atomic, return the old value.
    pub fn glc(self) -> bool {
        self.flags.contains(Flags::GLC)
    }
}

/// One-bit fields of memory instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(u16);

impl Flags {
    /// Globally coherent; for an atomic, return the old value.
    pub const GLC: Flags = Flags(1 << 0);
    /// System-level coherent.
    pub const SLC: Flags = Flags(1 << 1);
    /// A status word follows the loaded data.
    pub const TFE: Flags = Flags(1 << 2);
    /// The loaded data goes to the local data share.
    pub const LDS: Flags = Flags(1 << 3);
    /// The global data share instead of the local one.
    pub const GDS: Flags = Flags(1 << 4);
    /// The VGPR address holds an offset.
    pub const OFFEN: Flags = Flags(1 << 5);
    /// The VGPR address holds an index (before the offset, if both).
    pub const IDXEN: Flags = Flags(1 << 6);
    /// Image coordinates are not normalised.
    pub const UNORM: Flags = Flags(1 << 7);
    /// The image is an array.
    pub const DA: Flags = Flags(1 << 8);
    /// The image resource is 128 bits long.
    pub const R128: Flags = Flags(1 << 9);
    /// Warn about unmapped levels of detail in the status word.
    pub const LWE: Flags = Flags(1 << 10);
    /// Image data are 16-bit.
    pub const D16: Flags = Flags(1 << 11);

    #[inline]
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags, and `other` if `set`.
    pub const fn with(self, other: Flags, set: bool) -> Flags {
        if set { Flags(self.0 | other.0) } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_stays_small() {
        assert!(size_of::<Inst>() <= 32);
    }

    #[test]
    fn inline_integers_run_from_minus_16_to_64() {
        assert_eq!(Operand::ZERO.as_inline_integer(), Some(0));
        assert_eq!(Operand::from_field(192).as_inline_integer(), Some(64));
        assert_eq!(Operand::from_field(193).as_inline_integer(), Some(-1));
        assert_eq!(Operand::from_field(208).as_inline_integer(), Some(-16));
        assert_eq!(Operand::from_field(209).as_inline_integer(), None);
    }
}
