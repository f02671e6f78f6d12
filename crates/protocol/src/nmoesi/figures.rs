//! `[umh Fig. 5]` step by step: two GPUs write one line without coherence, then a CPU stores to it.
#![cfg(test)]

use super::{hmd::Hmd, l1, l2::L2, smd::Smd, store::Store};
use crate::{Block, Controller, Kind, Line, Log, Mask, Msg, Node, Place, Roster, Sharers, Step, step};
use mem::LineAddr;
use std::collections::VecDeque;

/// Bytes of a line. A block has two lines.
const N: usize = 4;
const LINES: u16 = 2;

const L1: [Node; 2] = [Node(0), Node(1)];
const L2_OF: [Node; 2] = [Node(2), Node(3)];
const SMD: [Node; 2] = [Node(4), Node(6)];
const STACK: [Node; 2] = [Node(5), Node(7)];
const LLC: Node = Node(8);
const HMD: Node = Node(9);
const HOST: Node = Node(10);
const CPU_L1: Node = Node(11);
/// A compute unit of each GPU, and the CPU's core.
const CU: [Node; 2] = [Node(128), Node(159)];
const CORE: Node = Node(200);

static SMDS: Smd = Smd { lines: LINES, releases_home: true };
static VIA_HOME: Hmd = Hmd { lines: LINES, singles: Sharers::one(LLC.0 - SMD[0].0), owns: false, peer: false };
static PEERS: Hmd = Hmd { lines: LINES, singles: Sharers::one(LLC.0 - SMD[0].0), owns: false, peer: true };

/// Two GPUs, a CPU and the host's memory. Messages are delivered one after another, in the order in which they were
/// sent.
struct Machine {
    hmd: &'static Hmd,
    /// By node, then by line of the block.
    lines: Vec<[Line<N>; 2]>,
    /// The messages that the last access caused.
    sent: Vec<Msg<N>>,
}

impl Machine {
    fn new(hmd: &'static Hmd) -> Self {
        let mut machine = Self { hmd, lines: Vec::new(), sent: Vec::new() };
        for node in 0..=CPU_L1.0 {
            let table = machine.controller(Node(node)).0.table();
            let state = table.states.iter().position(|&state| state == "I").unwrap_or(0) as u8;
            machine.lines.push([Line::new(state); 2]);
        }
        machine.lines[HOST.0 as usize] =
            [[9, 9, 9, 9], [8, 8, 8, 8]].map(|bytes| Line { data: Block::full(bytes), ..Line::new(0) });
        machine
    }

    /// The controller of a node, the node below it, and the nodes above it.
    fn controller(&self, node: Node) -> (&'static dyn Controller<N>, Node, Roster) {
        let place = |below, above| (below, Roster::row(above, 8));
        let (controller, (below, above)): (&'static dyn Controller<N>, _) = match node {
            node if L1.contains(&node) => (&l1::GPU, place(L2_OF[node.0 as usize], node)),
            node if L2_OF.contains(&node) => {
                (&L2 { owns: false }, place(SMD[node.0 as usize - 2], L1[node.0 as usize - 2]))
            }
            node if SMD.contains(&node) => (&SMDS, place(HMD, L2_OF[(node.0 as usize - 4) / 2])),
            LLC => (&L2 { owns: false }, place(HMD, CPU_L1)),
            HMD => (self.hmd, place(HMD, SMD[0])),
            CPU_L1 => (&l1::CPU, place(LLC, CPU_L1)),
            _ => (&Store, place(node, node)),
        };
        (controller, below, above)
    }

    fn access(&mut self, core: Node, l1: Node, kind: Kind, data: Block<N>) -> Option<Block<N>> {
        self.sent.clear();
        let mut inbox = VecDeque::from([Msg::new(core, l1, kind, LineAddr(0), data)]);
        let mut read = None;
        while let Some(msg) = inbox.pop_front() {
            if msg.to.0 >= CU[0].0 {
                read = (msg.kind == Kind::Loaded).then_some(msg.data);
                continue;
            }
            let (controller, below, above) = self.controller(msg.to);
            let place = Place { me: msg.to, below, above: &above };
            let number = msg.line.0 as usize / N / controller.lines() * controller.lines();
            let line = &mut self.lines[msg.to.0 as usize][number];
            let mut log = Log::new(controller.table(), 4);
            match step(controller, controller.table(), place, line, &msg, &mut log).unwrap() {
                Step::Stall => inbox.push_back(msg),
                Step::Sends(sends) => {
                    self.sent.extend(&sends);
                    // A store obeys its directory at once, in order.
                    let prompt = |msg: &Msg<N>| msg.to.0 < CU[0].0 && self.controller(msg.to).0.is_prompt();
                    let (at_once, later): (Vec<_>, Vec<_>) = sends.into_iter().partition(prompt);
                    at_once.into_iter().rev().for_each(|send| inbox.push_front(send));
                    inbox.extend(later);
                }
            }
        }
        read
    }

