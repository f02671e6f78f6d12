//! What a cache does that is no step of its protocol: where atomic accesses are performed, and what acquires do.

use cache::{Acquire, Atomics};
use protocol::catalogue::Choice;

/// Where atomic accesses of a GPU's compute units meet.
pub fn atomics(protocol: &Choice) -> Atomics {
    match protocol.protocol.name {
        "halcone" | "gtsc" => Atomics::Below,
        "mesi" | "nmoesi" => Atomics::Owned,
        _ => Atomics::Here,
    }
}

/// What an acquire has the caches of a GPU do.
pub fn acquire(protocol: &Choice) -> Acquire {
    match protocol.protocol.name {
        "halcone" => Acquire::Raise,
        "gtsc" => Acquire::Ask,
        "mesi" => Acquire::Coherent,
        _ => Acquire::Forget,
    }
}
