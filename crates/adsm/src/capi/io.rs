//! Registers the runtime with the interposer of `adsm-io`, which is found by name if it was preloaded.

use super::object::{adsm_memcpy, adsm_memset};
use crate::memory;
use std::ffi::{c_int, c_void};

/// The functions for the interposer, with the layout that it expects.
#[repr(C)]
struct Table {
    is_shared: extern "C" fn(*const c_void) -> c_int,
    memcpy: unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> c_int,
    memset: unsafe extern "C" fn(*mut c_void, c_int, usize) -> c_int,
}

static TABLE: Table = Table { is_shared, memcpy: adsm_memcpy, memset: adsm_memset };

extern "C" fn is_shared(address: *const c_void) -> c_int {
    memory::find(address as usize).is_ok().into()
}

/// Registers the table with the interposer, if it is present.
pub fn register() {
    // SAFETY: a C string; the function found has the type that this name has in the interposer, and keeps the table.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"adsm_io_register".as_ptr());
        if !found.is_null() {
            let register: extern "C" fn(*const Table) = std::mem::transmute(found);
            register(&TABLE);
        }
    }
}
