//! A slice that CPU and device share.

use crate::{host::Host, memory::Object, os::Access};
use std::{
    fmt,
    marker::PhantomData,
    ops::{Deref, DerefMut},
    sync::Arc,
};

/// Plain values: all their bytes are data, any bytes are a valid value, and a device may write them.
///
/// # Safety
/// Every bit pattern must be a valid value, and there must be no padding.
pub unsafe trait Pod: Copy + 'static {}

macro_rules! pod {
    ($($kind:ty)*) => {$(
        // SAFETY: a number, for which every bit pattern is valid.
        unsafe impl Pod for $kind {}
    )*};
}
pod!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize f32 f64);
// SAFETY: an array has no padding of its own.
unsafe impl<T: Pod, const N: usize> Pod for [T; N] {}

/// Shared elements: a slice for the CPU, and an argument of kernels. Data is transferred when it is accessed.
///
/// It is borrowed while a call that uses it is in flight, so that an unsynchronised access does not compile:
///
/// ```compile_fail
/// # use adsm::{Runtime, KernelSource};
/// # fn f(runtime: Runtime) -> adsm::Result<()> {
/// let mut a = runtime.alloc::<f32>(64)?;
/// let kernel = runtime.kernel(KernelSource::new("k"));
/// let call = kernel.call(1, 64).write(&mut a).launch()?;
/// a[0] = 1.0; // the kernel may be writing it
/// call.sync()?;
/// # Ok(()) }
/// ```
pub struct Shared<T: ?Sized> {
    host: Arc<Host>,
    object: Arc<Object>,
    len: usize,
    holds: PhantomData<T>,
}

// SAFETY: like a boxed slice; the states of its blocks are atomic.
unsafe impl<T: Send> Send for Shared<[T]> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Shared<[T]> {}

impl<T: Pod> Shared<[T]> {
    pub(crate) fn new(host: Arc<Host>, object: Arc<Object>, len: usize) -> Self {
        Self { host, object, len, holds: PhantomData }
    }

    /// Its address for kernels on its home device: the same as for the CPU unless it was allocated with
    /// [`safe_alloc`](crate::Runtime::safe_alloc).
    pub fn safe(&self) -> u64 {
        self.object.memory().address
    }

    /// Sets every byte; whole blocks are set on the device.
    pub fn fill_bytes(&mut self, byte: u8) -> crate::Result<()> {
        self.host.fill(&self.object, 0..self.len * size_of::<T>(), byte)
    }

    /// After the loss of a device: fetches what another device has, and makes the CPU's last copy valid for the rest.
    /// Returns the number of bytes that are older than what the lost device had and can't be recovered.
    pub fn salvage(&mut self) -> usize {
        self.host.salvage(&self.object)
    }

    /// Opens elements for a system call (such as `read` into them) where faults inside the kernel are not served.
    pub fn touch(&mut self, elements: std::ops::Range<usize>) -> crate::Result<()> {
        let bytes = elements.start * size_of::<T>()..elements.end.min(self.len) * size_of::<T>();
        self.host.touch(&self.object, bytes, Access::Store)
    }

    /// Waits for the end of a call whose handle was leaked (`mem::forget`): a borrow can be leaked, but that must not
    /// allow a data race.
    fn settled(&self, access: Access) -> *mut T {
        if self.object.is_in_flight() && (access == Access::Store || self.host.is_being_written(&self.object)) {
            self.host.settle(&self.object);
        }
        self.object.base() as *mut T
    }
}

impl<T: ?Sized> Shared<T> {
    pub(crate) fn object(&self) -> &Arc<Object> {
        &self.object
    }

    pub(crate) fn host(&self) -> &Arc<Host> {
        &self.host
    }
}

impl<T: Pod> Deref for Shared<[T]> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the view is at least this long, lives as long as the object, is aligned to a page, and holds zeros or
        // what was written; a closed page is opened when it is accessed.
        unsafe { std::slice::from_raw_parts(self.settled(Access::Load), self.len) }
    }
}

impl<T: Pod> DerefMut for Shared<[T]> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.settled(Access::Store), self.len) }
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Shared<[T]> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized> Drop for Shared<T> {
    fn drop(&mut self) {
        self.host.settle(&self.object);
        // In a forked child there is nothing to free.
        let _ = self.host.free(&self.object);
    }
}
