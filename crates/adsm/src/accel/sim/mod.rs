//! A simulated device inside the process: its own memory, threads that execute its commands, and failures on demand.
//!
//! For tests and for programs without a GPU. Its latency, bandwidth and memory size can be set, and single operations
//! can be made to fail. With `poison`, a block that its reader does not own contains garbage, so a missing transfer
//! shows as a wrong result. The addresses of its memory are inaccessible reservations, like CUDA's, so that the
//! one-pointer mapping is tested too.

mod lane;

use super::{Abilities, Accelerator, Argument, DeviceError, DeviceMemory, KernelHandle, KernelSource, Ticket};
use crate::os::{HUGE, page_size, round_up};
use lane::{Command, Lane};
use std::{
    any::Any,
    collections::BTreeMap,
    ptr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// The properties of a simulated device.
#[derive(Clone, Debug)]
pub struct SimSpec {
    /// Size of its memory in bytes.
    pub memory: usize,
    /// Delay before each transfer and each kernel.
    pub latency: Duration,
    /// Bandwidth of transfers in bytes per second; `None`: as fast as memory.
    pub bandwidth: Option<u64>,
    /// Host memory can be mapped at its addresses.
    pub one_pointer: bool,
    /// CPU and device use the same memory.
    pub shared_memory: bool,
    /// Blocks contain garbage where they are not owned.
    pub poison: bool,
    /// It copies from other simulated devices without the host.
    pub peers: bool,
    /// Every transfer and every kernel takes up to this much longer, by a pseudo-random sequence.
    pub jitter: Duration,
}

impl Default for SimSpec {
    fn default() -> Self {
        Self {
            memory: 1 << 30,
            latency: Duration::ZERO,
            bandwidth: None,
            one_pointer: true,
            shared_memory: false,
            poison: false,
            peers: false,
            jitter: Duration::ZERO,
        }
    }
}

const NAME: &str = "the simulated device";

/// The byte that fills memory which must not be read.
pub const POISON: u8 = 0xDB;

/// An operation that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Allocate,
    Upload,
    Download,
    /// A started download, while in flight.
    Arrival,
    Launch,
    /// The kernel itself, after it was launched.
    Kernel,
}

/// The simulated device.
pub struct Sim {
    shared: Arc<State>,
    /// Uploads, copies from other devices and kernels, in order.
    work: Lane,
    downloads: Lane,
}

/// State shared by the program and the device's threads.
struct State {
    spec: SimSpec,
    allocations: Mutex<BTreeMap<u64, Allocation>>,
    used: Mutex<usize>,
    /// For each operation, how many succeed before one fails.
    trouble: Mutex<BTreeMap<Operation, (u64, DeviceError)>>,
    lost: Mutex<Option<DeviceError>>,
    /// Held during a download: downloads don't overlap.
    way_back: Mutex<()>,
    /// The state of the pseudo-random delays.
    draws: AtomicU64,
}

/// A range of the device's memory: its bytes are stored at another address than the one it shows.
#[derive(Clone, Copy)]
struct Allocation {
    bytes: usize,
    len: usize,
}

impl Sim {
    pub fn new(spec: SimSpec) -> Self {
        let shared = Arc::new(State {
            spec,
            allocations: Mutex::default(),
            used: Mutex::default(),
            trouble: Mutex::default(),
            lost: Mutex::default(),
            way_back: Mutex::default(),
            draws: AtomicU64::new(0),
        });
        let (work, downloads) = (Lane::start(&shared), Lane::start(&shared));
        Self { shared, work, downloads }
    }

    /// Makes one `operation` fail with `error`, after `successes` more of them have succeeded.
    pub fn fail_after(&self, successes: u64, operation: Operation, error: DeviceError) {
        lock(&self.shared.trouble).insert(operation, (successes, error));
    }

    /// Simulates the loss of the device: everything fails from now on.
    pub fn lose(&self, why: &str) {
        let error = DeviceError::Lost { device: self.name(), why: why.to_owned() };
        *lock(&self.shared.lost) = Some(error);
    }

    /// Number of allocated bytes.
    pub fn used(&self) -> usize {
        *lock(&self.shared.used)
    }

    fn bytes_of(&self, memory: &DeviceMemory, offset: usize, len: usize) -> Result<usize, DeviceError> {
        let allocations = lock(&self.shared.allocations);
        let bad = |why: &str| DeviceError::Failed { device: self.name(), what: "a transfer", why: why.to_owned() };
        let allocation = allocations.get(&memory.address).ok_or_else(|| bad("no such memory"))?;
        match offset.checked_add(len) {
            Some(end) if end <= allocation.len => Ok(allocation.bytes + offset),
            _ => Err(bad("past the end of its memory")),
        }
    }

