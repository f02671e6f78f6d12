//! The network topologies that a machine file can choose from.

use crate::{
    bus::{BusSpec, bus},
    freight::{Directory, Freight, NetworkError, Station},
    mesh::mesh,
    ring::ring,
    switch::{MOST_PORTS, Port, Switch, SwitchSpec},
    wire::HEADER,
};
use engine::{Cycles, Inlet, Outlet, PortSpec, Scope};

/// How elements are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// One switch with a port for each element.
    Crossbar,
    /// A ring of four-port switches, two elements at each.
    Ring,
    /// A switch for each element, with `columns` switches in a row.
    Mesh {
        columns: usize,
    },
    Bus,
}

/// The parameters of a network, from the machine file.
#[derive(Clone, Copy, Debug)]
pub struct NetworkSpec {
    pub topology: Topology,
    /// How long a switch holds a crossbar link.
    pub latency: Cycles,
    /// Number of messages of each lane that a wire between switches holds.
    pub capacity: usize,
    /// Bandwidth of a wire between switches, or of the bus, in bytes per cycle; `None`: unlimited.
    pub bytes_per_cycle: Option<u64>,
    /// Whether a switch forwards a message as soon as its header has arrived, rather than when all of it has.
    pub cut_through: bool,
}

impl NetworkSpec {
    /// With cut-through: after how many bytes of a message its receiver may take it.
    pub fn head(&self) -> Option<u64> {
        self.cut_through.then_some(HEADER)
    }

    /// Checks whether this network can connect `stations` stations.
    pub fn fits(&self, stations: usize) -> Result<(), NetworkError> {
        match self.topology {
            Topology::Crossbar if stations > MOST_PORTS => {
                Err(NetworkError::TooManyPorts { ports: stations, most: MOST_PORTS })
            }
            Topology::Ring if self.capacity < 2 => Err(NetworkError::NarrowRing { capacity: self.capacity }),
            _ => Ok(()),
        }
    }
}

/// The wires between switches.
#[derive(Clone, Copy)]
pub(crate) struct Between {
    wires: PortSpec,
    head: Option<u64>,
}

impl Between {
    /// A wire from one switch to another.
    pub fn wire<T: Freight>(&self, name: &str, from: &Scope, to: &Scope) -> (Outlet<T>, Inlet<T>) {
        let (outlet, inlet) = from.port(name, self.wires, to);
        (self.head.map_or(outlet.clone(), |head| outlet.cut_through(head)), inlet)
    }
}

/// Builds a network between stations, within one partition.
pub fn network<T: Freight>(spec: NetworkSpec, stations: Vec<Station<T>>, scope: &Scope) -> Result<(), NetworkError> {
    spec.fits(stations.len())?;
    let switch = SwitchSpec { latency: spec.latency };
    let wires = PortSpec { capacity: spec.capacity, latency: Cycles(0), bytes_per_cycle: spec.bytes_per_cycle };
    match spec.topology {
        Topology::Crossbar => crossbar(switch, stations, scope),
        Topology::Ring => ring(switch, Between { wires, head: spec.head() }, stations, scope),
        Topology::Mesh { columns } => mesh(switch, Between { wires, head: spec.head() }, columns, stations, scope),
        Topology::Bus => bus(BusSpec { bytes_per_cycle: spec.bytes_per_cycle }, stations, scope),
    }
}

/// Builds a crossbar: one switch that connects all stations.
fn crossbar<T: Freight>(spec: SwitchSpec, stations: Vec<Station<T>>, scope: &Scope) -> Result<(), NetworkError> {
    let routes = Directory::new(&stations)?.routes(|station| station);
    let ports =
        stations.into_iter().map(|station| Port { from: station.wire.from, to: station.wire.to, is_ring: false });
    let switch = Switch::new(spec, ports.collect(), routes, scope);
    scope.serve("control", |cx| switch.run(cx));
    Ok(())
}
