//! What is reported on real runs.

mod results;
mod statistics;
mod sums;
