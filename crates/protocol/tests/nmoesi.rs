//! What the checker finds where a cell of NMOESI is made the obvious, hasty one; and systems too large for every run.

use protocol::{
    Cell, Table,
    check::{Check, Limits, Network, Report, System, check},
    nmoesi,
};
use stateright::Model;
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
fn a_line_that_comes_after_its_invalidation_was_answered_is_stale() {
    let hasty = changed(nmoesi::stores(3, 1), "nmoesi_l1", "I_Get", "Inval", "I_Get Flushed");
    assert!(is_violated(hasty, 0));
}

#[test]
fn bytes_written_without_coherence_are_lost_if_an_invalidation_is_merely_acknowledged() {
    let hasty = changed(nmoesi::n_stores(2, 1), "nmoesi_l1", "N", "Inval", "I Flushed Drop");
    assert!(is_violated(hasty, 1));
}

#[test]
fn whoever_gives_bytes_back_makes_the_others_give_the_block_up_or_they_read_old_bytes_after_a_flush() {
    let hasty = changed(nmoesi::n_stores(2, 1), "hmd", "S", "WriteBack", "S Relieve");
    assert!(is_violated(hasty, 1));
}

/// The systems that are too large for every run, with how often their stages are gone through.
fn larger() -> [(&'static str, System, u8); 5] {
    [
        ("peers", nmoesi::peers(0, 0), 0),
        ("peers-cpu", nmoesi::peers_cpu(0, 0), 0),
        ("beside-n-stores", nmoesi::beside_n_stores(0, 0), 1),
        ("claim-owned", nmoesi::claim_owned(0, 0), 1),
        ("final-flush-apart", nmoesi::final_flush_apart(0, 0), 1),
    ]
}

#[test]
#[ignore = "takes minutes: millions of states"]
fn larger_systems_hold() {
    for (name, system, rounds) in larger() {
        let report = search(system, rounds);
        let trace = report.counterexample.clone().unwrap_or_default();
        assert!(report.holds(), "{name}: {:?}\n{trace}", report.properties);
    }
}

#[test]
#[ignore = "walks at random, as long as one likes"]
fn random_walks_over_larger_systems_meet_nothing_wrong() {
    for (name, system, rounds) in larger() {
        let check = Check::new(system, Network::Unordered, 7, rounds.max(3));
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        for _ in 0..100 {
            let mut world = check.init_states().remove(0);
            for step in 0..1000 {
                let mut moves = Vec::new();
                check.actions(&world, &mut moves);
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let first = random as usize % moves.len().max(1);
                let next = (0..moves.len())
                    .find_map(|other| check.next_state(&world, moves[(first + other) % moves.len()].clone()));
                let Some(next) = next else { break };
                world = next;
                for property in check.properties() {
                    assert!((property.condition)(&check, &world), "{name}: {} after {step} moves", property.name);
                }
            }
        }
    }
}
