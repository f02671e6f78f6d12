//! Every instruction of GCN3, one row each, for comparison with the opcode tables of the ISA manual.
//!
//! A row contains the opcode number, the name in this program, the mnemonic, and the shape of the instruction as
//! `destination <- sources`. The number is that of the instruction's shortest encoding. The numbers of the longer ones
//! follow by rule (VOP3 is VOPC's number, VOP2's plus 0x100, VOP1's plus 0x140; SDWA and DPP keep the short number), so
//! `v_add_f32_e32`, `_e64`, `_sdwa` and `_dpp` are all one [`Op`].
//!
//! The interpolation and export instructions of graphics pipelines have no row: the decoder rejects them by name.
//!
//! The rows are in `ops/table.rs`.

/// The type of an operand, which determines its number of registers and the meaning of its constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The instruction has no such operand.
    None,
    /// 16-bit integer or bits, in the low half of a register.
    I16,
    /// 16-bit float, in the low half of a register.
    F16,
    /// 32-bit integer or bits.
    I32,
    /// 32-bit float.
    F32,
    /// 32 bits in a scalar register in place of a vector register (`v_readlane_b32`).
    S32,
    /// 64-bit integer or bits.
    I64,
    /// 64-bit float.
    F64,
    /// One bit per lane, in a pair of scalar registers: carries, conditions.
    Mask,
    /// Three registers.
    B96,
    /// Four registers.
    B128,
    /// Eight scalar registers.
    B256,
    /// Sixteen scalar registers.
    B512,
}

impl Kind {
    /// The number of 32-bit registers of the operand; 0 if there is none.
    pub const fn registers(self) -> u8 {
        match self {
            Kind::None => 0,
            Kind::I16 | Kind::F16 | Kind::I32 | Kind::F32 | Kind::S32 => 1,
            Kind::I64 | Kind::F64 | Kind::Mask => 2,
            Kind::B96 => 3,
            Kind::B128 => 4,
            Kind::B256 => 8,
            Kind::B512 => 16,
        }
    }

    /// Whether the operand is a float, which supports negation and absolute value.
    pub const fn is_float(self) -> bool {
        matches!(self, Kind::F16 | Kind::F32 | Kind::F64)
    }
}

/// The shortest encoding of an instruction, to which its opcode number belongs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Encoding {
    Sop2,
    Sopk,
    Sop1,
    Sopc,
    Sopp,
    Smem,
    Vop2,
    Vop1,
    Vopc,
    Vop3,
    Ds,
    Flat,
    Mubuf,
    Mtbuf,
    Mimg,
}

/// A row of the table.
///
/// [`Inst`](crate::inst::Inst) describes the placement of the operands of memory instructions.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name in the ISA manual, without the suffix of an encoding.
    pub mnemonic: &'static str,
    pub encoding: Encoding,
    pub opcode: u16,
    pub dst: Kind,
    /// The second destination, always a mask: the carry out, the result of a compare.
    pub sdst: Kind,
    pub src: [Kind; 3],
}

impl Op {
    /// Every instruction, in the order of the table.
    pub const ALL: &'static [Op] = OPS;

    /// The row of the instruction.
    pub const fn info(self) -> &'static Info {
        &INFO[self as usize]
    }

    /// The name in the ISA manual, without the suffix of an encoding.
    pub const fn mnemonic(self) -> &'static str {
        self.info().mnemonic
    }

    /// The number of the VOP3 encoding, for the vector instructions that have one.
    pub const fn vop3_opcode(self) -> Option<u16> {
        let info = self.info();
        match info.encoding {
            Encoding::Vop3 | Encoding::Vopc => Some(info.opcode),
            Encoding::Vop2 if !self.has_literal_term() => Some(0x100 + info.opcode),
            Encoding::Vop1 if !matches!(self, Op::VReadfirstlaneB32) => Some(0x140 + info.opcode),
            _ => None,
        }
    }

    /// Whether a 32-bit constant is part of the instruction itself (`v_madmk`, `v_madak`).
    pub const fn has_literal_term(self) -> bool {
        matches!(self, Op::VMadmkF32 | Op::VMadakF32 | Op::VMadmkF16 | Op::VMadakF16)
    }

    /// Whether the third source is the destination register itself (`v_mac`).
    pub const fn accumulates(self) -> bool {
        matches!(self, Op::VMacF32 | Op::VMacF16)
    }

    /// Whether a compare also writes EXEC (`v_cmpx_*`).
    pub const fn is_cmpx(self) -> bool {
        let info = self.info();
        let bit = if info.opcode < 0x20 { 0x01 } else { 0x10 };
        matches!(info.encoding, Encoding::Vopc) && info.opcode & bit != 0
    }

    /// Whether a data-share instruction has two byte-sized offsets, one for each of two accesses.
    pub const fn has_two_offsets(self) -> bool {
        matches!(
            self,
            Op::DsWrite2B32
                | Op::DsWrite2st64B32
                | Op::DsWrxchg2RtnB32
                | Op::DsWrxchg2st64RtnB32
                | Op::DsRead2B32
                | Op::DsRead2st64B32
                | Op::DsWrite2B64
                | Op::DsWrite2st64B64
                | Op::DsWrxchg2RtnB64
                | Op::DsWrxchg2st64RtnB64
                | Op::DsRead2B64
                | Op::DsRead2st64B64
        )
    }
}

