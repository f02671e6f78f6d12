//! What a read may return.
//!
//! In coherent systems: the value of the newest performed store. Only which copies are newest matters, not the number
//! of stores, so values are renamed whenever a store is performed: [`NEWEST`] is what it wrote, [`STALE`] everything
//! older, and [`waiting`] the value of a core's store that is not performed yet. So the search covers any number of
//! stores.
//!
//! In systems whose lines may be stale until the next synchronisation ([`Oracle`]): a core sees its own latest write
//! to a byte, or what another core writes to it in the same work stage. A byte that the core has not written itself
//! may also have its value at the last synchronisation. After a synchronisation, a byte has the last value of one of
//! its writers and no other. So no written byte is lost, and none appears that was not written.
//!
//! Atomic accesses exchange: each writes a value of its own and returns the one it replaced. No two return the same
//! value, and a replaced value is not there after a synchronisation. So no atomic access is lost.

use std::hash::{Hash, Hasher};

/// Maximum cores of a checked system.
const CORES: usize = 8;

/// The value of all stores before the newest.
pub const STALE: u8 = 0;
/// The value of the newest performed store.
pub const NEWEST: u8 = 1;

/// The value of a core's store that has not been performed yet.
pub const fn waiting(core: usize) -> u8 {
    2 + core as u8
}

/// A value's new name after a core's store has been performed.
pub fn after_store(core: usize, value: u8) -> u8 {
    match value {
        NEWEST => STALE,
        value if value == waiting(core) => NEWEST,
        other => other,
    }
}

/// A set of the values 0 to 7.
type Values = u8;

/// The history of one byte, as far as it decides what may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Oracle {
    /// The values it may have had at the last synchronisation.
    settled: Values,
    /// By core: all values it has written since.
    written: [Values; CORES],
    /// By core: the last of those, or 0.
    last: [u8; CORES],
    /// The values of pending atomic accesses.
    modifying: Values,
    /// The values that atomic accesses have replaced.
    replaced: Values,
}

impl Oracle {
    pub fn new(cores: usize) -> Self {
        assert!(cores <= CORES, "a checked system has at most {CORES} cores");
        Self { settled: 1, written: [0; CORES], last: [0; CORES], modifying: 0, replaced: 0 }
    }

    pub fn write(&mut self, core: usize, value: u8) {
        self.written[core] |= 1 << value;
        self.last[core] = value;
    }

    pub fn may_read(&self, core: usize, value: u8) -> bool {
        let others = (0..self.written.len()).filter(|&c| c != core).fold(0, |all, c| all | self.written[c]);
        let own = if self.last[core] == 0 { self.settled } else { 1 << self.last[core] };
        (own | others | self.modifying) >> value & 1 == 1
    }

    /// An atomic access is pending: from now on its value may be read.
    pub fn modify(&mut self, value: u8) {
        self.modifying |= 1 << value;
    }

    /// A core's atomic access that wrote `value` is answered with the value it replaced; returns whether that is
    /// possible.
    pub fn modified(&mut self, core: usize, value: u8, found: u8) -> bool {
        self.modifying &= !(1 << value);
        let may = self.may_read(core, found) && found != value && self.replaced >> found & 1 == 0;
        self.replaced |= 1 << found;
        self.write(core, value);
        may
    }

    pub fn synchronise(&mut self) {
        let last = self.last.iter().filter(|&&value| value != 0).fold(0, |all, value| all | 1 << value);
        if last != 0 {
            self.settled = last & !self.replaced;
        }
        self.written.fill(0);
        self.last.fill(0);
    }

    /// Hashes the history with cores renamed: core `order[i]` becomes core `i`.
    pub fn hash_renamed(&self, order: &[usize], hasher: &mut impl Hasher) {
        (self.settled, self.modifying, self.replaced).hash(hasher);
        order.iter().for_each(|&core| self.hash_core(core, hasher));
    }

    /// Hashes the part of one core.
    pub fn hash_core(&self, core: usize, hasher: &mut impl Hasher) {
        (self.written[core], self.last[core]).hash(hasher);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_sees_its_own_write_and_others_may_see_the_old_value() {
        let mut byte = Oracle::new(2);
        byte.write(0, 1);
        assert!(byte.may_read(0, 1) && !byte.may_read(0, 0));
        assert!(byte.may_read(1, 0) && byte.may_read(1, 1));
    }

    #[test]
    fn two_atomic_accesses_do_not_replace_the_same_value_and_the_last_of_them_stays() {
        let mut byte = Oracle::new(2);
        byte.modify(1);
        byte.modify(2);
        assert!(byte.may_read(0, 2) && byte.may_read(1, 0), "it may have been performed before it is answered");
        assert!(byte.modified(0, 1, 0));
        assert!(!byte.clone().modified(1, 2, 0), "the other has replaced that");
        assert!(byte.modified(1, 2, 1));
        byte.synchronise();
        assert_eq!((0..8).filter(|&value| byte.may_read(0, value)).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn after_synchronisation_only_the_last_write_of_a_writer_may_be_read() {
        let mut byte = Oracle::new(2);
        byte.write(0, 1);
        byte.write(0, 2);
        byte.synchronise();
        assert_eq!((0..8).filter(|&value| byte.may_read(1, value)).collect::<Vec<_>>(), [2]);
    }
}
