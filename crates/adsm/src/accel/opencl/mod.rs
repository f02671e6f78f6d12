//! OpenCL devices, through the system's loader.
//!
//! On a device with fine-grained shared virtual memory, CPU and device use the same bytes at the same address, and
//! nothing is copied. Other OpenCL devices have no addresses at all: objects are buffers, allocated with `safe_alloc`,
//! and kernels get the buffer. `ADSM_OPENCL_SVM=0` selects buffers on all devices.

mod api;

use super::{Abilities, Accelerator, Argument, DeviceError, DeviceMemory, KernelHandle, KernelSource, Ticket};
use api::*;
use std::{
    any::Any,
    collections::BTreeMap,
    ffi::{CString, c_void},
    ptr,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// An OpenCL device.
pub struct OpenCl {
    api: OpenClApi,
    device: Handle,
    context: Handle,
    name: String,
    largest: u64,
    shared_memory: bool,
    /// The queue of uploads and kernels, in order, and the queue of downloads.
    work: Handle,
    download: Handle,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    asked: u64,
    /// Events of operations that may not be done.
    pending: BTreeMap<u64, Handle>,
    programs: BTreeMap<usize, Handle>,
    kernels: Vec<Handle>,
}

// SAFETY: OpenCL's handles may be used from any thread, except kernels, which are used under the lock.
unsafe impl Send for OpenCl {}
// SAFETY: as above.
unsafe impl Sync for OpenCl {}
// SAFETY: as above.
unsafe impl Send for State {}

impl OpenCl {
    /// All devices of all platforms.
    pub fn all() -> Result<Vec<Self>, DeviceError> {
        Self::all_with(std::env::var("ADSM_OPENCL_SVM").is_ok_and(|value| value == "0"))
    }

    /// Variant of [`all`](Self::all); with `buffers`, shared virtual memory is not used.
    pub fn all_with(buffers: bool) -> Result<Vec<Self>, DeviceError> {
        let api = OpenClApi::load()?;
        let mut found = Vec::new();
        for platform in list(|room, out, count| {
            // SAFETY: an array with the stated number of places.
            unsafe { (api.platforms)(room, out, count) }
        }) {
            found.extend(list(|room, out, count| {
                // SAFETY: as above.
                unsafe { (api.devices)(platform, DEVICE_TYPE_ALL, room, out, count) }
            }));
        }
        if found.is_empty() {
            let why = "no platform has one".to_owned();
            return Err(DeviceError::Unavailable { device: "an OpenCL device".to_owned(), why });
        }
        found.into_iter().map(|device| Self::open(api, device, buffers)).collect()
    }

    fn open(api: OpenClApi, device: Handle, buffers: bool) -> Result<Self, DeviceError> {
        let mut name = [0u8; 256];
        let (mut capabilities, mut largest, mut code) = (0u64, 0u64, SUCCESS);
        // SAFETY: out-parameters of the sizes given; the device was listed by its platform.
        let opened = unsafe {
            let mut used = 0;
            (api.device_info)(device, DEVICE_NAME, name.len(), name.as_mut_ptr().cast(), &mut used);
            // A device of OpenCL 1.2 does not know this query: it has no shared virtual memory.
            (api.device_info)(device, DEVICE_SVM_CAPABILITIES, 8, (&raw mut capabilities).cast(), ptr::null_mut());
            (api.device_info)(device, DEVICE_MAX_ALLOCATION, 8, (&raw mut largest).cast(), ptr::null_mut());
            let name = String::from_utf8_lossy(&name[..used.saturating_sub(1)]).into_owned();
            let context = (api.create_context)(ptr::null(), 1, &device, ptr::null(), ptr::null_mut(), &mut code);
            let mut opened = Self {
                api,
                device,
                context,
                name: format!("{name} (OpenCL)"),
                largest,
                shared_memory: !buffers && capabilities & SVM_FINE_GRAIN_BUFFER != 0,
                work: ptr::null_mut(),
                download: ptr::null_mut(),
                state: Mutex::default(),
            };
            opened.check(code, "its context")?;
            opened.work = (api.create_queue)(context, device, 0, &mut code);
            opened.check(code, "a queue")?;
            opened.download = (api.create_queue)(context, device, 0, &mut code);
            opened.check(code, "a queue")?;
            opened
        };
        Ok(opened)
    }

    fn check(&self, code: Code, what: &'static str) -> Result<(), DeviceError> {
        match code {
            SUCCESS => Ok(()),
            code => Err(DeviceError::Failed { device: self.name.clone(), what, why: format!("OpenCL error {code}") }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, state: &mut State, event: Handle, kind: fn(u64) -> Ticket) -> Ticket {
        state.asked += 1;
        state.pending.insert(state.asked, event);
        kind(state.asked)
    }

    fn build(&self, state: &mut State, source: &KernelSource) -> Result<Handle, DeviceError> {
        let no_code =
            || DeviceError::NoCode { device: self.name.clone(), kernel: source.name.clone(), wanted: "OpenCL C" };
        let text = source.opencl.as_ref().ok_or_else(no_code)?;
        let key = text.as_ptr() as usize;
        if let Some(program) = state.programs.get(&key) {
            return Ok(*program);
        }
        let (start, len) = (text.as_ptr().cast(), text.len());
        let mut code = SUCCESS;
        // SAFETY: one text of the length given; the log's buffer has the size given.
        unsafe {
            let program = (self.api.create_program)(self.context, 1, &start, &len, &mut code);
            self.check(code, "reading OpenCL C")?;
            if (self.api.build)(program, 1, &self.device, c"".as_ptr(), ptr::null(), ptr::null_mut()) != SUCCESS {
                let mut log = vec![0u8; 8192];
                let mut used = 0;
                let buffer = log.as_mut_ptr().cast();
                (self.api.build_info)(program, self.device, PROGRAM_BUILD_LOG, log.len(), buffer, &mut used);
                (self.api.release_program)(program);
                let why = String::from_utf8_lossy(&log[..used.min(log.len())]).into_owned();
                return Err(DeviceError::Failed { device: self.name.clone(), what: "compiling OpenCL C", why });
            }
            state.programs.insert(key, program);
            Ok(program)
        }
    }
}

impl Accelerator for OpenCl {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn abilities(&self) -> Abilities {
        Abilities { one_pointer: false, shared_memory: self.shared_memory, poisons: false }
    }

    fn allocate(&self, len: usize) -> Result<DeviceMemory, DeviceError> {
        let full = || DeviceError::OutOfMemory { device: self.name.clone(), asked: len, free: Some(self.largest) };
        if len as u64 > self.largest {
            return Err(full());
        }
        if self.shared_memory {
            let flags = MEM_READ_WRITE | MEM_SVM_FINE_GRAIN_BUFFER;
            // SAFETY: a new allocation, which is zeroed before it is used.
            let at = unsafe { (self.api.svm_alloc)(self.context, flags, len, 0) };
            if at.is_null() {
                return Err(full());
            }
            // SAFETY: as above.
            unsafe { ptr::write_bytes(at.cast::<u8>(), 0, len) };
            return Ok(DeviceMemory { address: at as u64, len, host: Some(at as usize), handle: 0 });
        }
        let mut code = SUCCESS;
        // SAFETY: an out-parameter.
        let buffer = unsafe { (self.api.create_buffer)(self.context, MEM_READ_WRITE, len, ptr::null_mut(), &mut code) };
        if code == MEM_OBJECT_ALLOCATION_FAILURE || code == OUT_OF_RESOURCES {
            return Err(full());
        }
        self.check(code, "allocating memory")?;
        let memory = DeviceMemory { address: buffer as u64, len, host: None, handle: buffer as u64 };
        if let Err(error) = self.fill(&memory, 0, len, 0) {
            let _ = self.free(memory);
            return Err(error);
        }
        Ok(memory)
    }

    fn free(&self, memory: DeviceMemory) -> Result<(), DeviceError> {
        // SAFETY: our own memory, which is unused once the queue is empty.
        unsafe {
            self.check((self.api.finish)(self.work), "finishing")?;
            if memory.host.is_some() {
                (self.api.svm_free)(self.context, memory.address as *mut c_void);
                return Ok(());
            }
            self.check((self.api.release_memory)(memory.handle as Handle), "freeing memory")
        }
    }

    unsafe fn upload(
        &self,
        to: &DeviceMemory,
        offset: usize,
        from: *const u8,
        len: usize,
    ) -> Result<Ticket, DeviceError> {
        if let Some(host) = to.host {
            // SAFETY: memory shared by CPU and device, not used by a kernel; the caller guarantees the source.
            unsafe { ptr::copy(from, (host + offset) as *mut u8, len) };
            return Ok(Ticket::Upload(0));
        }
        let mut event = ptr::null_mut();
        let (api, buffer) = (&self.api, to.handle as Handle);
        // SAFETY: the caller keeps the source unchanged until the ticket is done.
        unsafe {
            let code = (api.write)(self.work, buffer, 0, offset, len, from.cast(), 0, ptr::null(), &mut event);
            self.check(code, "an upload")?;
            self.check((api.flush)(self.work), "an upload")?;
        }
        Ok(self.note(&mut self.state(), event, Ticket::Upload))
    }

    unsafe fn download(&self, from: &DeviceMemory, offset: usize, to: *mut u8, len: usize) -> Result<(), DeviceError> {
        if let Some(host) = from.host {
            // SAFETY: memory shared by CPU and device, not used by a kernel; the caller guarantees the target.
            unsafe { ptr::copy((host + offset) as *const u8, to, len) };
            return Ok(());
        }
        let buffer = from.handle as Handle;
        // SAFETY: the caller guarantees the target; the 1 makes the call wait for the data.
        let code = unsafe {
            (self.api.read)(self.download, buffer, 1, offset, len, to.cast(), 0, ptr::null(), ptr::null_mut())
        };
        self.check(code, "a download")
    }

    unsafe fn start_download(
        &self,
        from: &DeviceMemory,
        offset: usize,
        to: *mut u8,
        len: usize,
    ) -> Result<Ticket, DeviceError> {
        if from.host.is_some() {
            // SAFETY: guaranteed by the caller.
            return unsafe { self.download(from, offset, to, len) }.map(|()| Ticket::Download(0));
        }
        let mut event = ptr::null_mut();
        let (api, buffer) = (&self.api, from.handle as Handle);
        // SAFETY: the caller does not use the target until the ticket is done; 0 does not wait.
        unsafe {
            let code = (api.read)(self.download, buffer, 0, offset, len, to.cast(), 0, ptr::null(), &mut event);
            self.check(code, "a download")?;
            self.check((api.flush)(self.download), "a download")?;
        }
        Ok(self.note(&mut self.state(), event, Ticket::Download))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn fill(&self, memory: &DeviceMemory, offset: usize, len: usize, byte: u8) -> Result<(), DeviceError> {
        if let Some(host) = memory.host {
            // SAFETY: memory shared by CPU and device, not used by a kernel.
            unsafe { ptr::write_bytes((host + offset) as *mut u8, byte, len) };
            return Ok(());
        }
        let (api, buffer, pattern) = (&self.api, memory.handle as Handle, (&raw const byte).cast());
        // SAFETY: our own buffer; a pattern of one byte, which OpenCL copies.
        unsafe {
            let code = (api.fill)(self.work, buffer, pattern, 1, offset, len, 0, ptr::null(), ptr::null_mut());
            self.check(code, "setting bytes")?;
            self.check((api.finish)(self.work), "setting bytes")
        }
    }

    fn is_done(&self, ticket: Ticket) -> Result<bool, DeviceError> {
        let (Ticket::Upload(number) | Ticket::Kernel(number) | Ticket::Download(number)) = ticket;
        let mut state = self.state();
        let Some(event) = state.pending.get(&number).copied() else { return Ok(true) };
        let mut status: Code = 0;
        // SAFETY: our own event and an out-parameter.
        unsafe { (self.api.event_info)(event, EVENT_STATUS, 4, (&raw mut status).cast(), ptr::null_mut()) };
        if status > 0 {
            return Ok(false);
        }
        state.pending.remove(&number);
        // SAFETY: not used again.
        unsafe { (self.api.release_event)(event) };
        self.check(status, "what was asked of it").map(|()| true)
    }

    fn wait(&self, ticket: Ticket) -> Result<(), DeviceError> {
        let (Ticket::Upload(number) | Ticket::Kernel(number) | Ticket::Download(number)) = ticket;
        let event = {
            let state = self.state();
            let Some(event) = state.pending.get(&number).copied() else { return Ok(()) };
            // SAFETY: our own event; kept while this thread waits without the lock.
            unsafe { (self.api.retain_event)(event) };
            event
        };
        // SAFETY: retained above.
        unsafe {
            (self.api.wait)(1, &event);
            (self.api.release_event)(event);
        }
        // Removes the event, and returns its error to the first thread that asks.
        self.is_done(ticket).map(drop)
    }

    fn load(&self, source: &KernelSource) -> Result<KernelHandle, DeviceError> {
        let mut state = self.state();
        let program = self.build(&mut state, source)?;
        let why = || "it holds a zero byte".to_owned();
        let name = CString::new(source.name.as_str()).map_err(|_| DeviceError::Failed {
            device: self.name.clone(),
            what: "a kernel's name",
            why: why(),
        })?;
        let mut code = SUCCESS;
        // SAFETY: a built program and a C string.
        let kernel = unsafe { (self.api.create_kernel)(program, name.as_ptr(), &mut code) };
        self.check(code, "finding a kernel")?;
        state.kernels.push(kernel);
        Ok(KernelHandle::Loaded(kernel as u64))
    }

    fn launch(
        &self,
        kernel: &KernelHandle,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: &[Argument],
    ) -> Result<Ticket, DeviceError> {
        let KernelHandle::Loaded(kernel) = kernel else {
            return Err(DeviceError::NoCode { device: self.name.clone(), kernel: String::new(), wanted: "OpenCL C" });
        };
        let kernel = *kernel as Handle;
        let mut state = self.state();
        for (index, argument) in arguments.iter().enumerate() {
            let index = index as u32;
            // SAFETY: values of the sizes given, which OpenCL copies; the lock keeps others from this kernel's arguments.
            let code = unsafe {
                match argument {
                    Argument::Memory { memory, offset } if memory.host.is_some() => {
                        let at = (memory.address as usize + offset) as *const c_void;
                        (self.api.set_svm_argument)(kernel, index, at)
                    }
                    Argument::Memory { offset: 1.., .. } => {
                        let why = "a buffer can only be given from its start".to_owned();
                        return Err(DeviceError::Failed { device: self.name.clone(), what: "a launch", why });
                    }
                    Argument::Memory { memory, .. } => {
                        (self.api.set_argument)(kernel, index, 8, (&raw const memory.handle).cast())
                    }
                    Argument::Value(value) => {
                        (self.api.set_argument)(kernel, index, value.bytes().len(), value.bytes().as_ptr().cast())
                    }
                }
            };
            self.check(code, "setting an argument")?;
        }
        let local = block.map(|n| n as usize);
        let global: [usize; 3] = std::array::from_fn(|k| grid[k] as usize * local[k]);
        let mut event = ptr::null_mut();
        // SAFETY: sizes in three dimensions; our own kernel and queue.
        unsafe {
            let api = &self.api;
            let (global, local) = (global.as_ptr(), local.as_ptr());
            let code = (api.launch)(self.work, kernel, 3, ptr::null(), global, local, 0, ptr::null(), &mut event);
            self.check(code, "a launch")?;
            self.check((api.flush)(self.work), "a launch")?;
        }
        Ok(self.note(&mut state, event, Ticket::Kernel))
    }
}

impl Drop for OpenCl {
    fn drop(&mut self) {
        let state = std::mem::take(&mut *self.state());
        // SAFETY: all of this is our own and not used again; a handle that was never created is null and is skipped.
        unsafe {
            for queue in [self.work, self.download].into_iter().filter(|queue| !queue.is_null()) {
                (self.api.finish)(queue);
                (self.api.release_queue)(queue);
            }
            for event in state.pending.into_values() {
                (self.api.release_event)(event);
            }
            for kernel in state.kernels {
                (self.api.release_kernel)(kernel);
            }
            for program in state.programs.into_values() {
                (self.api.release_program)(program);
            }
            if !self.context.is_null() {
                (self.api.release_context)(self.context);
            }
        }
    }
}

/// The result of an OpenCL query that takes two calls: one for the number, one for the items.
fn list(ask: impl Fn(u32, *mut Handle, *mut u32) -> Code) -> Vec<Handle> {
    let mut count = 0;
    if ask(0, ptr::null_mut(), &mut count) != SUCCESS {
        return Vec::new();
    }
    let mut found = vec![ptr::null_mut(); count as usize];
    if ask(count, found.as_mut_ptr(), ptr::null_mut()) != SUCCESS {
        return Vec::new();
    }
    found
}
