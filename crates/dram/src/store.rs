//! The bytes of a channel of memory.

use mem::Frames;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
