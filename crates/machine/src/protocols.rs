//! What a cache does that is no step of its protocol: where atomic accesses are performed.

use cache::Atomics;
use protocol::catalogue::Choice;

/// Where atomic accesses of a GPU's compute units meet.
pub fn atomics(protocol: &Choice) -> Atomics {
    match protocol.protocol.name {
        "halcone" | "gtsc" => Atomics::Below,
        "mesi" | "nmoesi" => Atomics::Owned,
        _ => Atomics::Here,
    }
}
