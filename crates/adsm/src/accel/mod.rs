//! The interface of an accelerator.
//!
//! The paper's accelerator abstraction layer (`[gmac 4.1, Fig. 5]`): memory, copies, kernels, waiting; no coherence of
//! any kind. Uploads are asynchronous and complete in the order in which they were started. A kernel starts after all
//! uploads and all copies between devices that were started before it.

pub mod cuda;
mod error;
mod kernel;
pub mod opencl;
pub mod sim;

pub use error::DeviceError;
pub use kernel::{Argument, KernelHandle, KernelSource, Native, Value};

use std::any::Any;

/// The properties of a device that the runtime needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// The addresses of its memory are reserved but unused in the program's address space, so host memory can be mapped
    /// there.
    pub one_pointer: bool,
    /// CPU and device use the same physical memory: nothing need be copied.
    pub shared_memory: bool,
    /// A test device: a block that its reader does not own contains garbage.
    pub poisons: bool,
}

/// Memory on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    /// The address for kernels (a buffer's handle where a device has no addresses).
    pub address: u64,
    pub len: usize,
    /// The CPU's address of the same bytes, if there is one.
    pub host: Option<usize>,
    /// The handle with which the device frees the memory.
    pub handle: u64,
}

/// An asynchronous operation of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ticket {
    Upload(u64),
    Kernel(u64),
    Download(u64),
}

/// A device. All methods may be called from several threads, and the transfer methods also while a page fault is
/// served.
pub trait Accelerator: Send + Sync {
    fn name(&self) -> String;

    fn abilities(&self) -> Abilities;

    /// Allocates at least `len` bytes of zeros.
    fn allocate(&self, len: usize) -> Result<DeviceMemory, DeviceError>;

    /// Frees memory; no operation on it may be in flight.
    fn free(&self, memory: DeviceMemory) -> Result<(), DeviceError>;

    /// Prepares host memory for fast transfers.
    ///
    /// # Safety
    /// The memory must stay mapped until `unregister`.
    unsafe fn register(&self, host: *mut u8, len: usize) -> Result<(), DeviceError> {
        let _ = (host, len);
        Ok(())
    }

    fn unregister(&self, host: *mut u8) {
        let _ = host;
    }

    /// Starts to copy `len` bytes to the device.
    ///
    /// # Safety
    /// The source must stay readable and unchanged until the ticket is done.
    unsafe fn upload(
        &self,
        to: &DeviceMemory,
        offset: usize,
        from: *const u8,
        len: usize,
    ) -> Result<Ticket, DeviceError>;

    /// Variant of [`upload`](Self::upload) for bytes that the next kernel needs: the copy may use the kernel's own
    /// queue, and complete only when the kernel does.
    ///
    /// # Safety
    /// As for [`upload`](Self::upload).
    unsafe fn upload_for_kernel(
        &self,
        to: &DeviceMemory,
        offset: usize,
        from: *const u8,
        len: usize,
    ) -> Result<Ticket, DeviceError> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.upload(to, offset, from, len) }
    }

    /// Copies `len` bytes from the device.
    ///
    /// # Safety
    /// The target must be writable and not used otherwise meanwhile.
    unsafe fn download(&self, from: &DeviceMemory, offset: usize, to: *mut u8, len: usize) -> Result<(), DeviceError>;

    /// Starts a download. No running kernel may be writing the bytes.
    ///
    /// # Safety
    /// The target must be writable and not used otherwise until the ticket is done.
    unsafe fn start_download(
        &self,
        from: &DeviceMemory,
        offset: usize,
        to: *mut u8,
        len: usize,
    ) -> Result<Ticket, DeviceError>;

    /// Starts to copy the bytes at `offset` of another device's memory to the same offset of this one's. `None` if the
    /// two devices can't do that without the host. It counts as an upload.
    fn copy_from(
        &self,
        to: &DeviceMemory,
        peer: &dyn Accelerator,
        from: &DeviceMemory,
        offset: usize,
        len: usize,
    ) -> Option<Result<Ticket, DeviceError>> {
        let _ = (to, peer, from, offset, len);
        None
    }

    /// Lets devices of one kind recognise each other.
    fn as_any(&self) -> &dyn Any;

    /// Sets bytes on the device, after the uploads so far.
    fn fill(&self, memory: &DeviceMemory, offset: usize, len: usize, byte: u8) -> Result<(), DeviceError>;

    /// Whether the operation is done. An error is the error of that operation.
    fn is_done(&self, ticket: Ticket) -> Result<bool, DeviceError>;

    /// Waits until the operation is done.
    fn wait(&self, ticket: Ticket) -> Result<(), DeviceError>;

    /// Loads a kernel.
    fn load(&self, source: &KernelSource) -> Result<KernelHandle, DeviceError>;

    /// Starts a kernel.
    fn launch(
        &self,
        kernel: &KernelHandle,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: &[Argument],
    ) -> Result<Ticket, DeviceError>;

    /// Makes a test device's copy of these bytes unusable, because the CPU owns them now.
    fn poison(&self, memory: &DeviceMemory, offset: usize, len: usize) {
        let _ = (memory, offset, len);
    }
}
