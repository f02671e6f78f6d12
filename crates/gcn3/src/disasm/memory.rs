//! Memory instructions: scalar, data share, flat, buffer, image.

use std::fmt::{self, Display, Formatter};

use super::List;
use super::control::SmallNumber;
use super::operand::{Sgprs, Vgprs};
use crate::decode::image_data_registers;
use crate::inst::{Flags, Format, Inst, Operand};
use crate::ops::{Kind, Op};

pub(super) fn scalar(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    let info = inst.op.info();
    let probes = matches!(inst.op, Op::SAtcProbe | Op::SAtcProbeBuffer);
    let mut list = List::new(f);
    if probes {
        list.item(SmallNumber(inst.memory().dmask.into()))?;
    }
    if !inst.dst.is_none() {
        list.item(inst.operand(inst.dst, info.dst))?;
    }
    if !inst.src[2].is_none() {
        list.item(inst.operand(inst.src[2], info.src[2]))?;
    }
    if !inst.src[0].is_none() {
        list.item(inst.operand(inst.src[0], info.src[0]))?;
        match inst.src[1] {
            Operand::LITERAL => list.item(format_args!("{:#x}", inst.imm))?,
            register => list.item(inst.operand(register, info.src[1]))?,
        }
        if !probes {
            flags(inst, f, &[(Flags::GLC, "glc")])?;
        }
    }
    Ok(())
}

pub(super) fn data_share(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    let info = inst.op.info();
    let mut list = List::new(f);
    if !inst.dst.is_none() {
        list.item(inst.operand(inst.dst, info.dst))?;
    }
    for (source, kind) in inst.src.iter().zip(info.src) {
        if !source.is_none() {
            list.item(inst.operand(*source, kind))?;
        }
    }
    let offset = inst.imm as u16;
    if inst.op.has_two_offsets() {
        let [first, second] = offset.to_le_bytes();
        number(f, "offset0", first.into())?;
        number(f, "offset1", second.into())?;
    } else if inst.op == Op::DsSwizzleB32 {
        swizzle(f, offset)?;
    } else {
        number(f, "offset", offset)?;
    }
    flags(inst, f, &[(Flags::GDS, "gds")])
}

/// The lane pattern of `ds_swizzle_b32`, by name if it has one.
fn swizzle(f: &mut Formatter<'_>, offset: u16) -> fmt::Result {
    if offset == 0 {
        return Ok(());
    }
    if offset & 0xff00 == 0x8000 {
        let lane = |n: u16| offset >> (2 * n) & 3;
        return write!(f, " offset:swizzle(QUAD_PERM,{},{},{},{})", lane(0), lane(1), lane(2), lane(3));
    }
    if offset & 0x8000 != 0 {
        return write!(f, " offset:{offset}");
    }
    // Within 32 lanes, lane n reads lane ((n & and) | or) ^ xor.
    let (and, or, xor) = (offset & 31, offset >> 5 & 31, offset >> 10 & 31);
    let group = 32 - and;
    if and == 31 && or == 0 && xor.is_power_of_two() {
        write!(f, " offset:swizzle(SWAP,{xor})")
    } else if and == 31 && or == 0 && xor > 0 && (xor + 1).is_power_of_two() {
        write!(f, " offset:swizzle(REVERSE,{})", xor + 1)
    } else if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
        write!(f, " offset:swizzle(BROADCAST,{group},{or})")
    } else {
        f.write_str(" offset:swizzle(BITMASK_PERM,\"")?;
        for bit in (0..5).rev() {
            let zero = (or ^ xor) >> bit & 1;
            let one = ((and | or) ^ xor) >> bit & 1;
            f.write_str(match (zero, one) {
                (0, 0) => "0",
                (1, 1) => "1",
                (0, _) => "p",
                _ => "i",
            })?;
        }
        f.write_str("\")")
    }
}

pub(super) fn flat(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    let info = inst.op.info();
    let mut list = List::new(f);
    if !inst.dst.is_none() {
        list.item(inst.operand(inst.dst, info.dst))?;
    }
    list.item(inst.operand(inst.src[0], info.src[0]))?;
    if !inst.src[1].is_none() {
        list.item(inst.operand(inst.src[1], info.src[1]))?;
    }
    flags(inst, f, &[(Flags::GLC, "glc"), (Flags::SLC, "slc")])
}

