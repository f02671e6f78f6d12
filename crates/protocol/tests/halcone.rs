//! HALCONE's design decisions, each compared with its alternative by the checker.

use protocol::{
    Cell,
    catalogue::find,
    check::{Limits, Network, Report, System, check},
    halcone::{halcone_l1, halcone_l2, tsu},
};

fn system() -> System {
    (find("halcone").unwrap().system("gpus").unwrap().build)(2, 1)
}

/// The system with one action removed from a cell.
fn without(mut system: System, table: &str, state: u8, event: u8, action: u8) -> System {
    let table = system.tables.iter_mut().find(|known| known.name == table).unwrap();
    let Cell::Go(next, actions) = table.cell(state, event).clone() else { panic!("the cell does nothing") };
    let fewer: Vec<u8> = actions.iter().copied().filter(|&other| other != action).collect();
    assert_ne!(fewer.len(), actions.len(), "the action is not there");
    *table = table.with(state, event, Cell::Go(next, fewer.into()));
    system
}

fn violated(system: System) -> (Vec<&'static str>, String) {
    let report: Report = check(system, Network::Unordered, Limits { threads: 2, ..Limits::default() });
    let violated = report.properties.iter().filter(|p| p.holds == Some(false)).map(|p| p.name).collect();
    (violated, report.counterexample.unwrap_or_default())
}

#[test]
fn a_unit_that_starts_a_forgotten_line_at_zero_lets_stale_data_live_on() {
    let (none, write, enter) = (tsu::State::None as u8, tsu::Event::Write as u8, tsu::Action::Enter as u8);
    let (violated, chart) = violated(without(system(), "tsu", none, write, enter));
    assert_eq!(violated, ["a read returns the newest write up to its logical time"]);
    assert!(chart.contains("Evict"), "{chart}");
}

#[test]
fn a_fence_that_does_not_raise_the_time_of_caches_misses_what_was_written_before_it() {
    let (valid, acquire, raise) =
        (halcone_l2::State::V as u8, halcone_l2::Event::Acquire as u8, halcone_l2::Action::Raise as u8);
    let system = without(system(), "halcone_l2", valid, acquire, raise);
    let (valid, acquire, raise) =
        (halcone_l1::State::V as u8, halcone_l1::Event::Acquire as u8, halcone_l1::Action::Raise as u8);
    let (violated, chart) = violated(without(system, "halcone_l1", valid, acquire, raise));
    assert_eq!(violated, ["a read returns a value it may: none lost, none invented"], "{chart}");
}

#[test]
fn a_fence_that_raises_a_cache_and_not_the_one_below_it_breaks_the_order_of_logical_time() {
    let (valid, acquire, raise) =
        (halcone_l2::State::V as u8, halcone_l2::Event::Acquire as u8, halcone_l2::Action::Raise as u8);
    let (violated, chart) = violated(without(system(), "halcone_l2", valid, acquire, raise));
    assert_eq!(violated, ["a read returns the newest write up to its logical time"], "{chart}");
}

#[test]
fn a_cache_that_reads_without_advancing_its_time_reads_from_the_future() {
    let (waiting, data, stamp) =
        (halcone_l1::State::R as u8, halcone_l1::Event::Data as u8, halcone_l1::Action::Stamp as u8);
    let (violated, chart) = violated(without(system(), "halcone_l1", waiting, data, stamp));
    assert_eq!(violated, ["a read returns the newest write up to its logical time"], "{chart}");
}