    fn n_store(&mut self, gpu: usize, byte: usize, value: u8) {
        self.access(CU[gpu], L1[gpu], Kind::Store, Block::one(byte, value));
    }

    fn state(&self, node: Node) -> &'static str {
        self.controller(node).0.table().states[self.lines[node.0 as usize][0].state as usize]
    }

    /// The kinds of messages that the last access sent from one node to another about the accessed line or its block.
    fn said(&self, from: Node, to: Node) -> Vec<Kind> {
        let between = |msg: &&Msg<N>| (msg.from, msg.to) == (from, to) && msg.line == LineAddr(0);
        self.sent.iter().filter(between).map(|msg| msg.kind).collect()
    }

    /// How many lines travelled from one node to another.
    fn lines_moved(&self, from: Node, to: Node) -> usize {
        self.sent.iter().filter(|msg| (msg.from, msg.to) == (from, to) && !msg.data.mask().is_empty()).count()
    }

    /// Fig. 5 (a), from which both variants of (b) start.
    fn first_n_store(hmd: &'static Hmd) -> Self {
        let mut machine = Self::new(hmd);
        machine.n_store(0, 0, 1);
        assert_eq!(machine.said(L1[0], L2_OF[0]), [Kind::Get], "(1) a miss in L1");
        assert_eq!(machine.said(L2_OF[0], SMD[0]), [Kind::Get], "(2) a miss in L2");
        assert_eq!(machine.said(SMD[0], HMD), [Kind::Get], "(3) a miss in the SMD, a read request for the host");
        assert_eq!(machine.lines_moved(HOST, SMD[0]), 2, "(4) the whole block comes");
        assert_eq!(machine.lines_moved(STACK[0], L2_OF[0]), 1, "and the line goes up");
        assert_eq!(machine.lines_moved(L2_OF[0], L1[0]), 1);
        assert_eq!(machine.state(L1[0]), "NX", "modified without coherence; no other cache has it so far");
        assert_eq!((machine.state(SMD[0]), machine.state(HMD)), ("E", "X"));
        machine
    }

    /// Checks that each GPU holds the bytes that it wrote, marked in its mask, and that the host's memory is unchanged.
    fn both_hold_their_bytes(&self) {
        for (gpu, bytes) in [[1, 9, 9, 9], [9, 2, 9, 9]].into_iter().enumerate() {
            let line = &self.lines[L1[gpu].0 as usize][0];
            assert_eq!((self.state(L1[gpu]), line.data), ("N", Block::full(bytes)), "GPU {gpu}");
            assert_eq!(line.dirty, Mask::byte(gpu), "GPU {gpu}'s mask");
        }
        assert_eq!(self.lines[HOST.0 as usize][0].data, Block::full([9; N]), "nothing has been merged");
    }
}

#[test]
fn umh_figure_5_a_a_non_coherent_store_misses_everywhere_and_reads_the_block_from_the_host() {
    let machine = Machine::first_n_store(&VIA_HOME);
    assert_eq!(machine.lines[L1[0].0 as usize][0].data, Block::full([1, 9, 9, 9]));
}

#[test]
fn umh_figure_5_b_1_the_other_gpu_acknowledges_the_read_request_and_the_host_supplies_the_block() {
    let mut machine = Machine::first_n_store(&VIA_HOME);
    machine.n_store(1, 1, 2);
    assert_eq!(machine.said(SMD[1], HMD), [Kind::Get], "(3)");
    assert_eq!(machine.said(HMD, SMD[0]), [Kind::Downgrade], "(4) a read request for the holder");
    assert_eq!(machine.said(L2_OF[0], L1[0]), [Kind::Downgrade]);
    assert_eq!(machine.said(L1[0], L2_OF[0]), [Kind::Flushed], "L1 need not give what it has changed");
    assert_eq!(machine.said(L2_OF[0], SMD[0]), [Kind::Flushed], "(5) an acknowledgement");
    assert_eq!((machine.lines_moved(L1[0], L2_OF[0]), machine.lines_moved(L2_OF[0], SMD[0])), (0, 0), "without data");
    assert_eq!(machine.lines_moved(HOST, SMD[1]), 2, "(6) the host gives the block");
    assert_eq!((machine.state(SMD[0]), machine.state(SMD[1]), machine.state(HMD)), ("S", "S", "S"));
    machine.both_hold_their_bytes();
}

