//! G-TSC: coherence by the logical time of compute units (`[halcone 2.2]`).
//!
//! Each compute unit has a logical time, `warpts`. Its requests carry that time, and each answer brings the time at
//! which the access took place, to which the unit then advances. The home of a line grants it on a lease that ends
//! after the reader's time, and a write takes place after every lease. A reader whose lease has ended says which
//! version it holds; if that is still the newest, the home answers with a later lease and no data.
//!
//! The text describes one GPU, whose L2 is the home ([`gtsc_home`]). For several GPUs over one memory it names one
//! extension (`[halcone 3]`): timestamps for every line of memory. There memory is the home ([`gtsc_memory`]), and
//! the L2s read on leases as the L1s do ([`gtsc_l2`]). `docs/protocols/gtsc.md` lists what else the text leaves open.

use crate::{
    Table, orders as tables,
    roles::{Parameters, Role, Seat},
};
use std::sync::Arc;

mod caches;
mod examples;
mod home;
mod memory;
mod systems;

pub use caches::{GtscL1, GtscL2, gtsc_l1, gtsc_l2};
pub use home::{GtscHome, gtsc_home};
pub use memory::{GtscMemory, gtsc_memory};
pub use systems::{atomics, banks, forget, gpus, one_gpu, one_gpu_atomics, one_gpu_overflow, overflow, shared_l2};

/// The controllers in a machine with any number of GPUs: memory is the home of all lines.
pub fn seats(role: Role, parameters: &Parameters) -> Option<Seat> {
    Some(match role {
        Role::L1 => Arc::new(GtscL1),
        Role::L2 => Arc::new(GtscL2),
        Role::Home => Arc::new(GtscMemory { lease: parameters.read_lease, last: parameters.last_time() }),
        _ => return None,
    })
}

/// The tables of orders.
pub fn orders(role: Role, _: &Parameters) -> Option<&'static Table> {
    match role {
        Role::L1 => Some(&tables::orders_l1_told::TABLE),
        Role::L2 => Some(&tables::orders_l2_told::TABLE),
        Role::Home => Some(&tables::orders_home::TABLE),
        _ => None,
    }
}
