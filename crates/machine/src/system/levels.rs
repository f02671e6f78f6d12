//! Memories that are levels of one hierarchy: behind each bank of an L2 one of its GPU's, and below those the host's.
//!
//! ```text
//! gpu0.l2_0 --- gpu0.memory0 --.
//!                    |         +--- memory0
//! gpu1.l2_0 --- gpu1.memory0 --'
//! ```

use super::{Ends, HISTORY, Layout, Memories, Parts, Report, two_way, wire};
use crate::spec::Machine;
use dram::{Extent, Level, LevelSpec};
use engine::Model;
use interconnect::{Packet, Side, Wire};
use protocol::{Node, Place};

/// Wires of one memory, and whom each leads to.
type Ways = Vec<(Node, Ends)>;

/// Builds the memories below the banks of this number, one for each GPU; the banks have these ends of the wires. The host's memory
/// reports.
pub fn parts(
    machine: &Machine,
    layout: Layout,
    (bank, banks): (usize, Vec<(Node, Ends)>),
    (memories, report): (&Memories, Report),
    partition: impl Fn(usize) -> usize,
    (model, parts): (&mut Model, &mut Parts),
) {
    let (Some(levels), Some(roles)) = (machine.levels, machine.protocol.levels) else { return };
    let lines = levels.lines_log2();
    let mut gpus: Vec<Ways> = banks.into_iter().map(|bank| vec![bank]).collect();
    let mut host: Ways = Vec::new();
    for gpu in 0..gpus.len() {
        let (upper, lower) = two_way(model, &format!("gpu{gpu}_memory{bank}_host"), levels.wire);
        gpus[gpu].push((layout.host_memory(bank), upper));
        host.push((layout.gpu_memory(gpu, bank), lower));
        for other in (0..gpu).filter(|_| levels.peer_transfer) {
            let (one, two) = two_way(model, &format!("gpu{gpu}_gpu{other}_memory{bank}"), levels.wire);
            gpus[gpu].push((layout.gpu_memory(other, bank), one));
            gpus[other].push((layout.gpu_memory(gpu, bank), two));
        }
    }
    let clock = levels.timing.clock().map_or(parts.clock, |clock| model.clock(clock));
    for (gpu, ways) in gpus.into_iter().enumerate() {
        let (me, below, above) = (layout.gpu_memory(gpu, bank), layout.host_memory(bank), layout.l2(gpu, bank));
        let place = Place { me, below, above };
        let (directory, store) = (&roles.gpu[lines], roles.store);
        let spec = LevelSpec { directory, store, place, timing: levels.timing, history: HISTORY };
        parts.add_at(clock, partition(gpu), move |root| {
            let scope = root.scope(("gpu", gpu)).scope(("memory", bank));
            let level = Level::new(spec, Extent::Cache(levels.room), side(ways, &scope), &scope);
            scope.serve("control", |cx| level.run(cx));
        });
    }
    let me = layout.host_memory(bank);
    let place = Place { me, below: me, above: layout.gpu_memory(0, bank) };
    let (directory, store) = (&roles.host[usize::from(levels.peer_transfer)][lines], roles.store);
    let spec = LevelSpec { directory, store, place, timing: machine.memory, history: HISTORY };
    let extent = Extent::All(memories.share(bank), memories.stores[bank].clone());
    let clock = machine.memory.clock().map_or(parts.clock, |clock| model.clock(clock));
    parts.add_at(clock, partition(0), move |root| {
        let scope = root.scope(("memory", bank));
        let level = Level::new(spec, extent, side(host, &scope), &scope).checked_by(report.place(&scope));
        scope.serve("control", |cx| level.run(cx));
    });
}

fn side(ways: Ways, scope: &engine::Scope) -> Side<Packet> {
    let mut side = Side { from: Vec::new(), to: Vec::new() };
    for (node, ends) in ways {
        let Wire { from, to } = wire(ends, scope);
        side.from.push(from);
        side.to.push((vec![node], to));
    }
    side
}
