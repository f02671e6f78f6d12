//! What the checker can't see is known: the documentation names every change it does not notice and every cell it does not meet.

use protocol::{
    catalogue::{Protocol, find},
    check::{Coverage, Limits, Network, check, try_mutants},
};

/// Small enough for every test run; `cohesim check --mutants` tries them all.
const PROTOCOLS: [&str; 4] = ["vi", "wb_nc", "wt_nc", "adsm"];

/// The text of a section of `docs/protocols.md`.
fn documented(heading: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocols.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, section) = text.split_once(&format!("## {heading}\n")).unwrap_or_else(|| panic!("no section '{heading}'"));
    section.split("\n## ").next().unwrap_or_default().to_owned()
}

fn limits(protocol: &'static Protocol) -> impl Iterator<Item = (protocol::check::System, Limits)> {
    protocol.systems.iter().map(|setup| ((setup.build)(2, 1), Limits { rounds: setup.rounds, ..Limits::default() }))
}

/// Tries the tables of a protocol: enough changes are noticed, and the others are explained.
fn try_out(name: &str) {
    try_with(name, &[Limits::default().values]);
}

/// The same with so many stores: first with few, then with more where a change was not noticed.
fn try_with(name: &str, stores: &[u8]) {
    let explained = documented("Changes that the checker does not notice");
    let protocol = find(name).unwrap();
    let with = |&values: &u8| limits(protocol).map(move |(system, limits)| (system, Limits { values, ..limits }));
    let systems: Vec<_> = stores.iter().flat_map(with).collect();
    let (mut changes, mut survivors) = (0, Vec::new());
    for table in protocol.tables {
        let trial = try_mutants(&[table], &systems, 2, &|_, _| {});
        println!(
            "{}: {} of {} changes not noticed: {:?}",
            table.name,
            trial.survivors.len(),
            trial.changes,
            trial.survivors
        );
        changes += trial.changes;
        survivors.extend(trial.survivors);
    }
    assert!(survivors.len() * 20 <= changes, "{name}: {} of {changes}: {survivors:#?}", survivors.len());
    for survivor in survivors {
        let named = explained.contains(&format!("`{survivor}`"));
        assert!(named, "docs/protocols.md does not explain {name} {survivor}");
    }
}

#[test]
fn at_least_95_of_100_changes_to_the_tables_are_noticed_and_the_others_are_explained() {
    PROTOCOLS.into_iter().for_each(try_out);
}

#[test]
#[ignore = "takes minutes: logical time makes many states"]
fn at_least_95_of_100_changes_to_halcone_are_noticed_and_the_others_are_explained() {
    try_out("halcone");
}

#[test]
#[ignore = "takes nine minutes: two stores, and logical time makes many states"]
fn at_least_95_of_100_changes_to_gtsc_are_noticed_and_the_others_are_explained() {
    try_with("gtsc", &[1, 2]);
}

#[test]
fn cells_that_no_search_meets_are_explained() {
    let explained = documented("Cells never reached");
    for name in PROTOCOLS {
        let mut coverage = Coverage::default();
        for (system, limits) in limits(find(name).unwrap()) {
            coverage.add(&system, &check(system.clone(), Network::Unordered, limits));
        }
        for cell in coverage.unreached() {
            assert!(explained.contains(&format!("`{cell}`")), "docs/protocols.md does not explain {name} {cell}");
        }
    }
}
