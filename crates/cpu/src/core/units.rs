//! Functional units, and when what they do is done.

use crate::{CoreSpec, Timing};
use x86::trace::Class;

/// Units that do the same.
struct Pool {
    count: usize,
    latency: u64,
    interval: u64,
    /// Of units that take something in every cycle: how many have, in which cycle.
    taken: usize,
    cycle: u64,
    /// Of others: when each of them can take the next.
    free_at: Vec<u64>,
}

impl Pool {
    fn new(timing: &Timing) -> Self {
        let (latency, interval) = (timing.latency.0, timing.interval.0);
        Self { count: timing.count, latency, interval, taken: 0, cycle: 0, free_at: vec![0; timing.count] }
    }

    /// How many can take something now.
    fn free(&self, now: u64) -> usize {
        self.free_at.iter().filter(|free_at| **free_at <= now).count()
    }

    /// Gives something to a unit, if one is free.
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

/// The pool of those who find addresses, and of what needs no unit and takes a cycle.
pub const ADDRESS: u8 = 0;
pub const NO_UNIT: u8 = 1;

/// All units of a core.
pub struct Units {
    pools: Vec<Pool>,
    /// The pool for each class.
    of_class: Vec<u8>,
    /// The first cycle in which somebody can be issued who could not be in this.
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

    /// Who does this class of work.
    pub fn pool(&self, class: Class) -> u8 {
        self.of_class[class as usize]
    }

    /// Gives work to a unit of a pool, if one is free, and says when it is done.
    pub fn take(&mut self, pool: u8, now: u64) -> Option<u64> {
        let pool = &mut self.pools[pool as usize];
        if pool.take(now) {
            return Some(now + pool.latency);
        }
        self.refused_until = self.refused_until.min(now + 1);
        None
    }

    /// Pools whose units are not pipelined: what waits for them has a list of its own.
    pub fn slow(&self) -> impl Iterator<Item = (usize, bool)> {
        self.pools.iter().map(|pool| pool.interval > 1).enumerate()
    }

    /// How many units of a slow pool can take something now. If none can, it is noted when one will.
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

/// What will be done when: a row of cycles that goes round.
pub struct Wheel {
    slots: Vec<Vec<(u8, u64)>>,
    /// How much is to be done altogether.
    pending: usize,
}

impl Wheel {
    /// For what is at most so many cycles ahead.
    pub fn new(longest: u64) -> Self {
        Self { slots: vec![Vec::new(); (longest as usize + 1).next_power_of_two()], pending: 0 }
    }

    fn slot(&mut self, cycle: u64) -> &mut Vec<(u8, u64)> {
        let last = self.slots.len() as u64 - 1;
        &mut self.slots[(cycle & last) as usize]
    }

    /// A micro-operation of a hardware thread gets on in this cycle.
    pub fn put(&mut self, cycle: u64, thread: usize, op: u64) {
        self.slot(cycle).push((thread as u8, op));
        self.pending += 1;
    }

    /// Swaps what gets on now for an empty list.
    pub fn take(&mut self, now: u64, list: &mut Vec<(u8, u64)>) {
        if self.pending > 0 {
            std::mem::swap(self.slot(now), list);
            self.pending -= list.len();
        }
    }

    /// The first cycle after this one in which something gets on.
    pub fn next(&mut self, now: u64) -> Option<u64> {
        if self.pending == 0 {
            return None;
        }
        (now + 1..=now + self.slots.len() as u64).find(|cycle| !self.slot(*cycle).is_empty())
    }
}
