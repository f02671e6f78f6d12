//! Properties of the decoder's answer to any bytes, for the random tests and the fuzz target.

use gcn3::decode::decode;
use gcn3::inst::{Flags, Inst, Operand};
use gcn3::ops::Kind;

/// Decodes at `offset` and checks the answer; returns the distance to the next instruction.
pub fn check(code: &[u8], offset: usize) -> usize {
    match decode(code, offset) {
        Ok(inst) => {
            assert!(inst.size == 4 || inst.size == 8);
            assert!(offset + usize::from(inst.size) <= code.len(), "{inst} runs past the code");
            assert!(inst.to_string().starts_with(inst.op.mnemonic()));
            assert_operands_match_the_table(&inst);
            inst.size.into()
        }
        Err(error) => {
            assert_eq!(error.offset, offset);
            assert!(error.to_string().contains(&error.reason.to_string()));
            4
        }
    }
}

/// Every operand in the table exists, except those that modifiers remove, and its registers exist.
fn assert_operands_match_the_table(inst: &Inst) {
    let info = inst.op.info();
    let operands = [(inst.dst, info.dst), (inst.sdst, info.sdst)].into_iter().chain(inst.src.into_iter().zip(info.src));
    for (operand, kind) in operands {
        if kind == Kind::None {
            assert!(operand.is_none(), "{inst} has an operand too many: {inst:?}");
        }
        let short_resource = kind == Kind::B256 && inst.memory().flags.contains(Flags::R128);
        let registers = if short_resource { 4 } else { u16::from(kind.registers()) };
        if let Some(first) = operand.as_vgpr() {
            assert!(u16::from(first) + registers <= 256, "{inst} runs past v255");
        }
        if let Some(first @ 0..=101) = operand.as_scalar_register() {
            assert!(u16::from(first) + registers <= Operand::SGPRS, "{inst} runs past s101");
        }
    }
}
