//! The systems on which the simplest protocols are checked.

use crate::{
    Block, Controller, Kind, Line, Node, Roster, Table,
    adsm::{Accelerator, Host},
    check::{BYTES, Member, Stage, System},
    memory::{self, Memory},
    orders,
    vi_l1::{self, ViL1},
    wb_l2::{self, WriteBackL2},
};
use mem::Scope;

pub(super) fn member(
    name: String,
    controller: &'static dyn Controller<BYTES>,
    table: usize,
    below: Vec<Node>,
) -> Member {
    let uses = vec![true; below.len()];
    Member {
        name,
        controller,
        table,
        initial: Line::new(0),
        below,
        above: Roster::NONE,
        core: None,
        uses,
        orders: None,
        markers: None,
    }
}

pub(super) fn node(number: usize) -> Node {
    Node(u16::try_from(number).expect("a checked system is small"))
}

pub(super) fn memory_of(name: &str, lines: usize, number: usize) -> Member {
    let initial = Line { data: Block::full([0; BYTES]), ..Line::new(0) };
    Member { initial, ..member(name.to_owned(), &Memory, 2, vec![node(number); lines]) }
}

/// A stage in which these cores release or acquire.
pub(crate) fn order(kind: Kind, scope: Scope, cores: std::ops::Range<usize>) -> Stage {
    Stage::Order { kind, scope, cores: cores.collect() }
}

/// Orders of caches that invalidate and write back on request.
pub(crate) fn told(member: &Member) -> Option<&'static Table> {
    match member.core {
        Some(_) => Some(&orders::orders_l1::TABLE),
        None if member.name.starts_with("l2") => Some(&orders::orders_l2::TABLE),
        None => None,
    }
}

/// Any cache may be flushed at any time, and invalidated where it holds nothing dirty.
pub(super) fn fences<'a>(caches: impl Iterator<Item = &'a Node>) -> Vec<(Node, Kind)> {
    caches.flat_map(|&cache| [(cache, Kind::Flush), (cache, Kind::Invalidate)]).collect()
}

/// `caches` first-level caches, a second-level cache and memory.
pub(super) fn vi(caches: usize, lines: usize) -> System {
    let (l2, memory) = (node(caches), node(caches + 1));
    let l1 = |core| Member { core: Some(core), ..member(format!("l1.{core}"), &ViL1::ANY_ORDER, 0, vec![l2; lines]) };
    let mut members: Vec<_> = (0..caches).map(l1).collect();
    members.push(member("l2".to_owned(), &WriteBackL2::ALONE, 1, vec![memory; lines]));
    members.push(memory_of("memory", lines, caches + 1));
    let l1s: Vec<_> = (0..caches).map(node).collect();
    System {
        tables: vec![vi_l1::l1::TABLE.clone(), wb_l2::wb::TABLE.clone(), memory::memory::TABLE.clone()],
        members,
        cores: caches,
        lines,
        stages: vec![
            Stage::Work { cores: (0..caches).collect() },
            order(Kind::Flush, Scope::Device, 0..caches),
            order(Kind::Invalidate, Scope::Device, 0..caches),
        ],
        whims: fences(l1s.iter().chain([&l2])),
        equals: l1s.into_iter().map(|l1| vec![l1]).collect(),
        coherent: false,
        modifies: false,
        recalls_behind_answers: false,
        horizon: None,
    }
    .with_orders(told)
}

/// One GPU per entry, each with one first-level cache.
pub(super) fn one_each(caches: usize) -> Vec<usize> {
    vec![1; caches]
}

