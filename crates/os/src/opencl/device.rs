//! The platform, its devices, and their properties.

use gcn3::dispatch::{MAX_GROUP, MAX_LDS};

use super::{
    Settings,
    call::{Call, DONE, Outcome, flag, text, uint, word, words},
    cl,
    driver::Driver,
    error::{Cl, ensure},
    image::{MAX_BUFFER, MAX_DEPTH, MAX_SIDE},
};

/// The only platform.
pub const PLATFORM: u64 = 0x0c10_0000_0000_0010;
const FIRST_DEVICE: u64 = 0x0c10_0010_0000_0010;

const VERSION: &str = "OpenCL 2.0 cohesim";
const VENDOR: &str = "The cohesim developers";
const VENDOR_ID: u32 = 0x1002;
const EXTENSIONS: &str = "cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics \
    cl_khr_local_int32_base_atomics cl_khr_local_int32_extended_atomics cl_khr_int64_base_atomics \
    cl_khr_int64_extended_atomics cl_khr_byte_addressable_store cl_khr_fp64 cl_khr_fp16 \
    cl_khr_3d_image_writes cl_khr_image2d_from_buffer";

/// The global memory size that devices report.
pub const GLOBAL_BYTES: u64 = 4 << 30;
pub const LARGEST_BUFFER: u64 = 1 << 30;
/// The alignment of buffers, and so of sub-buffers.
pub const BASE_ALIGN: u64 = 128;
pub const PRINTF_BYTES: u64 = 1 << 20;
/// The maximum size of a kernel's arguments in bytes.
const PARAMETER_BYTES: u64 = 4096;

/// A device: one GPU, or all GPUs as one.
#[derive(Clone, Debug)]
pub struct Device {
    pub handle: u64,
    name: String,
    compute_units: u32,
}

impl Device {
    pub fn all(settings: &Settings) -> Vec<Device> {
        let gpus = settings.gpus.max(1);
        let units = settings.compute_units;
        if settings.device_per_gpu {
            let device = |n: u32| Device {
                handle: FIRST_DEVICE + 16 * u64::from(n),
                name: format!("gfx803 (cohesim GPU {n})"),
                compute_units: units,
            };
            return (0..gpus).map(device).collect();
        }
        let name = if gpus == 1 { "gfx803".into() } else { format!("gfx803 (cohesim, {gpus} GPUs as one)") };
        vec![Device { handle: FIRST_DEVICE, name, compute_units: units * gpus }]
    }
}

impl Driver {
    pub(super) fn device(&self, handle: u64) -> Cl<&Device> {
        self.devices.iter().find(|device| device.handle == handle).ok_or(cl::INVALID_DEVICE)
    }

    /// The devices of a type. Only GPUs exist.
    pub(super) fn devices_of_type(&self, kind: u64) -> Cl<Vec<u64>> {
        let known = cl::DEVICE_TYPE_DEFAULT
            | cl::DEVICE_TYPE_CPU
            | cl::DEVICE_TYPE_GPU
            | cl::DEVICE_TYPE_ACCELERATOR
            | cl::DEVICE_TYPE_CUSTOM;
        let all = kind as u32 == cl::DEVICE_TYPE_ALL as u32;
        ensure(kind != 0 && (all || kind & !known == 0), cl::INVALID_DEVICE_TYPE)?;
        let wanted = all || kind & (cl::DEVICE_TYPE_GPU | cl::DEVICE_TYPE_DEFAULT) != 0;
        ensure(wanted, cl::DEVICE_NOT_FOUND)?;
        let count = if kind == cl::DEVICE_TYPE_DEFAULT { 1 } else { self.devices.len() };
        Ok(self.devices[..count].iter().map(|device| device.handle).collect())
    }

    pub(super) fn get_platform_ids(&mut self, call: &mut Call) -> Cl<Outcome> {
        ensure(call.word(1) == 0 || call.uint(0) > 0, cl::INVALID_VALUE)?;
        ensure(call.word(1) != 0 || call.word(2) != 0, cl::INVALID_VALUE)?;
        call.give_handles(0, &[PLATFORM])
    }

    pub(super) fn get_platform_info(&mut self, call: &mut Call) -> Cl<Outcome> {
        // A null platform stands for the only one.
        ensure(matches!(call.word(0), 0 | PLATFORM), cl::INVALID_PLATFORM)?;
        let value = match u64::from(call.uint(1)) {
            cl::PLATFORM_PROFILE => "FULL_PROFILE",
            cl::PLATFORM_VERSION => VERSION,
            cl::PLATFORM_NAME => "cohesim",
            cl::PLATFORM_VENDOR => VENDOR,
            cl::PLATFORM_EXTENSIONS => EXTENSIONS,
            _ => return Err(cl::INVALID_VALUE),
        };
        call.info(2, &text(value))
    }

