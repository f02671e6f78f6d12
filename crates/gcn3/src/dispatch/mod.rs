//! One launch of a kernel: its grid, its arguments, and the initial registers of each wavefront.
//!
//! This is the work of a GPU's runtime, command processor and dispatcher. The runtime packs the explicit arguments and
//! fills in the hidden ones. The command processor and the dispatcher fill in the registers that the kernel's
//! descriptor requests, in the order given by LLVM's AMDGPU documentation. Nothing here accesses memory: the caller
//! provides the addresses ([`Places`]) and writes the bytes that it gets.

mod error;
mod kernarg;
mod queue;
mod wave;

pub use error::DispatchError;
pub use kernarg::ArgumentValue;
pub use wave::{WAVE_LANES, WaveInit};

use crate::object::{ImplicitLayout, Kernel, Version};
use mem::VirtAddr;

/// The maximum local data share of a work-group, that of one compute unit.
pub const MAX_LDS: u32 = 64 << 10;
/// The maximum number of work-items in a work-group on gfx803.
pub const MAX_GROUP: u32 = 1024;
/// The maximum scratch of a work-item in hardware: 8 MiB for a wavefront.
pub const MAX_PRIVATE: u32 = 128 << 10;
/// The scratch of a work-item if the compiler could not bound the stack.
const UNBOUNDED_STACK: u32 = 16 << 10;

/// Windows of flat addresses that do not refer to global memory; each is 4 GiB wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Apertures {
    /// Flat addresses of the work-group's LDS start here.
    pub lds: VirtAddr,
    /// Flat addresses of the work-item's own scratch start here.
    pub scratch: VirtAddr,
    /// The base of the offset in FLAT_SCRATCH (`SH_HIDDEN_PRIVATE_BASE_VIMID`).
    pub hidden_private_base: VirtAddr,
}

impl Default for Apertures {
    /// The windows that the Linux driver sets up for gfx803.
    fn default() -> Self {
        Apertures {
            lds: VirtAddr(0x2000_0000_0000_0000),
            scratch: VirtAddr(0x2000_0001_0000_0000),
            hidden_private_base: VirtAddr(0),
        }
    }
}

/// The addresses of the parts of a launch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places {
    /// The base of the loaded code object.
    pub image: VirtAddr,
    pub kernarg: VirtAddr,
    /// The 64-byte dispatch packet.
    pub packet: VirtAddr,
    /// The queue, an `amd_queue_t`.
    pub queue: VirtAddr,
    /// Scratch memory, divided into slots of [`Dispatch::scratch_per_wave`] bytes; 256-byte aligned.
    pub scratch: VirtAddr,
    /// Bytes of scratch memory.
    pub scratch_size: u64,
    pub apertures: Apertures,
    /// Buffers of hidden arguments; zero if there is none.
    pub hostcall_buffer: VirtAddr,
    pub heap: VirtAddr,
    pub default_queue: VirtAddr,
    pub completion_action: VirtAddr,
    pub multigrid_sync: VirtAddr,
}

/// Whether a compute unit of GCN3 has vector registers for a work-group: 256 rows in each of four SIMDs, of which a
/// wavefront gets blocks of 4 (GCN3 ISA manual, 3.6).
fn has_registers(kernel: &Kernel, items: u32) -> bool {
    items.div_ceil(64).div_ceil(4) * u32::from(kernel.vgprs).next_multiple_of(4).max(4) <= 256
}

/// A kernel with a grid and arguments.
#[derive(Clone, Debug)]
pub struct Dispatch {
    kernel: Kernel,
    grid: [u32; 3],
    group: [u32; 3],
    offset: [u64; 3],
    dims: u16,
    /// The kernarg segment with the explicit arguments; the hidden ones are still zero.
    explicit: Vec<u8>,
    /// The buffer of the kernel's `printf`; zero if there is none.
    printf_buffer: VirtAddr,
    /// LDS allocated so far: the kernel's own, then that of its arguments.
    lds_size: u32,
}

