//! The ways in which a program can share data with a device.
//!
//! A program is written once. It states where a hand-tuned program would copy (`sent`, `wanted`). Only the ways with
//! explicit copies use these hints; the others transfer data on their own.

use adsm::{
    Config, Runtime, Stats, Value,
    accel::{Accelerator, Argument, DeviceMemory, KernelHandle, KernelSource, cuda::Cuda},
    host::{Given, Host, Launch, Mode},
    memory::Object,
    os::Access,
};
use std::{ops::Range, ptr, sync::Arc};

pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// An argument of a kernel.
#[derive(Clone, Copy)]
pub enum Arg {
    /// A buffer that the kernel reads.
    In(usize),
    /// A buffer that the kernel may write.
    Out(usize),
    Value(Value),
}

impl<T: Into<Value>> From<T> for Arg {
    fn from(value: T) -> Self {
        Self::Value(value.into())
    }
}

/// Buffers that CPU and device share in some way.
pub trait Store {
    /// A buffer as the CPU sees it.
    fn host(&mut self, buffer: usize) -> &mut [u8];
    /// A hand-tuned program copies these bytes to the device here.
    fn sent(&mut self, buffer: usize, bytes: Range<usize>) -> Outcome;
    /// A hand-tuned program copies these bytes back here.
    fn wanted(&mut self, buffer: usize, bytes: Range<usize>) -> Outcome;
    /// Called before the bytes are passed to a system call.
    fn before_write(&mut self, buffer: usize, bytes: Range<usize>) -> Outcome;
    /// Runs a kernel to its end.
    fn run(&mut self, kernel: &KernelSource, grid: [u32; 3], block: [u32; 3], arguments: &[Arg]) -> Outcome;
    /// The library's counters, if this way uses the library.
    fn stats(&self) -> Option<Stats>;

    fn floats(&mut self, buffer: usize) -> &mut [f32] {
        // SAFETY: any bytes are floats; buffers begin at a page.
        unsafe { self.host(buffer).align_to_mut().1 }
    }

    fn words(&mut self, buffer: usize) -> &mut [u32] {
        // SAFETY: any bytes are words; buffers begin at a page.
        unsafe { self.host(buffer).align_to_mut().1 }
    }
}

/// Kernels that a device has loaded, by name.
#[derive(Default)]
struct Loaded(Vec<(String, KernelHandle)>);

impl Loaded {
    fn get(&mut self, accel: &dyn Accelerator, source: &KernelSource) -> Outcome<KernelHandle> {
        if let Some((_, handle)) = self.0.iter().find(|(name, _)| *name == source.name) {
            return Ok(handle.clone());
        }
        let handle = accel.load(source)?;
        self.0.push((source.name.clone(), handle.clone()));
        Ok(handle)
    }
}

/// Two copies of each buffer, and explicit transfers.
pub struct Copies {
    accel: Arc<dyn Accelerator>,
    buffers: Vec<(*mut u8, usize, DeviceMemory)>,
    pinned: bool,
    loaded: Loaded,
}

impl Copies {
    pub fn new(accel: &Arc<dyn Accelerator>, pinned: bool, sizes: &[usize]) -> Outcome<Self> {
        let mut copies = Self { accel: Arc::clone(accel), buffers: Vec::new(), pinned, loaded: Loaded::default() };
        for &size in sizes {
            let len = size.next_multiple_of(4096);
            let memory = accel.allocate(len)?;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: the kernel picks free addresses.
            let host = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, -1, 0) };
            if host == libc::MAP_FAILED {
                return Err(std::io::Error::last_os_error().into());
            }
            copies.buffers.push((host.cast(), size, memory));
            if pinned {
                // SAFETY: mapped until this is dropped, which unregisters it.
                unsafe { accel.register(host.cast(), len) }?;
            }
        }
        Ok(copies)
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        for &(host, size, memory) in &self.buffers {
            if self.pinned {
                self.accel.unregister(host);
            }
            let _ = self.accel.free(memory);
            // SAFETY: mapped by `new`.
            unsafe { libc::munmap(host.cast(), size.next_multiple_of(4096)) };
        }
    }
}

impl Store for Copies {
    fn host(&mut self, buffer: usize) -> &mut [u8] {
        let (host, size, _) = self.buffers[buffer];
        // SAFETY: mapped with this size; borrowed like the store.
        unsafe { std::slice::from_raw_parts_mut(host, size) }
    }

