//! `memcpy` and `memset`, passed to the runtime for large parts of shared objects.
//!
//! The compiler itself generates calls of these functions, also in this file. So they consist of single instructions
//! and call nothing that might copy.

use crate::{next::Next, runtime};
use std::{
    cell::Cell,
    ffi::{c_int, c_void},
};

/// Smaller operations are left to page faults.
const LARGE: usize = 64 << 10;

type Memcpy = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;
type Memset = unsafe extern "C" fn(*mut c_void, c_int, usize) -> *mut c_void;

static MEMCPY: Next<Memcpy> = Next::new(c"memcpy");
static MEMSET: Next<Memset> = Next::new(c"memset");

thread_local! {
    /// Whether this thread is inside the runtime, which copies memory too while it serves a call.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Copies bytes that do not overlap, without calling any function.
///
/// # Safety
/// Both pointers must have `count` bytes.
pub unsafe fn move_bytes(to: *mut u8, from: *const u8, count: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: guaranteed by the caller; the direction flag is clear, as the calling convention demands.
    unsafe {
        std::arch::asm!("rep movsb", inout("rcx") count => _, inout("rdi") to => _, inout("rsi") from => _);
    }
    #[cfg(not(target_arch = "x86_64"))]
    for index in 0..count {
        // SAFETY: guaranteed by the caller. Volatile, or the compiler would call memcpy.
        unsafe { to.add(index).write_volatile(from.add(index).read_volatile()) };
    }
}

/// Runs `with` unless this thread is already inside the runtime.
fn outside(with: impl FnOnce() -> bool) -> bool {
    INSIDE.with(|inside| {
        if inside.replace(true) {
            return false;
        }
        let done = with();
        inside.set(false);
        done
    })
}

/// Copies bytes, shared or not.
///
/// # Safety
/// As for the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, count: usize) -> *mut c_void {
    if count < LARGE {
        // SAFETY: guaranteed by the caller.
        unsafe { move_bytes(to.cast(), from.cast(), count) };
        return to;
    }
    if let Some(runtime) = runtime() {
        let done = outside(|| {
            let shared = (runtime.is_shared)(to) != 0 || (runtime.is_shared)(from) != 0;
            // SAFETY: guaranteed by the caller.
            shared && unsafe { (runtime.memcpy)(to, from, count) } == 0
        });
        if done {
            return to;
        }
    }
    // SAFETY: guaranteed by the caller.
    unsafe { (MEMCPY.get())(to, from, count) }
}

/// Sets bytes, shared or not.
///
/// # Safety
/// As for the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memset(to: *mut c_void, byte: c_int, count: usize) -> *mut c_void {
    if count >= LARGE
        && let Some(runtime) = runtime()
        // SAFETY: guaranteed by the caller.
        && outside(|| (runtime.is_shared)(to) != 0 && unsafe { (runtime.memset)(to, byte, count) } == 0)
    {
        return to;
    }
    if count < 256 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: guaranteed by the caller.
        unsafe {
            std::arch::asm!("rep stosb", inout("rcx") count => _, inout("rdi") to => _, in("al") byte as u8);
            return to;
        }
    }
    // SAFETY: guaranteed by the caller.
    unsafe { (MEMSET.get())(to, byte, count) }
}
