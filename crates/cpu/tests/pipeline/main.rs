//! The core with hand-made instructions and memories of fixed latency.

mod branches;
mod loads;
mod order;
mod rig;
mod script;
mod stores;
mod structures;
mod threads;
