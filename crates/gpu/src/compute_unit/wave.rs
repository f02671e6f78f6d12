//! Wavefronts and workgroups on a compute unit: how they start and end, and what they wait for.

use super::{Completion, Running, Unit};
use gcn3::{
    code::Code,
    error::{ExecError, Fault, Place},
    exec::Group,
    wave::Wavefront,
};
use std::{collections::VecDeque, sync::Arc};

/// What blocks a wavefront until an event happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// The code of its next instruction has not arrived.
    Code,
    /// Waits until at most this many accesses are outstanding.
    Count {
        vector: u8,
        other: u8,
    },
    /// Its vector access is in the coalescer.
    Coalescer,
    Barrier,
    /// The wavefront ends when its accesses have completed.
    End,
}

/// A wavefront.
pub struct Wave {
    pub wavefront: Wavefront,
    /// A serial number that distinguishes it from earlier wavefronts in its slot.
    pub number: u64,
    pub group: usize,
    pub simd: usize,
    pub waits: Option<Waits>,
    /// The cycle in which its next instruction can be issued.
    pub ready_at: u64,
    /// The address of the last issued instruction, for error messages.
    pub pc: u64,
    /// Vector accesses in the order of issue, and whether each has been answered. They leave in this order.
    pub vector: VecDeque<(usize, bool)>,
    /// Outstanding scalar accesses.
    pub scalar: u32,
    /// Outstanding flat accesses. They are counted for both memories, because their addresses may lie in the local data
    /// share.
    pub flat: u32,
    /// The buffered code: first address and end (exclusive).
    pub code: (u64, u64),
    /// The requested code line that has not arrived.
    pub fetching: Option<u64>,
    pub kind_of_wait: Busy,
}

/// What an issued instruction keeps a wavefront busy with, for the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busy {
    Vector,
    Scalar,
    Local,
    Memory,
}

impl Wave {
    /// Whether few enough accesses are outstanding.
    pub fn reached(&self, vector: u8, other: u8) -> bool {
        self.vector.len() <= vector.into() && self.scalar + self.flat <= other.into()
    }

    pub fn has_nothing_outstanding(&self) -> bool {
        self.vector.is_empty() && self.scalar == 0
    }

    /// Whether the instruction at its program counter is buffered; it may be eight bytes long. Also true outside the
    /// code, where the wavefront must continue in order to fail.
    pub fn has_code(&self, code: &Code) -> bool {
        let pc = self.wavefront.pc;
        self.is_lost(code) || self.code.0 <= pc && (pc + 8).min(code.end()) <= self.code.1
    }

    /// Whether it has jumped out of the code.
    pub fn is_lost(&self, code: &Code) -> bool {
        !(code.start()..code.end()).contains(&self.wavefront.pc)
    }
}

/// A workgroup: the state that its wavefronts share.
pub struct Workgroup {
    pub running: Arc<Running>,
    /// Its number in the kernel's grid, and its position there.
    index: u64,
    pub id: [u32; 3],
    pub shared: Group,
    /// Wavefronts that have not ended, and those of them at the barrier.
    pub left: usize,
    pub at_barrier: usize,
}

