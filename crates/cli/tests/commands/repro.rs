//! Experiments of the papers: how the command lists and rejects them. Their findings are tested in `figures`.

use crate::support::cohesim;

#[test]
fn experiments_are_listed() {
    let json = cohesim(&["list", "experiments", "--json"]).json();
    let names: Vec<&str> = json.as_array().into_iter().flatten().filter_map(|row| row["name"].as_str()).collect();
    let of = |paper: &str| names.iter().filter_map(|name| name.strip_prefix(paper)).collect::<Vec<_>>();
    assert_eq!(of("giles-"), ["study1", "study2", "study3", "validation", "events"]);
    assert_eq!(of("knightsim-"), ["engine", "parallel"]);
    assert_eq!(of("adsm-"), ["fig7", "fig8", "fig9", "fig10", "fig11", "fig12"]);
    let text = cohesim(&["list", "experiments"]).result();
    assert!(text.lines().count() == names.len() && text.contains("Table 2.1"), "{text}");
}

#[test]
fn an_experiment_that_does_not_exist_is_refused_with_those_that_do() {
    let error = cohesim(&["repro", "giles-study9"]).error();
    assert!(error.contains("no experiment 'giles-study9'") && error.contains("giles-study1"), "{error}");
}
