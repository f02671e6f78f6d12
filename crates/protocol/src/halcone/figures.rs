//! `[halcone Fig. 5]` step by step, with every time that the paper states.
#![cfg(test)]

use super::{HalconeL1, HalconeL2, Tsu, halcone_l1, halcone_l2, tsu};
use crate::{Block, Controller, Kind, Line, Log, Msg, Node, Place, Stamp, Stamps, Step, step};
use mem::LineAddr;

/// Two compute units with a first-level cache each, two second-level caches, and memory. Messages arrive at once.
struct Machine {
    /// By node, then by location.
    lines: Vec<[Line<2>; 2]>,
    /// By compute unit: its second-level cache.
    l2_of: [Node; 2],
    /// The messages of the last access.
    sent: Vec<Msg<2>>,
}

const X: usize = 0;
const Y: usize = 1;
const MEMORY: Node = Node(4);
const CU: [Node; 2] = [Node(128), Node(129)];

/// The example's leases: 10 for reads of X, 7 for reads of Y, 5 for writes.
static UNITS: [Tsu; 2] = [Tsu::PAPER, Tsu { read_lease: 7, ..Tsu::PAPER }];

impl Machine {
    fn new(l2_of: [Node; 2]) -> Self {
        let memory = Line { data: Block::full([0, 0]), ..Line::new(tsu::State::None as u8) };
        let (l1, l2) = (Line::new(halcone_l1::State::I as u8), Line::new(halcone_l2::State::I as u8));
        Self { lines: vec![[l1; 2], [l1; 2], [l2; 2], [l2; 2], [memory; 2]], l2_of, sent: Vec::new() }
    }

    /// Performs an access of a compute unit to completion. A read returns the first byte.
    fn access(&mut self, unit: usize, kind: Kind, location: usize, data: Block<2>) -> Option<u8> {
        self.sent.clear();
        let address = LineAddr(64 * location as u64);
        let mut inbox = vec![Msg::new(CU[unit], Node(unit as u16), kind, address, data)];
        let mut read = None;
        while let Some(msg) = inbox.pop() {
            let (controller, below): (&dyn Controller<2>, Node) = match msg.to.0 {
                0 | 1 => (&HalconeL1, self.l2_of[msg.to.0 as usize]),
                2 | 3 => (&HalconeL2, MEMORY),
                _ => (&UNITS[location], MEMORY),
            };
            let line = &mut self.lines[msg.to.0 as usize][location];
            let mut log = Log::new(controller.table(), 4);
            let place = Place::new(msg.to, below);
            let Step::Sends(sends) = step(controller, controller.table(), place, line, &msg, &mut log).unwrap() else {
                panic!("{msg} stalls at {:?}", msg.to);
            };
            // All lines of a cache share one time.
            if msg.to != MEMORY {
                let now = line.stamps.cts;
                self.lines[msg.to.0 as usize].iter_mut().for_each(|line| line.stamps.cts = now);
            }
            for send in sends {
                match send.kind {
                    Kind::Loaded => read = send.data.get(0),
                    Kind::Stored => {}
                    _ => inbox.push(send),
                }
                self.sent.push(send);
            }
        }
        read
    }

    fn read(&mut self, unit: usize, location: usize) -> u8 {
        self.access(unit, Kind::Load, location, Block::EMPTY).expect("a read is answered")
    }

    fn write(&mut self, unit: usize, location: usize, value: u8) {
        self.access(unit, Kind::Store, location, Block::one(0, value));
    }

    /// The rts and wts of the answer from one node to another in the last access, as the figure writes them.
    fn answer(&self, from: Node, to: Node) -> Option<(Stamp, Stamp)> {
        let answer = self.sent.iter().find(|msg| (msg.from, msg.to) == (from, to) && msg.stamps != Stamps::ZERO);
        answer.map(|msg| (msg.stamps.rts, msg.stamps.wts))
    }

    fn asked(&self, to: Node) -> bool {
        self.sent.iter().any(|msg| msg.to == to)
    }

    fn cts(&self, node: Node) -> Stamp {
        self.lines[node.0 as usize][0].stamps.cts
    }

    /// I0-1 to I1-2, steps 1 to 26: equal in both halves of the figure, except for the second-level caches.
    fn until_both_have_written(&mut self) {
        let [first, second] = self.l2_of;
        let (l1_0, l1_1) = (Node(0), Node(1));
        assert_eq!(self.read(0, X), 0, "I0-1");
        assert_eq!(self.answer(MEMORY, first), Some((10, 0)), "step 4");
        assert_eq!(self.answer(first, l1_0), Some((10, 0)), "step 5");
        assert_eq!((self.cts(first), self.cts(l1_0)), (0, 0));
        assert_eq!(self.read(1, Y), 0, "I1-1");
        assert_eq!(self.answer(MEMORY, second), Some((7, 0)), "step 11");
        assert_eq!(self.answer(second, l1_1), Some((7, 0)), "step 12");
        self.write(0, Y, 1);
        assert_eq!(self.answer(MEMORY, first), Some((12, 8)), "step 18");
        assert_eq!(self.cts(first), 8, "step 19");
        assert_eq!(self.answer(first, l1_0), Some((12, 8)), "step 19");
        assert_eq!(self.cts(l1_0), 8, "step 20");
        self.write(1, X, 2);
        assert_eq!(self.answer(MEMORY, second), Some((15, 11)), "step 24");
        assert_eq!((self.cts(second), self.cts(l1_1)), (11, 11), "step 26");
    }

    /// I0-3, steps 27 to 29: reads the old value of X, in logical time before the write.
    fn reads_the_old_value_while_its_lease_lasts(&mut self) {
        assert_eq!((self.cts(Node(0)), self.lines[0][X].stamps.rts), (8, 10), "step 28");
        assert_eq!(self.read(0, X), 0, "I0-3");
        assert!(!self.asked(self.l2_of[0]), "a hit");
    }
}

#[test]
fn halcone_figure_5_a_within_a_gpu() {
    let mut machine = Machine::new([Node(2), Node(2)]);
    machine.until_both_have_written();
    machine.reads_the_old_value_while_its_lease_lasts();
    assert_eq!((machine.cts(Node(1)), machine.lines[1][Y].stamps.rts), (11, 7), "step 30: a coherency miss");
    assert_eq!(machine.read(1, Y), 1, "I1-3");
    assert_eq!(machine.answer(Node(2), Node(1)), Some((12, 8)), "step 32: a hit in L2");
    assert!(!machine.asked(MEMORY));
}

#[test]
fn halcone_figure_5_b_between_gpus() {
    let mut machine = Machine::new([Node(2), Node(3)]);
    machine.until_both_have_written();
    machine.reads_the_old_value_while_its_lease_lasts();
    let held = machine.lines[3][Y].stamps;
    assert_eq!((held.cts, held.rts, held.wts), (11, 7, 0), "no longer a hit in L2");
    assert_eq!(machine.read(1, Y), 1, "I1-3: what GPU0 wrote");
    assert!(machine.asked(MEMORY));
    // Not stated in the text: memts was 12; Y is read on a lease of 7 and was written at 8.
    assert_eq!(machine.answer(MEMORY, Node(3)), Some((19, 8)));
}
