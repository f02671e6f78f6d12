//! FLAT, MUBUF, MTBUF and MIMG: memory accesses with an address per lane.

use super::{Pair, Reason, lookup};
use crate::inst::{Extra, Flags, Format, Inst, MemoryFields, Operand};
use crate::ops::{Kind, Op, by_opcode};

pub(super) fn flat(word: Pair) -> Result<Inst, Reason> {
    let op = lookup(&by_opcode::FLAT, word.field(18, 7), "FLAT")?;
    let info = op.info();
    let mut inst = Inst::bare(op, Format::Flat, 8);
    if word.field(0, 16) != 0 {
        return Err(Reason::Modifier { op, what: "has an offset or a segment, which only later chips know" });
    }
    let flags =
        Flags::default().with(Flags::GLC, word.bit(16)).with(Flags::SLC, word.bit(17)).with(Flags::TFE, word.bit(55));
    let memory = MemoryFields { flags, ..MemoryFields::default() };
    inst.src[0] = op.field("addr").vgpr(word.field(32, 8), info.src[0])?;
    if info.src[1] != Kind::None {
        inst.src[1] = op.field("data").vgpr(word.field(40, 8), info.src[1])?;
    }
    // An atomic returns the old value only if GLC is set.
    let returns = info.src[1] == Kind::None || flags.contains(Flags::GLC);
    if info.dst != Kind::None && returns {
        let registers = info.dst.registers() + memory.status_registers();
        inst.dst = op.field("vdst").vgprs(word.field(56, 8), registers)?;
    }
    inst.extra = Extra::Memory(memory);
    Ok(inst)
}

pub(super) fn untyped_buffer(word: Pair) -> Result<Inst, Reason> {
    let op = lookup(&by_opcode::MUBUF, word.field(18, 7), "MUBUF")?;
    let mut inst = Inst::bare(op, Format::Mubuf, 8);
    let flags = Flags::default().with(Flags::LDS, word.bit(16)).with(Flags::SLC, word.bit(17));
    check_lds(op, word)?;
    buffer(&mut inst, word, MemoryFields { flags, ..MemoryFields::default() })?;
    Ok(inst)
}

/// Checks that LDS is used only by loads of one register, and by the one store that reads from LDS.
fn check_lds(op: Op, word: Pair) -> Result<(), Reason> {
    let (lds, addressing) = (word.bit(16), word.field(12, 2));
    let loads_one_register = matches!(
        op,
        Op::BufferLoadFormatX
            | Op::BufferLoadUbyte
            | Op::BufferLoadSbyte
            | Op::BufferLoadUshort
            | Op::BufferLoadSshort
            | Op::BufferLoadDword
    );
    let what = match (op, lds) {
        (Op::BufferStoreLdsDword, false) => "needs its lds bit",
        (Op::BufferStoreLdsDword, true) if addressing != 0 => "has no VGPR address",
        (Op::BufferStoreLdsDword, true) => return Ok(()),
        (_, true) if !loads_one_register => "cannot move data to the local data share",
        _ => return Ok(()),
    };
    Err(Reason::Modifier { op, what })
}

pub(super) fn typed_buffer(word: Pair) -> Result<Inst, Reason> {
    let op = lookup(&by_opcode::MTBUF, word.field(15, 4), "MTBUF")?;
    let mut inst = Inst::bare(op, Format::Mtbuf, 8);
    let flags = Flags::default().with(Flags::SLC, word.bit(54));
    let (dfmt, nfmt) = (word.field(19, 4) as u8, word.field(23, 3) as u8);
    buffer(&mut inst, word, MemoryFields { flags, dfmt, nfmt, dmask: 0 })?;
    Ok(inst)
}

