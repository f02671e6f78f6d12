//! The Rust interface: shared slices, kernels, calls.

mod call;
mod shared;

pub use call::{Call, Dim, InFlight, Kernel};
pub use shared::{Pod, Shared};
