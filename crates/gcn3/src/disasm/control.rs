//! SOPP, and the texts of packed constants: wait counts, messages, hardware registers, index modes.

use std::fmt::{self, Display, Formatter};

use crate::inst::{HwReg, Inst};
use crate::ops::Op;

/// The operands of a SOPP instruction.
pub(super) fn program(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    let constant = inst.imm as u16;
    match inst.op {
        Op::SWaitcnt => WaitCounts(constant).fmt(f),
        Op::SSendmsg | Op::SSendmsghalt => write!(f, " {}", Message(constant)),
        Op::SSetGprIdxMode => write!(f, " {}", GprIndexMode(u32::from(constant))),
        Op::SWakeup | Op::SBarrier | Op::SIcacheInv | Op::STtracedata | Op::SEndpgmSaved | Op::SSetGprIdxOff => Ok(()),
        Op::SEndpgm if constant == 0 => Ok(()),
        Op::SEndpgm => write!(f, " {constant}"),
        _ if is_branch(inst.op) => write!(f, " {constant}"),
        _ => write!(f, " {}", SmallNumber(constant)),
    }
}

/// A number, in decimal if it could be an inline constant.
pub(super) struct SmallNumber(pub u16);

impl Display for SmallNumber {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0 <= 64 { write!(f, "{}", self.0) } else { write!(f, "{:#x}", self.0) }
    }
}

fn is_branch(op: Op) -> bool {
    op == Op::SBranch || op.mnemonic().starts_with("s_cbranch")
}

/// The counters that `s_waitcnt` waits for; others are left out.
struct WaitCounts(u16);

impl Display for WaitCounts {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let counters = [("vmcnt", self.0 & 15, 15), ("expcnt", self.0 >> 4 & 7, 7), ("lgkmcnt", self.0 >> 8 & 15, 15)];
        let waits_for_none = counters.iter().all(|(_, count, most)| count == most);
        for (name, count, most) in counters {
            if count != most || waits_for_none {
                write!(f, " {name}({count})")?;
            }
        }
        Ok(())
    }
}

/// The message of `s_sendmsg`: its name, its operation, its geometry stream.
struct Message(u16);

impl Display for Message {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (id, operation, stream) = (self.0 & 15, self.0 >> 4 & 7, self.0 >> 8 & 3);
        let geometry = ["GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"];
        let system =
            ["", "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD", "SYSMSG_OP_HOST_TRAP_ACK", "SYSMSG_OP_TTRACE_PC"];
        match (id, usize::from(operation), stream) {
            (1, 0, 0) => f.write_str("sendmsg(MSG_INTERRUPT)"),
            (4, 0, 0) => f.write_str("sendmsg(MSG_SAVEWAVE)"),
            (3, 0, 0) => f.write_str("sendmsg(MSG_GS_DONE, GS_OP_NOP)"),
            (2, op @ 1..=3, stream) => write!(f, "sendmsg(MSG_GS, {}, {stream})", geometry[op]),
            (3, op @ 1..=3, stream) => write!(f, "sendmsg(MSG_GS_DONE, {}, {stream})", geometry[op]),
            (15, op @ 1..=4, 0) => write!(f, "sendmsg(MSG_SYSMSG, {})", system[op]),
            _ if id | operation << 4 | stream << 8 != self.0 => write!(f, "{}", self.0),
            _ => write!(f, "sendmsg({id}, {operation}, {stream})"),
        }
    }
}

/// A field of a hardware register.
pub(super) struct HwRegText(pub HwReg);

impl Display for HwRegText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let HwReg { id, offset, size } = self.0;
        f.write_str("hwreg(")?;
        match id {
            1 => f.write_str("HW_REG_MODE")?,
            2 => f.write_str("HW_REG_STATUS")?,
            3 => f.write_str("HW_REG_TRAPSTS")?,
            4 => f.write_str("HW_REG_HW_ID")?,
            5 => f.write_str("HW_REG_GPR_ALLOC")?,
            6 => f.write_str("HW_REG_LDS_ALLOC")?,
            7 => f.write_str("HW_REG_IB_STS")?,
            _ => write!(f, "{id}")?,
        }
        match (offset, size) {
            (0, 32) => f.write_str(")"),
            _ => write!(f, ", {offset}, {size})"),
        }
    }
}

/// The operands of vector instructions that are indexed by M0.
pub(super) struct GprIndexMode(pub u32);

impl Display for GprIndexMode {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0 > 15 {
            return write!(f, "{:#x}", self.0);
        }
        let operands = ["SRC0", "SRC1", "SRC2", "DST"];
        let indexed: Vec<_> = (0..4).filter(|n| self.0 >> n & 1 != 0).map(|n| operands[n]).collect();
        write!(f, "gpr_idx({})", indexed.join(","))
    }
}
