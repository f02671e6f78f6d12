//! PoCL as a [`Gpu`]: an independent OpenCL implementation to compare with.
//!
//! The library is loaded when a task needs it, so that building the workspace does not require it. Only the entry
//! points used here are declared, after the Khronos header `CL/cl.h`.

use std::{
    error::Error,
    ffi::{CString, c_char, c_void},
    fmt,
    marker::PhantomData,
    ptr::{null, null_mut},
};

use libloading::Library;
use mem::Bytes;
use workloads::{Arg, Buffer, Gpu, GpuError, NdRange};

type Handle = *mut c_void;
type Callback = *const c_void;

/// Generates the table of entry points with their C types, and its look-up in a library.
macro_rules! entry_points {
    ($($name:ident($($argument:ty),*) -> $answer:ty;)*) => {
        #[allow(non_snake_case)]
        struct EntryPoints { $($name: unsafe extern "C" fn($($argument),*) -> $answer,)* }

        impl EntryPoints {
            fn look_up(library: &Library) -> Result<Self, libloading::Error> {
                // SAFETY: the types are those that the OpenCL specification gives these names.
                unsafe { Ok(Self { $($name: *library.get(concat!(stringify!($name), "\0").as_bytes())?,)* }) }
            }
        }
    };
}
entry_points! {
    clGetPlatformIDs(u32, *mut Handle, *mut u32) -> i32;
    clGetPlatformInfo(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clGetDeviceIDs(Handle, u64, u32, *mut Handle, *mut u32) -> i32;
    clCreateContext(*const isize, u32, *const Handle, Callback, *mut c_void, *mut i32) -> Handle;
    clCreateCommandQueue(Handle, Handle, u64, *mut i32) -> Handle;
    clCreateProgramWithSource(Handle, u32, *const *const c_char, *const usize, *mut i32) -> Handle;
    clBuildProgram(Handle, u32, *const Handle, *const c_char, Callback, *mut c_void) -> i32;
    clGetProgramBuildInfo(Handle, Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clCreateKernel(Handle, *const c_char, *mut i32) -> Handle;
    clCreateBuffer(Handle, u64, usize, *mut c_void, *mut i32) -> Handle;
    clSetKernelArg(Handle, u32, usize, *const c_void) -> i32;
    clEnqueueWriteBuffer(Handle, Handle, u32, usize, usize, *const c_void, u32, *const Handle, *mut Handle) -> i32;
    clEnqueueReadBuffer(Handle, Handle, u32, usize, usize, *mut c_void, u32, *const Handle, *mut Handle) -> i32;
    clEnqueueNDRangeKernel(Handle, Handle, u32, *const usize, *const usize, *const usize, u32, *const Handle, *mut Handle) -> i32;
    clFinish(Handle) -> i32;
    clReleaseMemObject(Handle) -> i32;
    clReleaseKernel(Handle) -> i32;
    clReleaseProgram(Handle) -> i32;
    clReleaseCommandQueue(Handle) -> i32;
    clReleaseContext(Handle) -> i32;
}

const CL_PLATFORM_NAME: u32 = 0x0902;
const CL_DEVICE_TYPE_ALL: u64 = 0xffff_ffff;
const CL_MEM_READ_WRITE: u64 = 1;
const CL_PROGRAM_BUILD_LOG: u32 = 0x1183;

/// An entry point that returned an error.
#[derive(Debug)]
struct Refused {
    call: &'static str,
    code: i32,
    more: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} answered {}{}", self.call, self.code, self.more)
    }
}

impl Error for Refused {}

fn check(call: &'static str, code: i32) -> Result<(), Refused> {
    if code == 0 { Ok(()) } else { Err(Refused { call, code, more: String::new() }) }
}

/// The PoCL device of this computer.
pub struct Pocl {
    // SAFETY of every call below: the library stays loaded as long as this lives, handles are those it gave out and are
    // released once, pointers are valid for the sizes passed with them, and every transfer waits for its end.
    api: EntryPoints,
    _library: Library,
    device: Handle,
    context: Handle,
    queue: Handle,
}

