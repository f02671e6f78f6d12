//! HMG: the second-level caches of several GPUs, kept coherent by a home for each line (`[halcone 4.1]`, `[halcone
//! 4.2]`, `[halcone 6]`).
//!
//! A line's address determines which GPU's L2 is its home. That L2 writes back to memory and records which other L2s
//! may hold the line. The others hold copies and write through to the home, which sends invalidations to the holders
//! and does not wait for them: a write is complete when the home has it. So nothing is guaranteed between two GPUs
//! until a release has made sure that all invalidations have arrived. First-level caches get no invalidations: they
//! are those of `vi` ([`crate::vi_l1`]), and invalidate all lines on an acquire.
//!
//! Scopes say how far an access has to reach ([`Msg::scope`](crate::Msg::scope)): a load of group scope is answered
//! by any cache that has the line, one of device scope not by the L1, and one of system scope only by the home. A
//! release of device scope waits for the L1's writes; one of system scope also for the L2's writes and for
//! invalidations that homes have sent to other L2s. `docs/protocols/hmg.md` lists what the text leaves open.

use crate::{
    Table, orders as tables,
    roles::{Parameters, Role},
};

mod l2;
mod systems;

pub use l2::{HmgL2, hmg_l2};
pub use systems::{fences, gpus, one_gpu};

/// The tables of orders. With a single GPU there is no other home to wait for.
pub fn orders(role: Role, parameters: &Parameters) -> Option<&'static Table> {
    match role {
        Role::L1 => Some(&tables::orders_l1::TABLE),
        Role::L2 if parameters.peers => Some(&tables::orders_l2_homes::TABLE),
        Role::L2 => Some(&tables::orders_l2::TABLE),
        _ => None,
    }
}
