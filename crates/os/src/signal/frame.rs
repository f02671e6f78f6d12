//! The signal frame on a handler's stack: how it is built, and how `rt_sigreturn` restores it.
//!
//! From the stack pointer upwards: the return address, `ucontext`, `siginfo`; above them, aligned to 64 bytes, the
//! floating-point state in the format of `fxsave64`. All offsets are those of Linux.

use super::{Action, AltStack, SigInfo, SigSet};
use crate::{Fault, errno::Errno, guest::GuestMemory, process::Process};
use mem::VirtAddr;
use x86::Reg;

/// The general registers in the order of `struct sigcontext`; rip and flags follow.
pub(crate) const ORDER: [Reg; 16] = [
    Reg::R8,
    Reg::R9,
    Reg::R10,
    Reg::R11,
    Reg::R12,
    Reg::R13,
    Reg::R14,
    Reg::R15,
    Reg::Rdi,
    Reg::Rsi,
    Reg::Rbp,
    Reg::Rbx,
    Reg::Rdx,
    Reg::Rax,
    Reg::Rcx,
    Reg::Rsp,
];

/// Offsets from the start of the frame.
mod at {
    pub const CONTEXT: usize = 8;
    pub const STACK: usize = CONTEXT + 16;
    pub const REGISTERS: usize = CONTEXT + 40;
    pub const RIP: usize = REGISTERS + 128;
    pub const FLAGS: usize = RIP + 8;
    pub const SEGMENTS: usize = FLAGS + 8;
    pub const ERROR: usize = SEGMENTS + 8;
    pub const TRAP: usize = ERROR + 8;
    pub const OLD_MASK: usize = TRAP + 8;
    pub const CR2: usize = OLD_MASK + 8;
    pub const FLOAT: usize = CR2 + 8;
    pub const MASK: usize = FLOAT + 8 + 64;
    pub const INFO: usize = MASK + 8;
    pub const END: usize = INFO + 128;
}

/// UC_SIGCONTEXT_SS and UC_STRICT_RESTORE_SS: the saved stack segment is valid.
const CONTEXT_FLAGS: u64 = 2 | 4;

/// cs, gs, fs, ss of a 64-bit program, 16 bits each.
const SEGMENTS: u64 = 0x33 | 0x2b << 48;

/// The red zone: bytes below the stack pointer that a function may use without moving it.
const RED_ZONE: u64 = 128;

const TRAP_FLAG: u64 = 1 << 8;
const DIRECTION_FLAG: u64 = 1 << 10;

impl Process {
    /// Pushes a frame and makes the thread continue at the handler.
    pub(super) fn push_frame(
        &mut self,
        index: usize,
        info: &SigInfo,
        action: &Action,
        mask: SigSet,
    ) -> Result<(), Fault> {
        let thread = &mut self.threads[index];
        let pointer = thread.cpu.gpr[Reg::Rsp];
        let alt = thread.alt_stack;
        let switch = action.has(Action::ON_STACK) && alt.flags & AltStack::DISABLED == 0 && !alt.holds(pointer);
        let top = if switch { alt.start.wrapping_add(alt.size) } else { pointer.wrapping_sub(RED_ZONE) };
        let float = top.wrapping_sub(512) & !63;
        let frame = (float.wrapping_sub(at::END as u64) & !15).wrapping_sub(8);
        let mut bytes = [0; at::END];
        let mut put = |offset: usize, value: u64| bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
        put(0, if action.has(Action::RESTORER) { action.restorer } else { 0 });
        put(at::CONTEXT, CONTEXT_FLAGS);
        put(at::STACK, alt.start);
        put(at::STACK + 8, u64::from(stack_flags(&alt, pointer)));
        put(at::STACK + 16, alt.size);
        for (place, register) in ORDER.iter().enumerate() {
            put(at::REGISTERS + place * 8, thread.cpu.gpr[*register]);
        }
        put(at::RIP, thread.cpu.rip);
        put(at::FLAGS, thread.cpu.flags.get());
        put(at::SEGMENTS, SEGMENTS);
        put(at::ERROR, thread.trap.error);
        put(at::TRAP, thread.trap.number);
        put(at::OLD_MASK, mask.0);
        put(at::CR2, thread.trap.address);
        put(at::FLOAT, float);
        put(at::MASK, mask.0);
        bytes[at::INFO..].copy_from_slice(&info.bytes());
        self.space.write(VirtAddr(float), &thread.cpu.fxsave())?;
        self.space.write(VirtAddr(frame), &bytes)?;
        let cpu = &mut thread.cpu;
        cpu.gpr[Reg::Rdi] = info.signal.number().into();
        cpu.gpr[Reg::Rsi] = frame + at::INFO as u64;
        cpu.gpr[Reg::Rdx] = frame + at::CONTEXT as u64;
        cpu.gpr[Reg::Rax] = 0;
        cpu.gpr[Reg::Rsp] = frame;
        cpu.rip = action.handler;
        let flags = cpu.flags.get();
        cpu.flags.set(flags & !(TRAP_FLAG | DIRECTION_FLAG));
        Ok(())
    }

    /// `rt_sigreturn`: restores the state that the handler left in its frame.
    pub(crate) fn pop_frame(&mut self, index: usize) -> Result<(), Errno> {
        // The handler's `ret` has popped the return address.
        let frame = self.threads[index].cpu.gpr[Reg::Rsp].wrapping_sub(8);
        let mut bytes = [0; at::END];
        self.space.read(VirtAddr(frame), &mut bytes)?;
        let get = |offset: usize| u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"));
        let float = get(at::FLOAT);
        let mut image = [0; 512];
        if float != 0 {
            self.space.read(VirtAddr(float), &mut image)?;
        }
        let thread = &mut self.threads[index];
        for (place, register) in ORDER.iter().enumerate() {
            thread.cpu.gpr[*register] = get(at::REGISTERS + place * 8);
        }
        thread.cpu.rip = get(at::RIP);
        thread.cpu.flags.set(get(at::FLAGS));
        if float != 0 {
            thread.cpu.fxrstor(&image);
        }
        thread.blocked = SigSet(get(at::MASK)).blockable();
        thread.alt_stack = AltStack {
            start: get(at::STACK),
            flags: get(at::STACK + 8) as u32 & AltStack::DISABLED,
            size: get(at::STACK + 16),
        };
        Ok(())
    }
}

/// The flags of the alternate stack as a program sees them.
pub(crate) fn stack_flags(stack: &AltStack, pointer: u64) -> u32 {
    if stack.flags & AltStack::DISABLED != 0 {
        AltStack::DISABLED
    } else if stack.holds(pointer) {
        AltStack::ON_STACK
    } else {
        0
    }
}
