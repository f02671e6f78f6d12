//! Timed memories: homes of lines, and the DRAM behind them.
#![forbid(unsafe_code)]

mod device;
mod dram;
mod home;
mod level;
mod mapping;
mod memory;
#[cfg(test)]
mod oracle;
mod room;
mod scheduler;
mod standard;
pub mod standards;
mod store;

pub use dram::{DramSpec, Order, Page};
pub use home::{Changed, Home, Served, Touched};
pub use level::{Access, BlockWatcher, Directory, Extent, Level, LevelSpec};
pub use mapping::{BadMapping, Mapping};
pub use memory::{Beside, FixedSpec, Memory, MemorySpec, Sides, Timing, Watcher};
pub use room::RoomSpec;
pub use scheduler::{MOST_BANKS, Scheduler, Tally};
pub use standard::{Standard, Timings};
pub use store::{Backing, HostBytes, Store};
