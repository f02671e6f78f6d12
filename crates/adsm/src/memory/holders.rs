//! Which devices have a block as it was last written.
//!
//! The tables know one accelerator. With several, a block's state is the host's side of all of them, and this set tells them
//! apart: a device outside it has an old copy, or none. It is empty while the host alone has the newest bytes, and never while the
//! host's own don't count. Changed by whoever has locked the block.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many devices a runtime can have.
pub const MOST_DEVICES: usize = u64::BITS as usize;

/// See the module.
#[derive(Debug)]
pub struct Holders(AtomicU64);

impl Holders {
    pub fn new(device: usize) -> Self {
        Self(AtomicU64::new(1 << device))
    }

    /// The host has written it.
    pub fn none(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// A device may write it, or has got what only the host had.
    pub fn only(&self, device: usize) {
        self.0.store(1 << device, Ordering::Relaxed);
    }

    /// A device has got a copy.
    pub fn add(&self, device: usize) {
        self.0.fetch_or(1 << device, Ordering::Relaxed);
    }

    pub fn has(&self, device: usize) -> bool {
        self.set() & 1 << device != 0
    }

    pub fn is_only(&self, device: usize) -> bool {
        self.set() == 1 << device
    }

    /// The set as bits.
    pub fn set(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// The devices, `first` before the others.
    pub fn beginning_with(&self, first: usize) -> impl Iterator<Item = usize> + use<> {
        let set = self.set();
        let others = (0..MOST_DEVICES).filter(move |&device| device != first);
        std::iter::once(first).chain(others).filter(move |device| set & 1 << device != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_asked_for_comes_first_if_it_has_the_block() {
        let holders = Holders::new(2);
        holders.add(5);
        holders.add(0);
        assert_eq!(holders.beginning_with(5).collect::<Vec<_>>(), [5, 0, 2]);
        assert_eq!(holders.beginning_with(3).collect::<Vec<_>>(), [0, 2, 5]);
        holders.none();
        assert_eq!(holders.beginning_with(5).count(), 0);
    }
}
