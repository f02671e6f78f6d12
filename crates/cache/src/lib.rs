//! Timed caches.
//!
//! The protocol decides what happens to a line: each message it receives is one step of its table. A cache adds what
//! a protocol leaves out: limited capacity ([`array`]), queues of waiting messages ([`bank`]), the matching of
//! answers to numbered requests ([`front`]), and timing ([`cache`]). It has no coherence states of its own.
#![forbid(unsafe_code)]

pub mod array;
pub mod bank;
pub mod cache;
pub mod front;
mod lifetimes;

pub use array::Shape;
pub use bank::{Bank, BankSpec, LineWatcher};
pub use cache::{Cache, CacheSpec, Recalled, Requesters, Watcher};
pub use mem::Replacement;
