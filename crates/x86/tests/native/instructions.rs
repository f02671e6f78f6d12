//! The generated instructions: all that a user program can execute and the emulator implements, except those whose
//! result depends on more than a [`State`](crate::state::State).

use iced_x86::{Code, CpuidFeature, EncodingKind, Mnemonic, OpCodeOperandKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Integer,
    Sse,
    X87,
    Mmx,
}

impl Family {
    pub fn named(name: &str) -> Family {
        match name {
            "integer" => Family::Integer,
            "sse" => Family::Sse,
            "x87" => Family::X87,
            "mmx" => Family::Mmx,
            other => panic!("there is no family '{other}' of instructions: integer, sse, x87, mmx"),
        }
    }

    /// The family's instructions.
    pub fn codes(self) -> Vec<Code> {
        Code::values().filter(|&code| self.has(code) && is_generated(code)).collect()
    }

    /// Whether an instruction belongs to the family, generated or not.
    pub fn has(self, code: Code) -> bool {
        use CpuidFeature as F;
        let features = code.cpuid_features();
        let all = |known: &[CpuidFeature]| features.iter().all(|feature| known.contains(feature));
        let x87 = features.iter().any(|feature| matches!(feature, F::FPU | F::FPU287 | F::FPU387));
        let vector = features
            .iter()
            .any(|feature| matches!(feature, F::SSE | F::SSE2 | F::SSE3 | F::SSSE3 | F::SSE4_1 | F::SSE4_2 | F::FXSR));
        match self {
            Family::X87 => (x87 && all(&[F::FPU, F::FPU287, F::FPU387, F::CMOV, F::SSE3])) || is_fisttp(code),
            Family::Sse => !x87 && !is_fisttp(code) && vector && !has_mm(code),
            Family::Mmx => !x87 && (vector || features.contains(&F::MMX)) && (has_mm(code) || code == Code::Emms),
            Family::Integer => {
                let plain = [
                    F::INTEL8086,
                    F::INTEL186,
                    F::INTEL286,
                    F::INTEL386,
                    F::INTEL486,
                    F::X64,
                    F::CMOV,
                    F::CX8,
                    F::CMPXCHG16B,
                    F::MULTIBYTENOP,
                    F::POPCNT,
                    F::PAUSE,
                ];
                !x87 && all(&plain)
            }
        }
    }
}

fn is_fisttp(code: Code) -> bool {
    code.mnemonic() == Mnemonic::Fisttp
}

fn has_mm(code: Code) -> bool {
    use OpCodeOperandKind as K;
    code.op_code().op_kinds().iter().any(|kind| matches!(kind, K::mm_reg | K::mm_rm | K::mm_or_mem))
}

/// Transcendental functions are compared separately, within one unit in the last place.
pub const TRANSCENDENTAL: [Mnemonic; 8] = [
    Mnemonic::Fsin,
    Mnemonic::Fcos,
    Mnemonic::Fsincos,
    Mnemonic::Fptan,
    Mnemonic::Fpatan,
    Mnemonic::F2xm1,
    Mnemonic::Fyl2x,
    Mnemonic::Fyl2xp1,
];

fn is_generated(code: Code) -> bool {
    use Mnemonic as M;
    let info = code.op_code();
    let usable = info.is_instruction() && info.mode64() && info.encoding() == EncodingKind::Legacy && info.cpl3();
    if !usable || TRANSCENDENTAL.contains(&code.mnemonic()) {
        return false;
    }
    let operands = info.op_kinds();
    let strange = operands.iter().any(|kind| {
        use OpCodeOperandKind as K;
        // Segments, far and 16-bit branches.
        matches!(kind, K::seg_reg | K::es | K::cs | K::ss | K::ds | K::fs | K::gs | K::farbr2_2 | K::farbr4_2)
            || matches!(kind, K::br16_1 | K::br16_2 | K::br32_1 | K::br32_4 | K::brdisp_2 | K::brdisp_4)
            || matches!(kind, K::cr_reg | K::dr_reg | K::tr_reg | K::bnd_reg)
    });
    if strange {
        return false;
    }
    let excluded = match code.mnemonic() {
        // Instructions that depend on the environment: ports, interrupts, system calls, time, the processor's identity,
        // its tables.
        M::In | M::Out | M::Insb | M::Insw | M::Insd | M::Outsb | M::Outsw | M::Outsd => true,
        M::Int | M::Int1 | M::Int3 | M::Into | M::Iret | M::Iretd | M::Iretq | M::Syscall | M::Sysenter => true,
        M::Hlt | M::Cli | M::Sti | M::Cpuid | M::Rdtsc | M::Rdpmc | M::Sysret | M::Sysexit => true,
        M::Lar
        | M::Lsl
        | M::Verr
        | M::Verw
        | M::Sldt
        | M::Str
        | M::Smsw
        | M::Sgdt
        | M::Sidt
        | M::Lfs
        | M::Lgs
        | M::Lss => true,
        // Branches out of the sequence. Near jumps and calls go to a later instruction; what calls leave on the stack
        // is compared.
        M::Ret => !matches!(code, Code::Retnq | Code::Retnq_imm16),
        M::Retf => true,
        M::Jmp | M::Call => {
            let direct =
                operands.iter().all(|kind| matches!(kind, OpCodeOperandKind::br64_1 | OpCodeOperandKind::br64_4));
            !direct && !matches!(code, Code::Jmp_rm64 | Code::Call_rm64)
        }
        // Undefined by definition.
        M::Ud0 | M::Ud1 | M::Ud2 => true,
        // Some are different instructions on some processors.
        M::Reservednop => true,
        // Need an alignment of memory operands that hardware checks in its own ways.
        M::Monitor | M::Mwait => true,
        // Instructions of the 8087 and 80287, preceded by a wait.
        M::Feni | M::Fdisi | M::Fsetpm | M::Frstpm => true,
        // Preceded by a wait, so two instructions; the second alone is generated.
        M::Fstenv | M::Fstcw | M::Fclex | M::Finit | M::Fsave | M::Fstsw | M::Fstdw | M::Fstsg => true,
        M::Fnstdw | M::Fnstsg | M::Ftstp | M::Frint2 | M::Frichop | M::Frinear => true,
        // The result is undefined for counts beyond the operand's width.
        M::Shld | M::Shrd => info.op_kind(2) == OpCodeOperandKind::cl && info.operand_size() == 16,
        // 16-bit forms of an instruction that is 64 bits wide in every program.
        M::Enter => true,
        _ => false,
    };
    !excluded
}
