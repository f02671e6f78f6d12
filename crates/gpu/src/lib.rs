//! GPUs in time: compute units and the dispatcher that feeds them.
//!
//! What instructions do is said in `gcn3` and nowhere else. A compute unit steps wavefronts, splits what they ask of memory
//! into requests about lines ([`gather`]), and completes their instructions when the answers have come, with the bytes
//! that the modelled memory system returned.
#![forbid(unsafe_code)]

pub mod category;
pub mod command_processor;
pub mod compute_unit;
pub mod dispatcher;
pub mod doorbell;
pub mod gather;
pub mod kernel;
pub mod map;
pub mod resources;

pub use command_processor::{CommandProcessor, Forget, Launch, Recalled, Ticket};
pub use compute_unit::{Caches, Coalescer, ComputeUnit, ComputeUnitSpec, FromDispatcher};
pub use dispatcher::{Dispatcher, DispatcherEnd, DispatcherSpec, Placement, UnitEnd, link};
pub use kernel::Kernel;
pub use map::AddressMap;
