//! A ring of four-port switches (`003_07d33ec44b25be67.txt`, 3.2.5.2): East and West lead to the neighbours, North and South to elements.
//!
//! Messages take the shorter way, East if both are as short, and never turn round; so those of one lane between two nodes stay
//! in order, and each direction is a ring of places of its own, of which one is always free (see `switch`).

use crate::{
    freight::{Directory, Freight, NetworkError, Station},
    switch::{Port, Switch, SwitchSpec},
};
use engine::{Inlet, Outlet, PortSpec, Scope};

const EAST: usize = 0;
const WEST: usize = 1;
/// Elements of a switch, at North and South.
const PER_SWITCH: usize = 2;

/// Builds a ring of as many switches as the stations need, joined by wires of this kind.
pub fn ring<T: Freight>(
    spec: SwitchSpec,
    wires: PortSpec,
    stations: Vec<Station<T>>,
    scope: &Scope,
) -> Result<(), NetworkError> {
    if wires.capacity < 2 {
        return Err(NetworkError::NarrowRing { capacity: wires.capacity });
    }
    let directory = Directory::new(&stations)?;
    let count = stations.len().div_ceil(PER_SWITCH).max(1);
    let scopes: Vec<Scope> = (0..count).map(|number| scope.scope(("switch", number))).collect();
    // Of each switch: what comes from the neighbour and what goes there, at East and at West.
    let mut ends: Vec<[(Option<Inlet<T>>, Option<Outlet<T>>); 2]> = (0..count).map(|_| Default::default()).collect();
    for here in 0..count {
        let east = (here + 1) % count;
        let (to, from) = scopes[here].port("east", wires, &scopes[east]);
        (ends[here][EAST].1, ends[east][WEST].0) = (Some(to), Some(from));
        let (to, from) = scopes[east].port("west", wires, &scopes[here]);
        (ends[east][WEST].1, ends[here][EAST].0) = (Some(to), Some(from));
    }
    let mut stations = stations.into_iter();
    for (here, (ends, scope)) in ends.into_iter().zip(&scopes).enumerate() {
        let mut ports: Vec<Port<T>> = ends
            .into_iter()
            .map(|(from, to)| Port {
                from: from.expect("every switch has two neighbours"),
                to: to.expect("every switch has two neighbours"),
                is_ring: true,
            })
            .collect();
        let own = stations.by_ref().take(PER_SWITCH);
        ports.extend(own.map(|station| Port { from: station.wire.from, to: station.wire.to, is_ring: false }));
        let routes = directory.routes(|station| match (station / PER_SWITCH + count - here) % count {
            0 => 2 + station % PER_SWITCH,
            eastwards if eastwards * 2 <= count => EAST,
            _ => WEST,
        });
        let switch = Switch::new(spec, ports, routes, scope)?;
        scope.serve("control", |cx| switch.run(cx));
    }
    Ok(())
}
