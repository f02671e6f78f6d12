//! Results of runs as a local web page (`cohesim view`).
//!
//! The page reads what runs have written: the folders of `--out` ([`library`] finds them) and the store of `repro`.
//! Nothing here simulates or knows a machine: a run's statistics, its summary and its plan are files. [`server`]
//! answers requests for JSON and for the page itself, whose files are part of the program; the page loads nothing from
//! the network.
//!
//! [`live`] serves a page about a run or a sweep in progress (`cohesim run --live`, `cohesim sweep --live`).
//!
//! It is for one person on one computer. It listens on the loopback address only, refuses requests whose `Host` or
//! `Origin` is not its own address, changes nothing, and shows only what lies in the folders it was started with.
#![forbid(unsafe_code)]

mod assets;
mod elements;
mod file;
mod library;
mod live;
mod server;
mod statistics;
mod timeline;
mod wires;

pub use live::{InProgress, Live, serve_sweep};
pub use server::{Experiment, Recall, Server, View};
