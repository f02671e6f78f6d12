//! DS: the local data share of a workgroup and the global one of the GPU.

use super::{Pair, Reason, lookup};
use crate::inst::{Extra, Flags, Format, Inst, MemoryFields};
use crate::ops::{Kind, Op, by_opcode};

pub(super) fn decode(word: Pair) -> Result<Inst, Reason> {
    let op = lookup(&by_opcode::DS, word.field(17, 8), "DS")?;
    let info = op.info();
    let mut inst = Inst::bare(op, Format::Ds, 8);
    let fields = [("addr", 32), ("data0", 40), ("data1", 48)];
    for (n, (name, low)) in fields.into_iter().enumerate() {
        // The global wave sync instructions have their register in the address field.
        let low = if info.src[0] == Kind::None { 32 } else { low };
        if info.src[n] != Kind::None {
            inst.src[n] = op.field(name).vgpr(word.field(low, 8), info.src[n])?;
        }
    }
    if info.dst != Kind::None {
        inst.dst = op.field("vdst").vgpr(word.field(56, 8), info.dst)?;
    }
    inst.imm = word.field(0, 16);
    if needs_global(op) && !word.bit(16) {
        return Err(Reason::Modifier { op, what: "exists for the global data share only" });
    }
    let flags = Flags::default().with(Flags::GDS, word.bit(16));
    inst.extra = Extra::Memory(MemoryFields { flags, ..MemoryFields::default() });
    Ok(inst)
}

fn needs_global(op: Op) -> bool {
    matches!(
        op,
        Op::DsGwsSemaReleaseAll
            | Op::DsGwsInit
            | Op::DsGwsSemaV
            | Op::DsGwsSemaBr
            | Op::DsGwsSemaP
            | Op::DsGwsBarrier
            | Op::DsOrderedCount
    )
}
