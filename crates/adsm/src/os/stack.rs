//! Stacks for serving faults.
//!
//! A fault can happen where little stack is left: in a thread with a small one, or on the alternative signal stack that
//! Rust gives each of its threads, which is only large enough for one message. Device drivers need more. So the handler
//! switches to one of these stacks as soon as it can. Until then it needs little beyond the kernel's signal frame.

use std::{
    ffi::c_void,
    io, ptr,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Size of a stack in bytes; unused pages are never allocated.
const SIZE: usize = 1 << 20;
/// Number of stacks. If more threads fault at once, they wait.
const COUNT: usize = 32;

/// The upper ends of the free stacks; 0 for a stack in use.
static IDLE: [AtomicUsize; COUNT] = [const { AtomicUsize::new(0) }; COUNT];
static MADE: OnceLock<Result<(), i32>> = OnceLock::new();

/// Creates the stacks, once. They stay for the life of the process, as the handler does.
pub fn prepare() -> io::Result<()> {
    let made = MADE.get_or_init(|| {
        for slot in &IDLE {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
            // SAFETY: a new mapping; its lowest page stays closed, so that an overflow faults instead of corrupting
            // memory.
            let base = unsafe { libc::mmap(ptr::null_mut(), SIZE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
            if base == libc::MAP_FAILED {
                return Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::ENOMEM));
            }
            // SAFETY: as above.
            unsafe { libc::mprotect(base, super::page_size(), libc::PROT_NONE) };
            slot.store(base as usize + SIZE, Ordering::Release);
        }
        Ok(())
    });
    made.map_err(io::Error::from_raw_os_error)
}

/// Calls `work` on one of these stacks. If none is free, the thread waits; it holds nothing that others wait for.
///
/// # Safety
/// `prepare` has succeeded; `work` accepts the argument, and returns.
pub unsafe fn call(work: extern "C" fn(*mut c_void), argument: *mut c_void) {
    loop {
        for slot in &IDLE {
            let top = slot.swap(0, Ordering::Acquire);
            if top != 0 {
                // SAFETY: the upper end of a stack that no other thread uses; the caller guarantees the rest.
                unsafe { call_on(top, work, argument) };
                slot.store(top, Ordering::Release);
                return;
            }
        }
        // SAFETY: only yields to other threads.
        unsafe { libc::sched_yield() };
    }
}

/// # Safety
/// `top` is the upper end of an unused stack and a multiple of 16.
#[cfg(target_arch = "x86_64")]
unsafe fn call_on(top: usize, work: extern "C" fn(*mut c_void), argument: *mut c_void) {
    // SAFETY: the stack pointer is kept in a register that the callee preserves.
    unsafe {
        std::arch::asm!(
            "mov r12, rsp",
            "mov rsp, {top}",
            "call {work}",
            "mov rsp, r12",
            top = in(reg) top,
            work = in(reg) work,
            in("rdi") argument,
            out("r12") _,
            clobber_abi("sysv64"),
        );
    }
}

/// # Safety
/// `top` is the upper end of an unused stack and a multiple of 16.
#[cfg(target_arch = "aarch64")]
unsafe fn call_on(top: usize, work: extern "C" fn(*mut c_void), argument: *mut c_void) {
    // SAFETY: as above.
    unsafe {
        std::arch::asm!(
            "mov x20, sp",
            "mov sp, {top}",
            "blr {work}",
            "mov sp, x20",
            top = in(reg) top,
            work = in(reg) work,
            in("x0") argument,
            out("x20") _,
            clobber_abi("C"),
        );
    }
}

/// # Safety
/// As on the other architectures.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn call_on(_: usize, work: extern "C" fn(*mut c_void), argument: *mut c_void) {
    work(argument);
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn add(argument: *mut c_void) {
        let bytes = std::hint::black_box([1u8; 300 << 10]);
        // SAFETY: what the test gave.
        unsafe { *argument.cast::<usize>() += bytes.iter().map(|&byte| usize::from(byte)).sum::<usize>() };
    }

    #[test]
    fn work_may_need_more_stack_than_the_thread_has() {
        prepare().unwrap();
        let threads: Vec<_> = (0..2 * COUNT)
            .map(|_| {
                std::thread::Builder::new().stack_size(64 << 10).spawn(|| {
                    let mut sum = 0usize;
                    for _ in 0..3 {
                        // SAFETY: prepared; a number.
                        unsafe { call(add, (&raw mut sum).cast()) };
                    }
                    sum
                })
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.unwrap().join().unwrap(), 3 * (300 << 10));
        }
    }
}