/// A GPU for each entry of `gpus`, with that many first-level caches and one second-level cache, over one memory.
pub(super) fn not_coherent(l2: &'static dyn Controller<BYTES>, gpus: &[usize], lines: usize) -> System {
    let cores: usize = gpus.iter().sum();
    let memory = node(cores + gpus.len());
    let mut members = Vec::new();
    let (mut l1s, mut l2s) = (Vec::new(), Vec::new());
    for (gpu, &l1s_here) in gpus.iter().enumerate() {
        let below = node(members.len() + l1s_here);
        for _ in 0..l1s_here {
            let core = l1s.len();
            l1s.push(node(members.len()));
            members.push(Member {
                core: Some(core),
                ..member(format!("l1.{core}"), &ViL1::ANY_ORDER, 0, vec![below; lines])
            });
        }
        l2s.push(below);
        members.push(member(format!("l2.{gpu}"), l2, 1, vec![memory; lines]));
    }
    members.push(memory_of("memory", lines, memory.0.into()));
    // GPUs are interchangeable. With only one GPU its first-level caches are, except the first, through which the L2
    // gets its orders.
    let (all, device) = (0..cores, Scope::Device);
    let mut stages = vec![Stage::Work { cores: all.clone().collect() }];
    let equals = match gpus {
        [_] => {
            stages.extend([order(Kind::Flush, device, all.clone()), order(Kind::Flush, Scope::System, 0..1)]);
            stages.extend([order(Kind::Invalidate, device, all), order(Kind::Invalidate, Scope::System, 0..1)]);
            l1s.iter().skip(1).map(|&l1| vec![l1]).collect()
        }
        _ => {
            stages.extend([Kind::Flush, Kind::Invalidate].map(|kind| order(kind, Scope::System, all.clone())));
            l1s.iter().zip(&l2s).map(|(&l1, &l2)| vec![l1, l2]).collect()
        }
    };
    System {
        tables: vec![vi_l1::l1::TABLE.clone(), l2.table().clone(), memory::memory::TABLE.clone()],
        members,
        cores,
        lines,
        stages,
        whims: fences(l1s.iter().chain(&l2s)),
        equals,
        coherent: false,
        modifies: false,
        recalls_behind_answers: false,
        horizon: None,
    }
    .with_orders(told)
}

/// GPUs with these numbers of first-level caches, whose atomic accesses are performed in memory.
pub(super) fn atomics_below(l2: &'static dyn Controller<BYTES>, gpus: &[usize]) -> System {
    not_coherent(l2, gpus, 1).with_atomics()
}

/// One GPU with at most two first-level caches and atomic accesses, which are performed in its second-level cache.
pub(super) fn atomics(l2: &'static dyn Controller<BYTES>, caches: usize, lines: usize) -> System {
    not_coherent(l2, &[caches.min(2)], lines).with_atomics()
}

/// One GPU with two first-level caches over a second-level cache with two banks.
pub(super) fn banks(l2: &'static dyn Controller<BYTES>) -> System {
    not_coherent(l2, &[2], 2).banked().with_orders(told)
}

/// A host and `caches` accelerators; line n is on accelerator n modulo their number. Each accelerator has a line.
pub(super) fn adsm(host: &'static Host, initial: u8, rolls: bool, caches: usize, lines: usize) -> System {
    let lines = lines.max(caches);
    let data = Block::full([0; BYTES]);
    let below = (0..lines).map(|line| node(1 + line % caches)).collect();
    let first = Member {
        core: Some(0),
        initial: Line { data, ..Line::new(initial) },
        ..member("host".to_owned(), host, 0, below)
    };
    let accelerator = |number: usize| Member {
        core: Some(number),
        uses: (0..lines).map(|line| line % caches == number - 1).collect(),
        initial: Line { data, ..Line::new(0) },
        ..member(format!("acc.{number}"), &Accelerator, 1, vec![node(number); lines])
    };
    System {
        tables: vec![Controller::<BYTES>::table(host).clone(), crate::adsm::accelerator::TABLE.clone()],
        members: std::iter::once(first).chain((1..=caches).map(accelerator)).collect(),
        cores: 1 + caches,
        lines,
        stages: vec![
            Stage::Work { cores: vec![0] },
            Stage::Tell { kind: Kind::Call, members: vec![node(0)] },
            Stage::Work { cores: (1..=caches).collect() },
            Stage::Tell { kind: Kind::Return, members: vec![node(0)] },
        ],
        whims: if rolls { vec![(node(0), Kind::Roll)] } else { Vec::new() },
        equals: Vec::new(),
        coherent: false,
        modifies: false,
        recalls_behind_answers: false,
        horizon: None,
    }
}
