//! What the checker finds if M2S-CGM's text or tables (`[giles 3.2.6]`) are taken literally, or if a cell of this
//! project is replaced by the obvious but wrong one. `docs/protocols/mesi.md` explains each case.

use protocol::{
    Cell, Table,
    check::{Limits, Network, Report, System, check},
    mesi,
};
use std::borrow::Cow;

/// The table with one cell replaced by `cell`: the next state and the actions.
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

/// The system with some cells of one table changed.
fn changed(mut system: System, name: &str, cells: &[(&str, &str, &str)]) -> System {
    let table = system.tables.iter_mut().find(|table| table.name == name).expect("the system has this table");
    for (state, event, cell) in cells {
        *table = with(table, state, event, cell);
    }
    system
}

fn search(system: System) -> Report {
    check(system, Network::Unordered, Limits { rounds: 0, ..Limits::default() })
}

/// The property that the search finds violated, and the trace.
fn violated(system: System) -> (&'static str, String) {
    let report = search(system);
    let property = report.properties.iter().find(|property| property.holds == Some(false));
    (property.expect("something is violated").name, report.counterexample.expect("a violation has a trace"))
}

#[test]
fn an_upgrade_acknowledged_before_the_invalidations_are_gives_a_writer_beside_readers() {
    let paper = [("S", "Upgrade", "M_Inval UpgradeAck Inval HoldAlone")];
    let (property, chart) = violated(changed(mesi::cores(2, 1), "l3", &paper));
    assert_eq!(property, "single writer", "{chart}");
}

#[test]
fn a_second_level_cache_that_does_not_wait_for_its_first_level_cache_leaves_a_copy_behind() {
    let paper = [("S", "Evict", "I Drop")];
    let (property, chart) = violated(changed(mesi::cores(2, 1), "l2", &paper));
    assert_eq!(property, "directory agrees", "{chart}");
}

#[test]
fn a_directory_that_gives_the_line_to_its_owner_while_a_forward_is_under_way_makes_two_owners() {
    let paper = [("E_Pending", "LoadOwner", "E_Pending PutClnX"), ("M_Pending", "LoadOwner", "M_Pending PutX")];
    let (property, chart) = violated(changed(mesi::cores(2, 1), "l3", &paper));
    assert_eq!(property, "directory agrees", "{chart}");
}

#[test]
fn a_gpu_l2_that_gives_the_line_to_its_owner_while_a_flush_is_under_way_gives_stale_bytes_away() {
    let paper = [("M_Pending", "LoadOwner", "M_Pending PutX"), ("M_Pending", "StoreOwner", "M_Pending PutX")];
    let (property, chart) = violated(changed(mesi::gpu(2, 1), "gpu_l2", &paper));
    assert_eq!(property, "a read returns a value it may: none lost, none invented", "{chart}");
    assert!(chart.trim_end().ends_with("stored into a stale line 0"), "{chart}");
}

#[test]
fn a_gpu_l2_that_answers_a_store_from_its_write_back_queue_as_clean_grants_no_store() {
    let paper = [("I_WB_Writable", "Store", "M_Held HoldAlone PutClnX")];
    let (property, chart) = violated(changed(mesi::gpu(1, 1), "gpu_l2", &paper));
    assert_eq!(property, "no impossible cell", "{chart}");
}

#[test]
fn an_invalidation_acknowledged_before_its_line_has_arrived_is_lost() {
    let hasty = [("I_Get", "Inval", "I_Get InvAck")];
    let (property, chart) = violated(changed(mesi::cores(2, 1), "l2", &hasty));
    assert_eq!(property, "directory agrees", "{chart}");
}

#[test]
fn a_refusal_of_a_forward_that_overtakes_the_write_back_makes_the_directory_give_stale_bytes_away() {
    let hasty = [("I_WB_Non_Writable", "GetFwd", "I_WB_Non_Writable FwdNack")];
    let (property, chart) = violated(changed(mesi::cores(2, 1), "l2", &hasty));
    assert_eq!(property, "no impossible cell", "the write-back comes too late: {chart}");
}

#[test]
fn a_fetch_from_an_exclusive_line_leaves_the_instruction_cache_behind() {
    let hasty = [("E", "Fetch", "E PutS")];
    let (property, chart) = violated(changed(mesi::fetches(2, 1), "l2", &hasty));
    assert_eq!(property, "directory agrees", "{chart}");
}

#[test]
fn a_lane_between_two_caches_needs_room_for_one_message_only() {
    let limits = Limits { rounds: 0, ..Limits::default() };
    let narrow = check(mesi::cores(2, 1), Network::Ordered { depth: 1 }, limits);
    assert!(narrow.holds(), "{}", narrow.counterexample.unwrap_or_default());
    assert_eq!(narrow.states, search(mesi::cores(2, 1)).states, "no message ever waits behind another");
}
