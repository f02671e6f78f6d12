//! Program control: branches, calls, barriers, hardware registers.

use super::{Handler, Outcome, Step};
use crate::{
    error::Fault,
    inst::{Extra, HwReg, Inst, Operand},
    ops::Op,
    wave::{Wavefront, scalar},
};

impl Wavefront {
    #[inline(always)]
    fn branch_if(&mut self, inst: &Inst, taken: bool) -> Outcome {
        if taken {
            self.pc = self.pc.wrapping_add_signed(i64::from(inst.imm as u16 as i16) * 4);
        }
        Ok(Step::Done)
    }

    /// The contents of a hardware register, as far as a kernel can rely on them.
    fn hardware_register(&self, id: u8) -> u32 {
        match id {
            1 => self.mode.0,
            2 => u32::from(self.scc) | u32::from(self.exec() == 0) << 9 | u32::from(self.vcc() == 0) << 10,
            // HW_ID: the slot in the SIMD, different for the wavefronts of a workgroup.
            4 => self.id & 15,
            _ => 0,
        }
    }

    fn getreg(&mut self, inst: &Inst) -> Outcome {
        let Extra::HwReg(HwReg { id, offset, size }) = inst.extra else {
            return Err(Fault::Unsupported("it names no hardware register"));
        };
        let ones = u32::MAX >> (32 - u32::from(size.clamp(1, 32)));
        self.set_scalar32(inst.dst, self.hardware_register(id) >> (offset & 31) & ones);
        Ok(Step::Done)
    }

    fn setreg(&mut self, inst: &Inst) -> Outcome {
        let Extra::HwReg(HwReg { id, offset, size }) = inst.extra else {
            return Err(Fault::Unsupported("it names no hardware register"));
        };
        let ones = (u32::MAX >> (32 - u32::from(size.clamp(1, 32)))) << (offset & 31);
        let value = self.scalar32(inst, inst.src[0]) << (offset & 31);
        match id {
            1 => self.mode.0 = self.mode.0 & !ones | value & ones,
            // STATUS and TRAPSTS: they do not affect the results of later instructions.
            2 | 3 => {}
            _ => return Err(Fault::Unsupported("it writes a hardware register other than MODE, STATUS and TRAPSTS")),
        }
        Ok(Step::Done)
    }

    fn set_index_mode(&mut self, index: Option<u32>, enables: Option<u32>) -> Outcome {
        let m0 = &mut self.scalars[scalar::M0];
        if let Some(index) = index {
            *m0 = *m0 & !0xff | index & 0xff;
        }
        if let Some(enables) = enables {
            *m0 = *m0 & !0xf000 | (enables & 15) << 12;
        }
        Ok(Step::Done)
    }

    /// The instruction with its M0-indexed operands replaced.
    pub(crate) fn indexed(&self, inst: &Inst) -> Inst {
        let mut inst = *inst;
        let (index, enables) = (self.m0() as u8, self.m0() >> 12);
        let rename = |operand: &mut Operand| {
            if let Some(register) = operand.as_vgpr() {
                *operand = Operand::vgpr(register.wrapping_add(index));
            }
        };
        for n in 0..3 {
            if enables >> n & 1 == 1 {
                rename(&mut inst.src[n]);
            }
        }
        if enables >> 3 & 1 == 1 {
            rename(&mut inst.dst);
        }
        inst
    }
}

pub fn handler(op: Op) -> Option<Handler> {
    Some(match op {
        Op::SNop
        | Op::SWakeup
        | Op::SWaitcnt
        | Op::SSleep
        | Op::SSetprio
        | Op::SSendmsg
        | Op::SIcacheInv
        | Op::SIncperflevel
        | Op::SDecperflevel
        | Op::STtracedata
        | Op::SSetkill
        | Op::VNop
        | Op::VClrexcp
        | Op::SCbranchCdbgsys
        | Op::SCbranchCdbguser
        | Op::SCbranchCdbgsysOrUser
        | Op::SCbranchCdbgsysAndUser
        | Op::SDcacheInv
        | Op::SDcacheInvVol
        | Op::SDcacheWb
        | Op::SDcacheWbVol
        | Op::SAtcProbe
        | Op::SAtcProbeBuffer
        | Op::BufferWbinvl1
        | Op::BufferWbinvl1Vol => |_, _, _| Ok(Step::Done),
        Op::SEndpgm | Op::SEndpgmSaved => |_, _, _| Ok(Step::End),
        Op::SBarrier => |_, _, _| Ok(Step::Barrier),
        Op::SBranch => |w, i, _| w.branch_if(i, true),
        Op::SCbranchScc0 => |w, i, _| w.branch_if(i, !w.scc),
        Op::SCbranchScc1 => |w, i, _| w.branch_if(i, w.scc),
        Op::SCbranchVccz => |w, i, _| w.branch_if(i, w.vcc() == 0),
        Op::SCbranchVccnz => |w, i, _| w.branch_if(i, w.vcc() != 0),
        Op::SCbranchExecz => |w, i, _| w.branch_if(i, w.exec() == 0),
        Op::SCbranchExecnz => |w, i, _| w.branch_if(i, w.exec() != 0),
        Op::STrap => |_, i, _| Err(Fault::Trap(i.imm & 0xff)),
        Op::SGetpcB64 => |w, i, _| {
            w.set_scalar64(i.dst, w.pc);
            Ok(Step::Done)
        },
        Op::SSetpcB64 => |w, i, _| {
            w.pc = w.scalar64(i, i.src[0]);
            Ok(Step::Done)
        },
        Op::SSwappcB64 => |w, i, _| {
            let target = w.scalar64(i, i.src[0]);
            w.set_scalar64(i.dst, w.pc);
            w.pc = target;
            Ok(Step::Done)
        },
        Op::SGetregB32 => |w, i, _| w.getreg(i),
        Op::SSetregB32 | Op::SSetregImm32B32 => |w, i, _| w.setreg(i),
        Op::SSetGprIdxOn => |w, i, _| {
            w.gpr_index = true;
            w.set_index_mode(Some(w.scalar32(i, i.src[0])), Some(i.imm))
        },
        Op::SSetGprIdxIdx => |w, i, _| w.set_index_mode(Some(w.scalar32(i, i.src[0])), None),
        Op::SSetGprIdxMode => |w, i, _| w.set_index_mode(None, Some(i.imm)),
        Op::SSetGprIdxOff => |w, _, _| {
            w.gpr_index = false;
            Ok(Step::Done)
        },
        _ => return None,
    })
}