impl Pocl {
    /// Finds PoCL among the installed platforms.
    pub fn open() -> Result<Self, GpuError> {
        // SAFETY: the OpenCL loader has no initialiser that could affect this program.
        let library = unsafe { Library::new("libOpenCL.so.1") }.map_err(|e| {
            format!("no OpenCL loader ({e}): install the packages ocl-icd-libopencl1 and pocl-opencl-icd")
        })?;
        let api = EntryPoints::look_up(&library)?;
        let platform = find_platform(&api)?;
        let (mut device, mut code) = (null_mut(), 0);
        // SAFETY: see the fields.
        unsafe {
            check("clGetDeviceIDs", (api.clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &mut device, null_mut()))?;
            let context = (api.clCreateContext)(null(), 1, &device, null(), null_mut(), &mut code);
            check("clCreateContext", code)?;
            let queue = (api.clCreateCommandQueue)(context, device, 0, &mut code);
            check("clCreateCommandQueue", code)?;
            Ok(Self { api, _library: library, device, context, queue })
        }
    }

    /// Builds the kernels of `source`.
    pub fn build(&self, source: &str) -> Result<Program<'_>, GpuError> {
        let text = source.as_ptr().cast();
        // gfx803 code flushes denormal floats, which is clang's default for that target, so PoCL must flush them as
        // well.
        let options = CString::new("-cl-std=CL1.2 -cl-denorms-are-zero -w").expect("has no zero byte");
        let mut code = 0;
        // SAFETY: see the fields.
        unsafe {
            let program = (self.api.clCreateProgramWithSource)(self.context, 1, &text, &source.len(), &mut code);
            check("clCreateProgramWithSource", code)?;
            let program = Program { pocl: self, program, buffers: Vec::new(), _one_thread: PhantomData };
            let code =
                (self.api.clBuildProgram)(program.program, 1, &self.device, options.as_ptr(), null(), null_mut());
            if code != 0 {
                Err(Refused { call: "clBuildProgram", code, more: format!("\n{}", program.build_log()) })?;
            }
            Ok(program)
        }
    }
}

fn find_platform(api: &EntryPoints) -> Result<Handle, GpuError> {
    let mut platforms = [null_mut(); 16];
    let mut count = 0;
    // SAFETY: see the fields of `Pocl`.
    check("clGetPlatformIDs", unsafe { (api.clGetPlatformIDs)(16, platforms.as_mut_ptr(), &mut count) })
        .map_err(|e| format!("{e}: no OpenCL platform; install the package pocl-opencl-icd"))?;
    for platform in &platforms[..platforms.len().min(count as usize)] {
        let mut name = [0u8; 256];
        let size = name.len();
        // SAFETY: as above.
        let code =
            unsafe { (api.clGetPlatformInfo)(*platform, CL_PLATFORM_NAME, size, name.as_mut_ptr().cast(), null_mut()) };
        if code == 0 && String::from_utf8_lossy(&name).starts_with("Portable Computing Language") {
            return Ok(*platform);
        }
    }
    Err("PoCL is not among the OpenCL platforms: install the package pocl-opencl-icd".into())
}

impl Drop for Pocl {
    fn drop(&mut self) {
        // SAFETY: see the fields.
        unsafe {
            (self.api.clReleaseCommandQueue)(self.queue);
            (self.api.clReleaseContext)(self.context);
        }
    }
}

/// Kernels built by PoCL, and their buffers.
pub struct Program<'a> {
    pocl: &'a Pocl,
    program: Handle,
    buffers: Vec<(Handle, usize)>,
    _one_thread: PhantomData<*mut ()>,
}

