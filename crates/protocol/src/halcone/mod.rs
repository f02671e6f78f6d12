//! HALCONE: coherence of many GPUs over one memory by logical time (`[halcone 3.2, algorithms 1-5]`).
//!
//! No cache is told to invalidate a line. Memory grants a line on a lease of logical time, and a write gets a time
//! after every lease granted before. A cache reads a line only until its own time has passed the end of the lease.
//! [`halcone_l1`] and [`halcone_l2`] each have a time of their own, `cts`; memory keeps the end of the last lease of
//! each line in a time-stamp unit ([`tsu`]). `docs/protocols/halcone.md` lists what the text leaves open or gets wrong.

use crate::{
    Table, orders as tables,
    roles::{Parameters, Role, Seat},
};
use std::sync::Arc;

mod caches;
mod figures;
mod memory;
mod storage;
mod systems;

pub use caches::{HalconeL1, HalconeL2, halcone_l1, halcone_l2};
pub use memory::{Tsu, tsu};
pub use storage::storage;
pub use systems::{atomics, atomics_later, banks, forget, gpus, one_gpu, one_gpu_atomics, overflow};

/// The controllers in a machine.
pub fn seats(role: Role, parameters: &Parameters) -> Option<Seat> {
    Some(match role {
        Role::L1 => Arc::new(HalconeL1),
        Role::L2 => Arc::new(HalconeL2),
        Role::Home => Arc::new(Tsu {
            read_lease: parameters.read_lease,
            write_lease: parameters.write_lease,
            last: parameters.last_time(),
        }),
        _ => return None,
    })
}

/// The tables of orders.
pub fn orders(role: Role, _: &Parameters) -> Option<&'static Table> {
    match role {
        Role::L1 => Some(&tables::orders_l1_raised::TABLE),
        Role::L2 => Some(&tables::orders_l2_raised::TABLE),
        Role::Home => Some(&tables::orders_home::TABLE),
        _ => None,
    }
}
