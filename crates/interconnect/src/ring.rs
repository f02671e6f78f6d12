//! A ring of four-port switches (`[giles 3.2.5.2]`): East and West lead to the neighbours, North and South to elements.
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
pub(crate) fn ring<T: Freight>(
    spec: SwitchSpec,
    wires: PortSpec,
    stations: Vec<Station<T>>,
    scope: &Scope,
) -> Result<(), NetworkError> {
    let directory = Directory::new(&stations)?;
    let count = stations.len().div_ceil(PER_SWITCH).max(1);
    let scopes: Vec<Scope> = (0..count).map(|number| scope.scope(("switch", number))).collect();
    // Wires from each switch to its neighbour in the East, and back.
    let neighbour = |here: usize| &scopes[(here + 1) % count];
    let east: Vec<(Outlet<T>, Inlet<T>)> =
        (0..count).map(|here| scopes[here].port("east", wires, neighbour(here))).collect();
    let west: Vec<(Outlet<T>, Inlet<T>)> =
        (0..count).map(|here| neighbour(here).port("west", wires, &scopes[here])).collect();
    let mut stations = stations.into_iter();
    for (here, scope) in scopes.iter().enumerate() {
        let before = (here + count - 1) % count;
        let mut ports = vec![
            Port { from: west[here].1.clone(), to: east[here].0.clone(), is_ring: true },
            Port { from: east[before].1.clone(), to: west[before].0.clone(), is_ring: true },
        ];
        let own = stations.by_ref().take(PER_SWITCH);
        ports.extend(own.map(|station| Port { from: station.wire.from, to: station.wire.to, is_ring: false }));
        let routes = directory.routes(|station| match (station / PER_SWITCH + count - here) % count {
            0 => 2 + station % PER_SWITCH,
            eastwards if eastwards * 2 <= count => EAST,
            _ => WEST,
        });
        let switch = Switch::new(spec, ports, routes, scope);
        scope.serve("control", |cx| switch.run(cx));
    }
    Ok(())
}
