//! NMOESI in a unified memory hierarchy (UMH): caches, memories of GPUs and the host's memory are levels of one
//! hierarchy (`[umh 4, 5]`, Table II).
//!
//! A cache ([`l1`], [`wt`], [`l2`]) asks the level below for a line to read (`Get`) or to write (`GetX`). The memory of
//! a GPU is a cache of blocks of several lines: its directory is [`smd`], its bytes are in a [`store`]. The host's
//! memory is built in this way, too, with directory [`hmd`]. A store that need not be coherent leaves its bytes in
//! state N, marked in a mask, while other copies exist. When a requester then wants to write the line, all those bytes
//! are sent down and merged.
//!
//! **The rule that makes it correct on an unordered network:** bytes travel down only in answers to probes (`Inval`,
//! `Downgrade`); a probe is answered without waiting for any level below; and a grant that arrives after a probe was
//! answered is not used, but requested again. `docs/protocols/nmoesi.md` lists what the paper leaves
//! open or gets wrong.

use crate::{
    Table, orders as tables,
    roles::{Parameters, Role, Seat},
};
use std::sync::Arc;

mod actions;
pub mod hmd;
pub mod l1;
pub mod l2;
pub mod smd;
mod storage;
pub mod store;
mod systems;
mod whole;
pub mod wt;

mod fair;
mod figures;

pub use storage::storage;
pub use systems::{
    beside_mixed, beside_n_stores, beside_stores, beside_through, block, block_apart, block_cpu, block_home, claim,
    claim_back, claim_owned, claim_through, cpu_lines, final_flush, final_flush_apart, kept, kept_claims, l2_claims,
    l2_n_stores, l2_stores, l2_through, mixed, n_stores, ordered, owned_by_core, owned_cores, owned_lines, owned_loads,
    peers, peers_cpu, stores, taken_n_stores, taken_stores,
};
pub use whole::{
    lone_gpu, three_gpus, three_stores, two_gpus, whole_back, whole_coarse, whole_mixed, whole_stores, whole_through,
};

/// The controllers for a machine whose first-level caches write through.
pub fn seats(role: Role, parameters: &Parameters) -> Option<Seat> {
    let &Parameters { lines, peer_transfer: peer, grain, releases_home, singles, .. } = parameters;
    Some(match role {
        Role::L1 => Arc::new(wt::WriteThrough { grain }),
        Role::L2 => Arc::new(l2::L2 { owns: false }),
        Role::GpuMemory => Arc::new(smd::Smd { lines, releases_home }),
        Role::HostMemory => Arc::new(hmd::Hmd { lines, singles, owns: true, peer }),
        Role::Store => Arc::new(store::Store),
        Role::CoreData => Arc::new(l1::L1 { grain: None, stores: true }),
        Role::CoreCode => Arc::new(l1::L1 { grain: None, stores: false }),
        Role::CoreL2 => Arc::new(l2::L2 { owns: false }),
        Role::LastLevel => Arc::new(l2::L2 { owns: true }),
        _ => return None,
    })
}

/// Variant of [`seats`] for first-level caches that write back.
pub fn seats_written_back(role: Role, parameters: &Parameters) -> Option<Seat> {
    match role {
        Role::L1 => Some(Arc::new(l1::L1 { grain: Some(parameters.grain), stores: true })),
        _ => seats(role, parameters),
    }
}

/// The tables of orders for each role.
pub fn orders(role: Role, _: &Parameters) -> Option<&'static Table> {
    match role {
        Role::L1 => Some(&tables::orders_l1::TABLE),
        Role::L2 => Some(&tables::orders_passed_on::TABLE),
        Role::GpuMemory => Some(&tables::orders_level::TABLE),
        Role::CoreData | Role::CoreCode => Some(&tables::orders_l1_coherent::TABLE),
        Role::CoreL2 => Some(&tables::orders_coherent::TABLE),
        Role::LastLevel => Some(&tables::orders_recalled::TABLE),
        _ => None,
    }
}
