//! The bytes of a channel of memory.

use mem::{Frames, PhysAddr, Share};
use std::{
    rc::Rc,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The bytes of a channel, by address within it. Clones share the bytes: a memory has one while it runs, and its
/// builder may read and write through another while the machine is stopped.
#[derive(Clone, Default)]
pub struct Store(Arc<Mutex<Frames>>);

impl Store {
    pub fn new(frames: Frames) -> Self {
        Self(Arc::new(Mutex::new(frames)))
    }

    pub fn lock(&self) -> MutexGuard<'_, Frames> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the bytes out and leaves zeros.
    pub fn take(&self) -> Frames {
        std::mem::take(&mut *self.lock())
    }
}

/// Bytes that another component in the memory's partition holds and also uses: those of an external host.
pub trait HostBytes {
    fn read(&self, at: PhysAddr, bytes: &mut [u8]);
    fn write(&self, at: PhysAddr, bytes: &[u8]);
}

/// The location of a channel's bytes.
#[derive(Clone)]
pub enum Backing {
    Own(Store),
    /// In the host's memory, at the global addresses of this share.
    Host(Rc<dyn HostBytes>, Share),
}

impl From<Store> for Backing {
    fn from(store: Store) -> Self {
        Self::Own(store)
    }
}

impl Backing {
    /// Copies bytes out, from an address within the channel.
    pub fn read(&self, inside: PhysAddr, bytes: &mut [u8]) {
        match self {
            Self::Own(store) => store.lock().read(inside, bytes),
            Self::Host(host, share) => host.read(share.outside(inside), bytes),
        }
    }

    /// Copies bytes in, to an address within the channel.
    pub fn write(&self, inside: PhysAddr, bytes: &[u8]) {
        match self {
            Self::Own(store) => store.lock().write(inside, bytes),
            Self::Host(host, share) => host.write(share.outside(inside), bytes),
        }
    }
}
