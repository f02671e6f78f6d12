//! The functions that would be called without this library.

use std::{
    ffi::{CStr, c_void},
    mem, ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

/// A function of the next library in the search order, looked up once.
pub struct Next<F> {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
    kind: std::marker::PhantomData<F>,
}

impl<F: Copy> Next<F> {
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, found: AtomicPtr::new(ptr::null_mut()), kind: std::marker::PhantomData }
    }

    /// The function. It belongs to the C library, so it is always found.
    pub fn get(&self) -> F {
        let mut found = self.found.load(Ordering::Relaxed);
        if found.is_null() {
            // SAFETY: a C string.
            found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
            if found.is_null() {
                // SAFETY: ends a process in which nothing could be read or written.
                unsafe { libc::abort() };
            }
            self.found.store(found, Ordering::Relaxed);
        }
        assert!(size_of::<F>() == size_of::<*mut c_void>());
        // SAFETY: a pointer to a function of the type that its name has in the C library.
        unsafe { mem::transmute_copy(&found) }
    }
}