    fn sent(&mut self, buffer: usize, bytes: Range<usize>) -> Outcome {
        let (host, _, memory) = self.buffers[buffer];
        // SAFETY: the program does not write the buffer before the kernel that follows has ended.
        unsafe { self.accel.upload_for_kernel(&memory, bytes.start, host.add(bytes.start), bytes.len()) }?;
        Ok(())
    }

    fn wanted(&mut self, buffer: usize, bytes: Range<usize>) -> Outcome {
        let (host, _, memory) = self.buffers[buffer];
        // SAFETY: the buffer is not borrowed here.
        unsafe { self.accel.download(&memory, bytes.start, host.add(bytes.start), bytes.len()) }?;
        Ok(())
    }

    fn before_write(&mut self, _: usize, _: Range<usize>) -> Outcome {
        Ok(())
    }

    fn run(&mut self, kernel: &KernelSource, grid: [u32; 3], block: [u32; 3], arguments: &[Arg]) -> Outcome {
        let handle = self.loaded.get(&*self.accel, kernel)?;
        let memory = |buffer: usize| self.buffers[buffer].2;
        let arguments = resolve(arguments, memory);
        let ticket = self.accel.launch(&handle, grid, block, &arguments)?;
        Ok(self.accel.wait(ticket)?)
    }

    fn stats(&self) -> Option<Stats> {
        None
    }
}

fn resolve(arguments: &[Arg], memory: impl Fn(usize) -> DeviceMemory) -> Vec<Argument> {
    let one = |argument: &Arg| match *argument {
        Arg::In(buffer) | Arg::Out(buffer) => Argument::Memory { memory: memory(buffer), offset: 0 },
        Arg::Value(value) => Argument::Value(value),
    };
    arguments.iter().map(one).collect()
}

/// CUDA's managed memory, with or without prefetch where a hand-tuned program would copy.
pub struct Managed {
    cuda: Arc<Cuda>,
    buffers: Vec<(u64, usize)>,
    prefetch: bool,
    loaded: Loaded,
}

impl Managed {
    pub fn new(cuda: &Arc<Cuda>, prefetch: bool, sizes: &[usize]) -> Outcome<Self> {
        cuda.enter()?;
        let mut managed = Self { cuda: Arc::clone(cuda), buffers: Vec::new(), prefetch, loaded: Loaded::default() };
        for &size in sizes {
            let mut address = 0;
            // SAFETY: an out-parameter; 1 makes the memory accessible from all devices.
            let code = unsafe { (cuda.driver.alloc_managed)(&mut address, size.next_multiple_of(4096), 1) };
            cuda.check(code, "allocating managed memory")?;
            managed.buffers.push((address, size));
            managed.host(managed.buffers.len() - 1).fill(0);
        }
        Ok(managed)
    }

    fn prefetch(&self, buffer: usize, bytes: &Range<usize>, to: i32) -> Outcome {
        if !self.prefetch {
            return Ok(());
        }
        self.cuda.enter()?;
        let (address, size) = self.buffers[buffer];
        // Round to whole pages.
        let (first, end) =
            (bytes.start / 4096 * 4096, bytes.end.next_multiple_of(4096).min(size.next_multiple_of(4096)));
        if first >= end {
            return Ok(());
        }
        let (driver, stream) = (&self.cuda.driver, self.cuda.run);
        // SAFETY: our own memory and stream.
        unsafe {
            let code = (driver.prefetch)(address + first as u64, end - first, to, stream);
            self.cuda.check(code, "prefetching")?;
            if to < 0 {
                self.cuda.check((driver.stream_synchronize)(stream), "prefetching")?;
            }
        }
        Ok(())
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        for &(address, _) in &self.buffers {
            // SAFETY: allocated by `new`.
            unsafe { (self.cuda.driver.free)(address) };
        }
    }
}

impl Store for Managed {
    fn host(&mut self, buffer: usize) -> &mut [u8] {
        let (address, size) = self.buffers[buffer];
        // SAFETY: managed memory can be used here while no kernel runs; borrowed like the store.
        unsafe { std::slice::from_raw_parts_mut(address as *mut u8, size) }
    }

    fn sent(&mut self, buffer: usize, bytes: Range<usize>) -> Outcome {
        self.prefetch(buffer, &bytes, self.cuda.device)
    }

