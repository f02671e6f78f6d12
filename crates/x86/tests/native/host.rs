//! Runs a sequence on the host's processor.
//!
//! Code and registers are at fixed addresses below 2 GiB, so that entry and exit need no register of their own. The
//! entry code loads every register from the block at `BLOCK`. A sequence ends with a jump through a pointer in it, and
//! the exit code stores every register back. A fault arrives as a signal, whose handler saves the registers from the
//! signal frame and continues at the exit.

use crate::state::{CODE, CODE_BYTES, End, SCRATCH, SCRATCH_BYTES, State};
use std::arch::asm;
use std::sync::{Mutex, MutexGuard};

/// The register block: general registers, flags, and from 512 on an `fxsave64` image; the host's own registers from
/// 1024 on.
const BLOCK: u64 = 0x1468_0000;
const BLOCK_BYTES: usize = 0x1000;
const FLAGS: usize = 128;
/// The start address of a sequence, and the address at which one that faulted continues.
const START: usize = 152;
const FAULT_EXIT: usize = 160;
/// Vector, error code, address and rip of a fault; the vector is `NO_FAULT` if there was none.
const FAULT: usize = 168;
const NO_FAULT: u64 = u64::MAX;
const GUEST_FX: usize = 512;

/// The host's processor, for one user at a time.
pub struct Host {
    _turn: MutexGuard<'static, ()>,
    _signal_stack: Vec<u8>,
}

static TURN: Mutex<()> = Mutex::new(());

impl Host {
    pub fn new() -> Host {
        let turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        static MAPPED: std::sync::Once = std::sync::Once::new();
        MAPPED.call_once(|| {
            map(CODE, CODE_BYTES, libc::PROT_READ | libc::PROT_WRITE);
            map(BLOCK, BLOCK_BYTES, libc::PROT_READ | libc::PROT_WRITE);
            map(SCRATCH, SCRATCH_BYTES, libc::PROT_READ | libc::PROT_WRITE);
            for signal in [libc::SIGFPE, libc::SIGILL, libc::SIGSEGV, libc::SIGBUS, libc::SIGTRAP] {
                catch(signal);
            }
        });
        let mut signal_stack = vec![0; 256 * 1024];
        let stack = libc::stack_t { ss_sp: signal_stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: signal_stack.len() };
        // SAFETY: the stack stays allocated and otherwise unused as long as this `Host`; it belongs to this thread, the
        // only one that runs sequences while it holds the turn.
        assert_eq!(unsafe { libc::sigaltstack(&stack, std::ptr::null_mut()) }, 0, "sigaltstack");
        Host { _turn: turn, _signal_stack: signal_stack }
    }

    pub fn run(&mut self, code: &[u8], start: &State) -> (State, End) {
        assert!(code.len() <= CODE_BYTES, "a sequence has a few hundred bytes");
        // SAFETY: the three regions were mapped by `new` with these lengths, no Rust object lives in them, and `self`
        // holds the turn, so no other thread uses them. The code was generated to stay in the scratch bytes or to fault.
        unsafe {
            protect(CODE, CODE_BYTES, libc::PROT_READ | libc::PROT_WRITE);
            std::ptr::write_bytes(CODE as *mut u8, 0, CODE_BYTES);
            std::ptr::copy_nonoverlapping(code.as_ptr(), CODE as *mut u8, code.len());
            protect(CODE, CODE_BYTES, libc::PROT_READ | libc::PROT_EXEC);
            std::ptr::copy_nonoverlapping(start.scratch.as_ptr(), SCRATCH as *mut u8, SCRATCH_BYTES);
            std::ptr::copy_nonoverlapping(start.gprs.as_ptr(), BLOCK as *mut u64, 16);
            word(FLAGS).write(start.flags);
            word(FAULT).write(NO_FAULT);
            word(START).write(CODE);
            std::ptr::copy_nonoverlapping(start.fx.as_ptr(), (BLOCK as *mut u8).add(GUEST_FX), 512);
            enter();
            let mut end = start.clone();
            std::ptr::copy_nonoverlapping(SCRATCH as *const u8, end.scratch.as_mut_ptr(), SCRATCH_BYTES);
            std::ptr::copy_nonoverlapping(BLOCK as *const u64, end.gprs.as_mut_ptr(), 16);
            end.flags = word(FLAGS).read();
            std::ptr::copy_nonoverlapping((BLOCK as *const u8).add(GUEST_FX), end.fx.as_mut_ptr(), 512);
            (end, reason())
        }
    }
}

/// A word of the block.
fn word(offset: usize) -> *mut u64 {
    (BLOCK as usize + offset) as *mut u64
}

/// How the last sequence ended.
fn reason() -> End {
    // SAFETY: the block is mapped, and no sequence is running that writes it.
    let [vector, code, address, rip] = unsafe { word(FAULT).cast::<[u64; 4]>().read() };
    if vector == NO_FAULT {
        return End::Finished;
    }
    if vector == 14 {
        return End::Fault { vector: 14, code, address, rip };
    }
    End::Fault { vector: vector as u8, code: 0, address: 0, rip }
}

