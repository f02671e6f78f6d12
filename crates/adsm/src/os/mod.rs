//! The services of the operating system: memory that is mapped twice, and notification of accesses to it.
//!
//! The paper's OS abstraction layer (`[gmac 4.1, Fig. 5]`). A shared object's host copy is an anonymous file mapped
//! twice: the program's view, whose pages are opened and closed, and a second, always open mapping that transfers use.

mod backing;
mod engine;
mod futex;
mod signal;
mod stack;
mod uffd;

pub use backing::{Backing, HUGE, View, page_size, round_up};
pub use engine::{Access, Engines, FaultEngine, Part, Protection};
pub(crate) use futex::{futex_wait, futex_wake};
