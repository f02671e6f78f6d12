//! How the interposer of `adsm-io` hears of the runtime: it is found by name if it was preloaded.

use super::object::{adsm_memcpy, adsm_memset};
use crate::memory;
use std::ffi::{c_int, c_void};

/// What the interposer is told, field by field as it expects it.
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

/// Tells the interposer, if it is there.
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
