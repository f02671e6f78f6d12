//! A network in a machine file: `[gpu.network]` or `[system.network]`.

use crate::{
    file::{Because, File, MachineError, join},
    values::{Choice, OneOf, Positive},
};
use interconnect::{NetworkSpec, Topology};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NetworkFile {
    kind: OneOf<Kind>,
    latency: Positive,
    capacity: Positive,
    bytes_per_cycle: Positive,
    columns: Positive,
    cut_through: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Direct,
    Crossbar,
    Ring,
    Mesh,
    Bus,
}

impl Choice for Kind {
    fn words() -> Vec<(&'static str, Self)> {
        use Kind::{Bus, Crossbar, Direct, Mesh, Ring};
        vec![("direct", Direct), ("crossbar", Crossbar), ("ring", Ring), ("mesh", Mesh), ("bus", Bus)]
    }
}

impl Kind {
    /// Keys that this kind of network uses.
    fn uses(self) -> &'static [&'static str] {
        match self {
            Kind::Direct => &[],
            Kind::Crossbar => &["latency"],
            Kind::Ring => &["latency", "capacity", "bytes_per_cycle", "cut_through"],
            Kind::Mesh => &["latency", "capacity", "bytes_per_cycle", "columns", "cut_through"],
            Kind::Bus => &["bytes_per_cycle"],
        }
    }
}

/// Reads a network for the given number of stations; `None` if each pair has its own wire. `used` are keys that other
/// wires use as well, so they always have an effect.
pub fn network(
    file: &mut File,
    path: &str,
    used: &[&str],
    stations: usize,
) -> Result<Option<NetworkSpec>, MachineError> {
    if file.has(path) {
        let OneOf(kind) = file.key::<OneOf<Kind>>(path, "kind")?;
        let words = Kind::words();
        let word = words.iter().find(|(_, other)| *other == kind).map_or("", |(word, _)| *word);
        for key in ["latency", "capacity", "bytes_per_cycle", "columns", "cut_through"] {
            if !kind.uses().contains(&key) && !used.contains(&key) {
                let others: Vec<&str> = words.iter().filter(|it| it.1.uses().contains(&key)).map(|it| it.0).collect();
                file.idle(&join(path, key), &Because::value(&join(path, "kind"), word, &others));
            }
        }
    }
    let network: NetworkFile = file.section(path)?;
    let topology = match network.kind.0 {
        Kind::Direct => return Ok(None),
        Kind::Crossbar => Topology::Crossbar,
        Kind::Ring => Topology::Ring,
        Kind::Mesh => Topology::Mesh { columns: network.columns.count() },
        Kind::Bus => Topology::Bus,
    };
    let spec = NetworkSpec {
        topology,
        latency: network.latency.cycles(),
        capacity: network.capacity.count(),
        bytes_per_cycle: Some(network.bytes_per_cycle.get()),
        cut_through: network.cut_through.unwrap_or(false),
    };
    spec.fits(stations).map_err(|error| file.wrong(path, Some("kind"), error.to_string()))?;
    Ok(Some(spec))
}
