//! The hardware set-up of a kernel before its first instruction.
//!
//! Version 2 objects store it as an `amd_kernel_code_t` of 256 bytes before the code, later versions as a kernel
//! descriptor of 64 bytes in read-only data. Both contain the hardware registers `COMPUTE_PGM_RSRC1` and
//! `COMPUTE_PGM_RSRC2`, and the same bits for the scalar registers to fill in. The layouts are those of LLVM's AMDGPU
//! documentation.

use super::ObjectError;
use mem::VirtAddr;

/// Bytes of a kernel descriptor (code object version 3 and later).
pub const DESCRIPTOR_BYTES: usize = 64;
/// Bytes of an `amd_kernel_code_t` (code object version 2).
pub const KERNEL_CODE_BYTES: usize = 256;
/// The number of scalar registers that the command processor can fill in before those of the work-group.
pub const MAX_USER_SGPRS: u32 = 16;

/// The set-up of one kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    /// The address of the descriptor itself, relative to the base of the loaded object.
    pub address: VirtAddr,
    /// The address of the first instruction, relative to the base of the loaded object.
    pub entry: VirtAddr,
    pub setup: Setup,
    /// Scalar registers before those of the work-group (`USER_SGPR_COUNT`).
    pub user_sgprs: u32,
    /// Scalar registers allocated, including VCC, FLAT_SCRATCH and XNACK_MASK.
    pub sgprs: u16,
    /// Vector registers allocated.
    pub vgprs: u16,
    /// LDS of the code itself, in bytes.
    pub lds_size: u32,
    /// Scratch of one work-item, in bytes.
    pub private_size: u32,
    /// The size of the kernarg segment in bytes, if the descriptor gives it (0 in older version 3 objects).
    pub kernarg_size: u32,
    /// Contiguous bytes of one work-item's scratch before those of the next: 2, 4, 8 or 16.
    pub private_element_size: u32,
    pub dynamic_stack: bool,
    pub float_mode: FloatMode,
    /// `COMPUTE_PGM_RSRC1` as written.
    pub rsrc1: u32,
    /// `COMPUTE_PGM_RSRC2` as written.
    pub rsrc2: u32,
}

/// The registers to fill in, in layout order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    pub private_segment_buffer: bool,
    pub dispatch_ptr: bool,
    pub queue_ptr: bool,
    pub kernarg_segment_ptr: bool,
    pub dispatch_id: bool,
    pub flat_scratch_init: bool,
    pub private_segment_size: bool,
    pub grid_workgroup_count: [bool; 3],
    pub workgroup_id: [bool; 3],
    pub workgroup_info: bool,
    /// The wavefront's offset in scratch memory.
    pub scratch_wave_offset: bool,
    /// Work-item ids given in v0..: 1 for x, 2 for x and y, 3 for all.
    pub workitem_ids: u8,
}

impl Setup {
    /// The number of scalar registers that the command processor fills in, before those of the work-group. The hardware
    /// ignores requests beyond the sixteenth register.
    pub fn user_sgprs(&self) -> u32 {
        let pairs = [
            (self.private_segment_buffer, 4),
            (self.dispatch_ptr, 2),
            (self.queue_ptr, 2),
            (self.kernarg_segment_ptr, 2),
            (self.dispatch_id, 2),
            (self.flat_scratch_init, 2),
            (self.private_segment_size, 1),
            (self.grid_workgroup_count[0], 1),
            (self.grid_workgroup_count[1], 1),
            (self.grid_workgroup_count[2], 1),
        ];
        let mut total = 0;
        for (wanted, registers) in pairs {
            if wanted && total + registers <= MAX_USER_SGPRS {
                total += registers;
            }
        }
        total
    }
}

/// The initial MODE bits of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FloatMode {
    /// Rounding of single precision: 0 nearest even, 1 up, 2 down, 3 towards zero.
    pub round_32: u8,
    /// Rounding of half and double precision.
    pub round_16_64: u8,
    /// Denormals of single precision: bit 0 keeps them at the inputs, bit 1 at the output.
    pub denorm_32: u8,
    /// Denormals of half and double precision.
    pub denorm_16_64: u8,
    /// `clamp` turns NaN into 0.
    pub dx10_clamp: bool,
    /// Signalling NaNs are quietened.
    pub ieee: bool,
}

impl FloatMode {
    /// The value of the MODE register, without exception enables.
    pub fn mode_register(self) -> u32 {
        u32::from(self.round_32)
            | u32::from(self.round_16_64) << 2
            | u32::from(self.denorm_32) << 4
            | u32::from(self.denorm_16_64) << 6
            | u32::from(self.dx10_clamp) << 8
            | u32::from(self.ieee) << 9
    }

    fn from_rsrc1(rsrc1: u32) -> FloatMode {
        let two = |bit: u32| (rsrc1 >> bit & 3) as u8;
        FloatMode {
            round_32: two(12),
            round_16_64: two(14),
            denorm_32: two(16),
            denorm_16_64: two(18),
            dx10_clamp: rsrc1 >> 21 & 1 != 0,
            ieee: rsrc1 >> 23 & 1 != 0,
        }
    }
}

