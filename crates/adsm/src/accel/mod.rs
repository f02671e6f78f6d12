//! What is asked of an accelerator.
//!
//! The paper's accelerator abstraction layer (`[gmac 4.1, Fig. 5]`): memory, copies, kernels, waiting; no
//! coherence of any kind. Uploads are asynchronous and land in the order in which they were asked for; a kernel starts after
//! every upload and every copy between devices asked for before it.

pub mod cuda;
mod error;
mod kernel;
pub mod opencl;
pub mod sim;

pub use error::DeviceError;
pub use kernel::{Argument, KernelHandle, KernelSource, Native, Value};

use std::any::Any;

/// What a device can do, as far as the runtime has to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// The addresses of its memory are reserved, and not used, in the program's address space: host memory can be laid there.
    pub one_pointer: bool,
    /// CPU and device use the same physical memory: nothing need be copied.
    pub shared_memory: bool,
    /// Whoever does not own a block has garbage in it (a device for tests).
    pub poisons: bool,
}

/// Memory on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    /// As kernels see it (a buffer's handle where a device has no addresses).
    pub address: u64,
    pub len: usize,
    /// Where the CPU sees the very same bytes, if it does.
    pub host: Option<usize>,
    /// What the device needs to give it back.
    pub handle: u64,
}

/// Something asynchronous that a device has been asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ticket {
    Upload(u64),
    Kernel(u64),
    Download(u64),
}

/// A device. Every method may be called from several threads, and those for transfers while a page fault is served.
pub trait Accelerator: Send + Sync {
    fn name(&self) -> String;

    fn abilities(&self) -> Abilities;

    /// At least `len` bytes of zeroes.
    fn allocate(&self, len: usize) -> Result<DeviceMemory, DeviceError>;

    /// Gives memory back; nothing may be in flight on it.
    fn free(&self, memory: DeviceMemory) -> Result<(), DeviceError>;

    /// Prepares host memory for quick transfers.
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

    /// The same for bytes that the next kernel needs: they may go over in its own queue, and be done only when it is.
    ///
    /// # Safety
    /// As above.
    unsafe fn upload_for_kernel(
        &self,
        to: &DeviceMemory,
        offset: usize,
        from: *const u8,
        len: usize,
    ) -> Result<Ticket, DeviceError> {
        // SAFETY: the caller's word.
        unsafe { self.upload(to, offset, from, len) }
    }

    /// Copies `len` bytes from the device.
    ///
    /// # Safety
    /// The target must be writable, and nobody else may use it meanwhile.
    unsafe fn download(&self, from: &DeviceMemory, offset: usize, to: *mut u8, len: usize) -> Result<(), DeviceError>;

    /// Starts to do so. No kernel that is running may be writing the bytes.
    ///
    /// # Safety
    /// The target must be writable, and nobody else may use it until the ticket is done.
    unsafe fn start_download(
        &self,
        from: &DeviceMemory,
        offset: usize,
        to: *mut u8,
        len: usize,
    ) -> Result<Ticket, DeviceError>;

    /// Starts to copy the bytes at `offset` of another device's memory to the same place of this one's, if the two devices
    /// can do that without the host. It counts as an upload.
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

    /// So that devices of one kind know each other.
    fn as_any(&self) -> &dyn Any;

    /// Sets bytes on the device, after the uploads so far.
    fn fill(&self, memory: &DeviceMemory, offset: usize, len: usize, byte: u8) -> Result<(), DeviceError>;

    /// Whether it is done. An error is the error of what the ticket stands for.
    fn is_done(&self, ticket: Ticket) -> Result<bool, DeviceError>;

    /// Waits until it is done.
    fn wait(&self, ticket: Ticket) -> Result<(), DeviceError>;

    /// Makes a kernel ready to be launched.
    fn load(&self, source: &KernelSource) -> Result<KernelHandle, DeviceError>;

    /// Starts a kernel.
    fn launch(
        &self,
        kernel: &KernelHandle,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: &[Argument],
    ) -> Result<Ticket, DeviceError>;

    /// The CPU owns these bytes now: a device for tests makes its own copy unusable.
    fn poison(&self, memory: &DeviceMemory, offset: usize, len: usize) {
        let _ = (memory, offset, len);
    }
}
