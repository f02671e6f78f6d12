//! The functions of the CUDA driver, loaded at run time.
//!
//! No part of CUDA is needed to build. Names carry the version suffixes that the toolkit's headers would choose.

use crate::accel::DeviceError;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

pub type Code = c_int;
pub type DevicePtr = u64;
pub type Handle = *mut c_void;

pub const SUCCESS: Code = 0;
pub const OUT_OF_MEMORY: Code = 2;
pub const NOT_READY: Code = 600;
pub const ALREADY_REGISTERED: Code = 712;

/// `CUmemAllocationProp`: pinned memory of one device.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AllocationProperties {
    pub kind: c_int,
    pub handle_types: c_int,
    pub location_kind: c_int,
    pub location: c_int,
    pub win32: *mut c_void,
    pub flags: [u8; 8],
}

/// `CUmemAccessDesc`: which device may access a range.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AccessDescription {
    pub location_kind: c_int,
    pub location: c_int,
    pub flags: c_int,
}

macro_rules! driver {
    ($($name:ident = $symbol:literal ($($kind:ty),*);)*) => {
        /// The driver's functions.
        #[derive(Clone, Copy)]
        pub struct Driver { $(pub $name: unsafe extern "C" fn($($kind),*) -> Code),* }

        impl Driver {
            fn find(library: &Library) -> Result<Self, libloading::Error> {
                // SAFETY: the driver's functions have the types that NVIDIA documents for these names.
                unsafe { Ok(Self { $($name: *library.get(concat!($symbol, "\0").as_bytes())?),* }) }
            }
        }
    };
}
driver! {
    init = "cuInit" (c_uint);
    version = "cuDriverGetVersion" (*mut c_int);
    device_count = "cuDeviceGetCount" (*mut c_int);
    device = "cuDeviceGet" (*mut c_int, c_int);
    device_name = "cuDeviceGetName" (*mut c_char, c_int, c_int);
    device_attribute = "cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    retain = "cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    release = "cuDevicePrimaryCtxRelease_v2" (c_int);
    set_current = "cuCtxSetCurrent" (Handle);
    memory_info = "cuMemGetInfo_v2" (*mut usize, *mut usize);
    stream_create = "cuStreamCreate" (*mut Handle, c_uint);
    stream_destroy = "cuStreamDestroy_v2" (Handle);
    stream_synchronize = "cuStreamSynchronize" (Handle);
    stream_wait = "cuStreamWaitEvent" (Handle, Handle, c_uint);
    event_create = "cuEventCreate" (*mut Handle, c_uint);
    event_record = "cuEventRecord" (Handle, Handle);
    event_query = "cuEventQuery" (Handle);
    event_synchronize = "cuEventSynchronize" (Handle);
    event_destroy = "cuEventDestroy_v2" (Handle);
    upload_async = "cuMemcpyHtoDAsync_v2" (DevicePtr, *const c_void, usize, Handle);
    download_async = "cuMemcpyDtoHAsync_v2" (*mut c_void, DevicePtr, usize, Handle);
    upload = "cuMemcpyHtoD_v2" (DevicePtr, *const c_void, usize);
    download = "cuMemcpyDtoH_v2" (*mut c_void, DevicePtr, usize);
    copy_peer = "cuMemcpyPeerAsync" (DevicePtr, Handle, DevicePtr, Handle, usize, Handle);
    set_bytes = "cuMemsetD8Async" (DevicePtr, u8, usize, Handle);
    module_load = "cuModuleLoadDataEx" (*mut Handle, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
    module_unload = "cuModuleUnload" (Handle);
    function = "cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
    launch = "cuLaunchKernel" (Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void);
    host_register = "cuMemHostRegister_v2" (*mut c_void, usize, c_uint);
    host_unregister = "cuMemHostUnregister" (*mut c_void);
    host_alloc = "cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
    host_free = "cuMemFreeHost" (*mut c_void);
    alloc = "cuMemAlloc_v2" (*mut DevicePtr, usize);
    alloc_managed = "cuMemAllocManaged" (*mut DevicePtr, usize, c_uint);
    free = "cuMemFree_v2" (DevicePtr);
    prefetch = "cuMemPrefetchAsync" (DevicePtr, usize, c_int, Handle);
    granularity = "cuMemGetAllocationGranularity" (*mut usize, *const AllocationProperties, c_int);
    reserve = "cuMemAddressReserve" (*mut DevicePtr, usize, usize, DevicePtr, u64);
    address_free = "cuMemAddressFree" (DevicePtr, usize);
    create = "cuMemCreate" (*mut u64, usize, *const AllocationProperties, u64);
    map = "cuMemMap" (DevicePtr, usize, usize, u64, u64);
    unmap = "cuMemUnmap" (DevicePtr, usize);
    memory_release = "cuMemRelease" (u64);
    set_access = "cuMemSetAccess" (DevicePtr, usize, *const AccessDescription, usize);
    error_name = "cuGetErrorName" (Code, *mut *const c_char);
    error_string = "cuGetErrorString" (Code, *mut *const c_char);
}

impl Driver {
    /// Loads `libcuda.so.1` and keeps it for the life of the process.
    pub fn load() -> Result<Self, DeviceError> {
        let unavailable = |why: String| DeviceError::Unavailable { device: "CUDA".to_owned(), why };
        // SAFETY: the driver's library may be loaded by any program.
        let library = unsafe { Library::new("libcuda.so.1") }.map_err(|e| unavailable(e.to_string()))?;
        let driver = Self::find(&library).map_err(|e| unavailable(format!("the driver is too old: {e}")))?;
        // The driver has threads of its own, so it is never unloaded.
        std::mem::forget(library);
        // SAFETY: the first call, as the driver demands.
        let code = unsafe { (driver.init)(0) };
        if code != SUCCESS {
            return Err(unavailable(driver.describe(code)));
        }
        Ok(driver)
    }

    /// The driver's description of an error code.
    pub fn describe(&self, code: Code) -> String {
        let words = |ask: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
            let mut text: *const c_char = std::ptr::null();
            // SAFETY: the driver stores a pointer to a constant string, or leaves null.
            unsafe {
                ask(code, &mut text);
                if text.is_null() { "?".to_owned() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
            }
        };
        format!("{} ({code}): {}", words(self.error_name), words(self.error_string))
    }
}