    fn lane(&self, ticket: Ticket) -> (&Lane, u64) {
        match ticket {
            Ticket::Upload(number) | Ticket::Kernel(number) => (&self.work, number),
            Ticket::Download(number) => (&self.downloads, number),
        }
    }
}

impl State {
    fn fails(&self, operation: Operation) -> Result<(), DeviceError> {
        if let Some(error) = lock(&self.lost).as_ref() {
            return Err(error.clone());
        }
        let mut trouble = lock(&self.trouble);
        match trouble.get_mut(&operation) {
            Some((0, _)) => Err(trouble.remove(&operation).expect("just seen").1),
            Some((left, _)) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Waits as long as the device takes for `len` bytes.
    fn pause(&self, len: usize) {
        let SimSpec { latency, bandwidth, jitter, .. } = self.spec;
        let transfer = bandwidth.map_or(0.0, |bandwidth| len as f64 / bandwidth as f64);
        // The fractional parts of multiples of the golden ratio are evenly distributed.
        let draw = self.draws.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        let long = latency + Duration::from_secs_f64(transfer) + jitter.mul_f64(draw as f64 / u64::MAX as f64);
        if long >= Duration::from_micros(200) {
            thread::sleep(long);
        } else if !long.is_zero() {
            let begin = Instant::now();
            while begin.elapsed() < long {
                std::hint::spin_loop();
            }
        }
    }

    /// Copies bytes to the host.
    ///
    /// # Safety
    /// Both ranges must be mapped, and nothing else may use the target.
    unsafe fn bring(&self, from: usize, to: usize, len: usize) {
        let _one_at_a_time = lock(&self.way_back);
        self.pause(len);
        // SAFETY: guaranteed by the caller.
        unsafe { ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, len) };
    }
}

impl Accelerator for Sim {
    fn name(&self) -> String {
        NAME.to_owned()
    }

    fn abilities(&self) -> Abilities {
        let SimSpec { one_pointer, shared_memory, poison, .. } = self.shared.spec;
        Abilities { one_pointer, shared_memory, poisons: poison && !shared_memory }
    }

    fn allocate(&self, len: usize) -> Result<DeviceMemory, DeviceError> {
        self.shared.fails(Operation::Allocate)?;
        let free = self.shared.spec.memory.saturating_sub(self.used());
        let full = DeviceError::OutOfMemory { device: self.name(), asked: len, free: Some(free as u64) };
        let len = round_up(len, page_size()).ok_or_else(|| full.clone())?;
        if len > free {
            return Err(full);
        }
        let bytes = reserve(len, libc::PROT_READ | libc::PROT_WRITE).ok_or_else(|| full.clone())?;
        let address = if self.shared.spec.shared_memory { bytes } else { reserve(len, libc::PROT_NONE).ok_or(full)? };
        lock(&self.shared.allocations).insert(address as u64, Allocation { bytes, len });
        *lock(&self.shared.used) += len;
        let host = self.shared.spec.shared_memory.then_some(bytes);
        Ok(DeviceMemory { address: address as u64, len, host, handle: 0 })
    }

    fn free(&self, memory: DeviceMemory) -> Result<(), DeviceError> {
        let Some(allocation) = lock(&self.shared.allocations).remove(&memory.address) else {
            let why = "no such memory".to_owned();
            return Err(DeviceError::Failed { device: self.name(), what: "freeing memory", why });
        };
        *lock(&self.shared.used) -= allocation.len;
        // SAFETY: removed from the list; the caller guarantees the rest.
        unsafe { unmap(memory.address, allocation) };
        Ok(())
    }

    unsafe fn upload(
        &self,
        to: &DeviceMemory,
        offset: usize,
        from: *const u8,
        len: usize,
    ) -> Result<Ticket, DeviceError> {
        self.shared.fails(Operation::Upload)?;
        let to = self.bytes_of(to, offset, len)?;
        Ok(Ticket::Upload(self.work.ask(Command::Upload { to, from: from as usize, len })))
    }

    unsafe fn download(&self, from: &DeviceMemory, offset: usize, to: *mut u8, len: usize) -> Result<(), DeviceError> {
        self.shared.fails(Operation::Download)?;
        let from = self.bytes_of(from, offset, len)?;
        // SAFETY: checked to lie in the allocation; the caller guarantees the target.
        unsafe { self.shared.bring(from, to as usize, len) };
        Ok(())
    }

