//! The small systems on which HALCONE is checked.
//!
//! Leases are as short as can be, so that they end within few accesses, and no core asks for anything once logical time has
//! come to the horizon: time has no end otherwise, and neither would the search.

use super::{HalconeL1, HalconeL2, Tsu, halcone_l1, halcone_l2, tsu};
use crate::{
    Block, Kind, Line, Node, Stamp,
    check::{BYTES, Member, Stage, System},
};

static SHORT: Tsu = Tsu { read_lease: 1, write_lease: 2, last: Stamp::MAX };

/// A GPU for each cache, over one memory.
pub fn gpus(caches: usize, lines: usize) -> System {
    system(&vec![1; caches], lines, Kind::Invalidate)
}

/// One GPU with all caches.
pub fn one_gpu(caches: usize, lines: usize) -> System {
    system(&[caches], lines, Kind::Invalidate)
}

/// Two GPUs at most: logical time starts anew after a stretch of work, which has nothing to do with their number.
pub fn overflow(caches: usize, lines: usize) -> System {
    system(&vec![1; caches.min(2)], lines, Kind::Reset)
}

/// A GPU for each entry, with so many first-level caches and a second-level cache. After a stretch of work its writes are
/// awaited; then everybody's time is raised to the latest, or starts anew.
fn system(gpus: &[usize], lines: usize, then: Kind) -> System {
    let cores: usize = gpus.iter().sum();
    let home = node(cores + gpus.len());
    let member = |name, controller, table, below| Member {
        name,
        controller,
        table,
        initial: Line::new(0),
        below: vec![below; lines],
        above: Node(0),
        core: None,
        uses: vec![true; lines],
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
        members.push(member(format!("l2.{gpu}"), &HalconeL2, 1, home));
    }
    let initial = Line { data: Block::full([0; BYTES]), ..Line::new(0) };
    members.push(Member { initial, ..member("memory".to_owned(), &SHORT, 2, home) });
    let equals = match gpus {
        [_] => l1s.iter().map(|&l1| vec![l1]).collect(),
        _ => l1s.iter().zip(&l2s).map(|(&l1, &l2)| vec![l1, l2]).collect(),
    };
    let caches: Vec<Node> = l1s.iter().chain(&l2s).copied().collect();
    let mut stages =
        vec![Stage::Work { cores: (0..cores).collect() }, Stage::Tell { kind: Kind::Flush, members: l1s.clone() }];
    if then == Kind::Reset {
        stages.push(Stage::Tell { kind: then, members: caches.iter().copied().chain([home]).collect() });
    } else {
        stages.push(Stage::Tell { kind: then, members: l2s });
        stages.push(Stage::Tell { kind: then, members: l1s });
    }
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
        horizon: Some(if cores > 2 { 3 } else { 4 }),
    }
}

fn node(number: usize) -> Node {
    Node(u8::try_from(number).expect("a checked system is small"))
}
