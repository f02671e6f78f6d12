//! A bank of a GPU's second-level cache.

use super::{Ends, HISTORY, Layout, Parts, Report, wire};
use crate::spec::Machine;
use cache::{BankSpec, Cache, Homes};
use interconnect::{Side, Wire};
use mem::LINE;
use protocol::Node;

/// What a bank is connected to.
pub struct BankPlan {
    pub layout: Layout,
    pub gpu: usize,
    pub bank: usize,
    /// To the arrays, and which caches each leads to.
    pub above: Vec<(Vec<Node>, Ends)>,
    /// To its channel of memory.
    pub below: Ends,
    pub report: Report,
}

pub fn part(machine: &Machine, plan: BankPlan, partition: usize, parts: &mut Parts) {
    let (l2, controller) = (machine.l2, machine.protocol.l2);
    let BankPlan { layout, gpu, bank, above, below, report } = plan;
    parts.add(partition, move |root| {
        let scope = root.scope(("gpu", gpu)).scope(("l2_", bank));
        let home = layout.memory(bank);
        let spec = BankSpec {
            controller,
            me: layout.l2(gpu, bank),
            below: Homes { nodes: vec![home], stride: LINE as u64 },
            above: layout.l1v(gpu, 0),
            shape: l2.shape,
            mshrs: l2.mshrs,
            waiting: l2.waiting,
        };
        let mut neighbours = Side::one(home, wire(below, &scope));
        for (caches, ends) in above {
            let Wire { from, to } = wire(ends, &scope);
            neighbours.from.push(from);
            neighbours.to.push((caches, to));
        }
        let observer = report.map(|(observer, end)| (observer, scope.sender(end)));
        let spec = cache::CacheSpec { bank: spec, history: HISTORY };
        let cache = Cache::new(spec, Vec::new(), neighbours, observer, &scope);
        scope.serve("control", |cx| cache.run(cx));
    });
}