impl Program<'_> {
    fn build_log(&self) -> String {
        let mut log = vec![0u8; 64 << 10];
        let api = &self.pocl.api;
        let mut size = 0;
        // SAFETY: see the fields of `Pocl`.
        unsafe {
            let device = self.pocl.device;
            let log = log.as_mut_ptr().cast();
            (api.clGetProgramBuildInfo)(self.program, device, CL_PROGRAM_BUILD_LOG, 64 << 10, log, &mut size);
        }
        log.truncate(size);
        String::from_utf8_lossy(&log).trim_end_matches('\0').to_owned()
    }

    fn buffer(&self, buffer: Buffer, size: usize) -> Result<Handle, GpuError> {
        match self.buffers.get(buffer.0) {
            Some((handle, room)) if size <= *room => Ok(*handle),
            Some((_, room)) => Err(format!("{size} bytes do not fit buffer {} of {room}", buffer.0).into()),
            None => Err(format!("there is no buffer {}", buffer.0).into()),
        }
    }

    fn enqueue(&self, kernel: Handle, range: NdRange, args: &[Arg]) -> Result<(), GpuError> {
        let api = &self.pocl.api;
        for (index, arg) in args.iter().enumerate() {
            let set = |size: usize, value: *const c_void| {
                // SAFETY: see the fields of `Pocl`.
                check("clSetKernelArg", unsafe { (api.clSetKernelArg)(kernel, index as u32, size, value) })
            };
            match *arg {
                Arg::Buffer(buffer) => {
                    let handle = self.buffer(buffer, 0)?;
                    set(size_of::<Handle>(), (&raw const handle).cast())?;
                }
                Arg::Local(size) => set(size.0 as usize, null())?,
                Arg::I32(_) | Arg::U32(_) | Arg::F32(_) => {
                    let value = arg.value().expect("is passed by value");
                    set(value.len(), value.as_ptr().cast())?;
                }
            }
        }
        let [grid, group] = [range.grid, range.group].map(|sizes| sizes.map(|size| size as usize));
        // SAFETY: see the fields of `Pocl`.
        unsafe {
            let (grid, group, queue) = (grid.as_ptr(), group.as_ptr(), self.pocl.queue);
            let code = (api.clEnqueueNDRangeKernel)(queue, kernel, 3, null(), grid, group, 0, null(), null_mut());
            check("clEnqueueNDRangeKernel", code)?;
            Ok(check("clFinish", (api.clFinish)(queue))?)
        }
    }
}

impl Gpu for Program<'_> {
    fn alloc(&mut self, size: Bytes) -> Result<Buffer, GpuError> {
        let size = size.0 as usize;
        let mut code = 0;
        let pocl = self.pocl;
        // SAFETY: see the fields of `Pocl`.
        let handle =
            unsafe { (pocl.api.clCreateBuffer)(pocl.context, CL_MEM_READ_WRITE, size.max(1), null_mut(), &mut code) };
        check("clCreateBuffer", code)?;
        self.buffers.push((handle, size));
        Ok(Buffer(self.buffers.len() - 1))
    }

    fn write(&mut self, buffer: Buffer, bytes: &[u8]) -> Result<(), GpuError> {
        let (handle, size, queue) = (self.buffer(buffer, bytes.len())?, bytes.len(), self.pocl.queue);
        // SAFETY: see the fields of `Pocl`.
        let code = unsafe {
            let data = bytes.as_ptr().cast();
            (self.pocl.api.clEnqueueWriteBuffer)(queue, handle, 1, 0, size, data, 0, null(), null_mut())
        };
        Ok(check("clEnqueueWriteBuffer", code)?)
    }

    fn read(&mut self, buffer: Buffer, bytes: &mut [u8]) -> Result<(), GpuError> {
        let (handle, size, queue) = (self.buffer(buffer, bytes.len())?, bytes.len(), self.pocl.queue);
        // SAFETY: see the fields of `Pocl`.
        let code = unsafe {
            let data = bytes.as_mut_ptr().cast();
            (self.pocl.api.clEnqueueReadBuffer)(queue, handle, 1, 0, size, data, 0, null(), null_mut())
        };
        Ok(check("clEnqueueReadBuffer", code)?)
    }

    fn launch(&mut self, kernel: &str, range: NdRange, args: &[Arg]) -> Result<(), GpuError> {
        let name = CString::new(kernel)?;
        let mut code = 0;
        // SAFETY: see the fields of `Pocl`.
        let handle = unsafe { (self.pocl.api.clCreateKernel)(self.program, name.as_ptr(), &mut code) };
        check("clCreateKernel", code)?;
        let done = self.enqueue(handle, range, args);
        // SAFETY: see the fields of `Pocl`.
        unsafe { (self.pocl.api.clReleaseKernel)(handle) };
        done
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: see the fields of `Pocl`.
        unsafe {
            for (handle, _) in &self.buffers {
                (self.pocl.api.clReleaseMemObject)(*handle);
            }
            (self.pocl.api.clReleaseProgram)(self.program);
        }
    }
}
