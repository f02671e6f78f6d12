//! The bytes of a memory, which those who made it can look at while nobody uses it.

use mem::Frames;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The bytes of a channel, as they lie within it. Clones are handles to the same bytes.
#[derive(Clone, Default)]
pub struct Store(Arc<Mutex<Frames>>);

impl Store {
    /// The bytes; whoever else wants them waits.
    pub fn frames(&self) -> MutexGuard<'_, Frames> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