impl Unit {
    /// Starts a workgroup, with its wavefronts on the given SIMDs.
    pub fn start(&mut self, running: &Arc<Running>, index: u64, simds: &[u8], now: u64) -> Result<(), String> {
        let kernel = running.kernel();
        let id = kernel.group_id(index);
        let mut shared = Group::default();
        shared.lds.reset(kernel.dispatch.lds_size());
        shared.lds.watched = true;
        let left = simds.len();
        let workgroup = Workgroup { running: Arc::clone(running), index, id, shared, left, at_barrier: 0 };
        let group = put(&mut self.groups, workgroup);
        for (number, simd) in simds.iter().enumerate() {
            let simd = usize::from(*simd);
            let slot = self.waves.iter().position(Option::is_none).expect("the dispatcher keeps count of the slots");
            let scratch = (self.number * self.waves.len() + slot) as u32;
            let init = kernel.dispatch.wave_init(&kernel.places, id, number as u32, scratch);
            let init = init.map_err(|error| error.to_string())?;
            let vgprs = kernel.code.vgprs();
            let mut wavefront = match self.spare.pop() {
                Some(mut used) => {
                    used.reset(vgprs);
                    used
                }
                None => Wavefront::with_vgprs(vgprs),
            };
            wavefront.begin(number as u32, &init);
            let pc = wavefront.pc;
            let line = pc & !(mem::LINE as u64 - 1);
            self.started += 1;
            self.waves[slot] = Some(Wave {
                wavefront,
                number: self.started,
                group,
                simd,
                waits: Some(Waits::Code),
                ready_at: now + 1,
                pc,
                vector: VecDeque::new(),
                scalar: 0,
                flat: 0,
                code: (line, line),
                fetching: None,
                kind_of_wait: Busy::Scalar,
            });
            let wave = self.waves[slot].as_ref().expect("it has just been put there");
            self.slots.category[slot] = running.briefs.at(pc).category;
            self.slots.has_code[slot] = false;
            self.slots.assign(slot, simd);
            self.slots.note(slot, wave);
            self.slots.look_at(slot);
            self.by_simd[simd].push(slot);
            self.counts.wavefronts.increment();
        }
        self.note_resident();
        Ok(())
    }

    /// Removes a wavefront that has ended.
    pub fn end(&mut self, slot: usize, now: u64) {
        let wave = self.waves[slot].take().expect("it has just been looked at");
        self.slots.clear(slot);
        self.by_simd[wave.simd].retain(|other| *other != slot);
        self.spare.push(wave.wavefront);
        self.note_resident();
        let workgroup = self.groups[wave.group].as_mut().expect("a wavefront belongs to a workgroup");
        workgroup.left -= 1;
        if workgroup.left == 0 {
            self.completions.push(Completion::Workgroup { grid: workgroup.running.grid(), index: workgroup.index });
            self.groups[wave.group] = None;
        } else {
            // The wavefronts at the barrier do not wait for those that have ended.
            self.open_barrier(wave.group, now);
        }
    }

    fn note_resident(&self) {
        self.counts.resident.set(self.by_simd.iter().map(|slots| slots.len() as u64).sum());
    }

    /// Releases the wavefronts of a workgroup if all that are left have reached the barrier.
    pub fn open_barrier(&mut self, group: usize, now: u64) {
        let workgroup = self.groups[group].as_mut().expect("a workgroup with a wavefront is there");
        if workgroup.at_barrier < workgroup.left {
            return;
        }
        workgroup.at_barrier = 0;
        for (slot, wave) in self.waves.iter_mut().enumerate() {
            if let Some(wave) = wave.as_mut().filter(|wave| wave.group == group)
                && wave.waits == Some(Waits::Barrier)
            {
                wave.waits = None;
                wave.ready_at = now + 1;
                self.slots.note(slot, wave);
            }
        }
    }

    /// Adds the location to an error.
    pub fn located(&self, slot: usize, fault: Fault) -> Box<ExecError> {
        let wave = self.waves[slot].as_ref().expect("it has just been stepped");
        let workgroup = self.groups[wave.group].as_ref().expect("a wavefront belongs to a workgroup");
        let kernel = workgroup.running.kernel();
        let place =
            Place { places: &kernel.places, workgroup: workgroup.id, wavefront: wave.wavefront.id, pc: wave.pc };
        Box::new(ExecError::new(kernel.dispatch.kernel(), &kernel.code, place, fault))
    }
}

/// Puts an item into the first free place and returns its number.
pub fn put<T>(places: &mut Vec<Option<T>>, item: T) -> usize {
    match places.iter().position(Option::is_none) {
        Some(free) => {
            places[free] = Some(item);
            free
        }
        None => {
            places.push(Some(item));
            places.len() - 1
        }
    }
}