fn map(address: u64, bytes: usize, rights: i32) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: MAP_FIXED_NOREPLACE replaces no mapping that is in use.
    let mapped = unsafe { libc::mmap(address as *mut libc::c_void, bytes, rights, flags, -1, 0) };
    assert_eq!(mapped as u64, address, "the address is needed for generated code: {}", std::io::Error::last_os_error());
}

/// # Safety
/// No Rust object may lie there.
unsafe fn protect(address: u64, bytes: usize, rights: i32) {
    // SAFETY: the caller's promise.
    let done = unsafe { libc::mprotect(address as *mut libc::c_void, bytes, rights) };
    assert_eq!(done, 0, "mprotect: {}", std::io::Error::last_os_error());
}

fn catch(signal: i32) {
    // SAFETY: a zeroed `sigaction` is a valid one, and the handler has the signature that SA_SIGINFO asks for.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = caught as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0, "sigaction");
    }
}

/// The index in the signal frame of each general register, in machine-code order.
const FRAME: [i32; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// Saves the registers of a sequence that faulted, and continues at the exit.
extern "C" fn caught(signal: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid `ucontext_t`. Nothing here allocates or takes a lock.
    unsafe {
        let context = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext;
        let rip = context.gregs[libc::REG_RIP as usize] as u64;
        if !(CODE..CODE + CODE_BYTES as u64).contains(&rip) {
            // Not a fault of a sequence: let the default action end the process.
            libc::signal(signal, libc::SIG_DFL);
            return;
        }
        for (i, register) in FRAME.iter().enumerate() {
            word(8 * i).write(context.gregs[*register as usize] as u64);
        }
        // The resume flag was set by the kernel.
        word(FLAGS).write(context.gregs[libc::REG_EFL as usize] as u64 & !(1 << 16));
        std::ptr::copy_nonoverlapping(context.fpregs.cast::<u8>(), (BLOCK as *mut u8).add(GUEST_FX), 512);
        word(FAULT).write(context.gregs[libc::REG_TRAPNO as usize] as u64);
        word(FAULT + 8).write(context.gregs[libc::REG_ERR as usize] as u64);
        word(FAULT + 16).write(context.gregs[libc::REG_CR2 as usize] as u64);
        word(FAULT + 24).write(rip);
        context.gregs[libc::REG_EFL as usize] &= !0x500;
        context.gregs[libc::REG_RIP as usize] = word(FAULT_EXIT).read() as i64;
    }
}

/// Runs the code at `CODE` with the registers of the block and stores them back there.
///
/// # Safety
/// The block must hold a valid `fxrstor64` image, and the code must end at the exit or with a fault that `caught` sees.
unsafe fn enter() {
    // SAFETY: all registers that the calling convention wants kept are saved on the stack, whose pointer waits in the
    // block, and the x87 and SSE state in the block; both exits restore them.
    unsafe {
        asm!(
            "push rbx",
            "push rbp",
            "push r12",
            "push r13",
            "push r14",
            "push r15",
            "mov [{block} + 136], rsp",
            "fxsave64 [{block} + 1024]",
            "lea rax, [rip + 2f]",
            "mov [{block} + 144], rax",
            "lea rax, [rip + 3f]",
            "mov [{block} + 160], rax",
            "fxrstor64 [{block} + 512]",
            "mov rsp, {block} + 128",
            "popfq",
            "mov rax, [{block} + 0]",
            "mov rcx, [{block} + 8]",
            "mov rdx, [{block} + 16]",
            "mov rbx, [{block} + 24]",
            "mov rsp, [{block} + 32]",
            "mov rbp, [{block} + 40]",
            "mov rsi, [{block} + 48]",
            "mov rdi, [{block} + 56]",
            "mov r8, [{block} + 64]",
            "mov r9, [{block} + 72]",
            "mov r10, [{block} + 80]",
            "mov r11, [{block} + 88]",
            "mov r12, [{block} + 96]",
            "mov r13, [{block} + 104]",
            "mov r14, [{block} + 112]",
            "mov r15, [{block} + 120]",
            "jmp [{block} + 152]",
            "2:",
            "mov [{block} + 32], rsp",
            "mov rsp, {block} + 136",
            "pushfq",
            "mov [{block} + 0], rax",
            "mov [{block} + 8], rcx",
            "mov [{block} + 16], rdx",
            "mov [{block} + 24], rbx",
            "mov [{block} + 40], rbp",
            "mov [{block} + 48], rsi",
            "mov [{block} + 56], rdi",
            "mov [{block} + 64], r8",
            "mov [{block} + 72], r9",
            "mov [{block} + 80], r10",
            "mov [{block} + 88], r11",
            "mov [{block} + 96], r12",
            "mov [{block} + 104], r13",
            "mov [{block} + 112], r14",
            "mov [{block} + 120], r15",
            "fxsave64 [{block} + 512]",
            "3:",
            "fxrstor64 [{block} + 1024]",
            "mov rsp, [{block} + 136]",
            "cld",
            "pop r15",
            "pop r14",
            "pop r13",
            "pop r12",
            "pop rbp",
            "pop rbx",
            block = const BLOCK as i32,
            clobber_abi("sysv64"),
        );
    }
}
