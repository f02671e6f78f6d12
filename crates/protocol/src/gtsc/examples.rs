//! The accesses of `[halcone 2.2]`, one by one, on the published protocol: one GPU with two compute units.
#![cfg(test)]

use super::{GtscHome, GtscL1, gtsc_home, gtsc_l1};
use crate::{Block, Controller, FIRST, Kind, Line, Log, Msg, Node, Place, Stamp, Stamps, Step, memory::Memory, step};
use mem::LineAddr;

/// L1s 0 and 1, the L2, memory; two locations.
struct Machine {
    lines: Vec<[Line<2>; 2]>,
    warpts: [Stamp; 2],
    sent: Vec<Msg<2>>,
}

const L2: Node = Node(2);
const MEMORY: Node = Node(3);
const X: usize = 0;
const Y: usize = 1;
static HOME: GtscHome = GtscHome::PAPER;

impl Machine {
    fn new() -> Self {
        let (l1, l2) = (Line::new(gtsc_l1::State::I as u8), Line::new(gtsc_home::State::I as u8));
        let memory = Line { data: Block::full([0, 0]), ..Line::new(0) };
        Self { lines: vec![[l1; 2], [l1; 2], [l2; 2], [memory; 2]], warpts: [FIRST; 2], sent: Vec::new() }
    }

    fn access(&mut self, unit: usize, kind: Kind, location: usize, data: Block<2>) -> Option<u8> {
        self.sent.clear();
        let ask = Msg::new(Node(128), Node(unit as u16), kind, LineAddr(64 * location as u64), data);
        let mut inbox = vec![Msg { stamps: Stamps::now(self.warpts[unit]), ..ask }];
        let mut read = None;
        while let Some(msg) = inbox.pop() {
            let (controller, below): (&dyn Controller<2>, Node) = match msg.to.0 {
                0 | 1 => (&GtscL1, L2),
                2 => (&HOME, MEMORY),
                _ => (&Memory, MEMORY),
            };
            let line = &mut self.lines[msg.to.0 as usize][location];
            let mut log = Log::new(controller.table(), 4);
            let place = Place::new(msg.to, below);
            let Step::Sends(sends) = step(controller, controller.table(), place, line, &msg, &mut log).unwrap() else {
                panic!("{msg} stalls");
            };
            for send in sends {
                if matches!(send.kind, Kind::Loaded | Kind::Stored) {
                    self.warpts[unit] = self.warpts[unit].max(send.stamps.cts);
                    read = send.data.get(0);
                } else {
                    inbox.push(send);
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

    /// The kind of the L2's answer to a first-level cache.
    fn answer(&self) -> Option<Kind> {
        self.sent.iter().find(|msg| msg.from == L2 && msg.to != MEMORY).map(|msg| msg.kind)
    }
}

#[test]
fn a_read_miss_fetches_the_line_with_a_lease_beyond_the_reader_s_time() {
    let mut machine = Machine::new();
    assert_eq!(machine.read(0, X), 0);
    assert_eq!(machine.answer(), Some(Kind::Data));
    assert_eq!(machine.lines[0][X].stamps, Stamps { wts: 1, rts: 11, cts: 0 });
    machine.read(0, X);
    assert!(machine.answer().is_none(), "a hit");
}

#[test]
fn an_expired_lease_is_renewed_without_data_if_the_line_was_not_written() {
    let mut machine = Machine::new();
    machine.read(0, X);
    machine.write(1, Y, 7);
    machine.read(0, Y);
    machine.warpts[0] = 12;
    assert_eq!(machine.read(0, X), 0);
    assert_eq!(machine.answer(), Some(Kind::Renewed));
    assert_eq!(machine.lines[0][X].stamps, Stamps { wts: 1, rts: 22, cts: 0 });
}

#[test]
fn a_write_takes_place_after_every_lease_and_takes_its_compute_unit_along() {
    let mut machine = Machine::new();
    machine.read(0, X);
    machine.write(1, X, 5);
    assert_eq!(machine.warpts, [1, 12]);
    assert_eq!(machine.read(0, X), 0, "at time 1, before the write");
    machine.warpts[0] = 12;
    assert_eq!(machine.read(0, X), 5);
    assert_eq!(machine.answer(), Some(Kind::Data), "another version");
}

#[test]
fn a_reader_of_a_later_write_reads_the_earlier_one_without_any_fence() {
    let mut machine = Machine::new();
    machine.read(1, X);
    machine.read(1, Y);
    machine.write(0, X, 1);
    machine.write(0, Y, 1);
    machine.warpts[1] = machine.lines[1][Y].stamps.rts + 1;
    assert_eq!(machine.read(1, Y), 1, "the flag");
    assert_eq!(machine.read(1, X), 1, "what it announces");
}

#[test]
fn a_write_hit_keeps_the_line_only_if_no_other_unit_has_written_it() {
    let mut machine = Machine::new();
    machine.read(0, X);
    machine.read(1, X);
    machine.write(0, X, 1);
    assert_eq!(machine.lines[0][X].state, gtsc_l1::State::V as u8);
    assert_eq!(machine.lines[0][X].stamps, Stamps { wts: 12, rts: 22, cts: 0 });
    machine.access(1, Kind::Store, X, Block::one(1, 2));
    assert_eq!(machine.lines[1][X].state, gtsc_l1::State::I as u8, "it lacks what the other has written");
    assert_eq!(machine.lines[2][X].data, Block::full([1, 2]));
}
