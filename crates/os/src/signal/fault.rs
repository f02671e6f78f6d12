//! Converts CPU exceptions to signals.

use super::{Detail, SigInfo, Signal};
use crate::state::state;
use crate::{
    memory::BadAccess,
    process::{End, Process},
};
use x86::{Access, Exception, Fault};

/// What a handler's context says about the last fault (REG_TRAPNO, REG_ERR, REG_CR2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrapState {
    pub number: u64,
    pub error: u64,
    pub address: u64,
}

state!(struct TrapState { number, error, address });

impl Process {
    pub(crate) fn fault(&mut self, index: usize, exception: Exception) {
        let Exception { rip, fault } = exception;
        let at_instruction = |signal, code| SigInfo { signal, code, detail: Detail::Fault { address: rip } };
        // The trap state changes only if there is a signal: the mapping of a missing page is invisible to the program.
        let old = self.threads[index].trap;
        let mut trap = TrapState { number: fault.vector().into(), error: fault.error_code(), ..old };
        let info = match fault {
            Fault::Page { address, access, .. } => {
                trap.address = address;
                let at = |signal, code| SigInfo { signal, code, detail: Detail::Fault { address } };
                let why = self.space.why(address, access);
                if why == Some(BadAccess::Forbidden) {
                    // The page may not have been present when the core accessed it.
                    trap.error |= 1;
                }
                match why {
                    // The page is present by now.
                    None => return,
                    Some(BadAccess::Guarded) if self.repair(index, address, access == Access::Write, false) => return,
                    Some(BadAccess::NotMapped) if !is_canonical(address) => SigInfo::from_kernel(Signal::SEGV),
                    Some(BadAccess::NotMapped) => at(Signal::SEGV, 1),
                    Some(BadAccess::Forbidden | BadAccess::Guarded) => at(Signal::SEGV, 2),
                    Some(BadAccess::PastEndOfFile) => at(Signal::BUS, 2),
                    Some(BadAccess::NoMemory) => {
                        self.end = Some(End::OutOfMemory { limit: self.space.limit() });
                        return;
                    }
                }
            }
            Fault::Divide => at_instruction(Signal::FPE, 1),
            Fault::Simd => at_instruction(Signal::FPE, float_code(self.threads[index].cpu.mxcsr.0)),
            Fault::X87 => at_instruction(Signal::FPE, float_code(self.threads[index].cpu.x87.status.into())),
            Fault::InvalidOpcode { .. } => at_instruction(Signal::ILL, 2),
            Fault::Breakpoint => SigInfo::from_kernel(Signal::TRAP),
            Fault::GeneralProtection => SigInfo::from_kernel(Signal::SEGV),
            Fault::Stack => SigInfo::from_kernel(Signal::BUS),
        };
        self.threads[index].trap = trap;
        self.force_signal(index, info);
    }
}

fn is_canonical(address: u64) -> bool {
    (address as i64) << 16 >> 16 == address as i64
}

/// The SIGFPE code for the flags of either floating-point unit (SSE and x87 use the same bits).
fn float_code(flags: u32) -> i32 {
    const INVALID: u32 = 1;
    const DIVIDE: u32 = 4;
    const OVERFLOW: u32 = 8;
    const UNDERFLOW: u32 = 16 | 2;
    match flags {
        flags if flags & INVALID != 0 => 7,
        flags if flags & DIVIDE != 0 => 3,
        flags if flags & OVERFLOW != 0 => 4,
        flags if flags & UNDERFLOW != 0 => 5,
        _ => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Options;
    use x86::Reg;

    const GUESTS: &[u8] = include_bytes!("../../tests/guests/guests");

    #[test]
    fn a_page_that_has_been_mapped_by_now_leaves_no_trace_for_handlers() {
        let mut process = Process::start(GUESTS, Options::new("/guest")).unwrap();
        let page = |address| Exception { rip: 1, fault: Fault::Page { address, access: Access::Read, present: false } };
        let stack = process.threads[0].cpu.gpr[Reg::Rsp];
        process.fault(0, page(stack));
        assert_eq!(process.threads[0].trap, TrapState::default());
        process.fault(0, page(8));
        assert_eq!(process.threads[0].trap, TrapState { number: 14, error: 4, address: 8 });
    }
}
