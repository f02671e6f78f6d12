//! The registers with which a wavefront starts.

use super::{Apertures, Dispatch, DispatchError, Places, queue::scratch_buffer};
use crate::object::MAX_USER_SGPRS;
use mem::{Bytes, VirtAddr};

/// Work-items of a wavefront.
pub const WAVE_LANES: usize = 64;
/// Sixteen user SGPRs, three work-group ids, work-group information and the scratch offset.
const MAX_SGPRS: usize = MAX_USER_SGPRS as usize + 5;

/// The state of a wavefront before its first instruction. Registers that are not given here have no defined value on
/// hardware; start them at zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaveInit {
    pub pc: VirtAddr,
    /// s0 and up; the first `sgpr_count` are set.
    pub sgprs: [u32; MAX_SGPRS],
    pub sgpr_count: usize,
    /// v0, v1 and v2: the work-item's id along x, y and z, as far as the kernel asks for them.
    pub vgprs: [[u32; WAVE_LANES]; 3],
    pub exec: u64,
    /// The MODE register.
    pub mode: u32,
    /// Where this wavefront's scratch memory starts.
    pub scratch: VirtAddr,
    pub apertures: Apertures,
}

impl Dispatch {
    /// The start of wavefront `wave` of the work-group `group_id`, whose scratch memory is slot `scratch_slot`.
    pub fn wave_init(
        &self,
        places: &Places,
        group_id: [u32; 3],
        wave: u32,
        scratch_slot: u32,
    ) -> Result<WaveInit, DispatchError> {
        let descriptor = &self.kernel.descriptor;
        let size = self.group_size(group_id);
        let (vgprs, exec) = work_items(size, wave, descriptor.setup.workitem_ids);
        let scratch_offset = self.scratch_per_wave() * u64::from(scratch_slot);
        let sgprs = self.scalar_registers(places, group_id, wave, scratch_offset)?;
        let mut filled = [0; MAX_SGPRS];
        filled[..sgprs.len()].copy_from_slice(&sgprs);
        Ok(WaveInit {
            pc: places.image + Bytes(descriptor.entry.0),
            sgprs: filled,
            sgpr_count: sgprs.len(),
            vgprs,
            exec,
            mode: descriptor.float_mode.mode_register(),
            scratch: places.scratch + Bytes(scratch_offset),
            apertures: places.apertures,
        })
    }

    /// First what the command processor fills in, the same for every wavefront, then the work-group's own.
    fn scalar_registers(
        &self,
        places: &Places,
        group_id: [u32; 3],
        wave: u32,
        scratch_offset: u64,
    ) -> Result<Vec<u32>, DispatchError> {
        let descriptor = &self.kernel.descriptor;
        let setup = descriptor.setup;
        let mut sgprs: Vec<u32> = Vec::with_capacity(MAX_SGPRS);
        // A request that would pass the sixteenth register is ignored.
        let user = |sgprs: &mut Vec<u32>, wanted: bool, words: &[u32]| {
            if wanted && sgprs.len() + words.len() <= MAX_USER_SGPRS as usize {
                sgprs.extend_from_slice(words);
            }
        };
        let address = |address: VirtAddr| [address.0 as u32, (address.0 >> 32) as u32];
        let buffer = scratch_buffer(descriptor, places.scratch, places.scratch_size);
        user(&mut sgprs, setup.private_segment_buffer, &buffer);
        user(&mut sgprs, setup.dispatch_ptr, &address(places.packet));
        user(&mut sgprs, setup.queue_ptr, &address(places.queue));
        user(&mut sgprs, setup.kernarg_segment_ptr, &address(places.kernarg));
        user(&mut sgprs, setup.dispatch_id, &[0, 0]);
        if setup.flat_scratch_init {
            user(&mut sgprs, true, &[self.flat_scratch_offset(places)?, self.private_size()]);
        }
        user(&mut sgprs, setup.private_segment_size, &[self.private_size()]);
        for (wanted, count) in setup.grid_workgroup_count.into_iter().zip(self.groups()) {
            user(&mut sgprs, wanted, &[count]);
        }
        sgprs.resize(descriptor.user_sgprs as usize, 0);
        for (wanted, id) in setup.workgroup_id.into_iter().zip(group_id) {
            if wanted {
                sgprs.push(id);
            }
        }
        if setup.workgroup_info {
            sgprs.push(u32::from(wave == 0) << 31 | self.waves(group_id));
        }
        if setup.scratch_wave_offset {
            sgprs.push(scratch_offset as u32);
        }
        Ok(sgprs)
    }

    fn flat_scratch_offset(&self, places: &Places) -> Result<u32, DispatchError> {
        let (scratch, base) = (places.scratch.0, places.apertures.hidden_private_base.0);
        scratch
            .checked_sub(base)
            .and_then(|offset| u32::try_from(offset).ok())
            .filter(|offset| u64::from(*offset) + places.scratch_size <= 1 << 32)
            .ok_or_else(|| DispatchError::ScratchOutOfReach { kernel: self.kernel.name.clone(), scratch, base })
    }
}

/// The ids of a wavefront's work-items, x running fastest, and which lanes have one.
fn work_items(size: [u32; 3], wave: u32, ids: u8) -> ([[u32; WAVE_LANES]; 3], u64) {
    let mut vgprs = [[0; WAVE_LANES]; 3];
    let mut exec = 0;
    let items: u32 = size.iter().product();
    for lane in 0..WAVE_LANES {
        let item = wave * WAVE_LANES as u32 + lane as u32;
        if item >= items {
            break;
        }
        exec |= 1 << lane;
        let id = [item % size[0], item / size[0] % size[1], item / size[0] / size[1]];
        for axis in 0..usize::from(ids) {
            vgprs[axis][lane] = id[axis];
        }
    }
    (vgprs, exec)
}
