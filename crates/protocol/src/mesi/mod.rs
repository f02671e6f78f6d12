//! MESI for a CPU and a GPU on one chip, with a directory: M2S-CGM (`[giles 3.2.6]`).
//!
//! A core has first-level caches ([`l1`]) over a second-level cache ([`l2`]), which is one of the caches that the
//! [`directory`] keeps track of. The paper's tables say what a request does; here they also say what every answer,
//! forward, invalidation, eviction and refusal does in every state. Where the paper leaves that open or is wrong,
//! `docs/protocols/mesi.md` says what was decided.

use crate::{
    Table,
    memory::Memory,
    orders as tables,
    roles::{Parameters, Role, Seat},
};
use std::sync::Arc;

mod actions;
pub mod directory;
pub mod gpu_l2;
pub mod l1;
pub mod l1d;
pub mod l1i;
pub mod l1v;
pub mod l2;
pub mod l3;
pub mod mc;
mod systems;

pub use systems::{
    apu, apu_alone, apu_shares, cores, fetch_apart, fetch_no_llc, fetches, gpu, gpu_alone, gpu_no_llc, no_llc, recalled,
};

/// The controllers in a machine.
pub fn seats(role: Role, parameters: &Parameters) -> Option<Seat> {
    Some(match role {
        Role::L1 => Arc::new(l1::L1V),
        Role::L2 if parameters.claims => Arc::new(gpu_l2::GpuL2::READING),
        Role::L2 => Arc::new(gpu_l2::GpuL2::SHARING),
        Role::Home => Arc::new(Memory),
        Role::CoreData => Arc::new(l1::L1D),
        Role::CoreCode => Arc::new(l1::L1I),
        Role::CoreL2 => Arc::new(l2::L2),
        Role::LastLevel => Arc::new(directory::L3),
        Role::Directory => Arc::new(directory::MC),
        _ => return None,
    })
}

/// The controllers in a machine whose GPU's second-level cache gives lines to one vector cache at a time. There is none
/// above a forward-backward table.
pub fn seats_alone(role: Role, parameters: &Parameters) -> Option<Seat> {
    match role {
        Role::L2 if parameters.claims => None,
        Role::L2 => Some(Arc::new(gpu_l2::GpuL2::ALONE)),
        other => seats(other, parameters),
    }
}

/// The tables of orders.
pub fn orders(role: Role, parameters: &Parameters) -> Option<&'static Table> {
    match role {
        Role::L1 | Role::CoreData | Role::CoreCode => Some(&tables::orders_l1_coherent::TABLE),
        Role::L2 if parameters.recalls => Some(&tables::orders_recalled::TABLE),
        Role::LastLevel => Some(&tables::orders_recalled::TABLE),
        Role::L2 | Role::CoreL2 => Some(&tables::orders_coherent::TABLE),
        _ => None,
    }
}