    unsafe fn start_download(
        &self,
        from: &DeviceMemory,
        offset: usize,
        to: *mut u8,
        len: usize,
    ) -> Result<Ticket, DeviceError> {
        self.shared.fails(Operation::Download)?;
        let from = self.bytes_of(from, offset, len)?;
        Ok(Ticket::Download(self.downloads.ask(Command::Download { from, to: to as usize, len })))
    }

    fn copy_from(
        &self,
        to: &DeviceMemory,
        peer: &dyn Accelerator,
        from: &DeviceMemory,
        offset: usize,
        len: usize,
    ) -> Option<Result<Ticket, DeviceError>> {
        let peer: &Self = peer.as_any().downcast_ref()?;
        (self.shared.spec.peers && peer.shared.spec.peers).then(|| {
            peer.shared.fails(Operation::Download)?;
            self.shared.fails(Operation::Upload)?;
            let (to, from) = (self.bytes_of(to, offset, len)?, peer.bytes_of(from, offset, len)?);
            Ok(Ticket::Upload(self.work.ask(Command::Upload { to, from, len })))
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn fill(&self, memory: &DeviceMemory, offset: usize, len: usize, byte: u8) -> Result<(), DeviceError> {
        let to = self.bytes_of(memory, offset, len)?;
        self.work.wait(self.work.ask(Command::Fill { to, len, byte }))
    }

    fn is_done(&self, ticket: Ticket) -> Result<bool, DeviceError> {
        let (lane, number) = self.lane(ticket);
        lane.is_done(number)
    }

    fn wait(&self, ticket: Ticket) -> Result<(), DeviceError> {
        let (lane, number) = self.lane(ticket);
        lane.wait(number)
    }

    fn load(&self, source: &KernelSource) -> Result<KernelHandle, DeviceError> {
        source.native.clone().map(KernelHandle::Native).ok_or_else(|| DeviceError::NoCode {
            device: self.name(),
            kernel: source.name.clone(),
            wanted: "native",
        })
    }

    fn launch(
        &self,
        kernel: &KernelHandle,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: &[Argument],
    ) -> Result<Ticket, DeviceError> {
        self.shared.fails(Operation::Launch)?;
        let mut memory: Vec<(usize, usize)> = Vec::new();
        let mut values = Vec::new();
        for argument in arguments {
            match argument {
                Argument::Memory { memory: object, offset } => {
                    let len = object.len.saturating_sub(*offset);
                    let start = self.bytes_of(object, *offset, len)?;
                    if memory.iter().any(|&(other, bytes)| start < other + bytes && other < start + len) {
                        let why = "native kernels can't be given the same object twice".to_owned();
                        return Err(DeviceError::Failed { device: self.name(), what: "a launch", why });
                    }
                    memory.push((start, len));
                }
                Argument::Value(value) => values.push(*value),
            }
        }
        Ok(Ticket::Kernel(self.work.ask(Command::Kernel { code: kernel.clone(), grid, block, memory, values })))
    }

    fn poison(&self, memory: &DeviceMemory, offset: usize, len: usize) {
        if let Ok(to) = self.bytes_of(memory, offset, len) {
            // SAFETY: checked to lie in the allocation. Nothing on the device uses bytes that the CPU owns.
            unsafe { ptr::write_bytes(to as *mut u8, POISON, len) };
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        for (address, allocation) in std::mem::take(&mut *lock(&self.allocations)) {
            // SAFETY: the memory is no longer used.
            unsafe { unmap(address, allocation) };
        }
    }
}

/// # Safety
/// The allocation was made by `allocate` and is no longer used. As with CUDA, everything mapped over the address is
/// unmapped too.
unsafe fn unmap(address: u64, allocation: Allocation) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        libc::munmap(allocation.bytes as *mut libc::c_void, allocation.len);
        if allocation.bytes as u64 != address {
            libc::munmap(address as *mut libc::c_void, allocation.len);
        }
    }
}

fn reserve(len: usize, protection: i32) -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // Where a huge page fits, its address is a multiple of its size, as on real devices.
    let spare = if len >= HUGE { HUGE } else { 0 };
    // SAFETY: the kernel picks free addresses; the spare parts before and behind are unmapped again.
    unsafe {
        let at = libc::mmap(ptr::null_mut(), len + spare, protection, flags, -1, 0);
        if at == libc::MAP_FAILED {
            return None;
        }
        let start = if spare == 0 { at as usize } else { (at as usize).next_multiple_of(HUGE) };
        let before = start - at as usize;
        if before > 0 {
            libc::munmap(at, before);
        }
        if spare > before {
            libc::munmap((start + len) as *mut libc::c_void, spare - before);
        }
        Some(start)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