pub(super) fn buffer(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    let info = inst.op.info();
    if info.src[1] == Kind::None {
        return Ok(()); // cache control
    }
    let memory = inst.memory();
    let mut list = List::new(f);
    if !inst.dst.is_none() {
        list.item(Vgprs(inst.dst, info.dst.registers() + memory.status_registers()))?;
    }
    if info.src[0] != Kind::None {
        let both = memory.flags.contains(Flags::OFFEN) && memory.flags.contains(Flags::IDXEN);
        list.item(Vgprs(inst.src[0], if both { 2 } else { 1 }))?;
    }
    list.item(inst.operand(inst.src[1], info.src[1]))?;
    list.item(inst.operand(inst.src[2], info.src[2]))?;
    if inst.format == Format::Mtbuf {
        write!(f, "{}", BufferFormat { dfmt: memory.dfmt, nfmt: memory.nfmt })?;
    }
    flags(inst, f, &[(Flags::IDXEN, "idxen"), (Flags::OFFEN, "offen")])?;
    number(f, "offset", inst.imm as u16)?;
    let cache = [(Flags::GLC, "glc"), (Flags::SLC, "slc"), (Flags::TFE, "tfe")];
    let lds = [(Flags::LDS, "lds")];
    // LLVM treats the lds of a store as a part of its name.
    let (before, after) = if info.dst == Kind::None { (&lds[..], &cache[..]) } else { (&cache[..], &lds[..]) };
    flags(inst, f, before)?;
    flags(inst, f, after)
}

/// The element format of a typed buffer; the default parts (8-bit, unsigned normalised) are left out.
struct BufferFormat {
    dfmt: u8,
    nfmt: u8,
}

impl Display for BufferFormat {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let data = [
            "INVALID",
            "8",
            "16",
            "8_8",
            "32",
            "16_16",
            "10_11_11",
            "11_11_10",
            "10_10_10_2",
            "2_10_10_10",
            "8_8_8_8",
            "32_32",
            "16_16_16_16",
            "32_32_32",
            "32_32_32_32",
            "RESERVED_15",
        ][usize::from(self.dfmt & 15)];
        let number =
            ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT"][usize::from(self.nfmt & 7)];
        match (self.dfmt, self.nfmt) {
            (1, 0) => Ok(()),
            (1, _) => write!(f, " format:[BUF_NUM_FORMAT_{number}]"),
            (_, 0) => write!(f, " format:[BUF_DATA_FORMAT_{data}]"),
            _ => write!(f, " format:[BUF_DATA_FORMAT_{data},BUF_NUM_FORMAT_{number}]"),
        }
    }
}

pub(super) fn image(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    let info = inst.op.info();
    let memory = inst.memory();
    let mut list = List::new(f);
    list.item(Vgprs(inst.dst, image_data_registers(inst.op, memory)))?;
    list.item(inst.operand(inst.src[0], info.src[0]))?;
    list.item(Sgprs(inst.src[1], 8))?;
    if !inst.src[2].is_none() {
        list.item(inst.operand(inst.src[2], info.src[2]))?;
    }
    if memory.dmask != 0 {
        write!(f, " dmask:{:#x}", memory.dmask)?;
    }
    flags(
        inst,
        f,
        &[
            (Flags::UNORM, "unorm"),
            (Flags::GLC, "glc"),
            (Flags::SLC, "slc"),
            (Flags::R128, "r128"),
            (Flags::TFE, "tfe"),
            (Flags::LWE, "lwe"),
            (Flags::DA, "da"),
            (Flags::D16, "d16"),
        ],
    )
}

/// The names of the flags that are set, each after a space.
fn flags(inst: &Inst, f: &mut Formatter<'_>, names: &[(Flags, &str)]) -> fmt::Result {
    let memory = inst.memory();
    for (flag, name) in names {
        if memory.flags.contains(*flag) {
            write!(f, " {name}")?;
        }
    }
    Ok(())
}

/// A named number, left out if it is 0.
fn number(f: &mut Formatter<'_>, name: &str, value: u16) -> fmt::Result {
    if value == 0 { Ok(()) } else { write!(f, " {name}:{value}") }
}
