//! Every instruction of GCN3, one row each, to be held next to the opcode tables of the ISA manual.
//!
//! A row says: opcode number, name in this program, mnemonic, and the shape of the instruction as
//! `destination <- sources`. The number is that of the instruction's shortest encoding; the longer ones follow by rule
//! (VOP3 is VOPC's number, VOP2's plus 0x100, VOP1's plus 0x140; SDWA and DPP keep the short number), so
//! `v_add_f32_e32`, `_e64`, `_sdwa` and `_dpp` are all one [`Op`].
//!
//! The interpolation and export instructions of graphics pipelines have no row: the decoder refuses them by name.

/// What an operand holds, which fixes how many registers it spans and how its constants are read.
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
    /// 32 bits of a scalar register where one would expect a vector register (`v_readlane_b32`).
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
    /// How many 32-bit registers the operand spans; 0 if there is none.
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

    /// Whether the operand is a float, which can be negated and made absolute on its way in.
    pub const fn is_float(self) -> bool {
        matches!(self, Kind::F16 | Kind::F32 | Kind::F64)
    }
}

/// The shortest encoding of an instruction, which gives its opcode number a meaning.
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
/// How the operands of memory instructions are placed is told at [`Inst`](crate::inst::Inst).
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// As the ISA manual spells it, without the suffix of an encoding.
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

    /// The instruction's row of the table.
    pub const fn info(self) -> &'static Info {
        &INFO[self as usize]
    }

    /// The mnemonic as the ISA manual spells it, without the suffix of an encoding.
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

    /// Whether a compare writes EXEC besides its destination (`v_cmpx_*`).
    pub const fn is_cmpx(self) -> bool {
        let info = self.info();
        let bit = if info.opcode < 0x20 { 0x01 } else { 0x10 };
        matches!(info.encoding, Encoding::Vopc) && info.opcode & bit != 0
    }

    /// Whether a data-share instruction reads its offset as two bytes, each for an access of its own.
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

/// The instruction of each opcode number of each encoding, made from the table when this program is compiled.
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
                ops[INFO[i].opcode as usize] = Some(OPS[i]);
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
        /// An instruction, whatever the encoding it comes in.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        pub enum Op { $($($op,)*)* }

        const OPS: &[Op] = &[$($(Op::$op,)*)*];

        const INFO: &[Info] = &[$($(shape!($mnemonic $encoding $opcode $($shape)*),)*)*];
    };
}