/// The instruction of each opcode number of each encoding, generated from the table at compile time.
pub(crate) mod by_opcode {
    use super::{Encoding, INFO, OPS, Op};

    pub static SOP2: [Option<Op>; 96] = index(Encoding::Sop2);
    pub static SOPK: [Option<Op>; 32] = index(Encoding::Sopk);
    pub static SOP1: [Option<Op>; 256] = index(Encoding::Sop1);
    pub static SOPC: [Option<Op>; 128] = index(Encoding::Sopc);
    pub static SOPP: [Option<Op>; 128] = index(Encoding::Sopp);
    pub static SMEM: [Option<Op>; 256] = index(Encoding::Smem);
    pub static VOP2: [Option<Op>; 64] = index(Encoding::Vop2);
    pub static VOP1: [Option<Op>; 256] = index(Encoding::Vop1);
    pub static VOPC: [Option<Op>; 256] = index(Encoding::Vopc);
    pub static VOP3: [Option<Op>; 1024] = index_vop3();
    pub static DS: [Option<Op>; 256] = index(Encoding::Ds);
    pub static FLAT: [Option<Op>; 128] = index(Encoding::Flat);
    pub static MUBUF: [Option<Op>; 128] = index(Encoding::Mubuf);
    pub static MTBUF: [Option<Op>; 16] = index(Encoding::Mtbuf);
    pub static MIMG: [Option<Op>; 128] = index(Encoding::Mimg);

    const fn index<const N: usize>(encoding: Encoding) -> [Option<Op>; N] {
        let mut ops = [None; N];
        let mut i = 0;
        while i < OPS.len() {
            if INFO[i].encoding as u8 == encoding as u8 {
                let opcode = INFO[i].opcode as usize;
                assert!(ops[opcode].is_none(), "two rows of an encoding have the same opcode");
                ops[opcode] = Some(OPS[i]);
            }
            i += 1;
        }
        ops
    }

    const fn index_vop3() -> [Option<Op>; 1024] {
        let mut ops = [None; 1024];
        let mut i = 0;
        while i < OPS.len() {
            if let Some(opcode) = OPS[i].vop3_opcode() {
                assert!(ops[opcode as usize].is_none(), "two rows have the same VOP3 opcode");
                ops[opcode as usize] = Some(OPS[i]);
            }
            i += 1;
        }
        ops
    }
}

macro_rules! kind {
    (_) => {
        Kind::None
    };
    ($kind:ident) => {
        Kind::$kind
    };
}

macro_rules! shape {
    ($m:literal $e:ident $o:literal $d:tt <- $($s:tt)*) => { shape!($m $e $o $d _ <- $($s)*) };
    ($m:literal $e:ident $o:literal $d:tt $sd:tt <-) => { shape!($m $e $o $d $sd <- _ _ _) };
    ($m:literal $e:ident $o:literal $d:tt $sd:tt <- $a:tt) => { shape!($m $e $o $d $sd <- $a _ _) };
    ($m:literal $e:ident $o:literal $d:tt $sd:tt <- $a:tt $b:tt) => { shape!($m $e $o $d $sd <- $a $b _) };
    ($m:literal $e:ident $o:literal $d:tt $sd:tt <- $a:tt $b:tt $c:tt) => {
        Info {
            mnemonic: $m,
            encoding: Encoding::$e,
            opcode: $o,
            dst: kind!($d),
            sdst: kind!($sd),
            src: [kind!($a), kind!($b), kind!($c)],
        }
    };
}

macro_rules! op_table {
    ($($encoding:ident { $($opcode:literal $op:ident $mnemonic:literal ($($shape:tt)*))* })*) => {
        /// An instruction, independent of its encoding.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        pub enum Op { $($($op,)*)* }

        pub(super) const OPS: &[Op] = &[$($(Op::$op,)*)*];

        pub(super) const INFO: &[Info] = &[$($(shape!($mnemonic $encoding $opcode $($shape)*),)*)*];
    };
}

mod table;

pub use table::Op;
use table::{INFO, OPS};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_its_mnemonic_in_camel_case() {
        for op in Op::ALL {
            let parts = op.mnemonic().split('_').map(|part| part[..1].to_uppercase() + &part[1..]);
            assert_eq!(format!("{op:?}"), parts.collect::<String>());
        }
    }

    #[test]
    fn the_rows_of_an_encoding_are_in_the_order_of_their_numbers() {
        for pair in Op::ALL.windows(2) {
            let [a, b] = [pair[0].info(), pair[1].info()];
            assert!(a.encoding != b.encoding || a.opcode < b.opcode, "{} stands before {}", a.mnemonic, b.mnemonic);
        }
    }

    #[test]
    fn the_long_form_of_a_vector_instruction_follows_by_rule() {
        assert_eq!(Op::VCmpLtF32.vop3_opcode(), Some(0x41));
        assert_eq!(Op::VAddF32.vop3_opcode(), Some(0x101));
        assert_eq!(Op::VMovB32.vop3_opcode(), Some(0x141));
        assert_eq!(Op::VFmaF64.vop3_opcode(), Some(0x1cc));
        assert_eq!(Op::VMadmkF32.vop3_opcode(), None);
        assert_eq!(Op::SAddU32.vop3_opcode(), None);
    }

    #[test]
    fn a_cmpx_is_recognised_by_its_name() {
        for op in Op::ALL {
            assert_eq!(op.is_cmpx(), op.mnemonic().starts_with("v_cmpx"), "{}", op.mnemonic());
        }
    }
}