/// The common part of the two buffer encodings.
fn buffer(inst: &mut Inst, word: Pair, mut memory: MemoryFields) -> Result<(), Reason> {
    let op = inst.op;
    let info = op.info();
    if info.src[1] == Kind::None {
        inst.extra = Extra::Memory(MemoryFields::default());
        return Ok(()); // cache control
    }
    let (offen, idxen) = (word.bit(12), word.bit(13));
    memory.flags = memory
        .flags
        .with(Flags::OFFEN, offen)
        .with(Flags::IDXEN, idxen)
        .with(Flags::GLC, word.bit(14))
        .with(Flags::TFE, word.bit(55));
    inst.imm = word.field(0, 12);
    if offen || idxen {
        let registers = if offen && idxen { 2 } else { 1 };
        inst.src[0] = op.field("vaddr").vgprs(word.field(32, 8), registers)?;
    }
    // The resource field counts groups of four registers.
    inst.src[1] = op.field("srsrc").scalar_register(word.field(48, 5) * 4, info.src[1])?;
    inst.src[2] = op.field("soffset").source(word.field(56, 8), info.src[2])?;
    if matches!(inst.src[2], Operand::LITERAL | Operand::LDS_DIRECT) {
        return Err(op.field("soffset").wrong(inst.src[2].code(), "is not a possible offset of a buffer access"));
    }
    if info.dst != Kind::None && !memory.flags.contains(Flags::LDS) {
        let registers = info.dst.registers() + memory.status_registers();
        inst.dst = op.field("vdata").vgprs(word.field(40, 8), registers)?;
    }
    inst.extra = Extra::Memory(memory);
    Ok(())
}

pub(super) fn image(word: Pair) -> Result<Inst, Reason> {
    let op = lookup(&by_opcode::MIMG, word.field(18, 7), "MIMG")?;
    let info = op.info();
    let mut inst = Inst::bare(op, Format::Mimg, 8);
    let flags = Flags::default()
        .with(Flags::UNORM, word.bit(12))
        .with(Flags::GLC, word.bit(13))
        .with(Flags::DA, word.bit(14))
        .with(Flags::R128, word.bit(15))
        .with(Flags::TFE, word.bit(16))
        .with(Flags::LWE, word.bit(17))
        .with(Flags::SLC, word.bit(25))
        .with(Flags::D16, word.bit(63));
    let memory = MemoryFields { flags, dmask: word.field(8, 4) as u8, ..MemoryFields::default() };
    inst.extra = Extra::Memory(memory);
    check_image(op, memory)?;
    inst.src[0] = op.field("vaddr").vgpr(word.field(32, 8), info.src[0])?;
    let resource = if flags.contains(Flags::R128) { Kind::B128 } else { Kind::B256 };
    inst.src[1] = op.field("srsrc").scalar_register(word.field(48, 5) * 4, resource)?;
    if info.src[2] != Kind::None {
        inst.src[2] = op.field("ssamp").scalar_register(word.field(53, 5) * 4, info.src[2])?;
    }
    inst.dst = op.field("vdata").vgprs(word.field(40, 8), image_data_registers(op, memory))?;
    Ok(inst)
}

/// Checks that atomics have one of the two element sizes, and that 16-bit forms exist.
fn check_image(op: Op, memory: MemoryFields) -> Result<(), Reason> {
    let atomic = (Op::ImageAtomicSwap..=Op::ImageAtomicDec).contains(&op);
    let elements = if op == Op::ImageAtomicCmpswap { [0x3, 0xf] } else { [0x1, 0x3] };
    if atomic && !elements.contains(&memory.dmask) {
        return Err(op.field("dmask").wrong(memory.dmask.into(), "selects neither a 32-bit nor a 64-bit element"));
    }
    let samples = op >= Op::ImageSample && op != Op::ImageGetLod;
    let has_halves = samples || matches!(op, Op::ImageLoad | Op::ImageLoadMip | Op::ImageStore | Op::ImageStoreMip);
    if memory.flags.contains(Flags::D16) && !has_halves {
        return Err(Reason::Modifier { op, what: "has no 16-bit form" });
    }
    Ok(())
}

/// The number of vector registers that an image instruction reads or writes: one per component, even for 16-bit
/// components, plus the status word.
pub(crate) fn image_data_registers(op: Op, memory: MemoryFields) -> u8 {
    let gathers = op.mnemonic().starts_with("image_gather4");
    let components = if gathers { 4 } else { memory.dmask.count_ones().max(1) as u8 };
    components + memory.status_registers()
}
