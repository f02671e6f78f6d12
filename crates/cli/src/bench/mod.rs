//! `cohesim bench`: how fast the simulator itself is.

pub mod gcn3;
