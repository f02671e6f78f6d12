//! A bank of a GPU's second-level cache.

use super::{Ends, HISTORY, Layout, Parts, Report, complex, wire};
use crate::{protocols::L2, spec::Machine};
use cache::{Acquire, BankSpec, Cache};
use interconnect::{Side, Wire};
use mem::{Interleave, LINE, Stride};
use protocol::{Controller, Node};

/// Bytes that lie at one home before it is the next GPU's turn, where second-level caches are homes of lines.
const HOME: Stride = Stride::of(4096);

/// What a bank is connected to.
pub struct BankPlan {
    pub layout: Layout,
    pub gpu: usize,
    pub bank: usize,
    /// To the arrays, and which caches each leads to.
    pub above: Vec<(Vec<Node>, Ends)>,
    /// To its channel of memory.
    pub below: Ends,
    /// To the same bank of other GPUs, where these speak to each other.
    pub peers: Vec<(usize, Ends)>,
    pub report: Report,
}

pub fn part(machine: &Machine, plan: BankPlan, partition: usize, parts: &mut Parts) {
    let (l2, banks, roles) = (machine.l2, machine.banks, machine.protocol);
    let BankPlan { layout, gpu, bank, above, below, peers, report } = plan;
    let gpus = machine.gpus;
    let orders = if machine.levels.is_some() { Acquire::PassOn } else { roles.acquire };
    let of_complex = complex::homes_of_gpu(machine, layout);
    let memory = if machine.levels.is_some() { layout.gpu_memory(gpu, bank) } else { layout.memory(bank) };
    // Beside a CPU, directories have caches of different GPUs give lines to each other.
    let me = layout.l2(gpu, bank);
    let below_nodes = match of_complex {
        Some(_) => layout.of_complex().into_iter().chain(layout.gpu_l2s()).filter(|node| *node != me).collect(),
        None => vec![memory],
    };
    parts.add(partition, move |root| {
        let scope = root.scope(("gpu", gpu)).scope(("l2_", bank));
        // A line's home is in turn each GPU's, or always memory.
        let (controller, homes, first): (&'static dyn Controller<LINE>, _, _) = match roles.l2 {
            L2::Alone(controller) => (controller, Interleave::One(memory), layout.l1v(gpu, 0)),
            L2::Peers(controllers) => {
                let home = |other| if other == gpu { memory } else { layout.l2(other, bank) };
                (&controllers[gpus * banks.count], Interleave::deal(HOME, (0..gpus).map(home)), layout.l2(0, 0))
            }
        };
        let (homes, acquire) = of_complex.unwrap_or((homes, orders));
        let spec = BankSpec {
            controller,
            me,
            below: homes,
            above: first,
            shape: l2.shape,
            mshrs: l2.mshrs,
            waiting: l2.waiting,
            join_queue: l2.join_queue,
            write_back_queue: l2.write_back_queue,
            peers: peers.iter().map(|(other, _)| layout.l2(*other, bank)).collect(),
        };
        let Wire { from, to } = wire(below, &scope);
        let mut neighbours = Side { from: vec![from], to: vec![(below_nodes, to)] };
        for (caches, ends) in above {
            let Wire { from, to } = wire(ends, &scope);
            neighbours.from.push(from);
            neighbours.to.push((caches, to));
        }
        for (other, ends) in peers {
            let Wire { from, to } = wire(ends, &scope);
            neighbours.from.push(from);
            neighbours.to.push((vec![layout.l2(other, bank)], to));
        }
        let (ports, atomics, lifts_requests, claims) = (l2.ports, roles.atomics, false, false);
        let spec = cache::CacheSpec { bank: spec, history: HISTORY, ports, atomics, acquire, lifts_requests, claims };
        let cache = Cache::new(spec, Vec::new(), neighbours, report.place(&scope), &scope);
        scope.serve("control", |cx| cache.run(cx));
    });
}
