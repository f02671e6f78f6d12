//! The state of each wavefront that the scheduler needs in every cycle, packed by slot: wavefronts themselves are
//! large, and most of them wait.

use super::{
    account::{REASONS, Reason},
    wave::{Busy, Waits, Wave},
};
use crate::category::Category;

/// The `ready_at` of an empty slot, and of one whose wavefront can't issue.
pub const NEVER: u64 = u64::MAX;

pub struct Slots {
    /// The first cycle in which the wavefront can issue.
    pub ready_at: Vec<u64>,
    /// The category of its next instruction.
    pub category: Vec<Category>,
    /// Whether the code of that instruction is buffered.
    pub has_code: Vec<bool>,
    /// What blocks the wavefront, for the account, and the number of wavefronts blocked by each cause.
    reason: Vec<Option<Reason>>,
    pub kept: [u32; REASONS],
    /// Slots whose instruction buffer must be checked, one bit each.
    buffers: Vec<u64>,
    /// The SIMD of each slot's wavefront.
    simd: Vec<u8>,
    /// For each SIMD, a cycle before which none of its wavefronts is ready.
    first: Vec<u64>,
    /// For each SIMD, a cycle before which none of its wavefronts can issue, because it is not ready or because the unit
    /// for its next instruction is busy.
    first_issue: Vec<u64>,
}

impl Slots {
    pub fn new(count: usize, simds: usize) -> Self {
        Self {
            ready_at: vec![NEVER; count],
            category: vec![Category::Scheduler; count],
            has_code: vec![false; count],
            reason: vec![None; count],
            kept: [0; REASONS],
            buffers: vec![0; count.div_ceil(64)],
            simd: vec![0; count],
            first: vec![NEVER; simds],
            first_issue: vec![NEVER; simds],
        }
    }

    /// Updates a slot whose wavefront has been blocked, has continued, or has received replies.
    pub fn note(&mut self, slot: usize, wave: &Wave) {
        let ready_at = if wave.waits.is_none() { wave.ready_at } else { NEVER };
        self.ready_at[slot] = ready_at;
        let simd = usize::from(self.simd[slot]);
        self.first[simd] = ready_at.min(self.first[simd]);
        self.first_issue[simd] = ready_at.min(self.first_issue[simd]);
        self.keep(slot, Some(kept_by(wave)));
    }

    /// Assigns the slot to a SIMD.
    pub fn assign(&mut self, slot: usize, simd: usize) {
        self.simd[slot] = simd as u8;
    }

    /// A cycle before which no wavefront of the SIMD can issue.
    #[inline]
    pub fn first_issue(&self, simd: usize) -> u64 {
        self.first_issue[simd]
    }

    /// A cycle before which no wavefront can issue.
    pub fn next_issue(&self) -> u64 {
        self.first_issue.iter().copied().min().unwrap_or(NEVER)
    }

    /// Called when the wavefronts of a SIMD, which are in `slots`, have been searched for instructions to issue. `free`:
    /// the first cycle in which the unit for a category accepts another instruction.
    pub fn searched(&mut self, simd: usize, slots: &[usize], free: impl Fn(Category) -> u64) {
        let (mut first, mut first_issue) = (NEVER, NEVER);
        for slot in slots {
            let ready_at = self.ready_at[*slot];
            first = ready_at.min(first);
            first_issue = ready_at.max(free(self.category[*slot])).min(first_issue);
        }
        (self.first[simd], self.first_issue[simd]) = (first, first_issue);
    }

    /// The first cycle in which a wavefront is ready, in a cycle in which none was executed.
    pub fn next_ready(&self) -> u64 {
        let next = self.first.iter().copied().min().unwrap_or(NEVER);
        debug_assert_eq!(next, self.ready_at.iter().copied().min().unwrap_or(NEVER));
        next
    }

    /// Frees the slot.
    pub fn clear(&mut self, slot: usize) {
        self.ready_at[slot] = NEVER;
        self.keep(slot, None);
        self.looked_at(slot);
    }

    fn keep(&mut self, slot: usize, reason: Option<Reason>) {
        let before = std::mem::replace(&mut self.reason[slot], reason);
        if before != reason {
            before.inspect(|reason| self.kept[*reason as usize] -= 1);
            reason.inspect(|reason| self.kept[*reason as usize] += 1);
        }
    }

    /// Marks the instruction buffer of a slot as to be checked ([`looked_at`](Self::looked_at) removes the mark).
    pub fn look_at(&mut self, slot: usize) {
        self.buffers[slot / 64] |= 1 << (slot % 64);
    }

    pub fn looked_at(&mut self, slot: usize) {
        self.buffers[slot / 64] &= !(1 << (slot % 64));
    }

    /// Whether any instruction buffer must be checked.
    #[inline]
    pub fn has_buffers(&self) -> bool {
        self.buffers.iter().any(|word| *word != 0)
    }

    /// The first slot from `from` on whose instruction buffer must be checked.
    pub fn buffer(&self, from: usize) -> Option<usize> {
        let mut bits = self.buffers.get(from / 64)? & u64::MAX << (from % 64);
        for word in from / 64.. {
            if bits != 0 {
                return Some(word * 64 + bits.trailing_zeros() as usize);
            }
            bits = *self.buffers.get(word + 1)?;
        }
        None
    }
}

/// What blocks a wavefront.
fn kept_by(wave: &Wave) -> Reason {
    match wave.waits {
        Some(Waits::Count { .. } | Waits::End) if !wave.vector.is_empty() => Reason::VectorMemory,
        Some(Waits::Count { .. } | Waits::End) => Reason::Scalar,
        Some(Waits::Coalescer) => Reason::VectorMemory,
        Some(Waits::Code) => Reason::Code,
        Some(Waits::Barrier) => Reason::Barrier,
        None => match wave.kind_of_wait {
            Busy::Vector => Reason::Vector,
            Busy::Scalar => Reason::Scalar,
            Busy::Local => Reason::Local,
            Busy::Memory => Reason::VectorMemory,
        },
    }
}
