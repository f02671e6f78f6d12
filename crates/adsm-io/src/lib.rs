//! `LD_PRELOAD=libadsm_io.so`: I/O and bulk operations on shared objects (`[gmac 4.4]`).
//!
//! A system call that accesses a closed page fails with EFAULT unless userfaultfd serves faults inside the kernel, and
//! a call that has begun can't be restarted. So `read`, `write` and similar calls go through a buffer of this library.
//! Ordinary loads and stores, whose faults are served, copy between that buffer and the object. `memcpy` and `memset`
//! of large shared ranges are passed to the runtime, which moves whole blocks without a fault. Everything else is
//! passed on unchanged.
//!
//! The runtime registers by calling [`adsm_io_register`], which it finds by name; the two are not linked.

mod bulk;
mod calls;
mod next;

use std::{
    ffi::{c_int, c_void},
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

/// The functions of the runtime.
#[repr(C)]
pub struct Runtime {
    /// Whether the address belongs to a shared object.
    pub is_shared: extern "C" fn(*const c_void) -> c_int,
    pub memcpy: unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> c_int,
    pub memset: unsafe extern "C" fn(*mut c_void, c_int, usize) -> c_int,
}

static RUNTIME: AtomicPtr<Runtime> = AtomicPtr::new(ptr::null_mut());

/// Called by the runtime; the table must live as long as the process.
#[unsafe(no_mangle)]
pub extern "C" fn adsm_io_register(runtime: *mut Runtime) {
    RUNTIME.store(runtime, Ordering::Release);
}

/// The runtime, if one has registered.
fn runtime() -> Option<&'static Runtime> {
    // SAFETY: null, or a table that lives as long as the process.
    unsafe { RUNTIME.load(Ordering::Acquire).as_ref() }
}

/// The runtime, if the address belongs to a shared object.
fn shared(address: *const c_void) -> Option<&'static Runtime> {
    runtime().filter(|runtime| (runtime.is_shared)(address) != 0)
}
