//! HMG's design decisions, each compared with its alternative, and its scopes: the tables step by step.

use mem::{LineAddr, Scope};
use protocol::{
    Block, Cell, Controller, Kind, Line, Log, Msg, Node, Place, Roster, Sharers, Step,
    catalogue::find,
    check::{Limits, Network, System, check},
    hmg::{HmgL2, hmg_l2},
    step,
    vi_l1::{ViL1, l1},
};
use std::sync::LazyLock;

/// Two GPUs: L1s 0 and 1, L2s 2 and 3, memory 4.
static L2: HmgL2 = HmgL2;
static L2S: LazyLock<Roster> = LazyLock::new(|| Roster::row(Node(2), 2));
static HOME: LazyLock<Place<'_>> = LazyLock::new(|| Place { me: Node(2), below: Node(4), above: &L2S });
static AWAY: LazyLock<Place<'_>> = LazyLock::new(|| Place { me: Node(3), below: Node(2), above: &L2S });

fn sent(controller: &dyn Controller<2>, place: Place<'_>, line: &mut Line<2>, msg: Msg<2>) -> Vec<Msg<2>> {
    let table = controller.table();
    match step(controller, table, place, line, &msg, &mut Log::new(table, 4)).unwrap() {
        Step::Sends(sends) => sends,
        Step::Stall => panic!("{msg} stalls"),
    }
}

fn msg(from: u16, to: u16, kind: Kind, data: Block<2>) -> Msg<2> {
    Msg::new(Node(from), Node(to), kind, LineAddr(0), data)
}

fn held(state: hmg_l2::State) -> Line<2> {
    Line { data: Block::full([0, 0]), ..Line::new(state as u8) }
}

fn kinds(sends: &[Msg<2>]) -> Vec<(Kind, Node)> {
    sends.iter().map(|send| (send.kind, send.to)).collect()
}

#[test]
fn a_home_sends_invalidations_to_the_holders_of_a_line_and_does_not_wait_for_them() {
    let mut line = held(hmg_l2::State::V);
    sent(&L2, *HOME, &mut line, msg(3, 2, Kind::Read, Block::EMPTY));
    assert_eq!(line.sharers, Sharers::one(1));
    let sends = sent(&L2, *HOME, &mut line, msg(0, 2, Kind::Write, Block::one(0, 1)));
    assert_eq!(kinds(&sends), [(Kind::Ack, Node(0)), (Kind::Inval, Node(3))]);
    assert_eq!(line.sharers, Sharers::NONE);
    let again = sent(&L2, *HOME, &mut line, msg(0, 2, Kind::Read, Block::EMPTY));
    assert_eq!(kinds(&again), [(Kind::Data, Node(0))], "no cache waits for answers");
}

#[test]
fn a_writer_keeps_its_copy() {
    let mut line = Line { sharers: Sharers::one(1), ..held(hmg_l2::State::V) };
    let sends = sent(&L2, *HOME, &mut line, msg(3, 2, Kind::Write, Block::one(0, 1)));
    assert_eq!(kinds(&sends), [(Kind::Ack, Node(3))]);
    assert_eq!(line.sharers, Sharers::one(1));
}

#[test]
fn a_home_that_gives_a_line_up_has_its_copies_forgotten() {
    let mut line = Line { sharers: Sharers::one(1), ..held(hmg_l2::State::V) };
    let sends = sent(&L2, *HOME, &mut line, msg(2, 2, Kind::Evict, Block::EMPTY));
    assert_eq!(kinds(&sends), [(Kind::Inval, Node(3))]);
    assert_eq!(line, Line::new(hmg_l2::State::I as u8));
}

#[test]
fn a_load_goes_as_far_as_its_scope_says() {
    let load = |scope| Msg { scope, ..msg(9, 1, Kind::Load, Block::EMPTY) };
    let place = Place::new(Node(1), Node(3));
    let l1_held = Line { data: Block::full([0, 0]), ..Line::new(l1::State::V as u8) };
    let hit = sent(&ViL1::ANY_ORDER, place, &mut l1_held.clone(), load(Scope::Group));
    assert_eq!(kinds(&hit), [(Kind::Loaded, Node(9))]);
    for (scope, expected) in [(Scope::Device, (Kind::Data, Node(1))), (Scope::System, (Kind::Read, Node(2)))] {
        let read = sent(&ViL1::ANY_ORDER, place, &mut l1_held.clone(), load(scope));
        assert_eq!(kinds(&read), [(Kind::Read, Node(3))], "{scope:?}");
        let answer = sent(&L2, *AWAY, &mut held(hmg_l2::State::A), read[0]);
        assert_eq!(kinds(&answer), [expected], "{scope:?}");
    }
}

fn gpus() -> System {
    (find("hmg").unwrap().system("gpus").unwrap().build)(2, 1)
}

fn is_found(system: System) -> bool {
    let report = check(system, Network::Unordered, Limits { values: 1, ..Limits::default() });
    report.counterexample.is_some_and(|chart| chart.contains("read 0"))
}

/// The system with one cell of the second-level caches' table changed.
fn with(state: hmg_l2::State, event: hmg_l2::Event, cell: Cell) -> System {
    let mut system = gpus();
    system.tables[1] = system.tables[1].with(state as u8, event as u8, cell);
    system
}

#[test]
fn a_copy_kept_although_it_was_invalidated_before_it_arrived_stays_stale() {
    let (state, event) = (hmg_l2::State::AF, hmg_l2::Event::Forget);
    assert!(is_found(with(state, event, Cell::Go(state as u8, [].as_slice().into()))));
}

#[test]
fn a_home_that_does_not_record_readers_leaves_copies_stale() {
    let (state, event) = (hmg_l2::State::V, hmg_l2::Event::Read);
    let reply = [hmg_l2::Action::Reply as u8].to_vec();
    assert!(is_found(with(state, event, Cell::Go(state as u8, reply.into()))));
}
