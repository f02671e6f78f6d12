//! Kernels and calls, for C.

use super::{give, object::place, runtime, tell};
use crate::{
    Error, Kernel, KernelSource, Result, Runtime,
    accel::{Native, Value},
    host::{Given, Launch, Mode},
    memory::Object,
};
use std::{
    ffi::{CStr, c_char, c_int, c_void},
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
};

/// `adsm_kernel`.
pub struct CKernel {
    source: Mutex<KernelSource>,
    bound: Mutex<Vec<Weak<Object>>>,
    /// Created at the first call, with the code added until then.
    made: OnceLock<Kernel>,
}

/// `adsm_native`.
#[repr(C)]
pub struct CNative {
    grid: [u32; 3],
    block: [u32; 3],
    memory_count: usize,
    memory: *const *mut c_void,
    memory_bytes: *const usize,
    value_count: usize,
    value: *const *const c_void,
}

/// `adsm_arg`.
#[repr(C)]
pub struct CArgument {
    kind: c_int,
    pointer: *const c_void,
    bytes: usize,
}

/// `adsm_dim`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CDim {
    x: u32,
    y: u32,
    z: u32,
}

fn refused(why: &'static str) -> Error {
    Error::Argument { why: why.to_owned() }
}

/// # Safety
/// `text` must be null or a C string.
pub(super) unsafe fn text(text: *const c_char) -> Result<String> {
    if text.is_null() {
        return Err(refused("a text is NULL"));
    }
    // SAFETY: guaranteed by the caller.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(str::to_owned).map_err(|_| refused("a text is not UTF-8"))
}

/// # Safety
/// `kernel` must be null or come from `adsm_kernel_new`, and not be freed.
unsafe fn kernel<'a>(kernel: *mut CKernel) -> Result<&'a CKernel> {
    // SAFETY: guaranteed by the caller.
    unsafe { kernel.as_ref() }.ok_or_else(|| refused("the kernel is NULL"))
}

/// Creates a kernel without code.
///
/// # Safety
/// `name` must be a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adsm_kernel_new(name: *const c_char) -> *mut CKernel {
    // SAFETY: guaranteed by the caller.
    give(unsafe { text(name) }.map(|name| {
        let source = Mutex::new(KernelSource::new(name));
        Box::into_raw(Box::new(CKernel { source, bound: Mutex::default(), made: OnceLock::new() }))
    }))
}

/// # Safety
/// As for [`kernel`].
unsafe fn add_code(pointer: *mut CKernel, change: impl FnOnce(KernelSource) -> KernelSource) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    let kernel = unsafe { kernel(pointer) }?;
    if kernel.made.get().is_some() {
        return Err(refused("a kernel that has been called can't get more code"));
    }
    let mut source = kernel.source.lock().unwrap_or_else(PoisonError::into_inner);
    *source = change(std::mem::take(&mut *source));
    Ok(())
}

/// Adds code for CUDA devices.
///
/// # Safety
/// `kernel` must come from `adsm_kernel_new`, and `code` must be a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adsm_kernel_ptx(kernel: *mut CKernel, code: *const c_char) -> c_int {
    // SAFETY: guaranteed by the caller.
    tell(unsafe { text(code).and_then(|code| add_code(kernel, |source| source.ptx(code))) })
}

/// Adds code for OpenCL devices.
///
/// # Safety
/// `kernel` must come from `adsm_kernel_new`, and `code` must be a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adsm_kernel_opencl(kernel: *mut CKernel, code: *const c_char) -> c_int {
    // SAFETY: guaranteed by the caller.
    tell(unsafe { text(code).and_then(|code| add_code(kernel, |source| source.opencl(code))) })
}

/// Adds code for the simulated device.
///
/// # Safety
/// `kernel` must come from `adsm_kernel_new`; the function must be callable from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adsm_kernel_native(
    kernel: *mut CKernel,
    code: Option<extern "C" fn(*const CNative)>,
) -> c_int {
    let Some(code) = code else { return tell(Err(refused("the code is NULL"))) };
    let run = move |call: &mut Native<'_>| {
        let bytes: Vec<usize> = call.memory.iter().map(|memory| memory.len()).collect();
        let memory: Vec<*mut c_void> = call.memory.iter_mut().map(|memory| memory.as_mut_ptr().cast()).collect();
        let values: Vec<*const c_void> = call.values.iter().map(|value| value.bytes().as_ptr().cast()).collect();
        code(&CNative {
            grid: call.grid,
            block: call.block,
            memory_count: memory.len(),
            memory: memory.as_ptr(),
            memory_bytes: bytes.as_ptr(),
            value_count: values.len(),
            value: values.as_ptr(),
        });
    };
    // SAFETY: guaranteed by the caller.
    tell(unsafe { add_code(kernel, |source| source.native(run)) })
}

