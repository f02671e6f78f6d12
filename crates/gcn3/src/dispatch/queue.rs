//! Data in memory for kernels that request their dispatch packet or their queue.

use super::{Dispatch, Places};
use crate::object::Descriptor;
use mem::{Bytes, VirtAddr};

/// The header of a kernel dispatch with a barrier, and with acquire and release fences of system scope.
const PACKET_HEADER: u16 = 2 | 1 << 8 | 2 << 9 | 2 << 11;

impl Dispatch {
    /// The 64-byte HSA kernel dispatch packet.
    pub fn packet(&self, places: &Places) -> [u8; 64] {
        let mut packet = [0; 64];
        let mut put = |at: usize, bytes: &[u8]| packet[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &PACKET_HEADER.to_le_bytes());
        put(2, &self.dims.to_le_bytes());
        for axis in 0..3 {
            put(4 + 2 * axis, &(self.group[axis] as u16).to_le_bytes());
            put(12 + 4 * axis, &self.grid[axis].to_le_bytes());
        }
        put(24, &self.private_size().to_le_bytes());
        put(28, &self.lds_size.to_le_bytes());
        put(32, &(places.image + Bytes(self.kernel.descriptor.address.0)).0.to_le_bytes());
        put(40, &places.kernarg.0.to_le_bytes());
        packet
    }

    /// The parts of the queue (`amd_queue_t`, 256 bytes) that a kernel reads: the windows of flat addresses, and the
    /// scratch buffer.
    pub fn queue(&self, places: &Places) -> [u8; 256] {
        let mut queue = [0; 256];
        let mut put = |at: usize, bytes: &[u8]| queue[at..at + bytes.len()].copy_from_slice(bytes);
        put(0x40, &((places.apertures.lds.0 >> 32) as u32).to_le_bytes());
        put(0x44, &((places.apertures.scratch.0 >> 32) as u32).to_le_bytes());
        for (index, word) in
            scratch_buffer(&self.kernel.descriptor, places.scratch, places.scratch_size).iter().enumerate()
        {
            put(144 + 4 * index, &word.to_le_bytes());
        }
        put(160, &places.scratch.0.to_le_bytes());
        put(168, &places.scratch_size.to_le_bytes());
        put(176, &self.private_size().to_le_bytes());
        queue
    }
}

/// The buffer resource for scratch memory. It interleaves the work-items of a wavefront, so that an element of all 64
/// is contiguous, and adds the work-item's number automatically.
pub fn scratch_buffer(descriptor: &Descriptor, base: VirtAddr, size: u64) -> [u32; 4] {
    const SWIZZLE_ENABLE: u32 = 1 << 31;
    const SELECT_XYZW: u32 = 4 | 5 << 3 | 6 << 6 | 7 << 9;
    const FORMAT_UINT: u32 = 4 << 12;
    const INDEX_STRIDE_64: u32 = 3 << 21;
    const ADD_TID_ENABLE: u32 = 1 << 23;
    let element_size = (descriptor.private_element_size.ilog2() - 1) << 19;
    [
        base.0 as u32,
        (base.0 >> 32) as u32 & 0xffff | SWIZZLE_ENABLE,
        u32::try_from(size).unwrap_or(u32::MAX),
        SELECT_XYZW | FORMAT_UINT | element_size | INDEX_STRIDE_64 | ADD_TID_ENABLE,
    ]
}
