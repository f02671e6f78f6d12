//! Decoded code.

use crate::Memory;
use std::marker::PhantomData;

/// The code of one address space, decoded. All threads of a process may share it.
pub struct Blocks<M: Memory> {
    memory: PhantomData<fn(M)>,
}

impl<M: Memory> Blocks<M> {
    pub fn new() -> Self {
        Blocks { memory: PhantomData }
    }
}

impl<M: Memory> Default for Blocks<M> {
    fn default() -> Self {
        Self::new()
    }
}
