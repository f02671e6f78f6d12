//! The checker: explores every interleaving of a small system, and finds the shortest trace to a violation.
//!
//! A [`System`] is a few connected cores, caches and a memory. [`Check`] makes it something to [`Explore`]: its
//! states are [`World`]s, its actions [`Move`]s. [`search`](search::search) explores them breadth first. It treats
//! states that differ only in the names of equal caches as one, and keeps a 64-bit fingerprint of each. With 10
//! million states, the probability that two share a fingerprint, so that a state is missed, is below 1 in 100,000.

mod chart;
mod essence;
mod explore;
mod fingerprint;
mod model;
mod mutants;
mod oracle;
mod report;
mod search;
mod system;
mod walk;
mod world;

pub use explore::{Explore, Invariant};
pub use model::{Check, Move};
pub use mutants::{Ground, Mutant, Survivor, Trial, Walks, mutants, try_mutants};
pub use oracle::NEWEST;
pub use report::{Coverage, Limits, Property, Report, check, check_watched};
pub use search::{Found, Progress, Run, Violation, search};
pub use system::{BYTES, Clocks, Horizon, Member, Network, Stage, System};
pub use walk::walk;
pub use world::{Trouble, World};