/// Frees a kernel.
///
/// # Safety
/// `kernel` must be null, or come from `adsm_kernel_new` and not be used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adsm_kernel_free(kernel: *mut CKernel) {
    if !kernel.is_null() {
        // SAFETY: guaranteed by the caller.
        drop(unsafe { Box::from_raw(kernel) });
    }
}

/// Declares that the kernel uses the object, whatever its arguments are.
///
/// # Safety
/// `pointer` must come from `adsm_kernel_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adsm_bind(pointer: *mut CKernel, object: *mut c_void) -> c_int {
    tell(runtime().and_then(|runtime| {
        // SAFETY: guaranteed by the caller.
        let kernel = unsafe { kernel(pointer) }?;
        let object = runtime.find(object as usize)?;
        kernel.bound.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&object));
        Ok(())
    }))
}

/// Starts a kernel on the device that the policy chooses.
///
/// # Safety
/// `kernel` must come from `adsm_kernel_new`, with `count` arguments as the header describes them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adsm_call(
    kernel: *mut CKernel,
    grid: CDim,
    block: CDim,
    arguments: *const CArgument,
    count: usize,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe { start(None, kernel, (grid, block), arguments, count) }
}

/// Starts a kernel on a chosen device.
///
/// # Safety
/// As for [`adsm_call`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adsm_call_on(
    device: c_int,
    kernel: *mut CKernel,
    grid: CDim,
    block: CDim,
    arguments: *const CArgument,
    count: usize,
) -> c_int {
    // A negative number names no device.
    let device = usize::try_from(device).unwrap_or(usize::MAX);
    // SAFETY: guaranteed by the caller.
    unsafe { start(Some(device), kernel, (grid, block), arguments, count) }
}

/// # Safety
/// As for [`adsm_call`].
unsafe fn start(
    device: Option<usize>,
    pointer: *mut CKernel,
    shape: (CDim, CDim),
    arguments: *const CArgument,
    count: usize,
) -> c_int {
    tell(runtime().and_then(|runtime| {
        // SAFETY: guaranteed by the caller; with a count of 0, the pointer may be null.
        let (kernel, arguments) = unsafe {
            let arguments = if count == 0 { &[][..] } else { std::slice::from_raw_parts(arguments, count) };
            (kernel(pointer)?, arguments)
        };
        // SAFETY: as above.
        unsafe { call(runtime, device, kernel, shape, arguments) }
    }))
}

/// # Safety
/// The arguments must be as the header describes them.
unsafe fn call(
    runtime: &Runtime,
    device: Option<usize>,
    kernel: &CKernel,
    (grid, block): (CDim, CDim),
    arguments: &[CArgument],
) -> Result<()> {
    let mut given = Vec::with_capacity(arguments.len());
    let mut objects: Vec<(Arc<Object>, Mode)> = Vec::new();
    // The home of arguments whose use is unknown.
    let mut unknown = None;
    for argument in arguments {
        let mode = match argument.kind {
            1 => Mode::Reads,
            2 | 3 => Mode::Writes,
            4 => {
                // SAFETY: guaranteed by the caller.
                let bytes = unsafe { std::slice::from_raw_parts(argument.pointer.cast::<u8>(), argument.bytes) };
                let value = Value::from_bytes(bytes).ok_or_else(|| refused("a value has more than 16 bytes"))?;
                given.push(Given::Value(value));
                continue;
            }
            _ => return Err(refused("an argument is of no known kind")),
        };
        let (object, bytes) = place(runtime, argument.pointer as usize, 0)?;
        if argument.kind == 3 {
            unknown.get_or_insert(object.home);
        }
        given.push(Given::Shared(Arc::clone(&object), bytes.start));
        objects.push((object, mode));
    }
    // Objects that have been freed since are no longer bound.
    let bound: Vec<Arc<Object>> =
        kernel.bound.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect();
    let host = runtime.host();
    // The kernel finds bound objects by addresses stored in other objects, which are those of their home.
    let at_home = bound.first().map(|object| object.home).or(unknown);
    if let (Some(home), true) = (unknown, bound.is_empty()) {
        // Nothing is known: the kernel may use every object (3.3), except as the arguments say otherwise.
        let known: Vec<usize> = objects.iter().map(|(object, _)| object.base()).collect();
        let others = host.objects().into_iter().filter(|o| o.home == home && !known.contains(&o.base()));
        objects.extend(others.map(|object| (object, Mode::Writes)));
    }
    objects.extend(bound.into_iter().map(|object| (object, Mode::Writes)));
    let device = host.choose(&objects, device.or(at_home))?;
    let made = kernel
        .made
        .get_or_init(|| runtime.kernel(kernel.source.lock().unwrap_or_else(PoisonError::into_inner).clone()));
    let handle = made.on(device)?;
    let (grid, block) = ([grid.x, grid.y, grid.z], [block.x, block.y, block.z]);
    host.call(device, Launch { kernel: &handle, grid, block, arguments: &given, objects }).map(drop)
}
