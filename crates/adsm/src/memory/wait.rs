//! What a block's word is made of: the test of every interleaving (`tests/loom.rs`) puts loom's in place of these.

pub(super) use crate::os::{futex_wait as sleep, futex_wake as wake};
pub(super) use std::sync::atomic::{AtomicU32, Ordering};
