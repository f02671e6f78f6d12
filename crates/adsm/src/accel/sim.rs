//! A device inside the process: memory of its own, a thread that works off its commands, and trouble on demand.
//!
//! For tests and for programs without a GPU. It has latency, bandwidth and a size; single operations can be made to fail; and
//! with `poison` whoever does not own a block finds garbage in it, so a transfer that was forgotten shows as a wrong result.
//! Its memory's addresses are inaccessible reservations, like CUDA's, so that the one-pointer overlay is exercised too.

use super::{Abilities, Accelerator, Argument, DeviceError, DeviceMemory, KernelHandle, KernelSource, Native, Ticket};
use crate::os::{HUGE, page_size, round_up};
use std::{
    collections::BTreeMap,
    ptr,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

/// What the device is like.
#[derive(Clone, Debug)]
pub struct SimSpec {
    /// How much it can hold.
    pub memory: usize,
    /// Before each transfer and each kernel.
    pub latency: Duration,
    /// Bytes per second of transfers; `None` for as fast as memory is.
    pub bandwidth: Option<u64>,
    /// Its addresses can be used for host memory.
    pub one_pointer: bool,
    /// CPU and device use the same memory.
    pub shared_memory: bool,
    /// Contents are garbage where they are not owned.
    pub poison: bool,
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
        }
    }
}

/// The byte that is found where nothing should be read.
pub const POISON: u8 = 0xDB;

/// What can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Allocate,
    Upload,
    Download,
    Launch,
    /// The kernel itself, after it was launched.
    Kernel,
}

/// The simulated device.
pub struct Sim {
    spec: SimSpec,
    shared: Arc<State>,
    commands: Mutex<Option<mpsc::Sender<Command>>>,
    worker: Option<thread::JoinHandle<()>>,
    asked: AtomicU64,
}

/// What the program and the device's thread share.
struct State {
    allocations: Mutex<BTreeMap<u64, Allocation>>,
    used: Mutex<usize>,
    /// How many of its commands the device has worked off.
    done: Mutex<u64>,
    advanced: Condvar,
    /// Commands that failed, until somebody asks.
    errors: Mutex<BTreeMap<u64, DeviceError>>,
    /// How many more of each operation succeed before one fails.
    trouble: Mutex<BTreeMap<Operation, (u64, DeviceError)>>,
    lost: Mutex<Option<DeviceError>>,
}

/// A range of the device's memory: its bytes lie elsewhere than its address says.
#[derive(Clone, Copy)]
struct Allocation {
    bytes: usize,
    len: usize,
}

enum Command {
    Upload {
        to: usize,
        from: usize,
        len: usize,
    },
    Fill {
        to: usize,
        len: usize,
        byte: u8,
    },
    Kernel {
        code: KernelHandle,
        grid: [u32; 3],
        block: [u32; 3],
        memory: Vec<(usize, usize)>,
        values: Vec<super::Value>,
    },
}

impl Sim {
    pub fn new(spec: SimSpec) -> Self {
        let shared = Arc::new(State {
            allocations: Mutex::default(),
            used: Mutex::default(),
            done: Mutex::default(),
            advanced: Condvar::new(),
            errors: Mutex::default(),
            trouble: Mutex::default(),
            lost: Mutex::default(),
        });
        let (sender, receiver) = mpsc::channel();
        let (state, pace) = (Arc::clone(&shared), spec.clone());
        let worker = thread::Builder::new()
            .name("adsm-sim".to_owned())
            .spawn(move || work(&state, &pace, &receiver))
            .expect("a thread can be started");
        Self { spec, shared, commands: Mutex::new(Some(sender)), worker: Some(worker), asked: AtomicU64::new(0) }
    }

    /// After `successes` more of them, one `operation` fails with `error`.
    pub fn fail_after(&self, successes: u64, operation: Operation, error: DeviceError) {
        lock(&self.shared.trouble).insert(operation, (successes, error));
    }

    /// The device goes away: everything fails from now on.
    pub fn lose(&self, why: &str) {
        let error = DeviceError::Lost { device: self.name(), why: why.to_owned() };
        *lock(&self.shared.lost) = Some(error);
        self.shared.advanced.notify_all();
    }

    /// Bytes that are allocated on it.
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

    fn ask(&self, command: Command, ticket: fn(u64) -> Ticket) -> Result<Ticket, DeviceError> {
        let commands = lock(&self.commands);
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let gone = || DeviceError::Lost { device: self.name(), why: "its thread has ended".to_owned() };
        commands.as_ref().ok_or_else(gone)?.send(command).map_err(|_| gone())?;
        Ok(ticket(number))
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
}

impl Accelerator for Sim {
    fn name(&self) -> String {
        "the simulated device".to_owned()
    }

    fn abilities(&self) -> Abilities {
        let SimSpec { one_pointer, shared_memory, poison, .. } = self.spec;
        Abilities { one_pointer, shared_memory, poisons: poison && !shared_memory }
    }

    fn allocate(&self, len: usize) -> Result<DeviceMemory, DeviceError> {
        self.shared.fails(Operation::Allocate)?;
        let free = self.spec.memory.saturating_sub(self.used());
        let full = DeviceError::OutOfMemory { device: self.name(), asked: len, free: Some(free as u64) };
        let len = round_up(len, page_size()).ok_or_else(|| full.clone())?;
        if len > free {
            return Err(full);
        }
        let bytes = reserve(len, libc::PROT_READ | libc::PROT_WRITE).ok_or_else(|| full.clone())?;
        let address = if self.spec.shared_memory { bytes } else { reserve(len, libc::PROT_NONE).ok_or(full)? };
        lock(&self.shared.allocations).insert(address as u64, Allocation { bytes, len });
        *lock(&self.shared.used) += len;
        let host = self.spec.shared_memory.then_some(bytes);
        Ok(DeviceMemory { address: address as u64, len, host, handle: 0 })
    }

