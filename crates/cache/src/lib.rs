//! Caches in time.
//!
//! What a cache does with a line is the affair of its protocol, which answers every message by a step. A cache adds what a
//! protocol does not know: room, which is scarce ([`array`]); messages that must wait ([`bank`]); requesters who want an
//! answer under a number ([`front`]); and time ([`cache`]). It has no states of its own.
#![forbid(unsafe_code)]

pub mod array;
pub mod bank;
pub mod cache;
pub mod front;

pub use array::Shape;
pub use bank::{Bank, BankSpec, LineWatcher};
pub use cache::{Cache, CacheSpec, Recalled, Requesters, Watcher};
pub use mem::Replacement;
