//! Progress: a compute unit completes its accesses although another GPU takes the line away again and again. In these
//! tests a probe overtakes each read grant.
#![cfg(test)]

use super::{l1, l2::L2, wt};
use crate::{Block, Controller, Kind, Line, Log, Msg, Node, Place, Roster, Step, step};
use mem::LineAddr;
use std::collections::VecDeque;

const N: usize = 4;

const L1: Node = Node(0);
const CACHE: Node = Node(1);
/// The memory below; the test itself plays its part.
const BELOW: Node = Node(2);
const CU: Node = Node(128);

/// Maximum number of requests to the memory below for one access. A protocol without progress would ask forever.
const PATIENCE: usize = 50;

struct Gpu {
    l1: &'static dyn Controller<N>,
    lines: [Line<N>; 2],
    /// Number of requests for the line that the memory below has received.
    asked: usize,
}

impl Gpu {
    fn new(l1: &'static dyn Controller<N>) -> Self {
        let first = |controller: &dyn Controller<N>| {
            let state = controller.table().states.iter().position(|&state| state == "I").unwrap_or(0);
            Line::new(state as u8)
        };
        Self { l1, lines: [first(l1), first(&L2 { owns: false })], asked: 0 }
    }

    /// The memory's answer. To a read request it sends the line, which a probe on behalf of a writer elsewhere
    /// overtakes.
    fn below(&mut self, msg: &Msg<N>) -> Vec<Msg<N>> {
        self.asked += usize::from(matches!(msg.kind, Kind::Get | Kind::GetS | Kind::GetX));
        let tell = |kind, data| Msg::new(BELOW, CACHE, kind, LineAddr(0), data);
        let line = Block::full([7; N]);
        match msg.kind {
            Kind::Get | Kind::GetS => vec![tell(Kind::Inval, Block::EMPTY), tell(Kind::PutS, line)],
            Kind::GetX => vec![tell(Kind::PutX, line)],
            _ => Vec::new(),
        }
    }

    /// Performs one access of the compute unit and returns the reply to it.
    fn access(&mut self, kind: Kind, data: Block<N>) -> Option<Msg<N>> {
        let mut told = None;
        let mut inbox = VecDeque::from([Msg::new(CU, L1, kind, LineAddr(0), data)]);
        while let Some(msg) = inbox.pop_front() {
            if msg.to == CU {
                told = Some(msg);
                continue;
            }
            if msg.to == BELOW {
                assert!(self.asked < PATIENCE, "the access is never performed");
                inbox.extend(self.below(&msg));
                continue;
            }
            let (controller, below): (&dyn Controller<N>, _) =
                if msg.to == L1 { (self.l1, CACHE) } else { (&L2 { owns: false }, BELOW) };
            let above = Roster::row(L1, 1);
            let place = Place { me: msg.to, below, above: &above };
            let mut log = Log::new(controller.table(), 4);
            let line = &mut self.lines[msg.to.0 as usize];
            match step(controller, controller.table(), place, line, &msg, &mut log).expect("the table has no hole") {
                Step::Stall => inbox.push_back(msg),
                Step::Sends(sends) => inbox.extend(sends),
            }
        }
        told
    }

    fn states(&self) -> [&'static str; 2] {
        [(self.l1, 0), (&L2 { owns: false }, 1)]
            .map(|(controller, node)| controller.table().states[self.lines[node].state as usize])
    }
}

#[test]
fn a_load_reads_a_line_that_a_probe_has_overtaken_once_and_no_cache_keeps_it() {
    for l1 in [&wt::GPU as &dyn Controller<N>, &l1::GPU] {
        let mut gpu = Gpu::new(l1);
        let loaded = gpu.access(Kind::Load, Block::EMPTY).map(|told| (told.kind, told.data));
        assert_eq!(loaded, Some((Kind::Loaded, Block::full([7; N]))));
        assert_eq!((gpu.asked, gpu.states()), (1, ["I", "I"]), "{}", l1.table().name);
    }
}

#[test]
fn a_store_whose_line_was_overtaken_asks_for_it_to_write() {
    let mut gpu = Gpu::new(&wt::GPU);
    gpu.access(Kind::Store, Block::one(1, 5));
    assert_eq!((gpu.asked, gpu.states()), (2, ["I", "M"]), "once to read, once to write; and it has landed");
    assert_eq!(gpu.lines[1].data, Block::full([7, 5, 7, 7]));
}

#[test]
fn a_store_of_a_cache_that_writes_back_asks_for_an_overtaken_line_to_write_too() {
    let mut gpu = Gpu::new(&l1::GPU);
    gpu.access(Kind::Store, Block::one(1, 5));
    assert_eq!((gpu.asked, gpu.states()), (2, ["M", "Held"]));
    assert_eq!(gpu.lines[0].data, Block::full([7, 5, 7, 7]));
}
