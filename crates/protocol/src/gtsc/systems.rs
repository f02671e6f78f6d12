//! The small systems on which G-TSC is checked.
//!
//! Leases are as short as possible, and logical time ends early, as in the systems of HALCONE.

use super::{GtscHome, GtscL1, GtscL2, GtscMemory, gtsc_home};
use crate::{
    Block, Controller, Kind, Line, Node, Roster, Stamp, Table,
    catalogue::order,
    check::{BYTES, Clocks, Horizon, Member, Stage, System},
    memory::Memory,
    orders,
};
use mem::Scope;

static MEMORY: GtscMemory = GtscMemory { lease: 0, last: Stamp::MAX };
static HOME: GtscHome = GtscHome { lease: 0, last: Stamp::MAX };

/// The last time, small enough that timestamps overflow after few accesses.
const LAST: Stamp = 2;
static MEMORY_OVER: GtscMemory = GtscMemory { last: LAST, ..MEMORY };
static HOME_OVER: GtscHome = GtscHome { last: LAST, ..HOME };

/// One GPU per cache, over one memory that is the home of all lines.
pub fn gpus(caches: usize, lines: usize) -> System {
    system(&vec![1; caches], &GtscL2, &MEMORY, lines)
}

/// One GPU with all caches over such a memory. After each work stage the caches invalidate their lines.
pub fn forget(caches: usize, lines: usize) -> System {
    let mut system = system(&[caches], &GtscL2, &MEMORY, lines);
    let all: Vec<Node> = (0..=caches).map(node).collect();
    system.whims = fences(&all);
    system.stages[1..]
        .clone_from_slice(&[Kind::Flush, Kind::Invalidate].map(|kind| order(kind, Scope::System, 0..caches)));
    system
}

/// One GPU, whose second-level cache is the home.
pub fn one_gpu(caches: usize, lines: usize) -> System {
    let mut system = system(&[caches], &HOME, &Memory, lines);
    system.whims = fences(&[node(caches)]);
    // Far enough for the lease of a write to end.
    let end = if caches > 2 { 3 } else { 4 };
    system.horizon = system.horizon.map(|horizon| Horizon { end, ..horizon });
    system
}

/// One GPU whose first-level caches share a second-level cache that is not the home of lines.
pub fn shared_l2(caches: usize, lines: usize) -> System {
    system(&[caches], &GtscL2, &MEMORY, lines)
}

/// At most two GPUs, whose logical time overflows and restarts any number of times.
pub fn overflow(caches: usize, lines: usize) -> System {
    endless(system(&vec![1; caches.min(2)], &GtscL2, &MEMORY_OVER, lines))
}

/// Variant of [`overflow`] for one GPU with at most two first-level caches.
pub fn one_gpu_overflow(caches: usize, lines: usize) -> System {
    let caches = caches.min(2);
    let mut system = endless(system(&[caches], &HOME_OVER, &Memory, lines));
    system.whims = vec![(node(caches), Kind::Flush)];
    system
}

/// At most two GPUs, with atomic accesses.
pub fn atomics(caches: usize, lines: usize) -> System {
    gpus(caches.min(2), lines).with_atomics()
}

/// Variant of [`atomics`] for one GPU with at most two first-level caches, whose second-level cache is the home.
pub fn one_gpu_atomics(caches: usize, lines: usize) -> System {
    let mut system = one_gpu(caches.min(2), lines).with_atomics();
    system.horizon = system.horizon.map(|horizon| Horizon { end: 3, ..horizon });
    system
}

/// Flushes and invalidations at any time.
fn fences(caches: &[Node]) -> Vec<(Node, Kind)> {
    caches.iter().flat_map(|&cache| [(cache, Kind::Flush), (cache, Kind::Invalidate)]).collect()
}

/// Replaces the end of logical time by its overflow. Beyond that time no clock advances spontaneously.
fn endless(mut system: System) -> System {
    system.horizon = system.horizon.map(|horizon| Horizon { end: LAST + 2, runs_over: true, ..horizon });
    system
}

/// A GPU for each entry of `gpus`, with that many first-level caches. After a work stage its writes are awaited; then
/// the compute units synchronise, and each advances to the latest time of any.
fn system(
    gpus: &[usize],
    l2: &'static dyn Controller<BYTES>,
    memory: &'static dyn Controller<BYTES>,
    lines: usize,
) -> System {
    let cores: usize = gpus.iter().sum();
    let is_home = l2.table().name == gtsc_home::TABLE.name;
    let home = node(cores + gpus.len());
    let member = |name, controller, table, below| Member {
        name,
        controller,
        table,
        initial: Line::new(0),
        below: vec![below; lines],
        above: Roster::NONE,
        core: None,
        uses: vec![true; lines],
        orders: None,
        markers: None,
    };
    let mut members: Vec<Member> = Vec::new();
    let (mut l1s, mut l2s) = (Vec::new(), Vec::new());
    for (gpu, &caches) in gpus.iter().enumerate() {
        let below = node(members.len() + caches);
        for _ in 0..caches {
            let core = l1s.len();
            l1s.push(node(members.len()));
            members.push(Member { core: Some(core), ..member(format!("l1.{core}"), &GtscL1, 0, below) });
        }
        l2s.push(below);
        let above = Roster::row(node(members.len() - caches), caches);
        members.push(Member { above, ..member(format!("l2.{gpu}"), l2, 1, home) });
    }
    let initial = Line { data: Block::full([0; BYTES]), ..Line::new(0) };
    members.push(Member { initial, ..member("memory".to_owned(), memory, 2, home) });
    let equals = match gpus {
        [_] => l1s.iter().map(|&l1| vec![l1]).collect(),
        _ => l1s.iter().zip(&l2s).map(|(&l1, &l2)| vec![l1, l2]).collect(),
    };
    System {
        tables: vec![Controller::<BYTES>::table(&GtscL1).clone(), l2.table().clone(), memory.table().clone()],
        members,
        cores,
        lines,
        stages: vec![
            Stage::Work { cores: (0..cores).collect() },
            order(Kind::Flush, Scope::Device, 0..cores),
            order(Kind::Invalidate, Scope::Device, 0..cores),
        ],
        whims: Vec::new(),
        equals,
        coherent: false,
        modifies: false,
        recalls_behind_answers: false,
        horizon: Some(Horizon { end: 3, clocks: Clocks::Cores, told: false, runs_over: false }),
    }
    .with_orders(orders_of(is_home))
}

/// The system with two banks: each line has second-level caches and a home of its own.
pub fn banks(system: System) -> System {
    system.banked().with_orders(orders_of(false))
}

/// `is_home`: the L2 of one GPU is the home, over plain memory.
fn orders_of(is_home: bool) -> impl Fn(&Member) -> Option<&'static Table> {
    move |member| match (member.core, member.name.starts_with("memory")) {
        (Some(_), _) => Some(&orders::orders_l1_told::TABLE),
        (None, true) if is_home => None,
        (None, false) if !is_home => Some(&orders::orders_l2_told::TABLE),
        _ => Some(&orders::orders_home::TABLE),
    }
}

fn node(number: usize) -> Node {
    Node(u16::try_from(number).expect("a checked system is small"))
}
