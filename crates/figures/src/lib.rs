//! The experiments of the papers: the runs they need, and the measured figures beside the papers'.
//!
//! An [`Experiment`] makes a [`Plan`]: runs ([`Job`]), and rows ([`Row`]) computed from their results. [`conduct`]
//! executes the runs, several at a time, and keeps each result in a [`Store`], so that an interrupted experiment can
//! continue. Drawing is the task of `report`.
#![forbid(unsafe_code)]

mod conduct;
mod counts;
pub mod designs;
mod experiment;
mod experiments;
mod findings;
mod job;
pub mod native;
mod run;
mod store;

pub use conduct::{Conductor, Event, Missing, Recalled, Results, State, conduct, recall};
pub use experiment::{Experiment, Options, Plan, Size};
pub use experiments::{ALL, find};
pub use findings::{Findings, Row, geomean, mean};
pub use job::{Job, Measured};
pub use run::{RunError, run};
pub use store::{Store, StoreError};
