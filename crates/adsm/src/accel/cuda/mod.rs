//! NVIDIA GPUs, through the CUDA driver interface, loaded at run time.
//!
//! One pointer: device memory comes from the driver's virtual memory management, so a range is exclusively ours. In the
//! program's address space the driver holds it as an inaccessible reservation, over which the runtime maps host memory.
//! Measured pitfalls that shape this file:
//!
//! - Copies must use the alias, never the shared address: the driver takes that for device memory and copies from the
//!   wrong source without an error.
//! - Only the alias can be registered for fast copies.
//! - Freeing a range unmaps what was mapped over it.
//! - A hint for an address that is in use is silently ignored, so none is given.

mod api;

pub use api::{Driver, Handle};

use super::{Abilities, Accelerator, Argument, DeviceError, DeviceMemory, KernelHandle, KernelSource, Ticket};
use api::{ALREADY_REGISTERED, AccessDescription, AllocationProperties, Code, NOT_READY, OUT_OF_MEMORY, SUCCESS};
use std::{
    any::Any,
    collections::BTreeMap,
    ffi::{CString, c_void},
    ptr,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A GPU.
pub struct Cuda {
    pub driver: Driver,
    pub device: i32,
    index: i32,
    pub context: Handle,
    name: String,
    /// The streams for uploads, kernels and downloads.
    pub upload: Handle,
    pub run: Handle,
    pub download: Handle,
    queues: Mutex<Queues>,
    modules: Mutex<BTreeMap<usize, Handle>>,
}

/// Operations that are not known to be done, each with an event.
#[derive(Default)]
struct Queues {
    uploads: Events,
    kernels: Events,
    downloads: Events,
    idle: Vec<Handle>,
}

impl Queues {
    fn of(&mut self, ticket: Ticket) -> (&mut Events, u64) {
        match ticket {
            Ticket::Upload(number) => (&mut self.uploads, number),
            Ticket::Kernel(number) => (&mut self.kernels, number),
            Ticket::Download(number) => (&mut self.downloads, number),
        }
    }
}

#[derive(Default)]
struct Events {
    asked: u64,
    done: u64,
    pending: BTreeMap<u64, Handle>,
}

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Cuda {}
// SAFETY: the driver has its own locks; our own state has a mutex.
unsafe impl Sync for Cuda {}
// SAFETY: as above.
unsafe impl Send for Queues {}

const ROOM_FOR_EVENTS: usize = 256;

impl Cuda {
    /// All GPUs of this computer.
    pub fn all() -> Result<Vec<Self>, DeviceError> {
        let driver = Driver::load()?;
        let mut count = 0;
        // SAFETY: an out-parameter.
        let code = unsafe { (driver.device_count)(&mut count) };
        if code != SUCCESS || count == 0 {
            let why = if code == SUCCESS { "there is none".to_owned() } else { driver.describe(code) };
            return Err(DeviceError::Unavailable { device: "a CUDA device".to_owned(), why });
        }
        (0..count).map(|index| Self::open(driver, index)).collect()
    }

    /// Opens the same GPU again with streams of its own: to the runtime these are two devices.
    pub fn open_again(&self) -> Result<Self, DeviceError> {
        Self::open(self.driver, self.index)
    }

    fn open(driver: Driver, index: i32) -> Result<Self, DeviceError> {
        let mut cuda = Self {
            driver,
            device: 0,
            index,
            context: ptr::null_mut(),
            name: format!("CUDA device {index}"),
            upload: ptr::null_mut(),
            run: ptr::null_mut(),
            download: ptr::null_mut(),
            queues: Mutex::default(),
            modules: Mutex::default(),
        };
        let mut name = [0 as std::ffi::c_char; 128];
        // SAFETY: out-parameters of the sizes given; the context is made current before anything needs one.
        unsafe {
            let check = |code, what| cuda.check(code, what);
            let mut device = 0;
            check((driver.device)(&mut device, index), "finding the device")?;
            check((driver.device_name)(name.as_mut_ptr(), 127, device), "its name")?;
            cuda.device = device;
            let mut context = ptr::null_mut();
            cuda.check((driver.retain)(&mut context, device), "its context")?;
            cuda.context = context;
            cuda.enter()?;
            let mut streams = [ptr::null_mut(); 3];
            for stream in &mut streams {
                cuda.check((driver.stream_create)(stream, 1), "a stream")?; // does not wait for the default stream
            }
            [cuda.upload, cuda.run, cuda.download] = streams;
            let text = std::ffi::CStr::from_ptr(name.as_ptr()).to_string_lossy();
            cuda.name = format!("{text} (CUDA device {index})");
        }
        let events = (0..ROOM_FOR_EVENTS).map(|_| cuda.event()).collect::<Result<Vec<_>, _>>()?;
        cuda.queues().idle = events;
        Ok(cuda)
    }

    /// Makes the driver's context current in this thread.
    pub fn enter(&self) -> Result<(), DeviceError> {
        // SAFETY: a context that is retained until the device is dropped.
        self.check(unsafe { (self.driver.set_current)(self.context) }, "entering its context")
    }

    pub fn check(&self, code: Code, what: &'static str) -> Result<(), DeviceError> {
        match code {
            SUCCESS => Ok(()),
            // Destroyed contexts and failed launches: nothing works after these.
            46 | 4 | 201 | 214 | 700 | 709 | 710 | 714 | 715 | 716 | 717 | 718 | 719 | 721 | 999 => {
                let why = format!("{what}: {}", self.driver.describe(code));
                Err(DeviceError::Lost { device: self.name.clone(), why })
            }
            _ => Err(DeviceError::Failed { device: self.name.clone(), what, why: self.driver.describe(code) }),
        }
    }

    fn event(&self) -> Result<Handle, DeviceError> {
        let mut event = ptr::null_mut();
        // SAFETY: an out-parameter. Flag 2: no timing, which makes it cheap.
        self.check(unsafe { (self.driver.event_create)(&mut event, 2) }, "an event")?;
        Ok(event)
    }

    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an event behind the present contents of `stream`, and returns its ticket of kind `kind`.
    fn note(&self, stream: Handle, kind: fn(u64) -> Ticket) -> Result<Ticket, DeviceError> {
        let mut queues = self.queues();
        self.reap(&mut queues)?;
        let event = match queues.idle.pop() {
            Some(event) => event,
            None => self.event()?,
        };
        // SAFETY: our own event and stream.
        self.check(unsafe { (self.driver.event_record)(event, stream) }, "noting an event")?;
        let (events, _) = queues.of(kind(0));
        events.asked += 1;
        events.pending.insert(events.asked, event);
        Ok(kind(events.asked))
    }

    /// Collects the events that have happened. Streams work in order, so the search ends at the first that has not.
    fn reap(&self, queues: &mut Queues) -> Result<(), DeviceError> {
        let Queues { uploads, kernels, downloads, idle } = queues;
        for events in [uploads, kernels, downloads] {
            while let Some(first) = events.pending.first_entry() {
                // SAFETY: our own event.
                match unsafe { (self.driver.event_query)(*first.get()) } {
                    NOT_READY => break,
                    code => {
                        events.done = *first.key();
                        idle.push(first.remove());
                        self.check(code, "what was asked of it")?;
                    }
                }
            }
        }
        Ok(())
    }

    fn properties(&self) -> AllocationProperties {
        // Pinned (1) memory of a device (1).
        let (kind, location_kind) = (1, 1);
        let location = self.device;
        AllocationProperties { kind, handle_types: 0, location_kind, location, win32: ptr::null_mut(), flags: [0; 8] }
    }

    /// Allocates a range of addresses with memory.
    fn map_memory(&self, len: usize) -> Result<(u64, u64), DeviceError> {
        let driver = &self.driver;
        let full = |code| match code {
            OUT_OF_MEMORY => {
                let (mut free, mut total) = (0, 0);
                // SAFETY: out-parameters.
                let known = unsafe { (driver.memory_info)(&mut free, &mut total) } == SUCCESS;
                let free = known.then_some(free as u64);
                Err(DeviceError::OutOfMemory { device: self.name.clone(), asked: len, free })
            }
            code => self.check(code, "allocating memory"),
        };
        let (mut handle, mut address) = (0, 0);
        let access = AccessDescription { location_kind: 1, location: self.device, flags: 3 };
        // SAFETY: out-parameters and structures as documented; each step is undone if a later one fails.
        unsafe {
            full((driver.create)(&mut handle, len, &self.properties(), 0))?;
            let reserved = full((driver.reserve)(&mut address, len, 0, 0, 0));
            let mapped = reserved.and_then(|()| {
                full((driver.map)(address, len, 0, handle, 0))
                    .and_then(|()| {
                        full((driver.set_access)(address, len, &access, 1)).inspect_err(|_| {
                            (driver.unmap)(address, len);
                        })
                    })
                    .inspect_err(|_| {
                        (driver.address_free)(address, len);
                    })
            });
            if let Err(error) = mapped {
                (driver.memory_release)(handle);
                return Err(error);
            }
        }
        Ok((address, handle))
    }
}

impl Accelerator for Cuda {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn abilities(&self) -> Abilities {
        Abilities { one_pointer: true, shared_memory: false, poisons: false }
    }

    fn allocate(&self, len: usize) -> Result<DeviceMemory, DeviceError> {
        self.enter()?;
        let mut unit = 0;
        // SAFETY: an out-parameter; 0 asks for the smallest granularity.
        let code = unsafe { (self.driver.granularity)(&mut unit, &self.properties(), 0) };
        self.check(code, "asking for the granularity of its memory")?;
        let room = len.checked_next_multiple_of(unit.max(1)).ok_or(DeviceError::OutOfMemory {
            device: self.name.clone(),
            asked: len,
            free: None,
        })?;
        let (address, handle) = self.map_memory(room)?;
        let memory = DeviceMemory { address, len: room, host: None, handle };
        if let Err(error) = self.fill(&memory, 0, room, 0) {
            let _ = self.free(memory);
            return Err(error);
        }
        Ok(memory)
    }

    fn free(&self, memory: DeviceMemory) -> Result<(), DeviceError> {
        self.enter()?;
        let DeviceMemory { address, len, handle, .. } = memory;
        // SAFETY: our own memory, which no operation uses any longer; every step is tried.
        let codes = unsafe {
            (self.driver.stream_synchronize)(self.upload);
            (self.driver.stream_synchronize)(self.run);
            let driver = &self.driver;
            [(driver.unmap)(address, len), (driver.memory_release)(handle), (driver.address_free)(address, len)]
        };
        codes.into_iter().try_for_each(|code| self.check(code, "freeing memory"))
    }

    unsafe fn register(&self, host: *mut u8, len: usize) -> Result<(), DeviceError> {
        self.enter()?;
        // Portable (1): registers it for all devices of this computer. Another device may have registered it before.
        // SAFETY: the caller keeps it mapped until it is unregistered.
        match unsafe { (self.driver.host_register)(host.cast(), len, 1) } {
            ALREADY_REGISTERED => Ok(()),
            code => self.check(code, "registering host memory"),
        }
    }

    fn unregister(&self, host: *mut u8) {
        if self.enter().is_ok() {
            // SAFETY: registered before; otherwise the driver refuses without harm.
            unsafe { (self.driver.host_unregister)(host.cast()) };
        }
    }

    unsafe fn upload(
        &self,
        to: &DeviceMemory,
        offset: usize,
        from: *const u8,
        len: usize,
    ) -> Result<Ticket, DeviceError> {
        self.enter()?;
        // SAFETY: the caller keeps the source unchanged until the ticket is done.
        let code = unsafe { (self.driver.upload_async)(to.address + offset as u64, from.cast(), len, self.upload) };
        self.check(code, "an upload")?;
        self.note(self.upload, Ticket::Upload)
    }

    /// Uses the kernel's own stream if that is idle: this saves recording and waiting for an event, which takes 2 to 11
    /// us.
    unsafe fn upload_for_kernel(
        &self,
        to: &DeviceMemory,
        offset: usize,
        from: *const u8,
        len: usize,
    ) -> Result<Ticket, DeviceError> {
        self.enter()?;
        // Locked until the copy is in the stream, so that the next kernel's event is recorded after it.
        let mut queues = self.queues();
        self.reap(&mut queues)?;
        if !queues.kernels.pending.is_empty() {
            drop(queues);
            // SAFETY: guaranteed by the caller.
            return unsafe { self.upload(to, offset, from, len) };
        }
        // SAFETY: the caller keeps the source unchanged until the ticket is done.
        let code = unsafe { (self.driver.upload_async)(to.address + offset as u64, from.cast(), len, self.run) };
        self.check(code, "an upload")?;
        Ok(Ticket::Kernel(queues.kernels.asked + 1))
    }

    unsafe fn download(&self, from: &DeviceMemory, offset: usize, to: *mut u8, len: usize) -> Result<(), DeviceError> {
        self.enter()?;
        // SAFETY: the caller guarantees the target, and the copy completes before this returns.
        unsafe {
            let from = from.address + offset as u64;
            self.check((self.driver.download_async)(to.cast(), from, len, self.download), "a download")?;
            self.check((self.driver.stream_synchronize)(self.download), "a download")
        }
    }

    unsafe fn start_download(
        &self,
        from: &DeviceMemory,
        offset: usize,
        to: *mut u8,
        len: usize,
    ) -> Result<Ticket, DeviceError> {
        self.enter()?;
        // SAFETY: the caller does not use the target until the ticket is done.
        let code = unsafe { (self.driver.download_async)(to.cast(), from.address + offset as u64, len, self.download) };
        self.check(code, "a download")?;
        self.note(self.download, Ticket::Download)
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
        let (to, from) = (to.address + offset as u64, from.address + offset as u64);
        let start = || {
            self.enter()?;
            // SAFETY: memory of the two devices, which stays unchanged until the ticket is done.
            let code = unsafe { (self.driver.copy_peer)(to, self.context, from, peer.context, len, self.upload) };
            self.check(code, "a copy from another device")?;
            self.note(self.upload, Ticket::Upload)
        };
        Some(start())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn fill(&self, memory: &DeviceMemory, offset: usize, len: usize, byte: u8) -> Result<(), DeviceError> {
        self.enter()?;
        // SAFETY: our own memory.
        unsafe {
            let at = memory.address + offset as u64;
            self.check((self.driver.set_bytes)(at, byte, len, self.upload), "setting bytes")?;
            self.check((self.driver.stream_synchronize)(self.upload), "setting bytes")
        }
    }

    fn is_done(&self, ticket: Ticket) -> Result<bool, DeviceError> {
        self.enter()?;
        let mut queues = self.queues();
        self.reap(&mut queues)?;
        let (events, number) = queues.of(ticket);
        Ok(events.done >= number)
    }

    fn wait(&self, ticket: Ticket) -> Result<(), DeviceError> {
        self.enter()?;
        let (event, to_come) = {
            let mut queues = self.queues();
            let (events, number) = queues.of(ticket);
            (events.pending.get(&number).copied(), number > events.asked)
        };
        if to_come {
            // An upload for a kernel that was not launched.
            // SAFETY: our own stream.
            self.check(unsafe { (self.driver.stream_synchronize)(self.run) }, "an upload")?;
        }
        if let Some(event) = event {
            // SAFETY: our own event. If it was collected and recorded again meanwhile, it stands for something later in
            // the same stream.
            self.check(unsafe { (self.driver.event_synchronize)(event) }, "what was asked of it")?;
        }
        Ok(())
    }

    fn load(&self, source: &KernelSource) -> Result<KernelHandle, DeviceError> {
        self.enter()?;
        let no_code = || DeviceError::NoCode { device: self.name.clone(), kernel: source.name.clone(), wanted: "PTX" };
        let ptx = source.ptx.as_ref().ok_or_else(no_code)?;
        let bad =
            |what| DeviceError::Failed { device: self.name.clone(), what, why: "it holds a zero byte".to_owned() };
        let text = CString::new(ptx.as_bytes()).map_err(|_| bad("reading PTX"))?;
        let name = CString::new(source.name.as_str()).map_err(|_| bad("reading a kernel's name"))?;
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        // A module is identified by the address of its text: texts are constants of the program or differ in address.
        let key = ptx.as_ptr() as usize;
        let module = match modules.get(&key) {
            Some(module) => *module,
            None => {
                let mut log = vec![0u8; 8192];
                // An error log (5) and its size (6).
                let mut options = [5, 6];
                let mut values = [log.as_mut_ptr().cast::<c_void>(), log.len() as *mut c_void];
                let mut module = ptr::null_mut();
                // SAFETY: a C string; options and values as documented.
                let code = unsafe {
                    let text = text.as_ptr().cast();
                    (self.driver.module_load)(&mut module, text, 2, options.as_mut_ptr(), values.as_mut_ptr())
                };
                if code != SUCCESS {
                    let end = log.iter().position(|&byte| byte == 0).unwrap_or(0);
                    let why = format!("{} {}", self.driver.describe(code), String::from_utf8_lossy(&log[..end]));
                    return Err(DeviceError::Failed { device: self.name.clone(), what: "compiling PTX", why });
                }
                modules.insert(key, module);
                module
            }
        };
        let mut function = ptr::null_mut();
        // SAFETY: a loaded module and a C string.
        self.check(unsafe { (self.driver.function)(&mut function, module, name.as_ptr()) }, "finding a kernel")?;
        Ok(KernelHandle::Loaded(function as u64))
    }

    fn launch(
        &self,
        kernel: &KernelHandle,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: &[Argument],
    ) -> Result<Ticket, DeviceError> {
        let KernelHandle::Loaded(function) = kernel else {
            return Err(DeviceError::NoCode { device: self.name.clone(), kernel: String::new(), wanted: "PTX" });
        };
        self.enter()?;
        let mut cells: Vec<[u8; 16]> = arguments
            .iter()
            .map(|argument| {
                let mut cell = [0; 16];
                match argument {
                    Argument::Memory { memory, offset } => {
                        cell[..8].copy_from_slice(&(memory.address + *offset as u64).to_ne_bytes());
                    }
                    Argument::Value(value) => cell[..value.bytes().len()].copy_from_slice(value.bytes()),
                }
                cell
            })
            .collect();
        let mut pointers: Vec<*mut c_void> = cells.iter_mut().map(|cell| cell.as_mut_ptr().cast()).collect();
        let ([gx, gy, gz], [bx, by, bz]) = (grid, block);
        // The kernel starts after all uploads so far.
        let last = self.queues().uploads.pending.last_key_value().map(|(_, event)| *event);
        // SAFETY: our own event and streams; the driver copies the arguments before it returns.
        unsafe {
            if let Some(event) = last {
                self.check((self.driver.stream_wait)(self.run, event, 0), "ordering a kernel after its uploads")?;
            }
            let function = *function as Handle;
            let arguments = pointers.as_mut_ptr();
            let code = (self.driver.launch)(function, gx, gy, gz, bx, by, bz, 0, self.run, arguments, ptr::null_mut());
            self.check(code, "a launch")?;
        }
        self.note(self.run, Ticket::Kernel)
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if self.enter().is_err() {
            return;
        }
        let mut queues = self.queues();
        let mut events = std::mem::take(&mut queues.idle);
        let Queues { uploads, kernels, downloads, .. } = &mut *queues;
        for pending in [uploads, kernels, downloads] {
            events.extend(std::mem::take(&mut pending.pending).into_values());
        }
        drop(queues);
        // SAFETY: all of this is our own and not used again.
        unsafe {
            for stream in [self.upload, self.run, self.download] {
                (self.driver.stream_synchronize)(stream);
                (self.driver.stream_destroy)(stream);
            }
            for event in events {
                (self.driver.event_destroy)(event);
            }
            for module in self.modules.lock().unwrap_or_else(PoisonError::into_inner).values() {
                (self.driver.module_unload)(*module);
            }
            (self.driver.release)(self.device);
        }
    }
}
