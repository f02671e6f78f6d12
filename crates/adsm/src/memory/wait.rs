//! The primitives of a block's word. The test of all interleavings (`tests/loom.rs`) replaces them by loom's.

pub(super) use crate::os::{futex_wait as sleep, futex_wake as wake};
pub(super) use std::sync::atomic::{AtomicU32, Ordering};
