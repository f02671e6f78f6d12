//! Shared objects: their addresses and the states of their blocks.
//!
//! The paper's shared memory manager (`[gmac 4.1 to 4.3]`). Blocks are found by their offset, not by the paper's
//! balanced tree. Objects are registered in one place for the whole process, because a fault reports nothing but an
//! address.

mod block;
mod habit;
mod handover;
mod holders;
mod object;
mod registry;
mod streak;
mod wait;

pub use block::Word;
pub use habit::Habit;
pub use handover::Handover;
pub use holders::{Holders, MOST_DEVICES};
pub use object::{Object, Run};
pub use registry::{Keeper, Registered, Served, fault, find, register, unregister};
pub use streak::Streak;
