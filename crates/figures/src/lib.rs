//! The experiments of the papers: which runs they need, and what their results come to beside what the papers report.
//!
//! An [`Experiment`] is a [`Plan`]: runs ([`Job`]), and rows ([`Row`]) that are computed of what they brought. [`conduct`] does
//! the runs, several at a time, and keeps each result in a [`Store`], so that an experiment that was broken off goes on where
//! it was. Nothing here draws: that is `report`'s.
#![forbid(unsafe_code)]

mod conduct;
mod counts;
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
