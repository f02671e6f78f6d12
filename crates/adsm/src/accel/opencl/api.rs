//! The functions of OpenCL, loaded at run time.

use crate::accel::DeviceError;
use libloading::Library;
use std::ffi::{c_char, c_int, c_uint, c_void};

pub type Handle = *mut c_void;
pub type Code = c_int;

pub const SUCCESS: Code = 0;
pub const MEM_OBJECT_ALLOCATION_FAILURE: Code = -4;
pub const OUT_OF_RESOURCES: Code = -5;
pub const DEVICE_TYPE_ALL: u64 = 0xFFFF_FFFF;
pub const DEVICE_NAME: c_uint = 0x102B;
pub const DEVICE_MAX_ALLOCATION: c_uint = 0x1010;
pub const DEVICE_SVM_CAPABILITIES: c_uint = 0x1053;
pub const SVM_FINE_GRAIN_BUFFER: u64 = 1 << 1;
pub const MEM_READ_WRITE: u64 = 1;
pub const MEM_SVM_FINE_GRAIN_BUFFER: u64 = 1 << 10;
pub const PROGRAM_BUILD_LOG: c_uint = 0x1183;
pub const EVENT_STATUS: c_uint = 0x11D3;

macro_rules! functions {
    ($($name:ident = $symbol:literal ($($kind:ty),*) -> $result:ty;)*) => {
        /// The functions of OpenCL.
        #[derive(Clone, Copy)]
        pub struct OpenClApi { $(pub $name: unsafe extern "C" fn($($kind),*) -> $result),* }

        impl OpenClApi {
            fn find(library: &Library) -> Result<Self, libloading::Error> {
                // SAFETY: the functions have the types that the specification gives for these names.
                unsafe { Ok(Self { $($name: *library.get(concat!($symbol, "\0").as_bytes())?),* }) }
            }
        }
    };
}
functions! {
    platforms = "clGetPlatformIDs" (c_uint, *mut Handle, *mut c_uint) -> Code;
    devices = "clGetDeviceIDs" (Handle, u64, c_uint, *mut Handle, *mut c_uint) -> Code;
    device_info = "clGetDeviceInfo" (Handle, c_uint, usize, *mut c_void, *mut usize) -> Code;
    create_context = "clCreateContext" (*const isize, c_uint, *const Handle, *const c_void, *mut c_void, *mut Code) -> Handle;
    release_context = "clReleaseContext" (Handle) -> Code;
    create_queue = "clCreateCommandQueue" (Handle, Handle, u64, *mut Code) -> Handle;
    release_queue = "clReleaseCommandQueue" (Handle) -> Code;
    create_buffer = "clCreateBuffer" (Handle, u64, usize, *mut c_void, *mut Code) -> Handle;
    release_memory = "clReleaseMemObject" (Handle) -> Code;
    svm_alloc = "clSVMAlloc" (Handle, u64, usize, c_uint) -> *mut c_void;
    svm_free = "clSVMFree" (Handle, *mut c_void) -> ();
    write = "clEnqueueWriteBuffer" (Handle, Handle, c_uint, usize, usize, *const c_void, c_uint, *const Handle, *mut Handle) -> Code;
    read = "clEnqueueReadBuffer" (Handle, Handle, c_uint, usize, usize, *mut c_void, c_uint, *const Handle, *mut Handle) -> Code;
    fill = "clEnqueueFillBuffer" (Handle, Handle, *const c_void, usize, usize, usize, c_uint, *const Handle, *mut Handle) -> Code;
    create_program = "clCreateProgramWithSource" (Handle, c_uint, *const *const c_char, *const usize, *mut Code) -> Handle;
    build = "clBuildProgram" (Handle, c_uint, *const Handle, *const c_char, *const c_void, *mut c_void) -> Code;
    build_info = "clGetProgramBuildInfo" (Handle, Handle, c_uint, usize, *mut c_void, *mut usize) -> Code;
    release_program = "clReleaseProgram" (Handle) -> Code;
    create_kernel = "clCreateKernel" (Handle, *const c_char, *mut Code) -> Handle;
    release_kernel = "clReleaseKernel" (Handle) -> Code;
    set_argument = "clSetKernelArg" (Handle, c_uint, usize, *const c_void) -> Code;
    set_svm_argument = "clSetKernelArgSVMPointer" (Handle, c_uint, *const c_void) -> Code;
    launch = "clEnqueueNDRangeKernel" (Handle, Handle, c_uint, *const usize, *const usize, *const usize, c_uint, *const Handle, *mut Handle) -> Code;
    wait = "clWaitForEvents" (c_uint, *const Handle) -> Code;
    event_info = "clGetEventInfo" (Handle, c_uint, usize, *mut c_void, *mut usize) -> Code;
    retain_event = "clRetainEvent" (Handle) -> Code;
    release_event = "clReleaseEvent" (Handle) -> Code;
    flush = "clFlush" (Handle) -> Code;
    finish = "clFinish" (Handle) -> Code;
}

impl OpenClApi {
    /// Loads `libOpenCL.so.1` and keeps it for the life of the process.
    pub fn load() -> Result<Self, DeviceError> {
        let unavailable = |why: String| DeviceError::Unavailable { device: "OpenCL".to_owned(), why };
        // SAFETY: the loader's library may be loaded by any program.
        let library = unsafe { Library::new("libOpenCL.so.1") }.map_err(|e| unavailable(e.to_string()))?;
        let api = Self::find(&library).map_err(|e| unavailable(format!("OpenCL 2.0 is needed: {e}")))?;
        // Implementations have threads of their own, so the library is never unloaded.
        std::mem::forget(library);
        Ok(api)
    }
}
