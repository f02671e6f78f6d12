//! The types in which all crates of cohesim describe memory.
//!
//! Addresses and sizes are types, never bare integers across a boundary, so that a virtual address can't be taken for a
//! physical one.
//!
//! - [`Block`]: bytes with a mask, the form in which data travels.
//! - [`Request`] and [`Reply`]: what cores and compute units exchange with their first-level cache.
//! - [`Frames`]: the bytes of a physical memory; [`Interleave`] distributes it over channels, banks and homes.
//! - [`Observation`]: what a run reports to its checker.
//! - [`WaitingRoom`]: messages that a line can't accept yet.
//! - [`Sets`]: set-associative storage for entries that are found by address.
#![forbid(unsafe_code)]

mod address;
mod atomic;
mod block;
mod frames;
mod interleave;
mod observation;
mod random;
mod replacement;
mod request;
mod sets;
mod waiting;
mod zone;

pub use address::{Bytes, LineAddr, PAGE, PhysAddr, VirtAddr};
pub use atomic::{Atomic, AtomicOp};
pub use block::{Block, Mask};
pub use frames::{FRAME, FrameId, Frames};
pub use interleave::{Interleave, Share, Stride};
pub use observation::{Observation, Observer, Seen, Stamp, era_and_time, stamp_of};
pub use random::SplitMix64;
pub use replacement::{Replacement, Victims};
pub use request::{Access, Asid, LINE, Reply, Request, RequestId, Scope};
pub use sets::{Sets, Ways};
pub use waiting::WaitingRoom;
pub use zone::{ZONE, Zone};