    pub(super) fn get_device_ids(&mut self, call: &mut Call) -> Cl<Outcome> {
        ensure(matches!(call.word(0), 0 | PLATFORM), cl::INVALID_PLATFORM)?;
        ensure(call.word(3) == 0 || call.uint(2) > 0, cl::INVALID_VALUE)?;
        ensure(call.word(3) != 0 || call.word(4) != 0, cl::INVALID_VALUE)?;
        match self.devices_of_type(call.word(1)) {
            Ok(devices) => call.give_handles(2, &devices),
            Err(code) => {
                // Some programs read the count even after this error.
                if code == cl::DEVICE_NOT_FOUND {
                    call.give_uint(4, 0)?;
                }
                Err(code)
            }
        }
    }

    /// Devices are never freed, so references to them are not counted.
    pub(super) fn retain_device(&mut self, call: &mut Call) -> Cl<Outcome> {
        self.device(call.word(0))?;
        DONE
    }

    pub(super) fn create_sub_devices(&mut self, call: &mut Call) -> Cl<Outcome> {
        self.device(call.word(0))?;
        Err(cl::INVALID_VALUE)
    }

    pub(super) fn get_device_info(&mut self, call: &mut Call) -> Cl<Outcome> {
        let device = self.device(call.word(0))?;
        let value = describe(device, self.settings.shares_memory(), self.is_fine_grained(), u64::from(call.uint(1)))?;
        call.info(2, &value)
    }

    pub(super) fn get_timer(&mut self, call: &mut Call, both: bool) -> Cl<Outcome> {
        self.device(call.word(0))?;
        let now = call.now.0 / engine::Time::nanos(1).0;
        for n in 1..=if both { 2 } else { 1 } {
            ensure(call.word(n) != 0, cl::INVALID_VALUE)?;
            call.give_word(n, now)?;
        }
        DONE
    }
}