#[test]
fn umh_figure_5_b_2_the_other_gpu_gives_the_block_itself() {
    let mut machine = Machine::first_n_store(&PEERS);
    machine.n_store(1, 1, 2);
    assert_eq!(machine.said(HMD, SMD[0]), [Kind::Downgrade], "(3) forwarded");
    assert_eq!(machine.lines_moved(STACK[0], SMD[1]), 2, "(7) from GPU to GPU");
    assert_eq!(machine.lines_moved(HOST, SMD[1]), 0, "the host gives nothing");
    assert_eq!(machine.said(SMD[0], HMD), [Kind::FwdAck], "and is told which node shares the block");
    assert_eq!(machine.lines_moved(STACK[1], L2_OF[1]), 1, "(8)");
    assert_eq!((machine.state(SMD[0]), machine.state(SMD[1]), machine.state(HMD)), ("S", "S", "S"));
    machine.both_hold_their_bytes();
}

#[test]
fn umh_figure_5_c_a_store_of_the_cpu_has_everything_merged() {
    for hmd in [&VIA_HOME, &PEERS] {
        let mut machine = Machine::first_n_store(hmd);
        machine.n_store(1, 1, 2);
        machine.access(CORE, CPU_L1, Kind::Store, Block::one(2, 3));
        assert_eq!(
            (machine.said(CPU_L1, LLC), machine.said(LLC, HMD)),
            (vec![Kind::GetX], vec![Kind::GetX]),
            "(1), (2)"
        );
        for gpu in 0..2 {
            assert_eq!(machine.said(HMD, SMD[gpu]), [Kind::Inval], "(3) to every sharer");
            assert_eq!(machine.said(SMD[gpu], L2_OF[gpu]), [Kind::Inval]);
            assert_eq!(machine.said(L2_OF[gpu], L1[gpu]), [Kind::Inval]);
            assert_eq!(machine.lines_moved(L1[gpu], L2_OF[gpu]), 1, "(4) L1 answers with its bytes");
            assert_eq!(machine.lines_moved(STACK[gpu], HMD), 1, "and they come down");
            let above = [L1[gpu], L2_OF[gpu], SMD[gpu]].map(|node| machine.state(node));
            assert_eq!(above, ["I", "I", "I"], "no cache keeps anything");
        }
        assert_eq!(machine.lines[HOST.0 as usize][0].data, Block::full([1, 2, 9, 9]), "(5) merged by the byte masks");
        assert_eq!(machine.lines_moved(HOST, LLC), 1, "(6) one line, the block stays");
        assert_eq!((machine.state(CPU_L1), machine.state(HMD)), ("M", "X"));
        assert_eq!(machine.lines[CPU_L1.0 as usize][0].data, Block::full([1, 2, 3, 9]));
    }
}

#[test]
fn a_store_of_no_byte_synchronises_one_block_for_the_cpu_to_load() {
    let mut machine = Machine::first_n_store(&PEERS);
    machine.n_store(1, 1, 2);
    machine.access(CORE, CPU_L1, Kind::Store, Block::EMPTY);
    let read = machine.access(CORE, CPU_L1, Kind::Load, Block::EMPTY);
    assert_eq!(read, Some(Block::full([1, 2, 9, 9])));
    assert!(machine.said(CPU_L1, LLC).is_empty(), "a hit");
}

#[test]
fn a_mask_with_four_bytes_a_bit_lets_only_whole_words_go_without_coherence() {
    let is_n_store = |grain, start, count| l1::is_n_store(Some(grain), Mask::range(start, count));
    assert!(is_n_store(1, 5, 1) && is_n_store(4, 4, 8) && is_n_store(8, 56, 8));
    assert!(!is_n_store(2, 5, 1) && !is_n_store(4, 4, 6) && !is_n_store(8, 4, 8));
    assert!(!is_n_store(1, 0, 0), "a store of no byte asks for the line");
}

#[test]
fn bytes_that_a_gpu_has_changed_and_shared_are_written_home_for_the_cpu_to_read() {
    let mut machine = Machine::new(&PEERS);
    machine.access(CU[0], L1[0], Kind::Store, Block::EMPTY);
    machine.n_store(0, 0, 1);
    assert_eq!((machine.state(L1[0]), machine.state(SMD[0])), ("M", "M"));
    machine.access(CU[1], L1[1], Kind::Load, Block::EMPTY);
    assert_eq!((machine.state(L1[0]), machine.state(SMD[0]), machine.state(HMD)), ("S", "O", "O"), "M becomes O");
    let read = machine.access(CORE, CPU_L1, Kind::Load, Block::EMPTY);
    assert_eq!(read, Some(Block::full([1, 9, 9, 9])), "the CPU holds lines: its goes through the host");
    assert_eq!((machine.state(SMD[0]), machine.state(HMD)), ("S", "S"));
}