impl Descriptor {
    /// Reads the 64 bytes of version 3 and later at `address`.
    pub(super) fn from_descriptor(bytes: &[u8], address: u64, kernel: &str) -> Result<Descriptor, ObjectError> {
        let fields = Fields { bytes, kernel };
        let properties = u32::from(fields.u16(56)?);
        if properties >> 10 & 1 != 0 {
            return Err(ObjectError::Wave32 { kernel: kernel.into() });
        }
        let descriptor = Descriptor {
            address: VirtAddr(address),
            entry: VirtAddr(address.wrapping_add(fields.u64(16)?)),
            lds_size: fields.u32(0)?,
            private_size: fields.u32(4)?,
            kernarg_size: fields.u32(8)?,
            private_element_size: 4,
            dynamic_stack: properties >> 11 & 1 != 0,
            ..Descriptor::from_registers(fields.u32(48)?, fields.u32(52)?, properties & 0x7f)
        };
        descriptor.checked(kernel)
    }

    /// Reads the 256 bytes of version 2 at `address`.
    pub(super) fn from_kernel_code(bytes: &[u8], address: u64, kernel: &str) -> Result<Descriptor, ObjectError> {
        let fields = Fields { bytes, kernel };
        let version = fields.u32(0)?;
        if version != 1 {
            return Err(ObjectError::KernelCodeVersion { kernel: kernel.into(), version });
        }
        let machine = [fields.u16(10)?, fields.u16(12)?, fields.u16(14)?];
        if fields.u16(8)? == 1 && machine != [8, 0, 3] {
            let [major, minor, stepping] = machine;
            return Err(ObjectError::Target { found: format!("gfx{major}{minor}{stepping:x}") });
        }
        let wavefront_log2 = fields.bytes::<1>(103)?[0];
        if wavefront_log2 != 6 {
            return Err(ObjectError::Wave32 { kernel: kernel.into() });
        }
        let properties = fields.u32(56)?;
        let kernarg_size = fields.u64(72)?;
        let descriptor = Descriptor {
            address: VirtAddr(address),
            entry: VirtAddr(address.wrapping_add(fields.u64(16)?)),
            lds_size: fields.u32(64)?,
            private_size: fields.u32(60)?,
            kernarg_size: u32::try_from(kernarg_size)
                .map_err(|_| ObjectError::KernargSize { kernel: kernel.into(), size: kernarg_size })?,
            private_element_size: 2 << (properties >> 17 & 3),
            dynamic_stack: properties >> 20 & 1 != 0,
            ..Descriptor::from_registers(fields.u32(48)?, fields.u32(52)?, properties & 0x3ff)
        };
        descriptor.checked(kernel)
    }

    /// The contents of the two hardware registers and the set-up bits; other fields are zero.
    fn from_registers(rsrc1: u32, rsrc2: u32, properties: u32) -> Descriptor {
        let wanted = |bit: u32| properties >> bit & 1 != 0;
        let system = |bit: u32| rsrc2 >> bit & 1 != 0;
        Descriptor {
            address: VirtAddr(0),
            entry: VirtAddr(0),
            setup: Setup {
                private_segment_buffer: wanted(0),
                dispatch_ptr: wanted(1),
                queue_ptr: wanted(2),
                kernarg_segment_ptr: wanted(3),
                dispatch_id: wanted(4),
                flat_scratch_init: wanted(5),
                private_segment_size: wanted(6),
                grid_workgroup_count: [wanted(7), wanted(8), wanted(9)],
                workgroup_id: [system(7), system(8), system(9)],
                workgroup_info: system(10),
                scratch_wave_offset: system(0),
                workitem_ids: (rsrc2 >> 11 & 3) as u8 + 1,
            },
            user_sgprs: rsrc2 >> 1 & 0x1f,
            sgprs: ((rsrc1 >> 6 & 0xf) as u16 + 1) * 8,
            vgprs: ((rsrc1 & 0x3f) as u16 + 1) * 4,
            lds_size: 0,
            private_size: 0,
            kernarg_size: 0,
            private_element_size: 4,
            dynamic_stack: false,
            float_mode: FloatMode::from_rsrc1(rsrc1),
            rsrc1,
            rsrc2,
        }
    }

    /// Rejects a set-up that no hardware could start.
    fn checked(self, kernel: &str) -> Result<Descriptor, ObjectError> {
        let needed = self.setup.user_sgprs();
        if self.user_sgprs < needed || self.user_sgprs > MAX_USER_SGPRS {
            return Err(ObjectError::UserSgprs { kernel: kernel.into(), count: self.user_sgprs, needed });
        }
        if self.setup.workitem_ids > 3 {
            return Err(ObjectError::WorkItemIds { kernel: kernel.into() });
        }
        Ok(self)
    }
}

/// Little-endian fields of a descriptor; a short one is an error, not a panic.
struct Fields<'a> {
    bytes: &'a [u8],
    kernel: &'a str,
}

impl Fields<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> Result<[u8; N], ObjectError> {
        self.bytes
            .get(at..at + N)
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| ObjectError::DescriptorCut { kernel: self.kernel.into() })
    }

    fn u16(&self, at: usize) -> Result<u16, ObjectError> {
        Ok(u16::from_le_bytes(self.bytes(at)?))
    }

    fn u32(&self, at: usize) -> Result<u32, ObjectError> {
        Ok(u32::from_le_bytes(self.bytes(at)?))
    }

    fn u64(&self, at: usize) -> Result<u64, ObjectError> {
        Ok(u64::from_le_bytes(self.bytes(at)?))
    }
}