op_table! {
    // Scalar, two sources.
    Sop2 {
        0x00  SAddU32                  "s_add_u32"                  (I32 <- I32 I32)
        0x01  SSubU32                  "s_sub_u32"                  (I32 <- I32 I32)
        0x02  SAddI32                  "s_add_i32"                  (I32 <- I32 I32)
        0x03  SSubI32                  "s_sub_i32"                  (I32 <- I32 I32)
        0x04  SAddcU32                 "s_addc_u32"                 (I32 <- I32 I32)
        0x05  SSubbU32                 "s_subb_u32"                 (I32 <- I32 I32)
        0x06  SMinI32                  "s_min_i32"                  (I32 <- I32 I32)
        0x07  SMinU32                  "s_min_u32"                  (I32 <- I32 I32)
        0x08  SMaxI32                  "s_max_i32"                  (I32 <- I32 I32)
        0x09  SMaxU32                  "s_max_u32"                  (I32 <- I32 I32)
        0x0a  SCselectB32              "s_cselect_b32"              (I32 <- I32 I32)
        0x0b  SCselectB64              "s_cselect_b64"              (I64 <- I64 I64)
        0x0c  SAndB32                  "s_and_b32"                  (I32 <- I32 I32)
        0x0d  SAndB64                  "s_and_b64"                  (I64 <- I64 I64)
        0x0e  SOrB32                   "s_or_b32"                   (I32 <- I32 I32)
        0x0f  SOrB64                   "s_or_b64"                   (I64 <- I64 I64)
        0x10  SXorB32                  "s_xor_b32"                  (I32 <- I32 I32)
        0x11  SXorB64                  "s_xor_b64"                  (I64 <- I64 I64)
        0x12  SAndn2B32                "s_andn2_b32"                (I32 <- I32 I32)
        0x13  SAndn2B64                "s_andn2_b64"                (I64 <- I64 I64)
        0x14  SOrn2B32                 "s_orn2_b32"                 (I32 <- I32 I32)
        0x15  SOrn2B64                 "s_orn2_b64"                 (I64 <- I64 I64)
        0x16  SNandB32                 "s_nand_b32"                 (I32 <- I32 I32)
        0x17  SNandB64                 "s_nand_b64"                 (I64 <- I64 I64)
        0x18  SNorB32                  "s_nor_b32"                  (I32 <- I32 I32)
        0x19  SNorB64                  "s_nor_b64"                  (I64 <- I64 I64)
        0x1a  SXnorB32                 "s_xnor_b32"                 (I32 <- I32 I32)
        0x1b  SXnorB64                 "s_xnor_b64"                 (I64 <- I64 I64)
        0x1c  SLshlB32                 "s_lshl_b32"                 (I32 <- I32 I32)
        0x1d  SLshlB64                 "s_lshl_b64"                 (I64 <- I64 I32)
        0x1e  SLshrB32                 "s_lshr_b32"                 (I32 <- I32 I32)
        0x1f  SLshrB64                 "s_lshr_b64"                 (I64 <- I64 I32)
        0x20  SAshrI32                 "s_ashr_i32"                 (I32 <- I32 I32)
        0x21  SAshrI64                 "s_ashr_i64"                 (I64 <- I64 I32)
        0x22  SBfmB32                  "s_bfm_b32"                  (I32 <- I32 I32)
        0x23  SBfmB64                  "s_bfm_b64"                  (I64 <- I32 I32)
        0x24  SMulI32                  "s_mul_i32"                  (I32 <- I32 I32)
        0x25  SBfeU32                  "s_bfe_u32"                  (I32 <- I32 I32)
        0x26  SBfeI32                  "s_bfe_i32"                  (I32 <- I32 I32)
        0x27  SBfeU64                  "s_bfe_u64"                  (I64 <- I64 I32)
        0x28  SBfeI64                  "s_bfe_i64"                  (I64 <- I64 I32)
        0x29  SCbranchGFork            "s_cbranch_g_fork"           (_ <- I64 I64)
        0x2a  SAbsdiffI32              "s_absdiff_i32"              (I32 <- I32 I32)
        0x2b  SRfeRestoreB64           "s_rfe_restore_b64"          (_ <- I64 I32)
    }

    // Scalar with a 16-bit constant.
    Sopk {
        0x00  SMovkI32                 "s_movk_i32"                 (I32 <- I32)
        0x01  SCmovkI32                "s_cmovk_i32"                (I32 <- I32)
        0x02  SCmpkEqI32               "s_cmpk_eq_i32"              (_ <- I32 I32)
        0x03  SCmpkLgI32               "s_cmpk_lg_i32"              (_ <- I32 I32)
        0x04  SCmpkGtI32               "s_cmpk_gt_i32"              (_ <- I32 I32)
        0x05  SCmpkGeI32               "s_cmpk_ge_i32"              (_ <- I32 I32)
        0x06  SCmpkLtI32               "s_cmpk_lt_i32"              (_ <- I32 I32)
        0x07  SCmpkLeI32               "s_cmpk_le_i32"              (_ <- I32 I32)
        0x08  SCmpkEqU32               "s_cmpk_eq_u32"              (_ <- I32 I32)
        0x09  SCmpkLgU32               "s_cmpk_lg_u32"              (_ <- I32 I32)
        0x0a  SCmpkGtU32               "s_cmpk_gt_u32"              (_ <- I32 I32)
        0x0b  SCmpkGeU32               "s_cmpk_ge_u32"              (_ <- I32 I32)
        0x0c  SCmpkLtU32               "s_cmpk_lt_u32"              (_ <- I32 I32)
        0x0d  SCmpkLeU32               "s_cmpk_le_u32"              (_ <- I32 I32)
        0x0e  SAddkI32                 "s_addk_i32"                 (I32 <- I32 I32)
        0x0f  SMulkI32                 "s_mulk_i32"                 (I32 <- I32 I32)
        0x10  SCbranchIFork            "s_cbranch_i_fork"           (_ <- I64)
        0x11  SGetregB32               "s_getreg_b32"               (I32 <-)
        0x12  SSetregB32               "s_setreg_b32"               (_ <- I32)
        0x14  SSetregImm32B32          "s_setreg_imm32_b32"         (_ <- I32)
    }

    // Scalar, one source.
    Sop1 {
        0x00  SMovB32                  "s_mov_b32"                  (I32 <- I32)
        0x01  SMovB64                  "s_mov_b64"                  (I64 <- I64)
        0x02  SCmovB32                 "s_cmov_b32"                 (I32 <- I32)
        0x03  SCmovB64                 "s_cmov_b64"                 (I64 <- I64)
        0x04  SNotB32                  "s_not_b32"                  (I32 <- I32)
        0x05  SNotB64                  "s_not_b64"                  (I64 <- I64)
        0x06  SWqmB32                  "s_wqm_b32"                  (I32 <- I32)
        0x07  SWqmB64                  "s_wqm_b64"                  (I64 <- I64)
        0x08  SBrevB32                 "s_brev_b32"                 (I32 <- I32)
        0x09  SBrevB64                 "s_brev_b64"                 (I64 <- I64)
        0x0a  SBcnt0I32B32             "s_bcnt0_i32_b32"            (I32 <- I32)
        0x0b  SBcnt0I32B64             "s_bcnt0_i32_b64"            (I32 <- I64)
        0x0c  SBcnt1I32B32             "s_bcnt1_i32_b32"            (I32 <- I32)
        0x0d  SBcnt1I32B64             "s_bcnt1_i32_b64"            (I32 <- I64)
        0x0e  SFf0I32B32               "s_ff0_i32_b32"              (I32 <- I32)
        0x0f  SFf0I32B64               "s_ff0_i32_b64"              (I32 <- I64)
        0x10  SFf1I32B32               "s_ff1_i32_b32"              (I32 <- I32)
        0x11  SFf1I32B64               "s_ff1_i32_b64"              (I32 <- I64)
        0x12  SFlbitI32B32             "s_flbit_i32_b32"            (I32 <- I32)
        0x13  SFlbitI32B64             "s_flbit_i32_b64"            (I32 <- I64)
        0x14  SFlbitI32                "s_flbit_i32"                (I32 <- I32)
        0x15  SFlbitI32I64             "s_flbit_i32_i64"            (I32 <- I64)
        0x16  SSextI32I8               "s_sext_i32_i8"              (I32 <- I32)
        0x17  SSextI32I16              "s_sext_i32_i16"             (I32 <- I32)
        0x18  SBitset0B32              "s_bitset0_b32"              (I32 <- I32)
        0x19  SBitset0B64              "s_bitset0_b64"              (I64 <- I32)
        0x1a  SBitset1B32              "s_bitset1_b32"              (I32 <- I32)
        0x1b  SBitset1B64              "s_bitset1_b64"              (I64 <- I32)
        0x1c  SGetpcB64                "s_getpc_b64"                (I64 <-)
        0x1d  SSetpcB64                "s_setpc_b64"                (_ <- I64)
        0x1e  SSwappcB64               "s_swappc_b64"               (I64 <- I64)
        0x1f  SRfeB64                  "s_rfe_b64"                  (_ <- I64)
        0x20  SAndSaveexecB64          "s_and_saveexec_b64"         (I64 <- I64)
        0x21  SOrSaveexecB64           "s_or_saveexec_b64"          (I64 <- I64)
        0x22  SXorSaveexecB64          "s_xor_saveexec_b64"         (I64 <- I64)
        0x23  SAndn2SaveexecB64        "s_andn2_saveexec_b64"       (I64 <- I64)
        0x24  SOrn2SaveexecB64         "s_orn2_saveexec_b64"        (I64 <- I64)
        0x25  SNandSaveexecB64         "s_nand_saveexec_b64"        (I64 <- I64)
        0x26  SNorSaveexecB64          "s_nor_saveexec_b64"         (I64 <- I64)
        0x27  SXnorSaveexecB64         "s_xnor_saveexec_b64"        (I64 <- I64)
        0x28  SQuadmaskB32             "s_quadmask_b32"             (I32 <- I32)
        0x29  SQuadmaskB64             "s_quadmask_b64"             (I64 <- I64)
        0x2a  SMovrelsB32              "s_movrels_b32"              (I32 <- I32)
        0x2b  SMovrelsB64              "s_movrels_b64"              (I64 <- I64)
        0x2c  SMovreldB32              "s_movreld_b32"              (I32 <- I32)
        0x2d  SMovreldB64              "s_movreld_b64"              (I64 <- I64)
        0x2e  SCbranchJoin             "s_cbranch_join"             (_ <- I32)
        0x30  SAbsI32                  "s_abs_i32"                  (I32 <- I32)
        0x32  SSetGprIdxIdx            "s_set_gpr_idx_idx"          (_ <- I32)
    }

    // Scalar compare.
    Sopc {
        0x00  SCmpEqI32                "s_cmp_eq_i32"               (_ <- I32 I32)
        0x01  SCmpLgI32                "s_cmp_lg_i32"               (_ <- I32 I32)
        0x02  SCmpGtI32                "s_cmp_gt_i32"               (_ <- I32 I32)
        0x03  SCmpGeI32                "s_cmp_ge_i32"               (_ <- I32 I32)
        0x04  SCmpLtI32                "s_cmp_lt_i32"               (_ <- I32 I32)
        0x05  SCmpLeI32                "s_cmp_le_i32"               (_ <- I32 I32)
        0x06  SCmpEqU32                "s_cmp_eq_u32"               (_ <- I32 I32)
        0x07  SCmpLgU32                "s_cmp_lg_u32"               (_ <- I32 I32)
        0x08  SCmpGtU32                "s_cmp_gt_u32"               (_ <- I32 I32)
        0x09  SCmpGeU32                "s_cmp_ge_u32"               (_ <- I32 I32)
        0x0a  SCmpLtU32                "s_cmp_lt_u32"               (_ <- I32 I32)
        0x0b  SCmpLeU32                "s_cmp_le_u32"               (_ <- I32 I32)
        0x0c  SBitcmp0B32              "s_bitcmp0_b32"              (_ <- I32 I32)
        0x0d  SBitcmp1B32              "s_bitcmp1_b32"              (_ <- I32 I32)
        0x0e  SBitcmp0B64              "s_bitcmp0_b64"              (_ <- I64 I32)
        0x0f  SBitcmp1B64              "s_bitcmp1_b64"              (_ <- I64 I32)
        0x10  SSetvskip                "s_setvskip"                 (_ <- I32 I32)
        0x11  SSetGprIdxOn             "s_set_gpr_idx_on"           (_ <- I32)
        0x12  SCmpEqU64                "s_cmp_eq_u64"               (_ <- I64 I64)
        0x13  SCmpLgU64                "s_cmp_lg_u64"               (_ <- I64 I64)
    }

    // Program control.
    Sopp {
        0x00  SNop                     "s_nop"                      (_ <-)
        0x01  SEndpgm                  "s_endpgm"                   (_ <-)
        0x02  SBranch                  "s_branch"                   (_ <-)
        0x03  SWakeup                  "s_wakeup"                   (_ <-)
        0x04  SCbranchScc0             "s_cbranch_scc0"             (_ <-)
        0x05  SCbranchScc1             "s_cbranch_scc1"             (_ <-)
        0x06  SCbranchVccz             "s_cbranch_vccz"             (_ <-)
        0x07  SCbranchVccnz            "s_cbranch_vccnz"            (_ <-)
        0x08  SCbranchExecz            "s_cbranch_execz"            (_ <-)
        0x09  SCbranchExecnz           "s_cbranch_execnz"           (_ <-)
        0x0a  SBarrier                 "s_barrier"                  (_ <-)
        0x0b  SSetkill                 "s_setkill"                  (_ <-)
        0x0c  SWaitcnt                 "s_waitcnt"                  (_ <-)
        0x0d  SSethalt                 "s_sethalt"                  (_ <-)
        0x0e  SSleep                   "s_sleep"                    (_ <-)
        0x0f  SSetprio                 "s_setprio"                  (_ <-)
        0x10  SSendmsg                 "s_sendmsg"                  (_ <-)
        0x11  SSendmsghalt             "s_sendmsghalt"              (_ <-)
        0x12  STrap                    "s_trap"                     (_ <-)
        0x13  SIcacheInv               "s_icache_inv"               (_ <-)
        0x14  SIncperflevel            "s_incperflevel"             (_ <-)
        0x15  SDecperflevel            "s_decperflevel"             (_ <-)
        0x16  STtracedata              "s_ttracedata"               (_ <-)
        0x17  SCbranchCdbgsys          "s_cbranch_cdbgsys"          (_ <-)
        0x18  SCbranchCdbguser         "s_cbranch_cdbguser"         (_ <-)
        0x19  SCbranchCdbgsysOrUser    "s_cbranch_cdbgsys_or_user"  (_ <-)
        0x1a  SCbranchCdbgsysAndUser   "s_cbranch_cdbgsys_and_user" (_ <-)
        0x1b  SEndpgmSaved             "s_endpgm_saved"             (_ <-)
        0x1c  SSetGprIdxOff            "s_set_gpr_idx_off"          (_ <-)
        0x1d  SSetGprIdxMode           "s_set_gpr_idx_mode"         (_ <-)
    }

    // Scalar memory.
    Smem {
        0x00  SLoadDword               "s_load_dword"               (I32 <- I64 I32)
        0x01  SLoadDwordx2             "s_load_dwordx2"             (I64 <- I64 I32)
        0x02  SLoadDwordx4             "s_load_dwordx4"             (B128 <- I64 I32)
        0x03  SLoadDwordx8             "s_load_dwordx8"             (B256 <- I64 I32)
        0x04  SLoadDwordx16            "s_load_dwordx16"            (B512 <- I64 I32)
        0x08  SBufferLoadDword         "s_buffer_load_dword"        (I32 <- B128 I32)
        0x09  SBufferLoadDwordx2       "s_buffer_load_dwordx2"      (I64 <- B128 I32)
        0x0a  SBufferLoadDwordx4       "s_buffer_load_dwordx4"      (B128 <- B128 I32)
        0x0b  SBufferLoadDwordx8       "s_buffer_load_dwordx8"      (B256 <- B128 I32)
        0x0c  SBufferLoadDwordx16      "s_buffer_load_dwordx16"     (B512 <- B128 I32)
        0x10  SStoreDword              "s_store_dword"              (_ <- I64 I32 I32)
        0x11  SStoreDwordx2            "s_store_dwordx2"            (_ <- I64 I32 I64)
        0x12  SStoreDwordx4            "s_store_dwordx4"            (_ <- I64 I32 B128)
        0x18  SBufferStoreDword        "s_buffer_store_dword"       (_ <- B128 I32 I32)
        0x19  SBufferStoreDwordx2      "s_buffer_store_dwordx2"     (_ <- B128 I32 I64)
        0x1a  SBufferStoreDwordx4      "s_buffer_store_dwordx4"     (_ <- B128 I32 B128)
        0x20  SDcacheInv               "s_dcache_inv"               (_ <-)
        0x21  SDcacheWb                "s_dcache_wb"                (_ <-)
        0x22  SDcacheInvVol            "s_dcache_inv_vol"           (_ <-)
        0x23  SDcacheWbVol             "s_dcache_wb_vol"            (_ <-)
        0x24  SMemtime                 "s_memtime"                  (I64 <-)
        0x25  SMemrealtime             "s_memrealtime"              (I64 <-)
        0x26  SAtcProbe                "s_atc_probe"                (_ <- I64 I32)
        0x27  SAtcProbeBuffer          "s_atc_probe_buffer"         (_ <- B128 I32)
    }

    // Vector, two sources.
    Vop2 {
        0x00  VCndmaskB32              "v_cndmask_b32"              (I32 <- I32 I32 Mask)
        0x01  VAddF32                  "v_add_f32"                  (F32 <- F32 F32)
        0x02  VSubF32                  "v_sub_f32"                  (F32 <- F32 F32)
        0x03  VSubrevF32               "v_subrev_f32"               (F32 <- F32 F32)
        0x04  VMulLegacyF32            "v_mul_legacy_f32"           (F32 <- F32 F32)
        0x05  VMulF32                  "v_mul_f32"                  (F32 <- F32 F32)
        0x06  VMulI32I24               "v_mul_i32_i24"              (I32 <- I32 I32)
        0x07  VMulHiI32I24             "v_mul_hi_i32_i24"           (I32 <- I32 I32)
        0x08  VMulU32U24               "v_mul_u32_u24"              (I32 <- I32 I32)
        0x09  VMulHiU32U24             "v_mul_hi_u32_u24"           (I32 <- I32 I32)
        0x0a  VMinF32                  "v_min_f32"                  (F32 <- F32 F32)
        0x0b  VMaxF32                  "v_max_f32"                  (F32 <- F32 F32)
        0x0c  VMinI32                  "v_min_i32"                  (I32 <- I32 I32)
        0x0d  VMaxI32                  "v_max_i32"                  (I32 <- I32 I32)
        0x0e  VMinU32                  "v_min_u32"                  (I32 <- I32 I32)
        0x0f  VMaxU32                  "v_max_u32"                  (I32 <- I32 I32)
        0x10  VLshrrevB32              "v_lshrrev_b32"              (I32 <- I32 I32)
        0x11  VAshrrevI32              "v_ashrrev_i32"              (I32 <- I32 I32)
        0x12  VLshlrevB32              "v_lshlrev_b32"              (I32 <- I32 I32)
        0x13  VAndB32                  "v_and_b32"                  (I32 <- I32 I32)
        0x14  VOrB32                   "v_or_b32"                   (I32 <- I32 I32)
        0x15  VXorB32                  "v_xor_b32"                  (I32 <- I32 I32)
        0x16  VMacF32                  "v_mac_f32"                  (F32 <- F32 F32 F32)
        0x17  VMadmkF32                "v_madmk_f32"                (F32 <- F32 F32 F32)
        0x18  VMadakF32                "v_madak_f32"                (F32 <- F32 F32 F32)
        0x19  VAddU32                  "v_add_u32"                  (I32 Mask <- I32 I32)
        0x1a  VSubU32                  "v_sub_u32"                  (I32 Mask <- I32 I32)
        0x1b  VSubrevU32               "v_subrev_u32"               (I32 Mask <- I32 I32)
        0x1c  VAddcU32                 "v_addc_u32"                 (I32 Mask <- I32 I32 Mask)
        0x1d  VSubbU32                 "v_subb_u32"                 (I32 Mask <- I32 I32 Mask)
        0x1e  VSubbrevU32              "v_subbrev_u32"              (I32 Mask <- I32 I32 Mask)
        0x1f  VAddF16                  "v_add_f16"                  (F16 <- F16 F16)
        0x20  VSubF16                  "v_sub_f16"                  (F16 <- F16 F16)
        0x21  VSubrevF16               "v_subrev_f16"               (F16 <- F16 F16)
        0x22  VMulF16                  "v_mul_f16"                  (F16 <- F16 F16)
        0x23  VMacF16                  "v_mac_f16"                  (F16 <- F16 F16 F16)
        0x24  VMadmkF16                "v_madmk_f16"                (F16 <- F16 F16 F16)
        0x25  VMadakF16                "v_madak_f16"                (F16 <- F16 F16 F16)
        0x26  VAddU16                  "v_add_u16"                  (I16 <- I16 I16)
        0x27  VSubU16                  "v_sub_u16"                  (I16 <- I16 I16)
        0x28  VSubrevU16               "v_subrev_u16"               (I16 <- I16 I16)
        0x29  VMulLoU16                "v_mul_lo_u16"               (I16 <- I16 I16)
        0x2a  VLshlrevB16              "v_lshlrev_b16"              (I16 <- I16 I16)
        0x2b  VLshrrevB16              "v_lshrrev_b16"              (I16 <- I16 I16)
        0x2c  VAshrrevI16              "v_ashrrev_i16"              (I16 <- I16 I16)
        0x2d  VMaxF16                  "v_max_f16"                  (F16 <- F16 F16)
        0x2e  VMinF16                  "v_min_f16"                  (F16 <- F16 F16)
        0x2f  VMaxU16                  "v_max_u16"                  (I16 <- I16 I16)
        0x30  VMaxI16                  "v_max_i16"                  (I16 <- I16 I16)
        0x31  VMinU16                  "v_min_u16"                  (I16 <- I16 I16)
        0x32  VMinI16                  "v_min_i16"                  (I16 <- I16 I16)
        0x33  VLdexpF16                "v_ldexp_f16"                (F16 <- F16 I16)
    }

    // Vector, one source.
    Vop1 {
        0x00  VNop                     "v_nop"                      (_ <-)
        0x01  VMovB32                  "v_mov_b32"                  (I32 <- I32)
        0x02  VReadfirstlaneB32        "v_readfirstlane_b32"        (S32 <- I32)
        0x03  VCvtI32F64               "v_cvt_i32_f64"              (I32 <- F64)
        0x04  VCvtF64I32               "v_cvt_f64_i32"              (F64 <- I32)
        0x05  VCvtF32I32               "v_cvt_f32_i32"              (F32 <- I32)
        0x06  VCvtF32U32               "v_cvt_f32_u32"              (F32 <- I32)
        0x07  VCvtU32F32               "v_cvt_u32_f32"              (I32 <- F32)
        0x08  VCvtI32F32               "v_cvt_i32_f32"              (I32 <- F32)
        0x0a  VCvtF16F32               "v_cvt_f16_f32"              (F16 <- F32)
        0x0b  VCvtF32F16               "v_cvt_f32_f16"              (F32 <- F16)
        0x0c  VCvtRpiI32F32            "v_cvt_rpi_i32_f32"          (I32 <- F32)
        0x0d  VCvtFlrI32F32            "v_cvt_flr_i32_f32"          (I32 <- F32)
        0x0e  VCvtOffF32I4             "v_cvt_off_f32_i4"           (F32 <- I32)
        0x0f  VCvtF32F64               "v_cvt_f32_f64"              (F32 <- F64)
        0x10  VCvtF64F32               "v_cvt_f64_f32"              (F64 <- F32)
        0x11  VCvtF32Ubyte0            "v_cvt_f32_ubyte0"           (F32 <- I32)
        0x12  VCvtF32Ubyte1            "v_cvt_f32_ubyte1"           (F32 <- I32)
        0x13  VCvtF32Ubyte2            "v_cvt_f32_ubyte2"           (F32 <- I32)
        0x14  VCvtF32Ubyte3            "v_cvt_f32_ubyte3"           (F32 <- I32)
        0x15  VCvtU32F64               "v_cvt_u32_f64"              (I32 <- F64)
        0x16  VCvtF64U32               "v_cvt_f64_u32"              (F64 <- I32)
        0x17  VTruncF64                "v_trunc_f64"                (F64 <- F64)
        0x18  VCeilF64                 "v_ceil_f64"                 (F64 <- F64)
        0x19  VRndneF64                "v_rndne_f64"                (F64 <- F64)
        0x1a  VFloorF64                "v_floor_f64"                (F64 <- F64)
        0x1b  VFractF32                "v_fract_f32"                (F32 <- F32)
        0x1c  VTruncF32                "v_trunc_f32"                (F32 <- F32)
        0x1d  VCeilF32                 "v_ceil_f32"                 (F32 <- F32)
        0x1e  VRndneF32                "v_rndne_f32"                (F32 <- F32)
        0x1f  VFloorF32                "v_floor_f32"                (F32 <- F32)
        0x20  VExpF32                  "v_exp_f32"                  (F32 <- F32)
        0x21  VLogF32                  "v_log_f32"                  (F32 <- F32)
        0x22  VRcpF32                  "v_rcp_f32"                  (F32 <- F32)
        0x23  VRcpIflagF32             "v_rcp_iflag_f32"            (F32 <- F32)
        0x24  VRsqF32                  "v_rsq_f32"                  (F32 <- F32)
        0x25  VRcpF64                  "v_rcp_f64"                  (F64 <- F64)
        0x26  VRsqF64                  "v_rsq_f64"                  (F64 <- F64)
        0x27  VSqrtF32                 "v_sqrt_f32"                 (F32 <- F32)
        0x28  VSqrtF64                 "v_sqrt_f64"                 (F64 <- F64)
        0x29  VSinF32                  "v_sin_f32"                  (F32 <- F32)
        0x2a  VCosF32                  "v_cos_f32"                  (F32 <- F32)
        0x2b  VNotB32                  "v_not_b32"                  (I32 <- I32)
        0x2c  VBfrevB32                "v_bfrev_b32"                (I32 <- I32)
        0x2d  VFfbhU32                 "v_ffbh_u32"                 (I32 <- I32)
        0x2e  VFfblB32                 "v_ffbl_b32"                 (I32 <- I32)
        0x2f  VFfbhI32                 "v_ffbh_i32"                 (I32 <- I32)
        0x30  VFrexpExpI32F64          "v_frexp_exp_i32_f64"        (I32 <- F64)
        0x31  VFrexpMantF64            "v_frexp_mant_f64"           (F64 <- F64)
        0x32  VFractF64                "v_fract_f64"                (F64 <- F64)
        0x33  VFrexpExpI32F32          "v_frexp_exp_i32_f32"        (I32 <- F32)
        0x34  VFrexpMantF32            "v_frexp_mant_f32"           (F32 <- F32)
        0x35  VClrexcp                 "v_clrexcp"                  (_ <-)
        0x36  VMovreldB32              "v_movreld_b32"              (I32 <- I32)
        0x37  VMovrelsB32              "v_movrels_b32"              (I32 <- I32)
        0x38  VMovrelsdB32             "v_movrelsd_b32"             (I32 <- I32)
        0x39  VCvtF16U16               "v_cvt_f16_u16"              (F16 <- I16)
        0x3a  VCvtF16I16               "v_cvt_f16_i16"              (F16 <- I16)
        0x3b  VCvtU16F16               "v_cvt_u16_f16"              (I16 <- F16)
        0x3c  VCvtI16F16               "v_cvt_i16_f16"              (I16 <- F16)
        0x3d  VRcpF16                  "v_rcp_f16"                  (F16 <- F16)
        0x3e  VSqrtF16                 "v_sqrt_f16"                 (F16 <- F16)
        0x3f  VRsqF16                  "v_rsq_f16"                  (F16 <- F16)
        0x40  VLogF16                  "v_log_f16"                  (F16 <- F16)
        0x41  VExpF16                  "v_exp_f16"                  (F16 <- F16)
        0x42  VFrexpMantF16            "v_frexp_mant_f16"           (F16 <- F16)
        0x43  VFrexpExpI16F16          "v_frexp_exp_i16_f16"        (I16 <- F16)
        0x44  VFloorF16                "v_floor_f16"                (F16 <- F16)
        0x45  VCeilF16                 "v_ceil_f16"                 (F16 <- F16)
        0x46  VTruncF16                "v_trunc_f16"                (F16 <- F16)
        0x47  VRndneF16                "v_rndne_f16"                (F16 <- F16)
        0x48  VFractF16                "v_fract_f16"                (F16 <- F16)
        0x49  VSinF16                  "v_sin_f16"                  (F16 <- F16)
        0x4a  VCosF16                  "v_cos_f16"                  (F16 <- F16)
        0x4b  VExpLegacyF32            "v_exp_legacy_f32"           (F32 <- F32)
        0x4c  VLogLegacyF32            "v_log_legacy_f32"           (F32 <- F32)
    }

    // Vector compare.
    Vopc {
        0x10  VCmpClassF32             "v_cmp_class_f32"            (_ Mask <- F32 I32)
        0x11  VCmpxClassF32            "v_cmpx_class_f32"           (_ Mask <- F32 I32)
        0x12  VCmpClassF64             "v_cmp_class_f64"            (_ Mask <- F64 I32)
        0x13  VCmpxClassF64            "v_cmpx_class_f64"           (_ Mask <- F64 I32)
        0x14  VCmpClassF16             "v_cmp_class_f16"            (_ Mask <- F16 I32)
        0x15  VCmpxClassF16            "v_cmpx_class_f16"           (_ Mask <- F16 I32)
        0x20  VCmpFF16                 "v_cmp_f_f16"                (_ Mask <- F16 F16)
        0x21  VCmpLtF16                "v_cmp_lt_f16"               (_ Mask <- F16 F16)
        0x22  VCmpEqF16                "v_cmp_eq_f16"               (_ Mask <- F16 F16)
        0x23  VCmpLeF16                "v_cmp_le_f16"               (_ Mask <- F16 F16)
        0x24  VCmpGtF16                "v_cmp_gt_f16"               (_ Mask <- F16 F16)
        0x25  VCmpLgF16                "v_cmp_lg_f16"               (_ Mask <- F16 F16)
        0x26  VCmpGeF16                "v_cmp_ge_f16"               (_ Mask <- F16 F16)
        0x27  VCmpOF16                 "v_cmp_o_f16"                (_ Mask <- F16 F16)
        0x28  VCmpUF16                 "v_cmp_u_f16"                (_ Mask <- F16 F16)
        0x29  VCmpNgeF16               "v_cmp_nge_f16"              (_ Mask <- F16 F16)
        0x2a  VCmpNlgF16               "v_cmp_nlg_f16"              (_ Mask <- F16 F16)
        0x2b  VCmpNgtF16               "v_cmp_ngt_f16"              (_ Mask <- F16 F16)
        0x2c  VCmpNleF16               "v_cmp_nle_f16"              (_ Mask <- F16 F16)
        0x2d  VCmpNeqF16               "v_cmp_neq_f16"              (_ Mask <- F16 F16)
        0x2e  VCmpNltF16               "v_cmp_nlt_f16"              (_ Mask <- F16 F16)
        0x2f  VCmpTruF16               "v_cmp_tru_f16"              (_ Mask <- F16 F16)
        0x30  VCmpxFF16                "v_cmpx_f_f16"               (_ Mask <- F16 F16)
        0x31  VCmpxLtF16               "v_cmpx_lt_f16"              (_ Mask <- F16 F16)
        0x32  VCmpxEqF16               "v_cmpx_eq_f16"              (_ Mask <- F16 F16)
        0x33  VCmpxLeF16               "v_cmpx_le_f16"              (_ Mask <- F16 F16)
        0x34  VCmpxGtF16               "v_cmpx_gt_f16"              (_ Mask <- F16 F16)
        0x35  VCmpxLgF16               "v_cmpx_lg_f16"              (_ Mask <- F16 F16)
        0x36  VCmpxGeF16               "v_cmpx_ge_f16"              (_ Mask <- F16 F16)
        0x37  VCmpxOF16                "v_cmpx_o_f16"               (_ Mask <- F16 F16)
        0x38  VCmpxUF16                "v_cmpx_u_f16"               (_ Mask <- F16 F16)
        0x39  VCmpxNgeF16              "v_cmpx_nge_f16"             (_ Mask <- F16 F16)
        0x3a  VCmpxNlgF16              "v_cmpx_nlg_f16"             (_ Mask <- F16 F16)
        0x3b  VCmpxNgtF16              "v_cmpx_ngt_f16"             (_ Mask <- F16 F16)
        0x3c  VCmpxNleF16              "v_cmpx_nle_f16"             (_ Mask <- F16 F16)
        0x3d  VCmpxNeqF16              "v_cmpx_neq_f16"             (_ Mask <- F16 F16)
        0x3e  VCmpxNltF16              "v_cmpx_nlt_f16"             (_ Mask <- F16 F16)
        0x3f  VCmpxTruF16              "v_cmpx_tru_f16"             (_ Mask <- F16 F16)
        0x40  VCmpFF32                 "v_cmp_f_f32"                (_ Mask <- F32 F32)
        0x41  VCmpLtF32                "v_cmp_lt_f32"               (_ Mask <- F32 F32)
        0x42  VCmpEqF32                "v_cmp_eq_f32"               (_ Mask <- F32 F32)
        0x43  VCmpLeF32                "v_cmp_le_f32"               (_ Mask <- F32 F32)
        0x44  VCmpGtF32                "v_cmp_gt_f32"               (_ Mask <- F32 F32)
        0x45  VCmpLgF32                "v_cmp_lg_f32"               (_ Mask <- F32 F32)
        0x46  VCmpGeF32                "v_cmp_ge_f32"               (_ Mask <- F32 F32)
        0x47  VCmpOF32                 "v_cmp_o_f32"                (_ Mask <- F32 F32)
        0x48  VCmpUF32                 "v_cmp_u_f32"                (_ Mask <- F32 F32)
        0x49  VCmpNgeF32               "v_cmp_nge_f32"              (_ Mask <- F32 F32)
        0x4a  VCmpNlgF32               "v_cmp_nlg_f32"              (_ Mask <- F32 F32)
        0x4b  VCmpNgtF32               "v_cmp_ngt_f32"              (_ Mask <- F32 F32)
        0x4c  VCmpNleF32               "v_cmp_nle_f32"              (_ Mask <- F32 F32)
        0x4d  VCmpNeqF32               "v_cmp_neq_f32"              (_ Mask <- F32 F32)
        0x4e  VCmpNltF32               "v_cmp_nlt_f32"              (_ Mask <- F32 F32)
        0x4f  VCmpTruF32               "v_cmp_tru_f32"              (_ Mask <- F32 F32)
        0x50  VCmpxFF32                "v_cmpx_f_f32"               (_ Mask <- F32 F32)
        0x51  VCmpxLtF32               "v_cmpx_lt_f32"              (_ Mask <- F32 F32)
        0x52  VCmpxEqF32               "v_cmpx_eq_f32"              (_ Mask <- F32 F32)
        0x53  VCmpxLeF32               "v_cmpx_le_f32"              (_ Mask <- F32 F32)
        0x54  VCmpxGtF32               "v_cmpx_gt_f32"              (_ Mask <- F32 F32)
        0x55  VCmpxLgF32               "v_cmpx_lg_f32"              (_ Mask <- F32 F32)
        0x56  VCmpxGeF32               "v_cmpx_ge_f32"              (_ Mask <- F32 F32)
        0x57  VCmpxOF32                "v_cmpx_o_f32"               (_ Mask <- F32 F32)
        0x58  VCmpxUF32                "v_cmpx_u_f32"               (_ Mask <- F32 F32)
        0x59  VCmpxNgeF32              "v_cmpx_nge_f32"             (_ Mask <- F32 F32)
        0x5a  VCmpxNlgF32              "v_cmpx_nlg_f32"             (_ Mask <- F32 F32)
        0x5b  VCmpxNgtF32              "v_cmpx_ngt_f32"             (_ Mask <- F32 F32)
        0x5c  VCmpxNleF32              "v_cmpx_nle_f32"             (_ Mask <- F32 F32)
        0x5d  VCmpxNeqF32              "v_cmpx_neq_f32"             (_ Mask <- F32 F32)
        0x5e  VCmpxNltF32              "v_cmpx_nlt_f32"             (_ Mask <- F32 F32)
        0x5f  VCmpxTruF32              "v_cmpx_tru_f32"             (_ Mask <- F32 F32)
        0x60  VCmpFF64                 "v_cmp_f_f64"                (_ Mask <- F64 F64)
        0x61  VCmpLtF64                "v_cmp_lt_f64"               (_ Mask <- F64 F64)
        0x62  VCmpEqF64                "v_cmp_eq_f64"               (_ Mask <- F64 F64)
        0x63  VCmpLeF64                "v_cmp_le_f64"               (_ Mask <- F64 F64)
        0x64  VCmpGtF64                "v_cmp_gt_f64"               (_ Mask <- F64 F64)
        0x65  VCmpLgF64                "v_cmp_lg_f64"               (_ Mask <- F64 F64)
        0x66  VCmpGeF64                "v_cmp_ge_f64"               (_ Mask <- F64 F64)
        0x67  VCmpOF64                 "v_cmp_o_f64"                (_ Mask <- F64 F64)
        0x68  VCmpUF64                 "v_cmp_u_f64"                (_ Mask <- F64 F64)
        0x69  VCmpNgeF64               "v_cmp_nge_f64"              (_ Mask <- F64 F64)
        0x6a  VCmpNlgF64               "v_cmp_nlg_f64"              (_ Mask <- F64 F64)
        0x6b  VCmpNgtF64               "v_cmp_ngt_f64"              (_ Mask <- F64 F64)
        0x6c  VCmpNleF64               "v_cmp_nle_f64"              (_ Mask <- F64 F64)
        0x6d  VCmpNeqF64               "v_cmp_neq_f64"              (_ Mask <- F64 F64)
        0x6e  VCmpNltF64               "v_cmp_nlt_f64"              (_ Mask <- F64 F64)
        0x6f  VCmpTruF64               "v_cmp_tru_f64"              (_ Mask <- F64 F64)
        0x70  VCmpxFF64                "v_cmpx_f_f64"               (_ Mask <- F64 F64)
        0x71  VCmpxLtF64               "v_cmpx_lt_f64"              (_ Mask <- F64 F64)
        0x72  VCmpxEqF64               "v_cmpx_eq_f64"              (_ Mask <- F64 F64)
        0x73  VCmpxLeF64               "v_cmpx_le_f64"              (_ Mask <- F64 F64)
        0x74  VCmpxGtF64               "v_cmpx_gt_f64"              (_ Mask <- F64 F64)
        0x75  VCmpxLgF64               "v_cmpx_lg_f64"              (_ Mask <- F64 F64)
        0x76  VCmpxGeF64               "v_cmpx_ge_f64"              (_ Mask <- F64 F64)
        0x77  VCmpxOF64                "v_cmpx_o_f64"               (_ Mask <- F64 F64)
        0x78  VCmpxUF64                "v_cmpx_u_f64"               (_ Mask <- F64 F64)
        0x79  VCmpxNgeF64              "v_cmpx_nge_f64"             (_ Mask <- F64 F64)
        0x7a  VCmpxNlgF64              "v_cmpx_nlg_f64"             (_ Mask <- F64 F64)
        0x7b  VCmpxNgtF64              "v_cmpx_ngt_f64"             (_ Mask <- F64 F64)
        0x7c  VCmpxNleF64              "v_cmpx_nle_f64"             (_ Mask <- F64 F64)
        0x7d  VCmpxNeqF64              "v_cmpx_neq_f64"             (_ Mask <- F64 F64)
        0x7e  VCmpxNltF64              "v_cmpx_nlt_f64"             (_ Mask <- F64 F64)
        0x7f  VCmpxTruF64              "v_cmpx_tru_f64"             (_ Mask <- F64 F64)
        0xa0  VCmpFI16                 "v_cmp_f_i16"                (_ Mask <- I16 I16)
        0xa1  VCmpLtI16                "v_cmp_lt_i16"               (_ Mask <- I16 I16)
        0xa2  VCmpEqI16                "v_cmp_eq_i16"               (_ Mask <- I16 I16)
        0xa3  VCmpLeI16                "v_cmp_le_i16"               (_ Mask <- I16 I16)
        0xa4  VCmpGtI16                "v_cmp_gt_i16"               (_ Mask <- I16 I16)
        0xa5  VCmpNeI16                "v_cmp_ne_i16"               (_ Mask <- I16 I16)
        0xa6  VCmpGeI16                "v_cmp_ge_i16"               (_ Mask <- I16 I16)
        0xa7  VCmpTI16                 "v_cmp_t_i16"                (_ Mask <- I16 I16)
        0xa8  VCmpFU16                 "v_cmp_f_u16"                (_ Mask <- I16 I16)
        0xa9  VCmpLtU16                "v_cmp_lt_u16"               (_ Mask <- I16 I16)
        0xaa  VCmpEqU16                "v_cmp_eq_u16"               (_ Mask <- I16 I16)
        0xab  VCmpLeU16                "v_cmp_le_u16"               (_ Mask <- I16 I16)
        0xac  VCmpGtU16                "v_cmp_gt_u16"               (_ Mask <- I16 I16)
        0xad  VCmpNeU16                "v_cmp_ne_u16"               (_ Mask <- I16 I16)
        0xae  VCmpGeU16                "v_cmp_ge_u16"               (_ Mask <- I16 I16)
        0xaf  VCmpTU16                 "v_cmp_t_u16"                (_ Mask <- I16 I16)
        0xb0  VCmpxFI16                "v_cmpx_f_i16"               (_ Mask <- I16 I16)
        0xb1  VCmpxLtI16               "v_cmpx_lt_i16"              (_ Mask <- I16 I16)
        0xb2  VCmpxEqI16               "v_cmpx_eq_i16"              (_ Mask <- I16 I16)
        0xb3  VCmpxLeI16               "v_cmpx_le_i16"              (_ Mask <- I16 I16)
        0xb4  VCmpxGtI16               "v_cmpx_gt_i16"              (_ Mask <- I16 I16)
        0xb5  VCmpxNeI16               "v_cmpx_ne_i16"              (_ Mask <- I16 I16)
        0xb6  VCmpxGeI16               "v_cmpx_ge_i16"              (_ Mask <- I16 I16)
        0xb7  VCmpxTI16                "v_cmpx_t_i16"               (_ Mask <- I16 I16)
        0xb8  VCmpxFU16                "v_cmpx_f_u16"               (_ Mask <- I16 I16)
        0xb9  VCmpxLtU16               "v_cmpx_lt_u16"              (_ Mask <- I16 I16)
        0xba  VCmpxEqU16               "v_cmpx_eq_u16"              (_ Mask <- I16 I16)
        0xbb  VCmpxLeU16               "v_cmpx_le_u16"              (_ Mask <- I16 I16)
        0xbc  VCmpxGtU16               "v_cmpx_gt_u16"              (_ Mask <- I16 I16)
        0xbd  VCmpxNeU16               "v_cmpx_ne_u16"              (_ Mask <- I16 I16)
        0xbe  VCmpxGeU16               "v_cmpx_ge_u16"              (_ Mask <- I16 I16)
        0xbf  VCmpxTU16                "v_cmpx_t_u16"               (_ Mask <- I16 I16)
        0xc0  VCmpFI32                 "v_cmp_f_i32"                (_ Mask <- I32 I32)
        0xc1  VCmpLtI32                "v_cmp_lt_i32"               (_ Mask <- I32 I32)
        0xc2  VCmpEqI32                "v_cmp_eq_i32"               (_ Mask <- I32 I32)
        0xc3  VCmpLeI32                "v_cmp_le_i32"               (_ Mask <- I32 I32)
        0xc4  VCmpGtI32                "v_cmp_gt_i32"               (_ Mask <- I32 I32)
        0xc5  VCmpNeI32                "v_cmp_ne_i32"               (_ Mask <- I32 I32)
        0xc6  VCmpGeI32                "v_cmp_ge_i32"               (_ Mask <- I32 I32)
        0xc7  VCmpTI32                 "v_cmp_t_i32"                (_ Mask <- I32 I32)
        0xc8  VCmpFU32                 "v_cmp_f_u32"                (_ Mask <- I32 I32)
        0xc9  VCmpLtU32                "v_cmp_lt_u32"               (_ Mask <- I32 I32)
        0xca  VCmpEqU32                "v_cmp_eq_u32"               (_ Mask <- I32 I32)
        0xcb  VCmpLeU32                "v_cmp_le_u32"               (_ Mask <- I32 I32)
        0xcc  VCmpGtU32                "v_cmp_gt_u32"               (_ Mask <- I32 I32)
        0xcd  VCmpNeU32                "v_cmp_ne_u32"               (_ Mask <- I32 I32)
        0xce  VCmpGeU32                "v_cmp_ge_u32"               (_ Mask <- I32 I32)
        0xcf  VCmpTU32                 "v_cmp_t_u32"                (_ Mask <- I32 I32)
        0xd0  VCmpxFI32                "v_cmpx_f_i32"               (_ Mask <- I32 I32)
        0xd1  VCmpxLtI32               "v_cmpx_lt_i32"              (_ Mask <- I32 I32)
        0xd2  VCmpxEqI32               "v_cmpx_eq_i32"              (_ Mask <- I32 I32)
        0xd3  VCmpxLeI32               "v_cmpx_le_i32"              (_ Mask <- I32 I32)
        0xd4  VCmpxGtI32               "v_cmpx_gt_i32"              (_ Mask <- I32 I32)
        0xd5  VCmpxNeI32               "v_cmpx_ne_i32"              (_ Mask <- I32 I32)
        0xd6  VCmpxGeI32               "v_cmpx_ge_i32"              (_ Mask <- I32 I32)
        0xd7  VCmpxTI32                "v_cmpx_t_i32"               (_ Mask <- I32 I32)
        0xd8  VCmpxFU32                "v_cmpx_f_u32"               (_ Mask <- I32 I32)
        0xd9  VCmpxLtU32               "v_cmpx_lt_u32"              (_ Mask <- I32 I32)
        0xda  VCmpxEqU32               "v_cmpx_eq_u32"              (_ Mask <- I32 I32)
        0xdb  VCmpxLeU32               "v_cmpx_le_u32"              (_ Mask <- I32 I32)
        0xdc  VCmpxGtU32               "v_cmpx_gt_u32"              (_ Mask <- I32 I32)
        0xdd  VCmpxNeU32               "v_cmpx_ne_u32"              (_ Mask <- I32 I32)
        0xde  VCmpxGeU32               "v_cmpx_ge_u32"              (_ Mask <- I32 I32)
        0xdf  VCmpxTU32                "v_cmpx_t_u32"               (_ Mask <- I32 I32)
        0xe0  VCmpFI64                 "v_cmp_f_i64"                (_ Mask <- I64 I64)
        0xe1  VCmpLtI64                "v_cmp_lt_i64"               (_ Mask <- I64 I64)
        0xe2  VCmpEqI64                "v_cmp_eq_i64"               (_ Mask <- I64 I64)
        0xe3  VCmpLeI64                "v_cmp_le_i64"               (_ Mask <- I64 I64)
        0xe4  VCmpGtI64                "v_cmp_gt_i64"               (_ Mask <- I64 I64)
        0xe5  VCmpNeI64                "v_cmp_ne_i64"               (_ Mask <- I64 I64)
        0xe6  VCmpGeI64                "v_cmp_ge_i64"               (_ Mask <- I64 I64)
        0xe7  VCmpTI64                 "v_cmp_t_i64"                (_ Mask <- I64 I64)
        0xe8  VCmpFU64                 "v_cmp_f_u64"                (_ Mask <- I64 I64)
        0xe9  VCmpLtU64                "v_cmp_lt_u64"               (_ Mask <- I64 I64)
        0xea  VCmpEqU64                "v_cmp_eq_u64"               (_ Mask <- I64 I64)
        0xeb  VCmpLeU64                "v_cmp_le_u64"               (_ Mask <- I64 I64)
        0xec  VCmpGtU64                "v_cmp_gt_u64"               (_ Mask <- I64 I64)
        0xed  VCmpNeU64                "v_cmp_ne_u64"               (_ Mask <- I64 I64)
        0xee  VCmpGeU64                "v_cmp_ge_u64"               (_ Mask <- I64 I64)
        0xef  VCmpTU64                 "v_cmp_t_u64"                (_ Mask <- I64 I64)
        0xf0  VCmpxFI64                "v_cmpx_f_i64"               (_ Mask <- I64 I64)
        0xf1  VCmpxLtI64               "v_cmpx_lt_i64"              (_ Mask <- I64 I64)
        0xf2  VCmpxEqI64               "v_cmpx_eq_i64"              (_ Mask <- I64 I64)
        0xf3  VCmpxLeI64               "v_cmpx_le_i64"              (_ Mask <- I64 I64)
        0xf4  VCmpxGtI64               "v_cmpx_gt_i64"              (_ Mask <- I64 I64)
        0xf5  VCmpxNeI64               "v_cmpx_ne_i64"              (_ Mask <- I64 I64)
        0xf6  VCmpxGeI64               "v_cmpx_ge_i64"              (_ Mask <- I64 I64)
        0xf7  VCmpxTI64                "v_cmpx_t_i64"               (_ Mask <- I64 I64)
        0xf8  VCmpxFU64                "v_cmpx_f_u64"               (_ Mask <- I64 I64)
        0xf9  VCmpxLtU64               "v_cmpx_lt_u64"              (_ Mask <- I64 I64)
        0xfa  VCmpxEqU64               "v_cmpx_eq_u64"              (_ Mask <- I64 I64)
        0xfb  VCmpxLeU64               "v_cmpx_le_u64"              (_ Mask <- I64 I64)
        0xfc  VCmpxGtU64               "v_cmpx_gt_u64"              (_ Mask <- I64 I64)
        0xfd  VCmpxNeU64               "v_cmpx_ne_u64"              (_ Mask <- I64 I64)
        0xfe  VCmpxGeU64               "v_cmpx_ge_u64"              (_ Mask <- I64 I64)
        0xff  VCmpxTU64                "v_cmpx_t_u64"               (_ Mask <- I64 I64)
    }

    // Vector, three sources: what exists in this encoding only.
    Vop3 {
        0x1c0 VMadLegacyF32            "v_mad_legacy_f32"           (F32 <- F32 F32 F32)
        0x1c1 VMadF32                  "v_mad_f32"                  (F32 <- F32 F32 F32)
        0x1c2 VMadI32I24               "v_mad_i32_i24"              (I32 <- I32 I32 I32)
        0x1c3 VMadU32U24               "v_mad_u32_u24"              (I32 <- I32 I32 I32)
        0x1c4 VCubeidF32               "v_cubeid_f32"               (F32 <- F32 F32 F32)
        0x1c5 VCubescF32               "v_cubesc_f32"               (F32 <- F32 F32 F32)
        0x1c6 VCubetcF32               "v_cubetc_f32"               (F32 <- F32 F32 F32)
        0x1c7 VCubemaF32               "v_cubema_f32"               (F32 <- F32 F32 F32)
        0x1c8 VBfeU32                  "v_bfe_u32"                  (I32 <- I32 I32 I32)
        0x1c9 VBfeI32                  "v_bfe_i32"                  (I32 <- I32 I32 I32)
        0x1ca VBfiB32                  "v_bfi_b32"                  (I32 <- I32 I32 I32)
        0x1cb VFmaF32                  "v_fma_f32"                  (F32 <- F32 F32 F32)
        0x1cc VFmaF64                  "v_fma_f64"                  (F64 <- F64 F64 F64)
        0x1cd VLerpU8                  "v_lerp_u8"                  (I32 <- I32 I32 I32)
        0x1ce VAlignbitB32             "v_alignbit_b32"             (I32 <- I32 I32 I32)
        0x1cf VAlignbyteB32            "v_alignbyte_b32"            (I32 <- I32 I32 I32)
        0x1d0 VMin3F32                 "v_min3_f32"                 (F32 <- F32 F32 F32)
        0x1d1 VMin3I32                 "v_min3_i32"                 (I32 <- I32 I32 I32)
        0x1d2 VMin3U32                 "v_min3_u32"                 (I32 <- I32 I32 I32)
        0x1d3 VMax3F32                 "v_max3_f32"                 (F32 <- F32 F32 F32)
        0x1d4 VMax3I32                 "v_max3_i32"                 (I32 <- I32 I32 I32)
        0x1d5 VMax3U32                 "v_max3_u32"                 (I32 <- I32 I32 I32)
        0x1d6 VMed3F32                 "v_med3_f32"                 (F32 <- F32 F32 F32)
        0x1d7 VMed3I32                 "v_med3_i32"                 (I32 <- I32 I32 I32)
        0x1d8 VMed3U32                 "v_med3_u32"                 (I32 <- I32 I32 I32)
        0x1d9 VSadU8                   "v_sad_u8"                   (I32 <- I32 I32 I32)
        0x1da VSadHiU8                 "v_sad_hi_u8"                (I32 <- I32 I32 I32)
        0x1db VSadU16                  "v_sad_u16"                  (I32 <- I32 I32 I32)
        0x1dc VSadU32                  "v_sad_u32"                  (I32 <- I32 I32 I32)
        0x1dd VCvtPkU8F32              "v_cvt_pk_u8_f32"            (I32 <- F32 I32 I32)
        0x1de VDivFixupF32             "v_div_fixup_f32"            (F32 <- F32 F32 F32)
        0x1df VDivFixupF64             "v_div_fixup_f64"            (F64 <- F64 F64 F64)
        0x1e0 VDivScaleF32             "v_div_scale_f32"            (F32 Mask <- F32 F32 F32)
        0x1e1 VDivScaleF64             "v_div_scale_f64"            (F64 Mask <- F64 F64 F64)
        0x1e2 VDivFmasF32              "v_div_fmas_f32"             (F32 <- F32 F32 F32)
        0x1e3 VDivFmasF64              "v_div_fmas_f64"             (F64 <- F64 F64 F64)
        0x1e4 VMsadU8                  "v_msad_u8"                  (I32 <- I32 I32 I32)
        0x1e5 VQsadPkU16U8             "v_qsad_pk_u16_u8"           (I64 <- I64 I32 I64)
        0x1e6 VMqsadPkU16U8            "v_mqsad_pk_u16_u8"          (I64 <- I64 I32 I64)
        0x1e7 VMqsadU32U8              "v_mqsad_u32_u8"             (B128 <- I64 I32 B128)
        0x1e8 VMadU64U32               "v_mad_u64_u32"              (I64 Mask <- I32 I32 I64)
        0x1e9 VMadI64I32               "v_mad_i64_i32"              (I64 Mask <- I32 I32 I64)
        0x1ea VMadF16                  "v_mad_f16"                  (F16 <- F16 F16 F16)
        0x1eb VMadU16                  "v_mad_u16"                  (I16 <- I16 I16 I16)
        0x1ec VMadI16                  "v_mad_i16"                  (I16 <- I16 I16 I16)
        0x1ed VPermB32                 "v_perm_b32"                 (I32 <- I32 I32 I32)
        0x1ee VFmaF16                  "v_fma_f16"                  (F16 <- F16 F16 F16)
        0x1ef VDivFixupF16             "v_div_fixup_f16"            (F16 <- F16 F16 F16)
        0x1f0 VCvtPkaccumU8F32         "v_cvt_pkaccum_u8_f32"       (I32 <- F32 I32)
        0x280 VAddF64                  "v_add_f64"                  (F64 <- F64 F64)
        0x281 VMulF64                  "v_mul_f64"                  (F64 <- F64 F64)
        0x282 VMinF64                  "v_min_f64"                  (F64 <- F64 F64)
        0x283 VMaxF64                  "v_max_f64"                  (F64 <- F64 F64)
        0x284 VLdexpF64                "v_ldexp_f64"                (F64 <- F64 I32)
        0x285 VMulLoU32                "v_mul_lo_u32"               (I32 <- I32 I32)
        0x286 VMulHiU32                "v_mul_hi_u32"               (I32 <- I32 I32)
        0x287 VMulHiI32                "v_mul_hi_i32"               (I32 <- I32 I32)
        0x288 VLdexpF32                "v_ldexp_f32"                (F32 <- F32 I32)
        0x289 VReadlaneB32             "v_readlane_b32"             (S32 <- I32 S32)
        0x28a VWritelaneB32            "v_writelane_b32"            (I32 <- S32 S32)
        0x28b VBcntU32B32              "v_bcnt_u32_b32"             (I32 <- I32 I32)
        0x28c VMbcntLoU32B32           "v_mbcnt_lo_u32_b32"         (I32 <- I32 I32)
        0x28d VMbcntHiU32B32           "v_mbcnt_hi_u32_b32"         (I32 <- I32 I32)
        0x28f VLshlrevB64              "v_lshlrev_b64"              (I64 <- I32 I64)
        0x290 VLshrrevB64              "v_lshrrev_b64"              (I64 <- I32 I64)
        0x291 VAshrrevI64              "v_ashrrev_i64"              (I64 <- I32 I64)
        0x292 VTrigPreopF64            "v_trig_preop_f64"           (F64 <- F64 I32)
        0x293 VBfmB32                  "v_bfm_b32"                  (I32 <- I32 I32)
        0x294 VCvtPknormI16F32         "v_cvt_pknorm_i16_f32"       (I32 <- F32 F32)
        0x295 VCvtPknormU16F32         "v_cvt_pknorm_u16_f32"       (I32 <- F32 F32)
        0x296 VCvtPkrtzF16F32          "v_cvt_pkrtz_f16_f32"        (I32 <- F32 F32)
        0x297 VCvtPkU16U32             "v_cvt_pk_u16_u32"           (I32 <- I32 I32)
        0x298 VCvtPkI16I32             "v_cvt_pk_i16_i32"           (I32 <- I32 I32)
    }

    // Local and global data share.
    Ds {
        0x00  DsAddU32                 "ds_add_u32"                 (_ <- I32 I32)
        0x01  DsSubU32                 "ds_sub_u32"                 (_ <- I32 I32)
        0x02  DsRsubU32                "ds_rsub_u32"                (_ <- I32 I32)
        0x03  DsIncU32                 "ds_inc_u32"                 (_ <- I32 I32)
        0x04  DsDecU32                 "ds_dec_u32"                 (_ <- I32 I32)
        0x05  DsMinI32                 "ds_min_i32"                 (_ <- I32 I32)
        0x06  DsMaxI32                 "ds_max_i32"                 (_ <- I32 I32)
        0x07  DsMinU32                 "ds_min_u32"                 (_ <- I32 I32)
        0x08  DsMaxU32                 "ds_max_u32"                 (_ <- I32 I32)
        0x09  DsAndB32                 "ds_and_b32"                 (_ <- I32 I32)
        0x0a  DsOrB32                  "ds_or_b32"                  (_ <- I32 I32)
        0x0b  DsXorB32                 "ds_xor_b32"                 (_ <- I32 I32)
        0x0c  DsMskorB32               "ds_mskor_b32"               (_ <- I32 I32 I32)
        0x0d  DsWriteB32               "ds_write_b32"               (_ <- I32 I32)
        0x0e  DsWrite2B32              "ds_write2_b32"              (_ <- I32 I32 I32)
        0x0f  DsWrite2st64B32          "ds_write2st64_b32"          (_ <- I32 I32 I32)
        0x10  DsCmpstB32               "ds_cmpst_b32"               (_ <- I32 I32 I32)
        0x11  DsCmpstF32               "ds_cmpst_f32"               (_ <- I32 I32 I32)
        0x12  DsMinF32                 "ds_min_f32"                 (_ <- I32 I32)
        0x13  DsMaxF32                 "ds_max_f32"                 (_ <- I32 I32)
        0x14  DsNop                    "ds_nop"                     (_ <-)
        0x15  DsAddF32                 "ds_add_f32"                 (_ <- I32 I32)
        0x1e  DsWriteB8                "ds_write_b8"                (_ <- I32 I32)
        0x1f  DsWriteB16               "ds_write_b16"               (_ <- I32 I32)
        0x20  DsAddRtnU32              "ds_add_rtn_u32"             (I32 <- I32 I32)
        0x21  DsSubRtnU32              "ds_sub_rtn_u32"             (I32 <- I32 I32)
        0x22  DsRsubRtnU32             "ds_rsub_rtn_u32"            (I32 <- I32 I32)
        0x23  DsIncRtnU32              "ds_inc_rtn_u32"             (I32 <- I32 I32)
        0x24  DsDecRtnU32              "ds_dec_rtn_u32"             (I32 <- I32 I32)
        0x25  DsMinRtnI32              "ds_min_rtn_i32"             (I32 <- I32 I32)
        0x26  DsMaxRtnI32              "ds_max_rtn_i32"             (I32 <- I32 I32)
        0x27  DsMinRtnU32              "ds_min_rtn_u32"             (I32 <- I32 I32)
        0x28  DsMaxRtnU32              "ds_max_rtn_u32"             (I32 <- I32 I32)
        0x29  DsAndRtnB32              "ds_and_rtn_b32"             (I32 <- I32 I32)
        0x2a  DsOrRtnB32               "ds_or_rtn_b32"              (I32 <- I32 I32)
        0x2b  DsXorRtnB32              "ds_xor_rtn_b32"             (I32 <- I32 I32)
        0x2c  DsMskorRtnB32            "ds_mskor_rtn_b32"           (I32 <- I32 I32 I32)
        0x2d  DsWrxchgRtnB32           "ds_wrxchg_rtn_b32"          (I32 <- I32 I32)
        0x2e  DsWrxchg2RtnB32          "ds_wrxchg2_rtn_b32"         (I64 <- I32 I32 I32)
        0x2f  DsWrxchg2st64RtnB32      "ds_wrxchg2st64_rtn_b32"     (I64 <- I32 I32 I32)
        0x30  DsCmpstRtnB32            "ds_cmpst_rtn_b32"           (I32 <- I32 I32 I32)
        0x31  DsCmpstRtnF32            "ds_cmpst_rtn_f32"           (I32 <- I32 I32 I32)
        0x32  DsMinRtnF32              "ds_min_rtn_f32"             (I32 <- I32 I32)
        0x33  DsMaxRtnF32              "ds_max_rtn_f32"             (I32 <- I32 I32)
        0x34  DsWrapRtnB32             "ds_wrap_rtn_b32"            (I32 <- I32 I32 I32)
        0x35  DsAddRtnF32              "ds_add_rtn_f32"             (I32 <- I32 I32)
        0x36  DsReadB32                "ds_read_b32"                (I32 <- I32)
        0x37  DsRead2B32               "ds_read2_b32"               (I64 <- I32)
        0x38  DsRead2st64B32           "ds_read2st64_b32"           (I64 <- I32)
        0x39  DsReadI8                 "ds_read_i8"                 (I32 <- I32)
        0x3a  DsReadU8                 "ds_read_u8"                 (I32 <- I32)
        0x3b  DsReadI16                "ds_read_i16"                (I32 <- I32)
        0x3c  DsReadU16                "ds_read_u16"                (I32 <- I32)
        0x3d  DsSwizzleB32             "ds_swizzle_b32"             (I32 <- I32)
        0x3e  DsPermuteB32             "ds_permute_b32"             (I32 <- I32 I32)
        0x3f  DsBpermuteB32            "ds_bpermute_b32"            (I32 <- I32 I32)
        0x40  DsAddU64                 "ds_add_u64"                 (_ <- I32 I64)
        0x41  DsSubU64                 "ds_sub_u64"                 (_ <- I32 I64)
        0x42  DsRsubU64                "ds_rsub_u64"                (_ <- I32 I64)
        0x43  DsIncU64                 "ds_inc_u64"                 (_ <- I32 I64)
        0x44  DsDecU64                 "ds_dec_u64"                 (_ <- I32 I64)
        0x45  DsMinI64                 "ds_min_i64"                 (_ <- I32 I64)
        0x46  DsMaxI64                 "ds_max_i64"                 (_ <- I32 I64)
        0x47  DsMinU64                 "ds_min_u64"                 (_ <- I32 I64)
        0x48  DsMaxU64                 "ds_max_u64"                 (_ <- I32 I64)
        0x49  DsAndB64                 "ds_and_b64"                 (_ <- I32 I64)
        0x4a  DsOrB64                  "ds_or_b64"                  (_ <- I32 I64)
        0x4b  DsXorB64                 "ds_xor_b64"                 (_ <- I32 I64)
        0x4c  DsMskorB64               "ds_mskor_b64"               (_ <- I32 I64 I64)
        0x4d  DsWriteB64               "ds_write_b64"               (_ <- I32 I64)
        0x4e  DsWrite2B64              "ds_write2_b64"              (_ <- I32 I64 I64)
        0x4f  DsWrite2st64B64          "ds_write2st64_b64"          (_ <- I32 I64 I64)
        0x50  DsCmpstB64               "ds_cmpst_b64"               (_ <- I32 I64 I64)
        0x51  DsCmpstF64               "ds_cmpst_f64"               (_ <- I32 I64 I64)
        0x52  DsMinF64                 "ds_min_f64"                 (_ <- I32 I64)
        0x53  DsMaxF64                 "ds_max_f64"                 (_ <- I32 I64)
        0x60  DsAddRtnU64              "ds_add_rtn_u64"             (I64 <- I32 I64)
        0x61  DsSubRtnU64              "ds_sub_rtn_u64"             (I64 <- I32 I64)
        0x62  DsRsubRtnU64             "ds_rsub_rtn_u64"            (I64 <- I32 I64)
        0x63  DsIncRtnU64              "ds_inc_rtn_u64"             (I64 <- I32 I64)
        0x64  DsDecRtnU64              "ds_dec_rtn_u64"             (I64 <- I32 I64)
        0x65  DsMinRtnI64              "ds_min_rtn_i64"             (I64 <- I32 I64)
        0x66  DsMaxRtnI64              "ds_max_rtn_i64"             (I64 <- I32 I64)
        0x67  DsMinRtnU64              "ds_min_rtn_u64"             (I64 <- I32 I64)
        0x68  DsMaxRtnU64              "ds_max_rtn_u64"             (I64 <- I32 I64)
        0x69  DsAndRtnB64              "ds_and_rtn_b64"             (I64 <- I32 I64)
        0x6a  DsOrRtnB64               "ds_or_rtn_b64"              (I64 <- I32 I64)
        0x6b  DsXorRtnB64              "ds_xor_rtn_b64"             (I64 <- I32 I64)
        0x6c  DsMskorRtnB64            "ds_mskor_rtn_b64"           (I64 <- I32 I64 I64)
        0x6d  DsWrxchgRtnB64           "ds_wrxchg_rtn_b64"          (I64 <- I32 I64)
        0x6e  DsWrxchg2RtnB64          "ds_wrxchg2_rtn_b64"         (B128 <- I32 I64 I64)
        0x6f  DsWrxchg2st64RtnB64      "ds_wrxchg2st64_rtn_b64"     (B128 <- I32 I64 I64)
        0x70  DsCmpstRtnB64            "ds_cmpst_rtn_b64"           (I64 <- I32 I64 I64)
        0x71  DsCmpstRtnF64            "ds_cmpst_rtn_f64"           (I64 <- I32 I64 I64)
        0x72  DsMinRtnF64              "ds_min_rtn_f64"             (I64 <- I32 I64)
        0x73  DsMaxRtnF64              "ds_max_rtn_f64"             (I64 <- I32 I64)
        0x76  DsReadB64                "ds_read_b64"                (I64 <- I32)
        0x77  DsRead2B64               "ds_read2_b64"               (B128 <- I32)
        0x78  DsRead2st64B64           "ds_read2st64_b64"           (B128 <- I32)
        0x7e  DsCondxchg32RtnB64       "ds_condxchg32_rtn_b64"      (I64 <- I32 I64)
        0x80  DsAddSrc2U32             "ds_add_src2_u32"            (_ <- I32)
        0x81  DsSubSrc2U32             "ds_sub_src2_u32"            (_ <- I32)
        0x82  DsRsubSrc2U32            "ds_rsub_src2_u32"           (_ <- I32)
        0x83  DsIncSrc2U32             "ds_inc_src2_u32"            (_ <- I32)
        0x84  DsDecSrc2U32             "ds_dec_src2_u32"            (_ <- I32)
        0x85  DsMinSrc2I32             "ds_min_src2_i32"            (_ <- I32)
        0x86  DsMaxSrc2I32             "ds_max_src2_i32"            (_ <- I32)
        0x87  DsMinSrc2U32             "ds_min_src2_u32"            (_ <- I32)
        0x88  DsMaxSrc2U32             "ds_max_src2_u32"            (_ <- I32)
        0x89  DsAndSrc2B32             "ds_and_src2_b32"            (_ <- I32)
        0x8a  DsOrSrc2B32              "ds_or_src2_b32"             (_ <- I32)
        0x8b  DsXorSrc2B32             "ds_xor_src2_b32"            (_ <- I32)
        0x8d  DsWriteSrc2B32           "ds_write_src2_b32"          (_ <- I32)
        0x92  DsMinSrc2F32             "ds_min_src2_f32"            (_ <- I32)
        0x93  DsMaxSrc2F32             "ds_max_src2_f32"            (_ <- I32)
        0x95  DsAddSrc2F32             "ds_add_src2_f32"            (_ <- I32)
        0x98  DsGwsSemaReleaseAll      "ds_gws_sema_release_all"    (_ <-)
        0x99  DsGwsInit                "ds_gws_init"                (_ <- _ I32)
        0x9a  DsGwsSemaV               "ds_gws_sema_v"              (_ <-)
        0x9b  DsGwsSemaBr              "ds_gws_sema_br"             (_ <- _ I32)
        0x9c  DsGwsSemaP               "ds_gws_sema_p"              (_ <-)
        0x9d  DsGwsBarrier             "ds_gws_barrier"             (_ <- _ I32)
        0xbd  DsConsume                "ds_consume"                 (I32 <-)
        0xbe  DsAppend                 "ds_append"                  (I32 <-)
        0xbf  DsOrderedCount           "ds_ordered_count"           (I32 <- I32)
        0xc0  DsAddSrc2U64             "ds_add_src2_u64"            (_ <- I32)
        0xc1  DsSubSrc2U64             "ds_sub_src2_u64"            (_ <- I32)
        0xc2  DsRsubSrc2U64            "ds_rsub_src2_u64"           (_ <- I32)
        0xc3  DsIncSrc2U64             "ds_inc_src2_u64"            (_ <- I32)
        0xc4  DsDecSrc2U64             "ds_dec_src2_u64"            (_ <- I32)
        0xc5  DsMinSrc2I64             "ds_min_src2_i64"            (_ <- I32)
        0xc6  DsMaxSrc2I64             "ds_max_src2_i64"            (_ <- I32)
        0xc7  DsMinSrc2U64             "ds_min_src2_u64"            (_ <- I32)
        0xc8  DsMaxSrc2U64             "ds_max_src2_u64"            (_ <- I32)
        0xc9  DsAndSrc2B64             "ds_and_src2_b64"            (_ <- I32)
        0xca  DsOrSrc2B64              "ds_or_src2_b64"             (_ <- I32)
        0xcb  DsXorSrc2B64             "ds_xor_src2_b64"            (_ <- I32)
        0xcd  DsWriteSrc2B64           "ds_write_src2_b64"          (_ <- I32)
        0xd2  DsMinSrc2F64             "ds_min_src2_f64"            (_ <- I32)
        0xd3  DsMaxSrc2F64             "ds_max_src2_f64"            (_ <- I32)
        0xde  DsWriteB96               "ds_write_b96"               (_ <- I32 B96)
        0xdf  DsWriteB128              "ds_write_b128"              (_ <- I32 B128)
        0xfe  DsReadB96                "ds_read_b96"                (B96 <- I32)
        0xff  DsReadB128               "ds_read_b128"               (B128 <- I32)
    }

    // Flat memory.
    Flat {
        0x10  FlatLoadUbyte            "flat_load_ubyte"            (I32 <- I64)
        0x11  FlatLoadSbyte            "flat_load_sbyte"            (I32 <- I64)
        0x12  FlatLoadUshort           "flat_load_ushort"           (I32 <- I64)
        0x13  FlatLoadSshort           "flat_load_sshort"           (I32 <- I64)
        0x14  FlatLoadDword            "flat_load_dword"            (I32 <- I64)
        0x15  FlatLoadDwordx2          "flat_load_dwordx2"          (I64 <- I64)
        0x16  FlatLoadDwordx3          "flat_load_dwordx3"          (B96 <- I64)
        0x17  FlatLoadDwordx4          "flat_load_dwordx4"          (B128 <- I64)
        0x18  FlatStoreByte            "flat_store_byte"            (_ <- I64 I32)
        0x1a  FlatStoreShort           "flat_store_short"           (_ <- I64 I32)
        0x1c  FlatStoreDword           "flat_store_dword"           (_ <- I64 I32)
        0x1d  FlatStoreDwordx2         "flat_store_dwordx2"         (_ <- I64 I64)
        0x1e  FlatStoreDwordx3         "flat_store_dwordx3"         (_ <- I64 B96)
        0x1f  FlatStoreDwordx4         "flat_store_dwordx4"         (_ <- I64 B128)
        0x40  FlatAtomicSwap           "flat_atomic_swap"           (I32 <- I64 I32)
        0x41  FlatAtomicCmpswap        "flat_atomic_cmpswap"        (I32 <- I64 I64)
        0x42  FlatAtomicAdd            "flat_atomic_add"            (I32 <- I64 I32)
        0x43  FlatAtomicSub            "flat_atomic_sub"            (I32 <- I64 I32)
        0x44  FlatAtomicSmin           "flat_atomic_smin"           (I32 <- I64 I32)
        0x45  FlatAtomicUmin           "flat_atomic_umin"           (I32 <- I64 I32)
        0x46  FlatAtomicSmax           "flat_atomic_smax"           (I32 <- I64 I32)
        0x47  FlatAtomicUmax           "flat_atomic_umax"           (I32 <- I64 I32)
        0x48  FlatAtomicAnd            "flat_atomic_and"            (I32 <- I64 I32)
        0x49  FlatAtomicOr             "flat_atomic_or"             (I32 <- I64 I32)
        0x4a  FlatAtomicXor            "flat_atomic_xor"            (I32 <- I64 I32)
        0x4b  FlatAtomicInc            "flat_atomic_inc"            (I32 <- I64 I32)
        0x4c  FlatAtomicDec            "flat_atomic_dec"            (I32 <- I64 I32)
        0x60  FlatAtomicSwapX2         "flat_atomic_swap_x2"        (I64 <- I64 I64)
        0x61  FlatAtomicCmpswapX2      "flat_atomic_cmpswap_x2"     (I64 <- I64 B128)
        0x62  FlatAtomicAddX2          "flat_atomic_add_x2"         (I64 <- I64 I64)
        0x63  FlatAtomicSubX2          "flat_atomic_sub_x2"         (I64 <- I64 I64)
        0x64  FlatAtomicSminX2         "flat_atomic_smin_x2"        (I64 <- I64 I64)
        0x65  FlatAtomicUminX2         "flat_atomic_umin_x2"        (I64 <- I64 I64)
        0x66  FlatAtomicSmaxX2         "flat_atomic_smax_x2"        (I64 <- I64 I64)
        0x67  FlatAtomicUmaxX2         "flat_atomic_umax_x2"        (I64 <- I64 I64)
        0x68  FlatAtomicAndX2          "flat_atomic_and_x2"         (I64 <- I64 I64)
        0x69  FlatAtomicOrX2           "flat_atomic_or_x2"          (I64 <- I64 I64)
        0x6a  FlatAtomicXorX2          "flat_atomic_xor_x2"         (I64 <- I64 I64)
        0x6b  FlatAtomicIncX2          "flat_atomic_inc_x2"         (I64 <- I64 I64)
        0x6c  FlatAtomicDecX2          "flat_atomic_dec_x2"         (I64 <- I64 I64)
    }

    // Untyped buffer.
    Mubuf {
        0x00  BufferLoadFormatX        "buffer_load_format_x"       (I32 <- I32 B128 I32)
        0x01  BufferLoadFormatXy       "buffer_load_format_xy"      (I64 <- I32 B128 I32)
        0x02  BufferLoadFormatXyz      "buffer_load_format_xyz"     (B96 <- I32 B128 I32)
        0x03  BufferLoadFormatXyzw     "buffer_load_format_xyzw"    (B128 <- I32 B128 I32)
        0x04  BufferStoreFormatX       "buffer_store_format_x"      (I32 <- I32 B128 I32)
        0x05  BufferStoreFormatXy      "buffer_store_format_xy"     (I64 <- I32 B128 I32)
        0x06  BufferStoreFormatXyz     "buffer_store_format_xyz"    (B96 <- I32 B128 I32)
        0x07  BufferStoreFormatXyzw    "buffer_store_format_xyzw"   (B128 <- I32 B128 I32)
        0x08  BufferLoadFormatD16X     "buffer_load_format_d16_x"   (I32 <- I32 B128 I32)
        0x09  BufferLoadFormatD16Xy    "buffer_load_format_d16_xy"  (I64 <- I32 B128 I32)
        0x0a  BufferLoadFormatD16Xyz   "buffer_load_format_d16_xyz" (B96 <- I32 B128 I32)
        0x0b  BufferLoadFormatD16Xyzw  "buffer_load_format_d16_xyzw" (B128 <- I32 B128 I32)
        0x0c  BufferStoreFormatD16X    "buffer_store_format_d16_x"  (I32 <- I32 B128 I32)
        0x0d  BufferStoreFormatD16Xy   "buffer_store_format_d16_xy" (I64 <- I32 B128 I32)
        0x0e  BufferStoreFormatD16Xyz  "buffer_store_format_d16_xyz" (B96 <- I32 B128 I32)
        0x0f  BufferStoreFormatD16Xyzw "buffer_store_format_d16_xyzw" (B128 <- I32 B128 I32)
        0x10  BufferLoadUbyte          "buffer_load_ubyte"          (I32 <- I32 B128 I32)
        0x11  BufferLoadSbyte          "buffer_load_sbyte"          (I32 <- I32 B128 I32)
        0x12  BufferLoadUshort         "buffer_load_ushort"         (I32 <- I32 B128 I32)
        0x13  BufferLoadSshort         "buffer_load_sshort"         (I32 <- I32 B128 I32)
        0x14  BufferLoadDword          "buffer_load_dword"          (I32 <- I32 B128 I32)
        0x15  BufferLoadDwordx2        "buffer_load_dwordx2"        (I64 <- I32 B128 I32)
        0x16  BufferLoadDwordx3        "buffer_load_dwordx3"        (B96 <- I32 B128 I32)
        0x17  BufferLoadDwordx4        "buffer_load_dwordx4"        (B128 <- I32 B128 I32)
        0x18  BufferStoreByte          "buffer_store_byte"          (I32 <- I32 B128 I32)
        0x1a  BufferStoreShort         "buffer_store_short"         (I32 <- I32 B128 I32)
        0x1c  BufferStoreDword         "buffer_store_dword"         (I32 <- I32 B128 I32)
        0x1d  BufferStoreDwordx2       "buffer_store_dwordx2"       (I64 <- I32 B128 I32)
        0x1e  BufferStoreDwordx3       "buffer_store_dwordx3"       (B96 <- I32 B128 I32)
        0x1f  BufferStoreDwordx4       "buffer_store_dwordx4"       (B128 <- I32 B128 I32)
        0x3d  BufferStoreLdsDword      "buffer_store_lds_dword"     (_ <- _ B128 I32)
        0x3e  BufferWbinvl1            "buffer_wbinvl1"             (_ <-)
        0x3f  BufferWbinvl1Vol         "buffer_wbinvl1_vol"         (_ <-)
        0x40  BufferAtomicSwap         "buffer_atomic_swap"         (I32 <- I32 B128 I32)
        0x41  BufferAtomicCmpswap      "buffer_atomic_cmpswap"      (I64 <- I32 B128 I32)
        0x42  BufferAtomicAdd          "buffer_atomic_add"          (I32 <- I32 B128 I32)
        0x43  BufferAtomicSub          "buffer_atomic_sub"          (I32 <- I32 B128 I32)
        0x44  BufferAtomicSmin         "buffer_atomic_smin"         (I32 <- I32 B128 I32)
        0x45  BufferAtomicUmin         "buffer_atomic_umin"         (I32 <- I32 B128 I32)
        0x46  BufferAtomicSmax         "buffer_atomic_smax"         (I32 <- I32 B128 I32)
        0x47  BufferAtomicUmax         "buffer_atomic_umax"         (I32 <- I32 B128 I32)
        0x48  BufferAtomicAnd          "buffer_atomic_and"          (I32 <- I32 B128 I32)
        0x49  BufferAtomicOr           "buffer_atomic_or"           (I32 <- I32 B128 I32)
        0x4a  BufferAtomicXor          "buffer_atomic_xor"          (I32 <- I32 B128 I32)
        0x4b  BufferAtomicInc          "buffer_atomic_inc"          (I32 <- I32 B128 I32)
        0x4c  BufferAtomicDec          "buffer_atomic_dec"          (I32 <- I32 B128 I32)
        0x60  BufferAtomicSwapX2       "buffer_atomic_swap_x2"      (I64 <- I32 B128 I32)
        0x61  BufferAtomicCmpswapX2    "buffer_atomic_cmpswap_x2"   (B128 <- I32 B128 I32)
        0x62  BufferAtomicAddX2        "buffer_atomic_add_x2"       (I64 <- I32 B128 I32)
        0x63  BufferAtomicSubX2        "buffer_atomic_sub_x2"       (I64 <- I32 B128 I32)
        0x64  BufferAtomicSminX2       "buffer_atomic_smin_x2"      (I64 <- I32 B128 I32)
        0x65  BufferAtomicUminX2       "buffer_atomic_umin_x2"      (I64 <- I32 B128 I32)
        0x66  BufferAtomicSmaxX2       "buffer_atomic_smax_x2"      (I64 <- I32 B128 I32)
        0x67  BufferAtomicUmaxX2       "buffer_atomic_umax_x2"      (I64 <- I32 B128 I32)
        0x68  BufferAtomicAndX2        "buffer_atomic_and_x2"       (I64 <- I32 B128 I32)
        0x69  BufferAtomicOrX2         "buffer_atomic_or_x2"        (I64 <- I32 B128 I32)
        0x6a  BufferAtomicXorX2        "buffer_atomic_xor_x2"       (I64 <- I32 B128 I32)
        0x6b  BufferAtomicIncX2        "buffer_atomic_inc_x2"       (I64 <- I32 B128 I32)
        0x6c  BufferAtomicDecX2        "buffer_atomic_dec_x2"       (I64 <- I32 B128 I32)
    }

    // Typed buffer.
    Mtbuf {
        0x00  TbufferLoadFormatX       "tbuffer_load_format_x"      (I32 <- I32 B128 I32)
        0x01  TbufferLoadFormatXy      "tbuffer_load_format_xy"     (I64 <- I32 B128 I32)
        0x02  TbufferLoadFormatXyz     "tbuffer_load_format_xyz"    (B96 <- I32 B128 I32)
        0x03  TbufferLoadFormatXyzw    "tbuffer_load_format_xyzw"   (B128 <- I32 B128 I32)
        0x04  TbufferStoreFormatX      "tbuffer_store_format_x"     (I32 <- I32 B128 I32)
        0x05  TbufferStoreFormatXy     "tbuffer_store_format_xy"    (I64 <- I32 B128 I32)
        0x06  TbufferStoreFormatXyz    "tbuffer_store_format_xyz"   (B96 <- I32 B128 I32)
        0x07  TbufferStoreFormatXyzw   "tbuffer_store_format_xyzw"  (B128 <- I32 B128 I32)
        0x08  TbufferLoadFormatD16X    "tbuffer_load_format_d16_x"  (I32 <- I32 B128 I32)
        0x09  TbufferLoadFormatD16Xy   "tbuffer_load_format_d16_xy" (I64 <- I32 B128 I32)
        0x0a  TbufferLoadFormatD16Xyz  "tbuffer_load_format_d16_xyz" (B96 <- I32 B128 I32)
        0x0b  TbufferLoadFormatD16Xyzw "tbuffer_load_format_d16_xyzw" (B128 <- I32 B128 I32)
        0x0c  TbufferStoreFormatD16X   "tbuffer_store_format_d16_x" (I32 <- I32 B128 I32)
        0x0d  TbufferStoreFormatD16Xy  "tbuffer_store_format_d16_xy" (I64 <- I32 B128 I32)
        0x0e  TbufferStoreFormatD16Xyz "tbuffer_store_format_d16_xyz" (B96 <- I32 B128 I32)
        0x0f  TbufferStoreFormatD16Xyzw "tbuffer_store_format_d16_xyzw" (B128 <- I32 B128 I32)
    }

    // Image.
    Mimg {
        0x00  ImageLoad                "image_load"                 (I32 <- I32 B256)
        0x01  ImageLoadMip             "image_load_mip"             (I32 <- I32 B256)
        0x02  ImageLoadPck             "image_load_pck"             (I32 <- I32 B256)
        0x03  ImageLoadPckSgn          "image_load_pck_sgn"         (I32 <- I32 B256)
        0x04  ImageLoadMipPck          "image_load_mip_pck"         (I32 <- I32 B256)
        0x05  ImageLoadMipPckSgn       "image_load_mip_pck_sgn"     (I32 <- I32 B256)
        0x08  ImageStore               "image_store"                (I32 <- I32 B256)
        0x09  ImageStoreMip            "image_store_mip"            (I32 <- I32 B256)
        0x0a  ImageStorePck            "image_store_pck"            (I32 <- I32 B256)
        0x0b  ImageStoreMipPck         "image_store_mip_pck"        (I32 <- I32 B256)
        0x0e  ImageGetResinfo          "image_get_resinfo"          (I32 <- I32 B256)
        0x10  ImageAtomicSwap          "image_atomic_swap"          (I32 <- I32 B256)
        0x11  ImageAtomicCmpswap       "image_atomic_cmpswap"       (I32 <- I32 B256)
        0x12  ImageAtomicAdd           "image_atomic_add"           (I32 <- I32 B256)
        0x13  ImageAtomicSub           "image_atomic_sub"           (I32 <- I32 B256)
        0x14  ImageAtomicSmin          "image_atomic_smin"          (I32 <- I32 B256)
        0x15  ImageAtomicUmin          "image_atomic_umin"          (I32 <- I32 B256)
        0x16  ImageAtomicSmax          "image_atomic_smax"          (I32 <- I32 B256)
        0x17  ImageAtomicUmax          "image_atomic_umax"          (I32 <- I32 B256)
        0x18  ImageAtomicAnd           "image_atomic_and"           (I32 <- I32 B256)
        0x19  ImageAtomicOr            "image_atomic_or"            (I32 <- I32 B256)
        0x1a  ImageAtomicXor           "image_atomic_xor"           (I32 <- I32 B256)
        0x1b  ImageAtomicInc           "image_atomic_inc"           (I32 <- I32 B256)
        0x1c  ImageAtomicDec           "image_atomic_dec"           (I32 <- I32 B256)
        0x20  ImageSample              "image_sample"               (I32 <- I32 B256 B128)
        0x21  ImageSampleCl            "image_sample_cl"            (I32 <- I32 B256 B128)
        0x22  ImageSampleD             "image_sample_d"             (I32 <- I64 B256 B128)
        0x23  ImageSampleDCl           "image_sample_d_cl"          (I32 <- I64 B256 B128)
        0x24  ImageSampleL             "image_sample_l"             (I32 <- I32 B256 B128)
        0x25  ImageSampleB             "image_sample_b"             (I32 <- I64 B256 B128)
        0x26  ImageSampleBCl           "image_sample_b_cl"          (I32 <- I64 B256 B128)
        0x27  ImageSampleLz            "image_sample_lz"            (I32 <- I32 B256 B128)
        0x28  ImageSampleC             "image_sample_c"             (I32 <- I64 B256 B128)
        0x29  ImageSampleCCl           "image_sample_c_cl"          (I32 <- I64 B256 B128)
        0x2a  ImageSampleCD            "image_sample_c_d"           (I32 <- B96 B256 B128)
        0x2b  ImageSampleCDCl          "image_sample_c_d_cl"        (I32 <- B96 B256 B128)
        0x2c  ImageSampleCL            "image_sample_c_l"           (I32 <- I64 B256 B128)
        0x2d  ImageSampleCB            "image_sample_c_b"           (I32 <- B96 B256 B128)
        0x2e  ImageSampleCBCl          "image_sample_c_b_cl"        (I32 <- B96 B256 B128)
        0x2f  ImageSampleCLz           "image_sample_c_lz"          (I32 <- I64 B256 B128)
        0x30  ImageSampleO             "image_sample_o"             (I32 <- I64 B256 B128)
        0x31  ImageSampleClO           "image_sample_cl_o"          (I32 <- I64 B256 B128)
        0x32  ImageSampleDO            "image_sample_d_o"           (I32 <- B96 B256 B128)
        0x33  ImageSampleDClO          "image_sample_d_cl_o"        (I32 <- B96 B256 B128)
        0x34  ImageSampleLO            "image_sample_l_o"           (I32 <- I64 B256 B128)
        0x35  ImageSampleBO            "image_sample_b_o"           (I32 <- B96 B256 B128)
        0x36  ImageSampleBClO          "image_sample_b_cl_o"        (I32 <- B96 B256 B128)
        0x37  ImageSampleLzO           "image_sample_lz_o"          (I32 <- I64 B256 B128)
        0x38  ImageSampleCO            "image_sample_c_o"           (I32 <- B96 B256 B128)
        0x39  ImageSampleCClO          "image_sample_c_cl_o"        (I32 <- B96 B256 B128)
        0x3a  ImageSampleCDO           "image_sample_c_d_o"         (I32 <- B128 B256 B128)
        0x3b  ImageSampleCDClO         "image_sample_c_d_cl_o"      (I32 <- B128 B256 B128)
        0x3c  ImageSampleCLO           "image_sample_c_l_o"         (I32 <- B96 B256 B128)
        0x3d  ImageSampleCBO           "image_sample_c_b_o"         (I32 <- B128 B256 B128)
        0x3e  ImageSampleCBClO         "image_sample_c_b_cl_o"      (I32 <- B128 B256 B128)
        0x3f  ImageSampleCLzO          "image_sample_c_lz_o"        (I32 <- B96 B256 B128)
        0x40  ImageGather4             "image_gather4"              (I32 <- I32 B256 B128)
        0x41  ImageGather4Cl           "image_gather4_cl"           (I32 <- I32 B256 B128)
        0x44  ImageGather4L            "image_gather4_l"            (I32 <- I32 B256 B128)
        0x45  ImageGather4B            "image_gather4_b"            (I32 <- I64 B256 B128)
        0x46  ImageGather4BCl          "image_gather4_b_cl"         (I32 <- I64 B256 B128)
        0x47  ImageGather4Lz           "image_gather4_lz"           (I32 <- I32 B256 B128)
        0x48  ImageGather4C            "image_gather4_c"            (I32 <- I64 B256 B128)
        0x49  ImageGather4CCl          "image_gather4_c_cl"         (I32 <- I64 B256 B128)
        0x4c  ImageGather4CL           "image_gather4_c_l"          (I32 <- I64 B256 B128)
        0x4d  ImageGather4CB           "image_gather4_c_b"          (I32 <- B96 B256 B128)
        0x4e  ImageGather4CBCl         "image_gather4_c_b_cl"       (I32 <- B96 B256 B128)
        0x4f  ImageGather4CLz          "image_gather4_c_lz"         (I32 <- I64 B256 B128)
        0x50  ImageGather4O            "image_gather4_o"            (I32 <- I64 B256 B128)
        0x51  ImageGather4ClO          "image_gather4_cl_o"         (I32 <- I64 B256 B128)
        0x54  ImageGather4LO           "image_gather4_l_o"          (I32 <- I64 B256 B128)
        0x55  ImageGather4BO           "image_gather4_b_o"          (I32 <- B96 B256 B128)
        0x56  ImageGather4BClO         "image_gather4_b_cl_o"       (I32 <- B96 B256 B128)
        0x57  ImageGather4LzO          "image_gather4_lz_o"         (I32 <- I64 B256 B128)
        0x58  ImageGather4CO           "image_gather4_c_o"          (I32 <- B96 B256 B128)
        0x59  ImageGather4CClO         "image_gather4_c_cl_o"       (I32 <- B96 B256 B128)
        0x5c  ImageGather4CLO          "image_gather4_c_l_o"        (I32 <- B96 B256 B128)
        0x5d  ImageGather4CBO          "image_gather4_c_b_o"        (I32 <- B128 B256 B128)
        0x5e  ImageGather4CBClO        "image_gather4_c_b_cl_o"     (I32 <- B128 B256 B128)
        0x5f  ImageGather4CLzO         "image_gather4_c_lz_o"       (I32 <- B96 B256 B128)
        0x60  ImageGetLod              "image_get_lod"              (I32 <- I32 B256 B128)
        0x68  ImageSampleCd            "image_sample_cd"            (I32 <- I64 B256 B128)
        0x69  ImageSampleCdCl          "image_sample_cd_cl"         (I32 <- I64 B256 B128)
        0x6a  ImageSampleCCd           "image_sample_c_cd"          (I32 <- B96 B256 B128)
        0x6b  ImageSampleCCdCl         "image_sample_c_cd_cl"       (I32 <- B96 B256 B128)
        0x6c  ImageSampleCdO           "image_sample_cd_o"          (I32 <- B96 B256 B128)
        0x6d  ImageSampleCdClO         "image_sample_cd_cl_o"       (I32 <- B96 B256 B128)
        0x6e  ImageSampleCCdO          "image_sample_c_cd_o"        (I32 <- B128 B256 B128)
        0x6f  ImageSampleCCdClO        "image_sample_c_cd_cl_o"     (I32 <- B128 B256 B128)
    }
}
