//! Shared objects, for C.

use super::{give, runtime, tell};
use crate::{
    Error, Result, Runtime,
    memory::{self, Object},
    os::Access,
};
use std::{
    ffi::{c_int, c_void},
    ops::Range,
    ptr,
    sync::Arc,
};

/// The object that contains `bytes` bytes from `address` on, and their range in it.
pub(super) fn place(runtime: &Runtime, address: usize, bytes: usize) -> Result<(Arc<Object>, Range<usize>)> {
    let object = runtime.find(address)?;
    let (start, len) = (object.base(), object.len);
    match (address - start).checked_add(bytes) {
        Some(end) if end <= len => Ok((object, address - start..end)),
        _ => Err(Error::Bounds { address, bytes, start, len }),
    }
}

fn allocate(device: Option<usize>, bytes: usize, one_pointer: bool) -> *mut c_void {
    give(runtime().and_then(|runtime| {
        let device = device.unwrap_or_else(|| runtime.choose());
        let object = runtime.host().allocate(device, bytes, one_pointer)?;
        Ok(object.base() as *mut c_void)
    }))
}

/// Allocates zeros with one address for CPU and kernels.
#[unsafe(no_mangle)]
pub extern "C" fn adsm_alloc(bytes: usize) -> *mut c_void {
    allocate(None, bytes, true)
}

/// Variant of `adsm_alloc` with a chosen home.
#[unsafe(no_mangle)]
pub extern "C" fn adsm_alloc_on(device: c_int, bytes: usize) -> *mut c_void {
    // A negative number is not a device.
    allocate(Some(usize::try_from(device).unwrap_or(usize::MAX)), bytes, true)
}

/// Allocates zeros with different addresses for CPU and kernels.
#[unsafe(no_mangle)]
pub extern "C" fn adsm_safe_alloc(bytes: usize) -> *mut c_void {
    allocate(None, bytes, false)
}

/// Frees an object.
#[unsafe(no_mangle)]
pub extern "C" fn adsm_free(object: *mut c_void) -> c_int {
    let address = object as usize;
    tell(runtime().and_then(|runtime| {
        let object = runtime.find(address)?;
        if object.base() != address {
            return Err(Error::Inside { address, start: object.base() });
        }
        runtime.host().free(&object)
    }))
}

/// The kernels' address for an address of the CPU; 0 if it is not shared.
#[unsafe(no_mangle)]
pub extern "C" fn adsm_safe(address: *const c_void) -> u64 {
    let translated = runtime().and_then(|runtime| {
        let (object, bytes) = place(runtime, address as usize, 0)?;
        Ok(object.memory().address + bytes.start as u64)
    });
    translated.unwrap_or_else(|error| {
        tell(Err(error));
        0
    })
}

/// Sets bytes, shared or not.
///
/// # Safety
/// There must be `bytes` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adsm_memset(to: *mut c_void, byte: c_int, bytes: usize) -> c_int {
    tell(runtime().and_then(|runtime| {
        if memory::find(to as usize).is_err() {
            // SAFETY: guaranteed by the caller.
            unsafe { ptr::write_bytes(to.cast::<u8>(), byte as u8, bytes) };
            return Ok(());
        }
        let (object, range) = place(runtime, to as usize, bytes)?;
        runtime.host().fill(&object, range, byte as u8)
    }))
}

/// Copies bytes that do not overlap, shared or not.
///
/// # Safety
/// There must be `bytes` readable and `bytes` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adsm_memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> c_int {
    // SAFETY: guaranteed by the caller.
    tell(runtime().and_then(|runtime| unsafe { copy(runtime, to.cast(), from.cast(), bytes) }))
}

/// # Safety
/// There must be `bytes` readable and `bytes` writable bytes.
unsafe fn copy(runtime: &Runtime, to: *mut u8, from: *const u8, bytes: usize) -> Result<()> {
    let (shared_to, shared_from) = (memory::find(to as usize).is_ok(), memory::find(from as usize).is_ok());
    if !shared_to && !shared_from {
        // SAFETY: guaranteed by the caller.
        unsafe { ptr::copy_nonoverlapping(from, to, bytes) };
        return Ok(());
    }
    if !shared_from {
        let (object, range) = place(runtime, to as usize, bytes)?;
        // SAFETY: as above.
        return unsafe { runtime.host().write(&object, range, from) };
    }
    let (source, range) = place(runtime, from as usize, bytes)?;
    if !shared_to {
        // SAFETY: as above.
        return unsafe { runtime.host().read(&source, range, to) };
    }
    // From one object to another, through a buffer of our own: no address of an object may be passed to a device.
    let (target, target_range) = place(runtime, to as usize, bytes)?;
    let mut buffer = vec![0u8; bytes.min(4 << 20)];
    for at in (0..bytes).step_by(buffer.len().max(1)) {
        let len = buffer.len().min(bytes - at);
        // SAFETY: the buffer has at least `len` bytes.
        unsafe {
            runtime.host().read(&source, range.start + at..range.start + at + len, buffer.as_mut_ptr())?;
            runtime.host().write(&target, target_range.start + at..target_range.start + at + len, buffer.as_ptr())?;
        }
    }
    Ok(())
}

/// Opens shared memory for a system call.
#[unsafe(no_mangle)]
pub extern "C" fn adsm_touch(address: *mut c_void, bytes: usize, write: c_int) -> c_int {
    tell(runtime().and_then(|runtime| {
        let (object, range) = place(runtime, address as usize, bytes)?;
        let access = if write == 0 { Access::Load } else { Access::Store };
        runtime.host().touch(&object, range, access)
    }))
}
