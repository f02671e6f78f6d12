//! A mesh of switches with five ports: four neighbours and one element.
//!
//! Messages travel along their row first, then along their column. So no cyclic wait among messages can form, and
//! messages of one lane between two nodes stay in order. The paper models rings; Fig. 2.1 of `[giles]` shows a mesh of
//! its switches.

use crate::{
    freight::{Directory, Freight, NetworkError, Station},
    network::Between,
    switch::{Port, Switch, SwitchSpec},
};
use engine::Scope;

/// Neighbours, as steps along the row and along the column.
const NEIGHBOURS: [(&str, isize, isize); 4] = [("north", 0, -1), ("east", 1, 0), ("south", 0, 1), ("west", -1, 0)];

/// The position of a switch in a mesh with `columns` columns.
fn place(number: usize, columns: usize) -> (isize, isize) {
    ((number % columns) as isize, (number / columns) as isize)
}

/// Builds a mesh with a switch for each station, `columns` in a row, connected by wires with the parameters `wires`.
pub(crate) fn mesh<T: Freight>(
    spec: SwitchSpec,
    wires: Between,
    columns: usize,
    stations: Vec<Station<T>>,
    scope: &Scope,
) -> Result<(), NetworkError> {
    let (directory, count) = (Directory::new(&stations)?, stations.len());
    let columns = columns.clamp(1, count.max(1));
    let scopes: Vec<Scope> = (0..count).map(|number| scope.scope(("switch", number))).collect();
    let neighbour = |number: usize, (_, along, down): (&str, isize, isize)| {
        let (column, row) = place(number, columns);
        let (column, row) = (column + along, row + down);
        let inside = (0..columns as isize).contains(&column) && row >= 0;
        let number = inside.then(|| row as usize * columns + column as usize)?;
        (number < count).then_some(number)
    };
    let mut ports: Vec<Vec<Port<T>>> = Vec::new();
    let mut inlets: Vec<Vec<_>> = (0..count).map(|_| Vec::new()).collect();
    let mut outlets: Vec<Vec<_>> = (0..count).map(|_| Vec::new()).collect();
    for here in 0..count {
        for (side, step) in NEIGHBOURS.into_iter().enumerate() {
            if let Some(there) = neighbour(here, step) {
                let (to, from) = wires.wire(step.0, &scopes[here], &scopes[there]);
                outlets[here].push((side, to));
                // A wire that leaves to the east arrives from the west.
                inlets[there].push(((side + 2) % 4, from));
            }
        }
    }
    // The sides of each switch that have a port, in order; the element's port comes last.
    let sides: Vec<Vec<usize>> =
        outlets.iter().map(|outlets| outlets.iter().map(|(side, _)| *side).collect()).collect();
    for (mut inlets, outlets) in inlets.into_iter().zip(outlets) {
        inlets.sort_by_key(|(side, _)| *side);
        let joined = inlets.into_iter().zip(outlets);
        ports.push(joined.map(|((_, from), (_, to))| Port { from, to, is_ring: false }).collect());
    }
    for (here, ((mut ports, station), scope)) in ports.into_iter().zip(stations).zip(&scopes).enumerate() {
        ports.push(Port { from: station.wire.from, to: station.wire.to, is_ring: false });
        let routes = directory.routes(|station| {
            let ((column, row), (to_column, to_row)) = (place(here, columns), place(station, columns));
            let side = match () {
                () if to_column > column => 1,
                () if to_column < column => 3,
                () if to_row > row => 2,
                () if to_row < row => 0,
                () => return sides[here].len(),
            };
            // The last row may be short. A message that can't go on along it goes north first. Turns from south to
            // another side, which a cyclic wait would need, are still never made.
            sides[here].iter().position(|known| *known == side).unwrap_or(0)
        });
        let switch = Switch::new(spec, ports, routes, scope);
        scope.serve("control", |cx| switch.run(cx));
    }
    Ok(())
}
