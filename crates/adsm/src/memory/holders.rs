//! The set of devices that have the newest version of a block.
//!
//! The tables know one accelerator. With several devices, a block's state describes the host's side towards all of
//! them, and this set distinguishes them: a device outside it has an old copy, or none. The set is empty while only the
//! host has the newest bytes, and never empty while the host's copy is invalid. It is only changed by the thread that
//! has locked the block.

use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum number of devices of a runtime.
pub const MOST_DEVICES: usize = u64::BITS as usize;

/// The set of holders of a block.
#[derive(Debug)]
pub struct Holders(AtomicU64);

impl Holders {
    pub fn new(device: usize) -> Self {
        Self(AtomicU64::new(1 << device))
    }

    /// Called when the host has written the block.
    pub fn none(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Called when a device may write the block, or has received what only the host had.
    pub fn only(&self, device: usize) {
        self.0.store(1 << device, Ordering::Relaxed);
    }

    /// Called when a device has received a copy.
    pub fn add(&self, device: usize) {
        self.0.fetch_or(1 << device, Ordering::Relaxed);
    }

    pub fn has(&self, device: usize) -> bool {
        self.set() & 1 << device != 0
    }

    pub fn is_only(&self, device: usize) -> bool {
        self.set() == 1 << device
    }

    /// The set as a bit mask.
    pub fn set(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// The devices in the set, `first` before the others.
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
    fn the_requested_device_comes_first_if_it_has_the_block() {
        let holders = Holders::new(2);
        holders.add(5);
        holders.add(0);
        assert_eq!(holders.beginning_with(5).collect::<Vec<_>>(), [5, 0, 2]);
        assert_eq!(holders.beginning_with(3).collect::<Vec<_>>(), [0, 2, 5]);
        holders.none();
        assert_eq!(holders.beginning_with(5).count(), 0);
    }
}