fn describe(device: &Device, shares_memory: bool, fine_grained: bool, what: u64) -> Cl<Vec<u8>> {
    // The compiler flushes single-precision denormals for this GPU, which is slow with them.
    let single = cl::FP_INF_NAN | cl::FP_ROUND_TO_NEAREST | cl::FP_FMA;
    let double = single | cl::FP_DENORM | cl::FP_ROUND_TO_ZERO | cl::FP_ROUND_TO_INF;
    Ok(match what {
        cl::DEVICE_TYPE => word(cl::DEVICE_TYPE_GPU),
        cl::DEVICE_VENDOR_ID => uint(VENDOR_ID),
        cl::DEVICE_MAX_COMPUTE_UNITS => uint(device.compute_units),
        cl::DEVICE_MAX_WORK_ITEM_DIMENSIONS => uint(3),
        cl::DEVICE_MAX_WORK_ITEM_SIZES => words(&[MAX_GROUP.into(); 3]),
        cl::DEVICE_MAX_WORK_GROUP_SIZE => word(MAX_GROUP.into()),
        cl::DEVICE_PREFERRED_VECTOR_WIDTH_CHAR | cl::DEVICE_NATIVE_VECTOR_WIDTH_CHAR => uint(4),
        cl::DEVICE_PREFERRED_VECTOR_WIDTH_SHORT | cl::DEVICE_NATIVE_VECTOR_WIDTH_SHORT => uint(2),
        cl::DEVICE_PREFERRED_VECTOR_WIDTH_INT
        | cl::DEVICE_PREFERRED_VECTOR_WIDTH_LONG
        | cl::DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT
        | cl::DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE
        | cl::DEVICE_PREFERRED_VECTOR_WIDTH_HALF
        | cl::DEVICE_NATIVE_VECTOR_WIDTH_INT
        | cl::DEVICE_NATIVE_VECTOR_WIDTH_LONG
        | cl::DEVICE_NATIVE_VECTOR_WIDTH_FLOAT
        | cl::DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE
        | cl::DEVICE_NATIVE_VECTOR_WIDTH_HALF => uint(1),
        cl::DEVICE_MAX_CLOCK_FREQUENCY => uint(1000),
        cl::DEVICE_ADDRESS_BITS => uint(64),
        cl::DEVICE_MAX_MEM_ALLOC_SIZE => word(LARGEST_BUFFER),
        cl::DEVICE_IMAGE_SUPPORT => flag(true),
        cl::DEVICE_MAX_READ_IMAGE_ARGS => uint(128),
        cl::DEVICE_MAX_WRITE_IMAGE_ARGS | cl::DEVICE_MAX_READ_WRITE_IMAGE_ARGS => uint(64),
        cl::DEVICE_IMAGE2D_MAX_WIDTH | cl::DEVICE_IMAGE2D_MAX_HEIGHT => word(MAX_SIDE),
        cl::DEVICE_IMAGE3D_MAX_WIDTH | cl::DEVICE_IMAGE3D_MAX_HEIGHT | cl::DEVICE_IMAGE3D_MAX_DEPTH => word(MAX_DEPTH),
        cl::DEVICE_IMAGE_MAX_BUFFER_SIZE => word(MAX_BUFFER),
        cl::DEVICE_IMAGE_MAX_ARRAY_SIZE => word(MAX_DEPTH),
        cl::DEVICE_IMAGE_PITCH_ALIGNMENT => uint(1),
        cl::DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT => uint(256),
        cl::DEVICE_MAX_SAMPLERS => uint(16),
        cl::DEVICE_MAX_PARAMETER_SIZE => word(PARAMETER_BYTES),
        cl::DEVICE_MEM_BASE_ADDR_ALIGN => uint(8 * BASE_ALIGN as u32),
        cl::DEVICE_MIN_DATA_TYPE_ALIGN_SIZE => uint(BASE_ALIGN as u32),
        cl::DEVICE_SINGLE_FP_CONFIG => word(single | cl::FP_CORRECTLY_ROUNDED_DIVIDE_SQRT),
        cl::DEVICE_DOUBLE_FP_CONFIG => word(double),
        cl::DEVICE_HALF_FP_CONFIG => word(single | cl::FP_DENORM),
        cl::DEVICE_GLOBAL_MEM_CACHE_TYPE => uint(cl::READ_WRITE_CACHE as u32),
        cl::DEVICE_GLOBAL_MEM_CACHELINE_SIZE => uint(64),
        cl::DEVICE_GLOBAL_MEM_CACHE_SIZE => word(16 << 10),
        cl::DEVICE_GLOBAL_MEM_SIZE => word(GLOBAL_BYTES),
        cl::DEVICE_MAX_CONSTANT_BUFFER_SIZE => word(LARGEST_BUFFER),
        cl::DEVICE_MAX_CONSTANT_ARGS => uint(8),
        cl::DEVICE_LOCAL_MEM_TYPE => uint(cl::LOCAL as u32),
        cl::DEVICE_LOCAL_MEM_SIZE => word(MAX_LDS.into()),
        cl::DEVICE_ERROR_CORRECTION_SUPPORT => flag(false),
        cl::DEVICE_PROFILING_TIMER_RESOLUTION => word(1),
        cl::DEVICE_ENDIAN_LITTLE | cl::DEVICE_AVAILABLE => flag(true),
        // Reported as available even where clang is not installed; programs from binaries work without it.
        cl::DEVICE_COMPILER_AVAILABLE | cl::DEVICE_LINKER_AVAILABLE => flag(true),
        cl::DEVICE_EXECUTION_CAPABILITIES => word(cl::EXEC_KERNEL),
        cl::DEVICE_QUEUE_ON_HOST_PROPERTIES => {
            word(cl::QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | cl::QUEUE_PROFILING_ENABLE)
        }
        cl::DEVICE_QUEUE_ON_DEVICE_PROPERTIES => word(0),
        cl::DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE
        | cl::DEVICE_QUEUE_ON_DEVICE_MAX_SIZE
        | cl::DEVICE_MAX_ON_DEVICE_QUEUES
        | cl::DEVICE_MAX_ON_DEVICE_EVENTS
        | cl::DEVICE_MAX_PIPE_ARGS
        | cl::DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS
        | cl::DEVICE_PIPE_MAX_PACKET_SIZE => uint(0),
        cl::DEVICE_NAME => text(&device.name),
        cl::DEVICE_VENDOR => text(VENDOR),
        cl::DRIVER_VERSION => text(env!("CARGO_PKG_VERSION")),
        cl::DEVICE_PROFILE => text("FULL_PROFILE"),
        cl::DEVICE_VERSION => text(VERSION),
        cl::DEVICE_OPENCL_C_VERSION => text("OpenCL C 2.0 cohesim"),
        cl::DEVICE_EXTENSIONS => text(EXTENSIONS),
        cl::DEVICE_BUILT_IN_KERNELS => text(""),
        cl::DEVICE_IL_VERSION => text(""),
        cl::DEVICE_PLATFORM => word(PLATFORM),
        cl::DEVICE_HOST_UNIFIED_MEMORY => flag(shares_memory),
        cl::DEVICE_PARENT_DEVICE => word(0),
        cl::DEVICE_PARTITION_MAX_SUB_DEVICES => uint(0),
        cl::DEVICE_PARTITION_PROPERTIES => words(&[0]),
        cl::DEVICE_PARTITION_TYPE => words(&[0]),
        cl::DEVICE_PARTITION_AFFINITY_DOMAIN => word(0),
        cl::DEVICE_REFERENCE_COUNT => uint(1),
        cl::DEVICE_PRINTF_BUFFER_SIZE => word(PRINTF_BYTES),
        cl::DEVICE_PREFERRED_INTEROP_USER_SYNC => flag(true),
        cl::DEVICE_SVM_CAPABILITIES => {
            let fine = cl::DEVICE_SVM_FINE_GRAIN_BUFFER | cl::DEVICE_SVM_ATOMICS;
            word(cl::DEVICE_SVM_COARSE_GRAIN_BUFFER | if fine_grained { fine } else { 0 })
        }
        cl::DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT
        | cl::DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT
        | cl::DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT => uint(0),
        cl::DEVICE_MAX_GLOBAL_VARIABLE_SIZE => word(64 << 10),
        cl::DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE => word(64 << 10),
        cl::DEVICE_MAX_NUM_SUB_GROUPS => uint(MAX_GROUP / 64),
        cl::DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS => flag(false),
        _ => return Err(cl::INVALID_VALUE),
    })
}
