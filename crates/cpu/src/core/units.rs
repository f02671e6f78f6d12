//! Functional units and their timing.

use crate::{CoreSpec, Timing};
use x86::trace::Class;

/// Units of one kind.
struct Pool {
    count: usize,
    latency: u64,
    interval: u64,
    /// For pipelined units: how many have accepted work in `cycle`.
    taken: usize,
    cycle: u64,
    /// For the others: when each unit can accept the next micro-operation.
    free_at: Vec<u64>,
}

impl Pool {
    fn new(timing: &Timing) -> Self {
        let (latency, interval) = (timing.latency.0, timing.interval.0);
        Self { count: timing.count, latency, interval, taken: 0, cycle: 0, free_at: vec![0; timing.count] }
    }

    /// Number of free units.
    fn free(&self, now: u64) -> usize {
        self.free_at.iter().filter(|free_at| **free_at <= now).count()
    }

    /// Occupies a free unit, if there is one.
    fn take(&mut self, now: u64) -> bool {
        if self.interval == 1 {
            if self.cycle != now {
                (self.cycle, self.taken) = (now, 0);
            }
            self.taken += 1;
            return self.taken <= self.count;
        }
        match self.free_at.iter_mut().find(|free_at| **free_at <= now) {
            Some(free_at) => *free_at = now + self.interval,
            None => return false,
        }
        true
    }
}

/// The pool of address generation units, and the pool for work that needs no unit and takes one cycle.
pub const ADDRESS: u8 = 0;
pub const NO_UNIT: u8 = 1;

/// All units of a core.
pub struct Units {
    pools: Vec<Pool>,
    /// The pool for each class.
    of_class: Vec<u8>,
    /// The first cycle in which a micro-operation can be issued that was refused in this one.
    pub refused_until: u64,
}

impl Units {
    pub fn new(spec: &CoreSpec) -> Self {
        let nothing = Timing::new(spec.issue_width, 1, 1);
        let timings = [&spec.address, &nothing].into_iter().chain(spec.units.iter().map(|unit| &unit.timing));
        let mut of_class = vec![NO_UNIT; Class::System as usize + 1];
        for (number, unit) in spec.units.iter().enumerate() {
            for class in &unit.does {
                of_class[*class as usize] = NO_UNIT + 1 + number as u8;
            }
        }
        Self { pools: timings.map(Pool::new).collect(), of_class, refused_until: u64::MAX }
    }

    /// The pool that executes this class of work.
    pub fn pool(&self, class: Class) -> u8 {
        self.of_class[class as usize]
    }

    /// Issues work to a free unit of a pool, if there is one, and returns the cycle in which it is done.
    pub fn take(&mut self, pool: u8, now: u64) -> Option<u64> {
        let pool = &mut self.pools[pool as usize];
        if pool.take(now) {
            return Some(now + pool.latency);
        }
        self.refused_until = self.refused_until.min(now + 1);
        None
    }

    /// The pools, and whether their units are not pipelined. Micro-operations for those wait in separate lists.
    pub fn slow(&self) -> impl Iterator<Item = (usize, bool)> {
        self.pools.iter().map(|pool| pool.interval > 1).enumerate()
    }

    /// Number of free units of a pool that is not pipelined. If there is none, records when one will be free.
    pub fn free(&mut self, pool: usize, now: u64) -> usize {
        let free = self.pools[pool].free(now);
        if free == 0 {
            let first = self.pools[pool].free_at.iter().fold(u64::MAX, |first, free_at| first.min(*free_at));
            self.refused_until = self.refused_until.min(first);
        }
        free
    }

    /// The longest latency.
    pub fn longest(&self) -> u64 {
        self.pools.iter().map(|pool| pool.latency).max().unwrap_or(1)
    }
}

/// A timing wheel: which micro-operations continue in which cycle.
pub struct Wheel {
    slots: Vec<Vec<(u8, u64)>>,
    /// Number of entries in all slots.
    pending: usize,
}

impl Wheel {
    /// A wheel for events at most `longest` cycles ahead.
    pub fn new(longest: u64) -> Self {
        Self { slots: vec![Vec::new(); (longest as usize + 1).next_power_of_two()], pending: 0 }
    }

    fn slot(&mut self, cycle: u64) -> &mut Vec<(u8, u64)> {
        let last = self.slots.len() as u64 - 1;
        &mut self.slots[(cycle & last) as usize]
    }

    /// Schedules a micro-operation of a hardware thread for `cycle`.
    pub fn put(&mut self, cycle: u64, thread: usize, op: u64) {
        self.slot(cycle).push((thread as u8, op));
        self.pending += 1;
    }

    /// Swaps the entries of this cycle for an empty list.
    pub fn take(&mut self, now: u64, list: &mut Vec<(u8, u64)>) {
        if self.pending > 0 {
            std::mem::swap(self.slot(now), list);
            self.pending -= list.len();
        }
    }

    /// The next cycle after this one that has an entry.
    pub fn next(&mut self, now: u64) -> Option<u64> {
        if self.pending == 0 {
            return None;
        }
        (now + 1..=now + self.slots.len() as u64).find(|cycle| !self.slot(*cycle).is_empty())
    }
}