impl Dispatch {
    /// A launch of `grid` work-items in work-groups of `group`, with global ids from `offset` on. The grid need not be
    /// a multiple of the group: then the last groups are smaller.
    pub fn new(kernel: &Kernel, grid: [u32; 3], group: [u32; 3], offset: [u64; 3]) -> Result<Dispatch, DispatchError> {
        let name = || kernel.name.clone();
        for axis in 0..3 {
            if grid[axis] == 0 || group[axis] == 0 || group[axis] > MAX_GROUP {
                return Err(DispatchError::Size { kernel: name(), axis: ['x', 'y', 'z'][axis], grid, group });
            }
        }
        let items: u32 = group.iter().product();
        let limit = kernel.max_group.unwrap_or(MAX_GROUP).min(MAX_GROUP);
        // The limit in the metadata is an assumption of the compiler's. The hardware runs any work-group for which
        // there are enough registers.
        if items > MAX_GROUP || items > limit && !has_registers(kernel, items) {
            return Err(DispatchError::GroupTooLarge { kernel: name(), items, limit });
        }
        if let Some(required) = kernel.required_group.filter(|required| *required != group) {
            return Err(DispatchError::GroupRequired { kernel: name(), group, required });
        }
        if offset != [0; 3] && !kernel.described {
            return Err(DispatchError::OffsetUndescribed { kernel: name() });
        }
        let mut kernarg_size = kernel.kernarg_size;
        match kernel.implicit {
            ImplicitLayout::Hsa => {}
            ImplicitLayout::Mesa { offset } => kernarg_size = kernarg_size.max(offset + 16),
            ImplicitLayout::Unlisted { offset } if kernel.version < Version::V5 => {
                kernarg_size = kernarg_size.max(offset + 56);
            }
            ImplicitLayout::Unlisted { offset } => {
                return Err(DispatchError::ImplicitUnlisted { kernel: name(), offset });
            }
        }
        if kernel.lds_size > MAX_LDS {
            return Err(DispatchError::LdsFull { kernel: name(), size: kernel.lds_size.into() });
        }
        if kernel.private_size > MAX_PRIVATE {
            return Err(DispatchError::ScratchTooLarge {
                kernel: name(),
                size: kernel.private_size,
                limit: MAX_PRIVATE,
            });
        }
        let used = |axis: usize| grid[axis] > 1 || group[axis] > 1 || offset[axis] != 0;
        let dims = if used(2) { 3 } else { 1 + u16::from(used(1)) };
        let explicit = vec![0; kernarg_size as usize];
        let kernel = Kernel { kernarg_size, ..kernel.clone() };
        let (lds_size, printf_buffer) = (kernel.lds_size, VirtAddr(0));
        Ok(Dispatch { kernel, grid, group, offset, dims, explicit, printf_buffer, lds_size })
    }

    /// A warning for the user if work-groups are larger than those that the kernel was compiled for.
    pub fn warning(&self) -> Option<String> {
        let items: u32 = self.group.iter().product();
        let limit = self.kernel.max_group.filter(|limit| items > *limit)?;
        let name = &self.kernel.name;
        Some(format!(
            "kernel '{name}' was compiled for work-groups of at most {limit} work-items and is launched with {items}: a compute unit has \
             registers for them, so it runs"
        ))
    }

    /// Sets the result of `get_work_dim`; by default it is the highest dimension with more than one work-item.
    pub fn with_dims(mut self, dims: u16) -> Dispatch {
        self.dims = dims.clamp(self.dims, 3);
        self
    }

    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    pub fn grid(&self) -> [u32; 3] {
        self.grid
    }

    pub fn group(&self) -> [u32; 3] {
        self.group
    }

    /// Work-groups along each axis, including smaller last ones.
    pub fn groups(&self) -> [u32; 3] {
        std::array::from_fn(|axis| self.grid[axis].div_ceil(self.group[axis]))
    }

    /// Whether the last work-group along some axis is smaller than the others.
    pub fn has_partial_groups(&self) -> bool {
        (0..3).any(|axis| !self.grid[axis].is_multiple_of(self.group[axis]))
    }

    /// The size of one work-group; at the end of the grid it may be smaller.
    pub fn group_size(&self, group_id: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|axis| {
            let start = u64::from(group_id[axis]) * u64::from(self.group[axis]);
            let left = u64::from(self.grid[axis]).saturating_sub(start);
            left.min(self.group[axis].into()) as u32
        })
    }

    /// Wavefronts of one work-group.
    pub fn waves(&self, group_id: [u32; 3]) -> u32 {
        self.group_size(group_id).iter().product::<u32>().div_ceil(WAVE_LANES as u32)
    }

    /// LDS of a work-group in bytes: the kernel's own and that of its arguments.
    pub fn lds_size(&self) -> u32 {
        self.lds_size
    }

    /// Scratch of one work-item in bytes, a multiple of four.
    pub fn private_size(&self) -> u32 {
        let least = if self.kernel.dynamic_stack { UNBOUNDED_STACK } else { 0 };
        self.kernel.private_size.max(least).next_multiple_of(4)
    }

    /// Scratch of one wavefront in bytes, a multiple of the hardware's unit of 1 KiB.
    pub fn scratch_per_wave(&self) -> u64 {
        (u64::from(self.private_size()) * WAVE_LANES as u64).next_multiple_of(1024)
    }

    /// Sets the buffer of `printf`: two words for the used bytes and the capacity, then the printed data.
    pub fn with_printf_buffer(mut self, address: VirtAddr) -> Dispatch {
        self.printf_buffer = address;
        self
    }
}
