//! The small systems on which HALCONE is checked.
//!
//! Leases are as short as possible, so that they end within few accesses. No core sends a request once logical time
//! has reached the horizon, which keeps the search finite.

use super::{HalconeL1, HalconeL2, Tsu, halcone_l1, halcone_l2, tsu};
use crate::{
    Block, Kind, Line, Node, Roster, Stamp, Table,
    catalogue::order,
    check::{BYTES, Clocks, Horizon, Member, Stage, System},
    orders,
};
use mem::Scope;

static SHORT: Tsu = Tsu { read_lease: 1, write_lease: 2, last: Stamp::MAX };

/// Timestamps that overflow after few accesses.
static OVER: Tsu = Tsu { last: 3, ..SHORT };

/// One GPU per cache, over one memory.
pub fn gpus(caches: usize, lines: usize) -> System {
    system(&vec![1; caches], lines)
}

/// One GPU with all caches.
pub fn one_gpu(caches: usize, lines: usize) -> System {
    system(&[caches], lines)
}

/// At most two GPUs, whose caches invalidate their lines after each work stage, whatever the time.
pub fn forget(caches: usize, lines: usize) -> System {
    let mut system = system(&vec![1; caches.min(2)], lines);
    system.horizon = system.horizon.map(|horizon| Horizon { told: false, ..horizon });
    let cores = 0..system.cores;
    system.stages[1..]
        .clone_from_slice(&[Kind::Flush, Kind::Invalidate].map(|kind| order(kind, Scope::System, cores.clone())));
    system
}

/// At most two GPUs, whose logical time overflows and restarts any number of times.
pub fn overflow(caches: usize, lines: usize) -> System {
    let mut system = system(&vec![1; caches.min(2)], lines);
    system.members.last_mut().expect("memory is there").controller = &OVER;
    system.horizon = system.horizon.map(|horizon| Horizon { end: Stamp::MAX, runs_over: true, ..horizon });
    system
}

/// At most two GPUs, with atomic accesses.
pub fn atomics(caches: usize, lines: usize) -> System {
    gpus(caches.min(2), lines).with_atomics()
}

/// This system with atomic accesses and a far horizon, for walks: a line fetched before an answer comes can be read
/// after it.
pub fn atomics_later(system: System) -> System {
    System { horizon: system.horizon.map(|horizon| Horizon { end: 24, ..horizon }), ..system.with_atomics() }
}

/// Variant of [`atomics`] for one GPU with at most two first-level caches.
pub fn one_gpu_atomics(caches: usize, lines: usize) -> System {
    one_gpu(caches.min(2), lines).with_atomics()
}

/// A GPU for each entry of `gpus`, with that many first-level caches and a second-level cache. After a work stage its
/// writes are awaited; then the time of all caches is raised to the latest.
fn system(gpus: &[usize], lines: usize) -> System {
    let cores: usize = gpus.iter().sum();
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
            members.push(Member { core: Some(core), ..member(format!("l1.{core}"), &HalconeL1, 0, below) });
        }
        l2s.push(below);
        let above = Roster::row(node(members.len() - caches), caches);
        members.push(Member { above, ..member(format!("l2.{gpu}"), &HalconeL2, 1, home) });
    }
    let initial = Line { data: Block::full([0; BYTES]), ..Line::new(0) };
    members.push(Member { initial, ..member("memory".to_owned(), &SHORT, 2, home) });
    let equals = match gpus {
        [_] => l1s.iter().map(|&l1| vec![l1]).collect(),
        _ => l1s.iter().zip(&l2s).map(|(&l1, &l2)| vec![l1, l2]).collect(),
    };
    let caches: Vec<Node> = l1s.iter().chain(&l2s).copied().collect();
    let stages = vec![
        Stage::Work { cores: (0..cores).collect() },
        order(Kind::Flush, Scope::Device, 0..cores),
        order(Kind::Invalidate, Scope::Device, 0..cores),
    ];
    let acquires = caches.into_iter().map(|cache| (cache, Kind::Invalidate));
    System {
        tables: vec![halcone_l1::TABLE.clone(), halcone_l2::TABLE.clone(), tsu::TABLE.clone()],
        members,
        cores,
        lines,
        stages,
        whims: if gpus.len() == 1 { acquires.collect() } else { Vec::new() },
        equals,
        coherent: false,
        modifies: false,
        recalls_behind_answers: false,
        horizon: Some(Horizon {
            end: if cores > 2 { 3 } else { 4 },
            clocks: Clocks::Caches,
            told: true,
            runs_over: false,
        }),
    }
    .with_orders(orders_of)
}

/// The system with two banks: each line has second-level caches and a home of its own.
pub fn banks(system: System) -> System {
    system.banked().with_orders(orders_of)
}

fn orders_of(member: &Member) -> Option<&'static Table> {
    match member.core {
        Some(_) => Some(&orders::orders_l1_raised::TABLE),
        None if member.name.starts_with("l2") => Some(&orders::orders_l2_raised::TABLE),
        None => Some(&orders::orders_home::TABLE),
    }
}

fn node(number: usize) -> Node {
    Node(u16::try_from(number).expect("a checked system is small"))
}
