//! Wavefronts and workgroups on a compute unit: when they can start, and what they wait for.

use super::{Completion, Running, Unit};
use gcn3::{
    code::Code,
    error::{ExecError, Fault, Place},
    exec::Group,
    wave::Wavefront,
};
use std::{collections::VecDeque, sync::Arc};

/// What holds a wavefront up until something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Its next instruction has not come.
    Code,
    /// Until so many accesses are outstanding at most.
    Count {
        vector: u8,
        other: u8,
    },
    /// Its vector access is being made into lines.
    Coalescer,
    Barrier,
    /// Its accesses must have ended before it can end.
    End,
}

/// A wavefront.
pub struct Wave {
    pub wavefront: Wavefront,
    /// Tells it from others that have had its slot.
    pub number: u64,
    pub group: usize,
    pub simd: usize,
    pub waits: Option<Waits>,
    /// The cycle in which its next instruction can be issued.
    pub ready_at: u64,
    /// Where the instruction stands that was issued last, for reports on errors.
    pub pc: u64,
    /// Vector accesses in the order of their issue; `true`: it has been answered. They count down in this order.
    pub vector: VecDeque<(usize, bool)>,
    /// Scalar accesses that have not been answered.
    pub scalar: u32,
    /// Flat accesses count twice: they might have gone to the local data share.
    pub flat: u32,
    /// The code it has: from here up to there.
    pub code: (u64, u64),
    /// The line of code that is under way.
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
    /// Whether the accesses outstanding are few enough.
    pub fn reached(&self, vector: u8, other: u8) -> bool {
        self.vector.len() <= vector.into() && self.scalar + self.flat <= other.into()
    }

    pub fn has_nothing_outstanding(&self) -> bool {
        self.vector.is_empty() && self.scalar == 0
    }

    /// Whether the instruction at its program counter is there; one may be eight bytes long. Outside of the code there is nothing to wait
    /// for: it goes on, and fails.
    pub fn has_code(&self, code: &Code) -> bool {
        let pc = self.wavefront.pc;
        self.is_lost(code) || self.code.0 <= pc && (pc + 8).min(code.end()) <= self.code.1
    }

    /// Whether it has jumped out of the code.
    pub fn is_lost(&self, code: &Code) -> bool {
        !(code.start()..code.end()).contains(&self.wavefront.pc)
    }
}

/// A workgroup: what its wavefronts share.
pub struct Workgroup {
    pub running: Arc<Running>,
    /// Its number in the kernel's grid, and its place there.
    index: u64,
    pub id: [u32; 3],
    pub shared: Group,
    /// Wavefronts that have not ended, and those of them at the barrier.
    pub left: usize,
    pub at_barrier: usize,
}

impl Unit {
    /// Starts a workgroup, its wavefronts on the given SIMDs.
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
            let mut wavefront = self.spare.pop().unwrap_or_else(|| Wavefront::with_vgprs(vgprs));
            wavefront.reset(vgprs);
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
            self.slots.note(slot, wave);
            self.slots.look_at(slot);
            self.by_simd[simd].push(slot);
            self.counts.wavefronts.increment();
        }
        self.note_resident();
        Ok(())
    }

    /// A wavefront has ended.
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
            // Those at the barrier do not wait for wavefronts that have ended.
            self.open_barrier(wave.group, now);
        }
    }

    fn note_resident(&self) {
        self.counts.resident.set(self.by_simd.iter().map(|slots| slots.len() as u64).sum());
    }

    /// Lets the wavefronts of a workgroup go on if all that are left have come to the barrier.
    pub fn open_barrier(&mut self, group: usize, now: u64) {
        let workgroup = self.groups[group].as_mut().expect("somebody of it is there");
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

    /// An error with its place.
    pub fn located(&self, slot: usize, fault: Fault) -> Box<ExecError> {
        let wave = self.waves[slot].as_ref().expect("it has just been stepped");
        let workgroup = self.groups[wave.group].as_ref().expect("a wavefront belongs to a workgroup");
        let kernel = workgroup.running.kernel();
        let place =
            Place { places: &kernel.places, workgroup: workgroup.id, wavefront: wave.wavefront.id, pc: wave.pc };
        Box::new(ExecError::new(kernel.dispatch.kernel(), &kernel.code, place, fault))
    }
}

/// Puts an item in the first free place; its number.
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
