//! Coherence protocols, written once as tables.
//!
//! A [`Table`] says for each state and each event what a controller does; [`protocol!`] makes it, with the enums behind it,
//! from a grid that can be held against the paper's.
#![forbid(unsafe_code)]

mod macros;
mod table;

pub use table::{Cell, Table};
