//! HMG: the second-level caches of several GPUs kept coherent by a home for each line (`[halcone 4.1, 4.2, 6]`).
//!
//! A line's address says which GPU's L2 is its home. That L2 writes back to memory and knows which other L2s may hold the line. The
//! others hold copies and write through to the home, which tells the holders to forget theirs and does not wait until they have: a
//! write is over when the home has it. So between two GPUs nothing is promised until a release has seen to it that
//! whatever was told has arrived. First-level caches are told nothing: they are those of `vi` ([`crate::vi_l1`]), and forget
//! everything when they acquire.
//!
//! Scopes say how far an access has to reach ([`Msg::scope`](crate::Msg::scope)): a load of a group is answered by whoever has the line, one of a
//! device not by the L1, and one of the system only by the home. A release of a device waits for the L1's writes; one of the system also
//! for the L2's, and for what homes have told other L2s. What the text leaves open is in `docs/protocols.md`.

use crate::{
    Table, orders as tables,
    roles::{Parameters, Role},
};

mod l2;
mod systems;

pub use l2::{HmgL2, hmg_l2};
pub use systems::{fences, gpus, one_gpu};

/// The tables of orders. Without another GPU there is no other home to wait for.
pub fn orders(role: Role, parameters: &Parameters) -> Option<&'static Table> {
    match role {
        Role::L1 => Some(&tables::orders_l1::TABLE),
        Role::L2 if parameters.peers => Some(&tables::orders_l2_homes::TABLE),
        Role::L2 => Some(&tables::orders_l2::TABLE),
        _ => None,
    }
}
