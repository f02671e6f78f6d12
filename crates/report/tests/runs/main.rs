//! Reports on real runs.

mod collaboration;
mod cpu;
mod results;
mod statistics;
mod sums;
