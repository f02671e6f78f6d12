//! The scheduler: each cycle, one SIMD may issue one instruction of each category.

use super::{
    Unit,
    memory::AccessUnderWay,
    wave::{Busy, Waits},
};
use crate::{
    category::{Brief, Category, Special},
    gather::Op,
};
use gcn3::{
    error::{ExecError, Fault},
    exec::{
        Step,
        lds::{LdsAccess, LdsKind},
    },
};
use mem::{LINE, Mask};

impl Unit {
    /// Issues what can be issued in this cycle. Returns whether anything was.
    pub fn issue(&mut self, now: u64) -> Result<bool, Box<ExecError>> {
        if self.slots.next_issue() > now {
            return Ok(false);
        }
        let simds = self.spec.simds;
        let mut simd = self.turn;
        for _ in 0..simds {
            simd = if simd + 1 < simds { simd + 1 } else { 0 };
            if self.slots.first_issue(simd) <= now && self.issue_on(simd, now)? {
                self.turn = simd;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Issues instructions of one SIMD's wavefronts, the oldest first, one of each category.
    fn issue_on(&mut self, simd: usize, now: u64) -> Result<bool, Box<ExecError>> {
        let mut issued = 0_u32;
        let mut place = 0;
        while let Some(&slot) = self.by_simd[simd].get(place) {
            place += 1;
            let category = self.slots.category[slot];
            let taken = issued >> category as u32 & 1 == 1;
            if self.slots.ready_at[slot] > now || taken || !self.is_free(category, simd, now) {
                continue;
            }
            let wave = self.waves[slot].as_mut().expect("a SIMD lists wavefronts that are there");
            if !self.slots.has_code[slot] {
                wave.waits = Some(Waits::Code);
                self.slots.note(slot, wave);
                continue;
            }
            let workgroup = self.groups[wave.group].as_ref().expect("a wavefront belongs to a workgroup");
            let brief = workgroup.running.briefs.at(wave.wavefront.pc);
            issued |= 1 << category as u32;
            let before = self.by_simd[simd].len();
            self.execute(slot, brief, now)?;
            self.executed(slot);
            // A wavefront that has ended is no longer in the list.
            place -= before - self.by_simd[simd].len();
        }
        let free = |category| match category {
            Category::Vector => self.vector_free[simd],
            other => self.unit_free[other as usize],
        };
        self.slots.searched(simd, &self.by_simd[simd], free);
        Ok(issued != 0)
    }

    /// Updates the scheduler's view of a wavefront that has executed an instruction.
    fn executed(&mut self, slot: usize) {
        let Some(wave) = &self.waves[slot] else { return };
        let running = &self.groups[wave.group].as_ref().expect("a wavefront belongs to a workgroup").running;
        self.slots.category[slot] = running.briefs.at(wave.wavefront.pc).category;
        self.slots.has_code[slot] = wave.has_code(&running.kernel().code);
        self.slots.note(slot, wave);
        // Its buffer needs another line if the next instruction is in another one, or if a branch has emptied the
        // buffer.
        let elsewhere = wave.wavefront.pc / LINE as u64 != wave.pc / LINE as u64;
        if wave.fetching.is_none() && (elsewhere || !self.slots.has_code[slot]) {
            self.slots.look_at(slot);
        }
    }

    fn is_free(&self, category: Category, simd: usize, now: u64) -> bool {
        match category {
            Category::Vector => self.vector_free[simd] <= now,
            Category::Scheduler => true,
            other => self.unit_free[other as usize] <= now,
        }
    }

    /// Executes an instruction and sets when its wavefront and its unit are free again.
    fn execute(&mut self, slot: usize, brief: Brief, now: u64) -> Result<(), Box<ExecError>> {
        let spec = &self.spec;
        let wave = self.waves[slot].as_mut().expect("it is about to be stepped");
        let workgroup = self.groups[wave.group].as_mut().expect("a wavefront belongs to a workgroup");
        wave.pc = wave.wavefront.pc;
        if brief.special == Special::End && !wave.has_nothing_outstanding() {
            // Executed when all accesses have been answered.
            wave.waits = Some(Waits::End);
            return Ok(());
        }
        if let Some(limit) = spec.limit.filter(|limit| wave.wavefront.executed >= *limit) {
            return Err(self.located(slot, Fault::Limit(limit)));
        }
        self.counts.wave_instructions.increment();
        self.counts.issued.count(1);
        self.counts.instructions[brief.category as usize].increment();
        workgroup.shared.clock = now;
        let step = wave.wavefront.step(&workgroup.running.kernel().code, &mut workgroup.shared);
        let step = match step {
            Ok(step) => step,
            Err(fault) => return Err(self.located(slot, fault)),
        };
        let decode = spec.decode.0;
        let (after, busy) = match brief.category {
            Category::Vector => {
                let cycles = spec.vector[brief.rate as usize].0;
                self.vector_free[wave.simd] = now + cycles;
                self.vector_until = self.vector_until.max(now + cycles);
                (decode + cycles, Busy::Vector)
            }
            Category::Branch => {
                self.unit_free[Category::Branch as usize] = now + 1;
                if spec.refetch {
                    let line = wave.wavefront.pc & !(mem::LINE as u64 - 1);
                    wave.code = (line, line);
                }
                (decode + spec.branch.0, Busy::Scalar)
            }
            Category::Local => {
                let words = local_cycles(&workgroup.shared.lds.last, spec.local_banks);
                let cycles = words * spec.local_word.0;
                self.counts.lds_conflict_cycles.add(cycles - 1);
                let cycles = cycles.max(spec.local_interval.0);
                self.unit_free[Category::Local as usize] = now + cycles;
                (decode + spec.local.0 + cycles - 1, Busy::Local)
            }
            Category::Scalar | Category::ScalarMemory => {
                self.unit_free[brief.category as usize] = now + 1;
                (decode + spec.scalar.0, Busy::Scalar)
            }
            Category::VectorMemory => {
                self.unit_free[Category::VectorMemory as usize] = now + 1;
                (decode, Busy::Memory)
            }
            Category::Scheduler => (1, Busy::Scalar),
        };
        wave.ready_at = now + after;
        wave.kind_of_wait = busy;
        match brief.special {
            Special::WaitCount { vector, other } if !wave.reached(vector, other) => {
                wave.waits = Some(Waits::Count { vector, other });
            }
            Special::Sleep(cycles) => wave.ready_at = now + u64::from(cycles).max(after),
            Special::InvalidateVector | Special::InvalidateScalar => {
                self.order(slot, brief.special == Special::InvalidateScalar);
                return Ok(());
            }
            _ => {}
        }
        match step {
            Step::Done | Step::Lds => Ok(()),
            Step::Barrier => {
                wave.waits = Some(Waits::Barrier);
                workgroup.at_barrier += 1;
                let group = wave.group;
                self.open_barrier(group, now);
                Ok(())
            }
            Step::End => {
                self.end(slot, now);
                Ok(())
            }
            Step::Scalar(op) => self.ask_scalar(slot, Op::Scalar(op)),
            Step::Mem(op) => {
                wave.waits = Some(Waits::Coalescer);
                let (op, flat) = (Some(Op::Vector(op)), brief.flat);
                let parts = self.spare_parts.pop().unwrap_or_default();
                let number = self.under_way(AccessUnderWay { wave: slot, op, parts, asks: Vec::new(), left: 0, flat });
                self.coalescing.push_back((now + decode + self.spec.coalesce.0, number));
                Ok(())
            }
        }
    }
}

/// Number of words for which an access occupies the banks of the local data share: those of the busiest bank. A word that several
/// lanes read is read once. The banks serve 32 lanes at a time.
fn local_cycles(access: &LdsAccess, banks: u32) -> u64 {
    if access.kind == LdsKind::Permute || access.mask == 0 {
        return 1;
    }
    let banks = banks.min(64);
    let half =
        |first| if are_in_different_banks(access, first, banks) { 1 } else { busiest_bank(access, first, banks) };
    let halves = [0, 32].into_iter().filter(|first| access.mask >> first & 0xffff_ffff != 0);
    halves.map(half).sum()
}

/// Whether each word that the 32 lanes from `first` on access is certainly in a bank of its own: all words together span
/// at most as many words as there are banks, and a word that several lanes access is accessed once.
fn are_in_different_banks(access: &LdsAccess, first: usize, banks: u32) -> bool {
    let mask = (access.mask >> first) as u32;
    let lanes = &access.addresses.0[first..first + 32];
    let (low, high) = match mask {
        u32::MAX => lanes.iter().fold((u32::MAX, 0), |(low, high), address| (low.min(*address), high.max(*address))),
        _ => Mask(mask.into())
            .iter()
            .fold((u32::MAX, 0), |(low, high), lane| (low.min(lanes[lane]), high.max(lanes[lane]))),
    };
    let (low, high) = (i64::from(low), i64::from(high));
    let second = access.second.map_or(0, i64::from);
    let (low, high) = (low.min(low + second), high.max(high + second) + i64::from(access.bytes.max(1)) - 1);
    access.kind != LdsKind::Atomic && low >= 0 && high / 4 - low / 4 < i64::from(banks)
}

/// The number of words of the busiest bank, for the 32 lanes from `first` on. A word counts again if its bank has
/// served four others since.
fn busiest_bank(access: &LdsAccess, first: usize, banks: u32) -> u64 {
    let words = u32::from(access.bytes).div_ceil(4).max(1);
    // A word that several lanes read is read once. Atomic accesses to one word are serialised.
    let together = access.kind != LdsKind::Atomic;
    let of_power = banks.is_power_of_two().then(|| banks - 1);
    let (mut served, mut latest, mut busiest) = ([0_u8; 64], [[0; 4]; 64], 0);
    let mut serve = |address: u32| {
        for word in address / 4..address / 4 + words {
            let bank = of_power.map_or_else(|| word % banks, |mask| word & mask) as usize % 64;
            let (count, latest) = (usize::from(served[bank]), &mut latest[bank]);
            let known = match count {
                _ if !together => false,
                0 => false,
                1 => latest[0] == word,
                _ => latest[..count.min(4)].contains(&word),
            };
            if !known {
                latest[count % 4] = word;
                served[bank] += 1;
                busiest = busiest.max(count + 1);
            }
        }
    };
    let mut before = None;
    for lane in Mask(access.mask >> first & 0xffff_ffff).iter() {
        let address = access.addresses.0[first + lane];
        // Neighbours often read the same words, which lie in different banks if there are four.
        if together && banks >= 4 && before.replace(address) == Some(address) {
            continue;
        }
        serve(address);
        if let Some(distance) = access.second {
            serve(address.wrapping_add_signed(distance));
        }
    }
    busiest as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(addresses: impl Fn(u32) -> u32) -> LdsAccess {
        let mut access = LdsAccess { mask: !0, bytes: 4, ..LdsAccess::default() };
        for lane in 0..64 {
            access.addresses.0[lane as usize] = addresses(lane);
        }
        access
    }

    #[test]
    fn consecutive_words_take_a_cycle_for_each_half_of_the_lanes() {
        assert_eq!(local_cycles(&access(|lane| 4 * lane), 32), 2);
    }

    #[test]
    fn a_word_that_all_read_is_read_once_for_each_half() {
        assert_eq!(local_cycles(&access(|_| 64), 32), 2);
    }

    #[test]
    fn atomic_accesses_to_one_word_are_performed_one_after_the_other() {
        let atomic = |addresses: fn(u32) -> u32| LdsAccess { kind: LdsKind::Atomic, ..access(addresses) };
        assert_eq!(local_cycles(&atomic(|_| 64), 32), 64);
        assert_eq!(local_cycles(&atomic(|lane| 4 * lane), 32), 2);
    }

    #[test]
    fn accesses_known_to_be_in_different_banks_take_one_cycle_when_counted() {
        let mut quick = 0;
        for case in 0..4000_u32 {
            let random =
                |lane: u32, of: u32| (lane + 1).wrapping_mul(case + 7).wrapping_mul(0x9e37_79b9) >> 16 & (of - 1);
            let (stride, scatter) = (case % 5 * 4, [1, 4, 16, 64, 256][case as usize / 5 % 5]);
            let mut access = access(|lane| 512 + stride * lane + (random(lane, scatter) & !3));
            access.mask = [!0, 0xffff_ffff, 0x0f0f_f0f0_1234_5678, 1 << 40][case as usize / 25 % 4];
            access.bytes = [4, 8, 2][case as usize / 100 % 3];
            access.second = [None, Some(4), Some(64), Some(-256)][case as usize / 300 % 4];
            for first in [0, 32] {
                if access.mask >> first & 0xffff_ffff != 0 && are_in_different_banks(&access, first, 32) {
                    assert_eq!(busiest_bank(&access, first, 32), 1, "{access:?}");
                    quick += 1;
                }
            }
        }
        assert!(quick > 500, "{quick}");
    }

    #[test]
    fn words_of_one_bank_are_served_one_after_the_other() {
        assert_eq!(local_cycles(&access(|lane| 128 * lane), 32), 64);
        assert_eq!(local_cycles(&access(|lane| 8 * lane), 32), 4);
    }
}
