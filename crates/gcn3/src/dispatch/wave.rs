//! The initial registers of a wavefront.

use super::{Apertures, Dispatch, DispatchError, Places, queue::scratch_buffer};
use crate::object::MAX_USER_SGPRS;
use mem::{Bytes, VirtAddr};

/// Work-items of a wavefront.
pub const WAVE_LANES: usize = 64;
/// Sixteen user SGPRs, three work-group ids, work-group information and the scratch offset.
const MAX_SGPRS: usize = MAX_USER_SGPRS as usize + 5;

/// The state of a wavefront before its first instruction. Registers that are not listed here are undefined in hardware,
/// and start at zero here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaveInit {
    pub pc: VirtAddr,
    /// s0 and up; the first `sgpr_count` are set.
    pub sgprs: [u32; MAX_SGPRS],
    pub sgpr_count: usize,
    /// v0, v1 and v2: the work-item's id along x, y and z, as far as the kernel requests them.
    pub vgprs: [[u32; WAVE_LANES]; 3],
    pub exec: u64,
    /// The MODE register.
    pub mode: u32,
    /// The start of this wavefront's scratch memory.
    pub scratch: VirtAddr,
    pub apertures: Apertures,
}

impl Dispatch {
    /// The initial state of wavefront `wave` of work-group `group_id`, whose scratch memory is slot `scratch_slot`.
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
        if scratch_offset + self.scratch_per_wave() > 1 << 32 {
            let (scratch, base) = (places.scratch.0 + scratch_offset, places.scratch.0);
            return Err(DispatchError::ScratchOutOfReach { kernel: self.kernel.name.clone(), scratch, base });
        }
        let sgprs = self.scalar_registers(places, group_id, wave, scratch_offset)?;
        Ok(WaveInit {
            pc: places.image + Bytes(descriptor.entry.0),
            sgprs: sgprs.registers,
            sgpr_count: sgprs.count,
            vgprs,
            exec,
            mode: descriptor.float_mode.mode_register(),
            scratch: places.scratch + Bytes(scratch_offset),
            apertures: places.apertures,
        })
    }

    /// First the registers of the command processor, equal for every wavefront, then those of the work-group.
    fn scalar_registers(
        &self,
        places: &Places,
        group_id: [u32; 3],
        wave: u32,
        scratch_offset: u64,
    ) -> Result<Scalars, DispatchError> {
        let descriptor = &self.kernel.descriptor;
        let setup = descriptor.setup;
        let mut sgprs = Scalars { registers: [0; MAX_SGPRS], count: 0 };
        let address = |address: VirtAddr| [address.0 as u32, (address.0 >> 32) as u32];
        let buffer = scratch_buffer(descriptor, places.scratch, places.scratch_size);
        sgprs.user(setup.private_segment_buffer, &buffer);
        sgprs.user(setup.dispatch_ptr, &address(places.packet));
        sgprs.user(setup.queue_ptr, &address(places.queue));
        sgprs.user(setup.kernarg_segment_ptr, &address(places.kernarg));
        sgprs.user(setup.dispatch_id, &[0, 0]);
        if setup.flat_scratch_init {
            sgprs.user(true, &[self.flat_scratch_offset(places)?, self.private_size()]);
        }
        sgprs.user(setup.private_segment_size, &[self.private_size()]);
        for (wanted, count) in setup.grid_workgroup_count.into_iter().zip(self.groups()) {
            sgprs.user(wanted, &[count]);
        }
        sgprs.count = descriptor.user_sgprs.min(MAX_USER_SGPRS) as usize;
        for (wanted, id) in setup.workgroup_id.into_iter().zip(group_id) {
            sgprs.system(wanted, id);
        }
        sgprs.system(setup.workgroup_info, u32::from(wave == 0) << 31 | self.waves(group_id));
        sgprs.system(setup.scratch_wave_offset, scratch_offset as u32);
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

/// Scalar registers being filled in.
struct Scalars {
    registers: [u32; MAX_SGPRS],
    count: usize,
}

impl Scalars {
    /// Adds a value of the command processor; a request beyond the sixteenth register is ignored.
    fn user(&mut self, wanted: bool, words: &[u32]) {
        let end = self.count + words.len();
        if wanted && end <= MAX_USER_SGPRS as usize {
            self.registers[self.count..end].copy_from_slice(words);
            self.count = end;
        }
    }

    /// Adds a value of the dispatcher.
    fn system(&mut self, wanted: bool, word: u32) {
        if wanted {
            self.registers[self.count] = word;
            self.count += 1;
        }
    }
}

/// The ids of a wavefront's work-items, x varying fastest, and the lanes that have one.
fn work_items(size: [u32; 3], wave: u32, ids: u8) -> ([[u32; WAVE_LANES]; 3], u64) {
    let mut vgprs = [[0; WAVE_LANES]; 3];
    let items: u32 = size.iter().product();
    let first = wave.saturating_mul(WAVE_LANES as u32);
    let lanes = items.saturating_sub(first).min(WAVE_LANES as u32) as usize;
    if lanes == 0 {
        return (vgprs, 0);
    }
    let mut id = [first % size[0], first / size[0] % size[1], first / size[0] / size[1]];
    for lane in 0..lanes {
        for (vgpr, id) in vgprs.iter_mut().zip(id).take(ids.into()) {
            vgpr[lane] = id;
        }
        id[0] += 1;
        if id[0] == size[0] {
            id = [0, id[1] + 1, id[2]];
        }
        if id[1] == size[1] {
            id = [id[0], 0, id[2] + 1];
        }
    }
    (vgprs, u64::MAX >> (WAVE_LANES - lanes))
}
