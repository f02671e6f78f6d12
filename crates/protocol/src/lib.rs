//! Coherence protocols: written once as tables, checked exhaustively on small systems, and run by the timing model.
//!
//! - A [`Table`] says for each state and each event what a controller does. [`protocol!`] makes it, and the enums of
//!   its labels, from a grid that can be compared with the paper's.
//! - A [`Controller`] says which event a [`Msg`] is to a [`Line`], and what each action does. [`step`] is the only
//!   place where tables are executed: by the checker, and by the caches of the timing model.
//! - [`check`] searches every interleaving of a small system for a state that violates a property.
//!
//! Each table is in the file of its controller: [`vi_l1`], [`wb_l2`], [`wt_l2`], [`memory`], [`adsm`], [`mesi`],
//! [`nmoesi`]. [`catalogue`] names the protocols made of them.
#![forbid(unsafe_code)]

pub mod adsm;
mod capabilities;
pub mod catalogue;
pub mod check;
mod common;
pub mod diagram;
pub mod gtsc;
pub mod halcone;
pub mod hmg;
mod macros;
pub mod memory;
pub mod mesi;
mod message;
pub mod nmoesi;
pub mod orders;
pub mod roles;
mod roster;
mod sharers;
mod stamps;
mod step;
mod table;
pub mod vi_l1;
pub mod wb_claims;
pub mod wb_l2;
pub mod wt_l2;

pub use capabilities::{Capabilities, Labels, absent};
pub use mem::{Block, Mask};
pub use message::{Kind, Lane, Msg, Node, Row};
pub use orders::{WHOLE, concerns, flush_of, flushed_line, is_order, whole_page};
pub use roster::Roster;
pub use sharers::Sharers;
pub use stamps::{FIRST, Stamp, Stamps};
pub use step::{
    Access, Controller, Granted, Impossible, Line, Log, Past, Place, Step, Witness, Work, look, perform, step,
};
pub use table::{Cell, Part, Table};
