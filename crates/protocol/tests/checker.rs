//! The checker against stateright's own, and against protocols that are wrong on purpose.

use protocol::{
    Cell,
    catalogue::find,
    check::{Check, Limits, Network, check, mutants, search},
    vi_l1::l1,
};
use stateright::{Checker, Model};
use std::borrow::Cow;

fn one_cache(name: &str) -> Check {
    Check::new((find(name).unwrap().system)(1, 1), Network::Unordered, 2, 1)
}

#[test]
fn stateright_finds_as_many_states_as_the_own_search_where_no_two_caches_are_equal() {
    for name in ["vi", "wb_nc", "wt_nc", "adsm_rolling"] {
        let found = search(&one_cache(name), usize::MAX);
        let theirs = one_cache(name).checker().spawn_bfs().join();
        assert_eq!(found.states, theirs.unique_state_count(), "{name}");
        assert!(found.violation.is_none() && theirs.discoveries().is_empty(), "{name}");
    }
}

#[test]
fn equal_caches_count_once() {
    let system = (find("vi").unwrap().system)(2, 1);
    let mut named = system.clone();
    named.equals.clear();
    let states = |system| check(system, Network::Unordered, Limits { values: 1, ..Limits::default() }).states;
    let (canonical, all) = (states(system), states(named));
    assert!(canonical * 2 > all && canonical < all * 6 / 10, "{canonical} of {all}");
}

#[test]
fn a_kernel_that_starts_without_invalidation_reads_a_stale_byte_and_the_chart_shows_how() {
    let mut system = (find("vi").unwrap().system)(2, 1);
    let (v, invalidate) = (l1::State::V as u8, l1::Event::Invalidate as u8);
    let keep = Cell::Go(v, Cow::Borrowed(&[l1::Action::Done as u8]));
    system.tables[0] = system.tables[0].with(v, invalidate, keep);
    let report = check(system, Network::Unordered, Limits::default());
    let violated: Vec<_> = report.properties.iter().filter(|p| p.holds == Some(false)).map(|p| p.name).collect();
    assert_eq!(violated, ["a read returns a value it may: none lost, none invented"]);
    let chart = report.counterexample.unwrap();
    assert!(chart.contains("the next stage begins"), "{chart}");
    assert!(chart.trim_end().ends_with("read 0 from byte 0 of line 0"), "{chart}");
}

#[test]
fn a_load_that_overtakes_its_core_s_own_write_is_found() {
    let mut system = (find("vi").unwrap().system)(1, 1);
    let (iw, load) = (l1::State::IW as u8, l1::Event::Load as u8);
    let hasty = system.tables[0].cell(l1::State::I as u8, load).clone();
    system.tables[0] = system.tables[0].with(iw, load, hasty);
    assert!(check(system, Network::Unordered, Limits::default()).counterexample.is_some());
}

#[test]
fn at_least_95_of_100_changes_to_the_tables_are_noticed() {
    for name in ["vi", "wt_nc", "adsm_batch", "adsm_lazy", "adsm_rolling"] {
        let protocol = find(name).unwrap();
        let changes = mutants(&(protocol.system)(2, 1));
        let limits = Limits { rounds: protocol.rounds, ..Limits::default() };
        let total = changes.len();
        let survivors: Vec<_> = changes
            .into_iter()
            .filter(|mutant| check(mutant.system.clone(), Network::Unordered, limits).counterexample.is_none())
            .map(|mutant| mutant.name)
            .collect();
        assert!(survivors.len() * 20 <= total, "{name}: {} of {total}: {survivors:#?}", survivors.len());
    }
}
