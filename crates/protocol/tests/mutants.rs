//! The checker's limits are documented: the pages of `docs/protocols` name every mutant that it does not notice and
//! every cell that it does not meet.

use protocol::{
    catalogue::{Protocol, find},
    check::{Coverage, Limits, Network, Trial, Walks, check, try_mutants},
};
use std::{collections::BTreeSet, fs, path::Path};

/// Protocols small enough to be searched in every test run; `cohesim check --mutants` tries all.
const SEARCHED: [&str; 4] = ["vi", "wb_nc", "wt_nc", "adsm"];

/// The words in backticks in the sections of that heading, in all pages of `docs/protocols`.
fn documented(heading: &str) -> BTreeSet<String> {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocols");
    let mut named = BTreeSet::new();
    for page in fs::read_dir(pages).unwrap() {
        let text = fs::read_to_string(page.unwrap().path()).unwrap();
        let Some((_, section)) = text.split_once(&format!("## {heading}\n")) else { continue };
        let section = section.split("\n## ").next().unwrap_or_default();
        named.extend(section.split('`').skip(1).step_by(2).flat_map(each));
    }
    named
}

/// `wb: F, PF on Read, Write: stall` as the four cells that it stands for.
fn each(names: &str) -> Vec<String> {
    let in_parts = || {
        let (table, rest) = names.split_once(": ")?;
        let (states, rest) = rest.split_once(" on ")?;
        Some((table, states, rest.split_once(": ").map_or((rest, None), |(events, change)| (events, Some(change)))))
    };
    let Some((table, states, (events, change))) = in_parts() else { return vec![names.to_owned()] };
    let change = change.map_or(String::new(), |change| format!(": {change}"));
    let cell = |state, event| format!("{table}: {state} on {event}{change}");
    states.split(", ").flat_map(|state| events.split(", ").map(move |event| cell(state, event))).collect()
}

#[test]
fn lists_of_states_and_events_stand_for_every_pair() {
    assert_eq!(each("wb: F, PF on Write: stall"), ["wb: F on Write: stall", "wb: PF on Write: stall"]);
    assert_eq!(each("l1: V on Load, Store"), ["l1: V on Load", "l1: V on Store"]);
    assert_eq!(each("gpus-atomics"), ["gpus-atomics"]);
}

/// Tries all mutants of a protocol's tables: with `walks` on each system, then with searches of at most `states`
/// states.
fn try_out(name: &str, walks: Walks, states: usize) -> Trial {
    let protocol = find(name).unwrap();
    let grounds = protocol.grounds(Limits { states, ..Limits::default() });
    protocol.own(try_mutants(protocol.tables, &grounds, walks, 2, &|_, _| {}))
}

fn enough_are_noticed(name: &str, trial: &Trial) {
    assert!(trial.noticed() >= 0.95, "{name}: {:?} of {} changes", trial.survivors, trial.changes);
}

#[test]
fn at_least_95_of_100_changes_to_the_tables_are_noticed_and_the_others_are_explained() {
    let explained = documented("Changes that the checker does not notice");
    for name in SEARCHED {
        let trial = try_out(name, Walks { number: 150, steps: 300 }, usize::MAX);
        enough_are_noticed(name, &trial);
        let unexplained = trial.survivors.iter().filter(|survivor| !explained.contains(&survivor.name));
        let unexplained: Vec<&str> = unexplained.map(|survivor| survivor.name.as_str()).collect();
        assert!(unexplained.is_empty(), "docs/protocols does not explain of {name}: {unexplained:?}");
    }
}

#[test]
fn walks_alone_notice_95_of_100_changes_to_halcone() {
    enough_are_noticed("halcone", &try_out("halcone", Walks { number: 400, steps: 200 }, 0));
}

#[test]
fn walks_alone_notice_95_of_100_changes_to_gtsc() {
    enough_are_noticed("gtsc", &try_out("gtsc", Walks { number: 200, steps: 150 }, 0));
}

/// Many of HMG's cells may stall instead and still be correct; some of the others are noticed only by searches.
#[test]
fn walks_and_short_searches_notice_95_of_100_changes_to_hmg() {
    enough_are_noticed("hmg", &try_out("hmg", Walks { number: 400, steps: 300 }, 20_000));
}

fn searched(protocol: &'static Protocol) -> impl Iterator<Item = (protocol::check::System, Limits)> {
    protocol.systems.iter().map(|setup| ((setup.build)(2, 1), Limits { rounds: setup.rounds, ..Limits::default() }))
}

#[test]
fn cells_that_no_search_meets_are_explained() {
    let explained = documented("Cells that no search meets");
    for name in SEARCHED {
        let mut coverage = Coverage::default();
        let protocol = find(name).unwrap();
        for (system, limits) in searched(protocol) {
            coverage.add(&system, &check(system.clone(), Network::Unordered, limits));
        }
        for cell in coverage.unreached().into_iter().filter(|cell| !protocol.leaves_to_others(cell)) {
            assert!(explained.contains(&cell), "docs/protocols does not explain {name} {cell}");
        }
    }
}
