//! What the checker finds if a cell of NMOESI is replaced by the obvious but wrong one; and checks of systems that are
//! too large for every test run.

use mem::LineAddr;
use protocol::{
    Block, Cell, Controller, Kind, Lane, Line, Log, Msg, Node, Place, Roster, Row, Step, Table,
    catalogue::{Setup, find},
    check::{Check, Limits, Network, Report, Run, System, check, search as explore, walk},
    nmoesi, step,
};
use std::borrow::Cow;

/// The table with one cell as written: the next state and the actions.
fn with(table: &Table, state: &str, event: &str, cell: &str) -> Table {
    let number = |names: &[&str], name: &str| {
        let number = names.iter().position(|&known| known == name);
        number.unwrap_or_else(|| panic!("{} has no {name}", table.name)) as u8
    };
    let mut words = cell.split_whitespace();
    let next = number(table.states, words.next().expect("a cell names the next state"));
    let actions: Vec<_> = words.map(|action| number(table.actions, action)).collect();
    table.with(number(table.states, state), number(table.events, event), Cell::Go(next, Cow::Owned(actions)))
}

fn changed(mut system: System, name: &str, state: &str, event: &str, cell: &str) -> System {
    let table = system.tables.iter_mut().find(|table| table.name == name).expect("the system has this table");
    *table = with(table, state, event, cell);
    system
}

fn search(system: System, rounds: u8) -> Report {
    check(system, Network::Unordered, Limits { rounds, ..Limits::default() })
}

fn is_violated(system: System, rounds: u8) -> bool {
    search(system, rounds).counterexample.is_some()
}

#[test]
fn a_line_that_arrives_after_its_invalidation_was_answered_is_stale() {
    let hasty = changed(nmoesi::stores(3, 1), "nmoesi_l1", "I_Get", "Inval", "I_Get Flushed");
    assert!(is_violated(hasty, 0));
}

#[test]
fn bytes_written_without_coherence_are_lost_if_an_invalidation_is_merely_acknowledged() {
    let hasty = changed(nmoesi::n_stores(2, 1), "nmoesi_l1", "N", "Inval", "I Flushed Drop");
    assert!(is_violated(hasty, 1));
}

#[test]
fn a_holder_that_gives_bytes_back_makes_the_others_give_the_block_up_or_they_read_stale_bytes_after_a_flush() {
    let hasty = changed(nmoesi::n_stores(2, 1), "hmd", "S", "WriteBack", "S Relieve");
    assert!(is_violated(hasty, 1));
}

/// The last-level cache asks for a line to write although a core only loads it: other holders then give up what they
/// have written without coherence. If the cache asked for the line to read, the core would be given older bytes.
#[test]
fn a_core_that_only_asks_to_read_does_not_see_what_a_gpu_wrote_without_coherence() {
    let hasty = changed(nmoesi::owned_loads(2, 1), "nmoesi_l2", "I", "GetAlone", "I_GetS Ask GetS");
    assert!(is_violated(hasty, 1));
    assert!(!is_violated(nmoesi::owned_loads(2, 1), 1));
}

/// Bytes that an owner wrote before a release stay with it, marked as newer than the host's. Another GPU that received
/// the block may have written over them in the meantime. So when the owner asks for the block for writing, its bytes
/// have to be merged into the host's memory first.
#[test]
fn an_owner_that_asks_for_its_block_gives_its_older_bytes_up_or_keeps_them_over_newer_ones() {
    let violated = |system: System| {
        let check = Check::new(system, Network::Unordered, 7, 3);
        (0..60).any(|seed| walk(&check, 400, seed).is_some())
    };
    let hasty = changed(nmoesi::kept_claims(2, 1), "hmd", "O", "GetXShared", "W_Inval Ask InvalOthers");
    assert!(violated(hasty));
    assert!(!violated(nmoesi::kept_claims(2, 1)));
}

fn larger() -> impl Iterator<Item = &'static Setup> {
    find("nmoesi").expect("it is there").larger.iter()
}

#[test]
#[ignore = "takes minutes: millions of states"]
fn larger_systems_hold() {
    for setup in larger().filter(|setup| !setup.name.starts_with("whole") && !setup.name.starts_with("three")) {
        let report = search((setup.build)(2, 1), setup.rounds);
        let trace = report.counterexample.clone().unwrap_or_default();
        assert!(report.holds(), "{}: {:?}\n{trace}", setup.name, report.properties);
    }
}

#[test]
fn random_walks_over_larger_systems_meet_nothing_wrong() {
    for setup in larger() {
        let check = Check::new((setup.build)(2, 1), Network::Unordered, 7, 3);
        for seed in 0..20 {
            assert_eq!(walk(&check, 500, seed), None, "{}, walk {seed}", setup.name);
        }
    }
}

/// A cache that receives a flush of a line during its write-back waits for the probe that ends the write-back.
#[test]
fn a_probe_that_waits_behind_a_flush_of_its_line_waits_forever() {
    let mut check = Check::new(nmoesi::l2_through(2, 1), Network::Rows, 1, 1);
    check.row = |msg| if msg.lane() == Lane::Request { Row::Request } else { Row::Probe };
    let found = explore(&check, &Run::default());
    assert_eq!(found.violation.map(|violation| violation.property), Some("some message can always move"));
}

/// A block that a GPU's memory gives up waits for the home's probe. The probe may be queued behind a request of the
/// cache above to take lines of the block back. If that request had to wait, each of these walks would deadlock.
#[test]
fn a_memory_that_gives_up_a_block_takes_lines_back_while_it_waits() {
    for (name, seed) in
        [("lone-gpu", 178), ("two-gpus", 147), ("whole-mixed", 29), ("three-stores", 95), ("three-gpus", 75)]
    {
        let setup = larger().find(|setup| setup.name == name).expect("there is such a system");
        let check = Check::new((setup.build)(2, 1), Network::Rows, 7, 3);
        assert_eq!(walk(&check, 600, seed), None, "{name}, walk {seed}");
    }
}

#[test]
fn no_message_that_waits_in_rows_of_larger_systems_waits_forever() {
    for setup in larger() {
        let check = Check::new((setup.build)(2, 1), Network::Rows, 7, 3);
        for seed in 0..20 {
            assert_eq!(walk(&check, 500, seed), None, "{}, walk {seed}", setup.name);
        }
    }
}

/// A cache may ask to have a clean line taken back. It held the line alone until another GPU requested the block. When
/// the request arrives, the block may have modified bytes of other lines. An earlier table lost these, because it took
/// the block for a clean one.
#[test]
fn a_clean_line_that_is_returned_does_not_change_a_block_with_bytes_of_other_lines() {
    const N: usize = 4;
    let (cache, me, home) = (Node(0), Node(1), Node(3));
    let smd: &dyn Controller<N> = &nmoesi::smd::Smd { lines: 2, releases_home: true };
    let above = Roster::row(cache, 1);
    let state = |name| smd.table().states.iter().position(|&state| state == name).expect("there is such a state") as u8;
    let mut block: Line<N> = Line { in_flight: mem::Mask::byte(0), ..Line::new(state("N")) };
    for kind in [Kind::WriteBack, Kind::Flushed] {
        let msg = Msg::new(cache, me, kind, LineAddr(0), Block::EMPTY);
        let place = Place { me, below: home, above: &above };
        let done = step(smd, smd.table(), place, &mut block, &msg, &mut Log::new(smd.table(), 4));
        assert!(matches!(done, Ok(Step::Sends(_))), "{kind:?}");
    }
    assert_eq!(block.state, state("N"));
}
