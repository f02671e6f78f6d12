//! The words in which every part of cohesim speaks of memory.
//!
//! Addresses and sizes are types, never bare integers across a boundary, so that a virtual address can't be taken for a
//! physical one. Bytes travel with a mask ([`Block`]); [`Request`] and [`Reply`] are what cores and compute units exchange
//! with their first cache; [`Frames`] hold the bytes of a physical memory,
//! which is dealt over channels, banks and homes by an [`Interleave`]; an [`Observation`] is what a run is checked by. A
//! [`WaitingRoom`] holds messages that a line can't take yet; [`Sets`] hold what is found by its address and has limited room.
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
