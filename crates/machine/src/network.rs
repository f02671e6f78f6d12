//! A network as a machine file says: `[gpu.network]`, `[system.network]`.

use crate::file::{File, MachineError};
use engine::Cycles;
use interconnect::{NetworkSpec, Topology};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NetworkFile {
    kind: String,
    latency: u64,
    capacity: usize,
    bytes_per_cycle: u64,
    columns: usize,
}

/// A network that joins so many; none if there is a wire for each pair.
pub fn network(file: &mut File, path: &str, stations: usize) -> Result<Option<NetworkSpec>, MachineError> {
    let network: NetworkFile = file.section(path)?;
    let topology = match network.kind.as_str() {
        "direct" => None,
        "crossbar" => Some(Topology::Crossbar),
        "ring" => Some(Topology::Ring),
        "mesh" => Some(Topology::Mesh { columns: network.columns }),
        "bus" => Some(Topology::Bus),
        other => return Err(file.no_choice(path, "kind", other, &["direct", "crossbar", "ring", "mesh", "bus"])),
    };
    let numbers = [
        ("latency", network.latency),
        ("capacity", network.capacity as u64),
        ("bytes_per_cycle", network.bytes_per_cycle),
        ("columns", network.columns as u64),
    ];
    if let Some((key, _)) = numbers.into_iter().find(|(_, value)| *value == 0) {
        return Err(file.wrong(path, Some(key), "must be at least 1"));
    }
    let Some(topology) = topology else { return Ok(None) };
    let spec = NetworkSpec {
        topology,
        latency: Cycles(network.latency),
        capacity: network.capacity,
        bytes_per_cycle: Some(network.bytes_per_cycle),
    };
    spec.fits(stations).map_err(|error| file.wrong(path, Some("kind"), error.to_string()))?;
    Ok(Some(spec))
}
