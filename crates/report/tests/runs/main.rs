//! What is reported on real runs.

mod collaboration;
mod cpu;
mod results;
mod statistics;
mod sums;