    fn wanted(&mut self, buffer: usize, bytes: Range<usize>) -> Outcome {
        self.prefetch(buffer, &bytes, -1)
    }

    fn before_write(&mut self, _: usize, _: Range<usize>) -> Outcome {
        Ok(())
    }

    fn run(&mut self, kernel: &KernelSource, grid: [u32; 3], block: [u32; 3], arguments: &[Arg]) -> Outcome {
        let handle = self.loaded.get(&*self.cuda, kernel)?;
        let memory = |buffer: usize| {
            let (address, len) = self.buffers[buffer];
            DeviceMemory { address, len, host: Some(address as usize), handle: 0 }
        };
        let arguments = resolve(arguments, memory);
        let ticket = self.cuda.launch(&handle, grid, block, &arguments)?;
        Ok(self.cuda.wait(ticket)?)
    }

    fn stats(&self) -> Option<Stats> {
        None
    }
}

/// The way of this library.
pub struct Adsm {
    runtime: Runtime,
    host: Arc<Host>,
    objects: Vec<Arc<Object>>,
    loaded: Vec<Loaded>,
}

impl Adsm {
    pub fn new(accel: &Arc<dyn Accelerator>, config: Config, sizes: &[usize]) -> Outcome<Self> {
        Self::on(&[Arc::clone(accel)], config, sizes)
    }

    /// A store on several devices; the configuration selects the device of each object.
    pub fn on(accels: &[Arc<dyn Accelerator>], config: Config, sizes: &[usize]) -> Outcome<Self> {
        let runtime = Runtime::with(accels.to_vec(), config)?;
        let host = Arc::clone(runtime.host());
        let abilities = accels[0].abilities();
        let one_pointer = abilities.one_pointer || abilities.shared_memory;
        let loaded = accels.iter().map(|_| Loaded::default()).collect();
        let mut adsm = Self { runtime, host, objects: Vec::new(), loaded };
        for &size in sizes {
            adsm.objects.push(adsm.host.allocate(0, size, one_pointer)?);
        }
        Ok(adsm)
    }
}

impl Drop for Adsm {
    fn drop(&mut self) {
        for object in &self.objects {
            let _ = self.host.free(object);
        }
    }
}

impl Store for Adsm {
    fn host(&mut self, buffer: usize) -> &mut [u8] {
        let object = &self.objects[buffer];
        // SAFETY: an object of this size; a closed page is opened when it is accessed; borrowed like the store.
        unsafe { std::slice::from_raw_parts_mut(object.base() as *mut u8, object.len) }
    }

    fn sent(&mut self, _: usize, _: Range<usize>) -> Outcome {
        Ok(())
    }

    fn wanted(&mut self, _: usize, _: Range<usize>) -> Outcome {
        Ok(())
    }

    fn before_write(&mut self, buffer: usize, bytes: Range<usize>) -> Outcome {
        if self.host.serves_system_calls() {
            return Ok(());
        }
        Ok(self.host.touch(&self.objects[buffer], bytes, Access::Load)?)
    }

    fn run(&mut self, kernel: &KernelSource, grid: [u32; 3], block: [u32; 3], arguments: &[Arg]) -> Outcome {
        let object = |argument: &Arg| match *argument {
            Arg::In(buffer) => Some((Arc::clone(&self.objects[buffer]), Mode::Reads)),
            Arg::Out(buffer) => Some((Arc::clone(&self.objects[buffer]), Mode::Writes)),
            Arg::Value(_) => None,
        };
        let objects: Vec<_> = arguments.iter().filter_map(object).collect();
        let given = |argument: &Arg| match *argument {
            Arg::In(buffer) | Arg::Out(buffer) => Given::Shared(Arc::clone(&self.objects[buffer]), 0),
            Arg::Value(value) => Given::Value(value),
        };
        let arguments: Vec<_> = arguments.iter().map(given).collect();
        let device = self.host.choose(&objects, None)?;
        let handle = self.loaded[device].get(&*self.host.accels[device], kernel)?;
        let launch = Launch { kernel: &handle, grid, block, arguments: &arguments, objects };
        let flight = self.host.call(device, launch)?;
        Ok(self.host.sync(&flight)?)
    }

    fn stats(&self) -> Option<Stats> {
        Some(self.runtime.stats())
    }
}
