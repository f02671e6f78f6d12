//! The timing of GPUs: compute units and the dispatcher that feeds them.
//!
//! The semantics of instructions are in `gcn3` and nowhere else. A compute unit steps wavefronts, splits their accesses
//! into requests for lines ([`gather`]), and completes an instruction when its replies have arrived, with the bytes
//! that the modelled memory system returned.
#![forbid(unsafe_code)]

pub mod category;
pub mod command_processor;
pub mod compute_unit;
pub mod dispatcher;
pub mod doorbell;
mod finder;
pub mod gather;
pub mod kernel;
pub mod map;
pub mod resources;

pub use category::Rate;
pub use command_processor::{CommandProcessor, Forget, Launch, Recalled, Ticket};
pub use compute_unit::{Caches, Coalescer, ComputeUnit, ComputeUnitSpec, FromDispatcher};
pub use dispatcher::{Dispatcher, DispatcherEnd, DispatcherSpec, Placement, UnitEnd, WriteBack, link};
pub use kernel::Kernel;
pub use map::AddressMap;
