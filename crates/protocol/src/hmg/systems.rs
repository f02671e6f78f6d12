//! The small systems on which HMG is checked.

use super::HmgL2;
use crate::{
    Block, Controller, Kind, Line, Node, Roster,
    catalogue::{order, told},
    check::{BYTES, Member, Stage, System},
    memory::Memory,
    orders,
    vi_l1::ViL1,
};
use mem::Scope;

/// One GPU per cache, synchronised by releases of system scope and acquires of device scope.
pub fn gpus(caches: usize, lines: usize) -> System {
    let mut system = system(&vec![1; caches], lines);
    system.stages = vec![
        Stage::Work { cores: (0..caches).collect() },
        order(Kind::Flush, Scope::System, 0..caches),
        order(Kind::Invalidate, Scope::Device, 0..caches),
    ];
    system.with_orders(|member| match member.core {
        Some(_) => Some(&orders::orders_l1::TABLE),
        None if member.name.starts_with("l2") => Some(&orders::orders_l2_homes::TABLE),
        None => None,
    })
}

/// At most two GPUs, whose caches may be flushed and invalidated at any time.
pub fn fences(caches: usize, lines: usize) -> System {
    let mut system = gpus(caches.min(2), lines);
    // Acquires of system scope: memory may have changed, so all caches invalidate their lines. A home may have
    // flushed before another GPU's write arrived there, so all flush twice.
    let all = |kind| order(kind, Scope::System, 0..system.cores);
    system.stages = vec![system.stages[0].clone(), all(Kind::Flush), all(Kind::Flush), all(Kind::Invalidate)];
    let caches = (0..system.members.len() - 1).map(node);
    system.whims = caches.flat_map(|cache| [(cache, Kind::Flush), (cache, Kind::Invalidate)]).collect();
    system
}

/// One GPU with all caches, away from the lines' home; releases and acquires of device scope suffice.
pub fn one_gpu(caches: usize, lines: usize) -> System {
    let mut system = system(&[0, caches], lines);
    system.stages = vec![
        Stage::Work { cores: (0..caches).collect() },
        order(Kind::Flush, Scope::Device, 0..caches),
        order(Kind::Invalidate, Scope::Device, 0..caches),
    ];
    system.with_orders(told)
}

/// A GPU for each entry of `gpus`, with that many first-level caches and a second-level cache; the home of line n is
/// GPU n modulo their number.
fn system(gpus: &[usize], lines: usize) -> System {
    let cores: usize = gpus.iter().sum();
    let l2 = |gpu: usize| node(cores + gpu);
    let memory = node(cores + gpus.len());
    let member = |name, controller, table, below| Member {
        name,
        controller,
        table,
        initial: Line::new(0),
        below,
        above: Roster::row(l2(0), gpus.len()),
        core: None,
        uses: vec![true; lines],
        orders: None,
        markers: None,
    };
    let mut members: Vec<Member> = Vec::new();
    let gpu_of = gpus.iter().enumerate().flat_map(|(gpu, &l1s)| std::iter::repeat_n(gpu, l1s));
    for (core, gpu) in gpu_of.clone().enumerate() {
        members.push(Member {
            core: Some(core),
            ..member(format!("l1.{core}"), &ViL1::ANY_ORDER, 0, vec![l2(gpu); lines])
        });
    }
    let home = |line: usize| line % gpus.len();
    for gpu in 0..gpus.len() {
        let below = (0..lines).map(|line| if home(line) == gpu { memory } else { l2(home(line)) }).collect();
        members.push(member(format!("l2.{gpu}"), &HmgL2, 1, below));
    }
    let initial = Line { data: Block::full([0; BYTES]), ..Line::new(0) };
    members.push(Member { initial, ..member("memory".to_owned(), &Memory, 2, vec![memory; lines]) });
    // GPUs that are not the home of a line are interchangeable, or the first-level caches of the only GPU with cores.
    let equals = match gpus {
        [0, _] => (0..cores).map(|core| vec![node(core)]).collect(),
        _ => (lines..gpus.len()).map(|gpu| vec![node(gpu), l2(gpu)]).collect(),
    };
    let tables: [&dyn Controller<BYTES>; 3] = [&ViL1::ANY_ORDER, &HmgL2, &Memory];
    System {
        tables: tables.map(|controller| controller.table().clone()).into(),
        members,
        cores,
        lines,
        stages: Vec::new(),
        whims: Vec::new(),
        equals,
        coherent: false,
        modifies: false,
        recalls_behind_answers: false,
        horizon: None,
    }
}

fn node(number: usize) -> Node {
    Node(u16::try_from(number).expect("a checked system is small"))
}
