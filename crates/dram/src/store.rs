//! The bytes of a channel of memory.

use mem::{Frames, PhysAddr, Share};
use std::{
    rc::Rc,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The bytes of a channel, as they lie within it. Clones are handles to the same bytes: a memory has one while it runs, and
/// whoever built it may read and write by another while the machine rests.
#[derive(Clone, Default)]
pub struct Store(Arc<Mutex<Frames>>);

impl Store {
    pub fn new(frames: Frames) -> Self {
        Self(Arc::new(Mutex::new(frames)))
    }

    pub fn lock(&self) -> MutexGuard<'_, Frames> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the bytes out; zeros are left.
    pub fn take(&self) -> Frames {
        std::mem::take(&mut *self.lock())
    }
}

/// Bytes that something else in the partition of a memory holds, and uses, too: those of a host outside.
pub trait HostBytes {
    fn read(&self, at: PhysAddr, bytes: &mut [u8]);
    fn write(&self, at: PhysAddr, bytes: &[u8]);
}

/// Where the bytes of a channel are.
#[derive(Clone)]
pub enum Backing {
    Own(Store),
    /// At the addresses that this share has outside of the channel.
    Host(Rc<dyn HostBytes>, Share),
}

impl From<Store> for Backing {
    fn from(store: Store) -> Self {
        Self::Own(store)
    }
}

impl Backing {
    /// Copies bytes out, from where they lie within the channel.
    pub fn read(&self, inside: PhysAddr, bytes: &mut [u8]) {
        match self {
            Self::Own(store) => store.lock().read(inside, bytes),
            Self::Host(host, share) => host.read(share.outside(inside), bytes),
        }
    }

    /// Copies bytes in.
    pub fn write(&self, inside: PhysAddr, bytes: &[u8]) {
        match self {
            Self::Own(store) => store.lock().write(inside, bytes),
            Self::Host(host, share) => host.write(share.outside(inside), bytes),
        }
    }
}