    fn free(&self, memory: DeviceMemory) -> Result<(), DeviceError> {
        let Some(allocation) = lock(&self.shared.allocations).remove(&memory.address) else {
            let why = "no such memory".to_owned();
            return Err(DeviceError::Failed { device: self.name(), what: "freeing memory", why });
        };
        *lock(&self.shared.used) -= allocation.len;
        // SAFETY: both ranges were mapped by `allocate` and are not used any longer. As with CUDA, whatever was laid over the
        // address goes with it.
        unsafe {
            libc::munmap(allocation.bytes as *mut libc::c_void, allocation.len);
            if allocation.bytes as u64 != memory.address {
                libc::munmap(memory.address as *mut libc::c_void, allocation.len);
            }
        }
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
        self.ask(Command::Upload { to, from: from as usize, len }, Ticket::Upload)
    }

    unsafe fn download(&self, from: &DeviceMemory, offset: usize, to: *mut u8, len: usize) -> Result<(), DeviceError> {
        self.shared.fails(Operation::Download)?;
        let from = self.bytes_of(from, offset, len)?;
        pause(&self.spec, len);
        // SAFETY: checked to lie in the allocation; the caller vouches for the target.
        unsafe { ptr::copy_nonoverlapping(from as *const u8, to, len) };
        Ok(())
    }

    fn fill(&self, memory: &DeviceMemory, offset: usize, len: usize, byte: u8) -> Result<(), DeviceError> {
        let to = self.bytes_of(memory, offset, len)?;
        let ticket = self.ask(Command::Fill { to, len, byte }, Ticket::Upload)?;
        self.wait(ticket)
    }

    fn is_done(&self, ticket: Ticket) -> Result<bool, DeviceError> {
        let (Ticket::Upload(number) | Ticket::Kernel(number)) = ticket;
        if let Some(error) = lock(&self.shared.errors).remove(&number) {
            return Err(error);
        }
        Ok(*lock(&self.shared.done) >= number)
    }

    fn wait(&self, ticket: Ticket) -> Result<(), DeviceError> {
        let (Ticket::Upload(number) | Ticket::Kernel(number)) = ticket;
        let mut done = lock(&self.shared.done);
        while *done < number {
            done = self.shared.advanced.wait(done).unwrap_or_else(PoisonError::into_inner);
        }
        drop(done);
        match lock(&self.shared.errors).remove(&number) {
            Some(error) => Err(error),
            None => Ok(()),
        }
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
        self.ask(Command::Kernel { code: kernel.clone(), grid, block, memory, values }, Ticket::Kernel)
    }

    fn poison(&self, memory: &DeviceMemory, offset: usize, len: usize) {
        if let Ok(to) = self.bytes_of(memory, offset, len) {
            // SAFETY: checked to lie in the allocation. Nothing on the device uses bytes that the CPU owns.
            unsafe { ptr::write_bytes(to as *mut u8, POISON, len) };
        }
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        lock(&self.commands).take();
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
        let left: Vec<_> = lock(&self.shared.allocations).keys().copied().collect();
        for address in left {
            let _ = self.free(DeviceMemory { address, len: 0, host: None, handle: 0 });
        }
    }
}

/// The device's thread: commands in order.
fn work(state: &State, spec: &SimSpec, commands: &mpsc::Receiver<Command>) {
    let mut number = 0;
    while let Ok(command) = commands.recv() {
        number += 1;
        if let Err(error) = obey(state, spec, command) {
            lock(&state.errors).insert(number, error);
        }
        *lock(&state.done) = number;
        state.advanced.notify_all();
    }
}

fn obey(state: &State, spec: &SimSpec, command: Command) -> Result<(), DeviceError> {
    if let Some(error) = lock(&state.lost).as_ref() {
        return Err(error.clone());
    }
    match command {
        Command::Upload { to, from, len } => {
            pause(spec, len);
            // SAFETY: the target was checked when the command was given; whoever asked keeps the source as it is.
            unsafe { ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, len) };
        }
        Command::Fill { to, len, byte } => {
            // SAFETY: checked when the command was given.
            unsafe { ptr::write_bytes(to as *mut u8, byte, len) };
        }
        Command::Kernel { code, grid, block, memory, values } => {
            state.fails(Operation::Kernel)?;
            pause(spec, 0);
            if let KernelHandle::Native(code) = code {
                // SAFETY: ranges of the device's memory, checked to be its own and not to overlap; between the launch and
                // its end nobody else touches them.
                let memory = memory
                    .into_iter()
                    .map(|(at, len)| unsafe { std::slice::from_raw_parts_mut(at as *mut u8, len) })
                    .collect();
                code(&mut Native { grid, block, memory, values });
            }
        }
    }
    Ok(())
}

/// As long as the device would take for `len` bytes.
fn pause(spec: &SimSpec, len: usize) {
    let transfer = spec.bandwidth.map_or(0.0, |bandwidth| len as f64 / bandwidth as f64);
    let long = spec.latency + Duration::from_secs_f64(transfer);
    if long >= Duration::from_micros(200) {
        thread::sleep(long);
    } else if !long.is_zero() {
        let begin = Instant::now();
        while begin.elapsed() < long {
            std::hint::spin_loop();
        }
    }
}

fn reserve(len: usize, protection: i32) -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // Where a huge page fits, its address is a multiple of its size, as on real devices.
    let spare = if len >= HUGE { HUGE } else { 0 };
    // SAFETY: the kernel picks free addresses; what is spare before and behind goes back.
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
