//! A ring of four-port switches (`[giles 3.2.5.2]`): east and west lead to the neighbours, north and south to elements.
//!
//! Messages take the shorter direction (east if both are equal) and never turn back. So messages of one lane between
//! two nodes stay in order, and each direction is a separate ring of buffers, one of which is always free (see
//! `switch`).

use crate::{
    freight::{Directory, Freight, NetworkError, Station},
    network::Between,
    switch::{Port, Switch, SwitchSpec},
};
use engine::{Inlet, Outlet, Scope};

const EAST: usize = 0;
const WEST: usize = 1;
/// Number of elements per switch, at north and south.
const PER_SWITCH: usize = 2;

/// Builds a ring with as many switches as the stations need, connected by wires with the parameters `wires`.
pub(crate) fn ring<T: Freight>(
    spec: SwitchSpec,
    wires: Between,
    stations: Vec<Station<T>>,
    scope: &Scope,
) -> Result<(), NetworkError> {
    let directory = Directory::new(&stations)?;
    let count = stations.len().div_ceil(PER_SWITCH).max(1);
    let scopes: Vec<Scope> = (0..count).map(|number| scope.scope(("switch", number))).collect();
    // Wires from each switch to its eastern neighbour, and back.
    let neighbour = |here: usize| &scopes[(here + 1) % count];
    let east: Vec<(Outlet<T>, Inlet<T>)> =
        (0..count).map(|here| wires.wire("east", &scopes[here], neighbour(here))).collect();
    let west: Vec<(Outlet<T>, Inlet<T>)> =
        (0..count).map(|here| wires.wire("west", neighbour(here), &scopes[here])).collect();
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
