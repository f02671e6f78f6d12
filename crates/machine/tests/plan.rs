//! Properties that hold for the plan of every machine.

use machine::{
    Machine,
    plan::{Freight, Id, Members, Plan, Population, Routes, What, Wire, lower},
    shipped,
};
use protocol::roles::Sees;
use std::collections::BTreeSet;

/// The plans of every shipped machine, once for programs or kernels and once for testers.
fn plans() -> impl Iterator<Item = (String, Plan)> {
    shipped().flat_map(|name| {
        let machine = Machine::load(name, &[]).expect("a shipped machine is right");
        let program = if machine.cpu.is_some() { Population::Program } else { Population::Host };
        [program, Population::Testers]
            .map(|population| (format!("{name}, {population:?}"), lower(&machine, population)))
    })
}

fn ids(plan: &Plan) -> impl Iterator<Item = Id> {
    (0..plan.elements.len()).map(Id)
}

#[test]
fn an_edge_between_two_partitions_is_a_link_that_takes_time() {
    let mut links = 0;
    for (name, plan) in plans() {
        for edge in &plan.edges {
            let parts = [edge.upper, edge.lower].map(|end| plan.element(end).part);
            match &edge.wire {
                Wire::Link(spec) => {
                    links += 1;
                    assert!(spec.latency.0 > 0, "{name}: {}", edge.name);
                }
                _ => assert_eq!(parts[0], parts[1], "{name}: {}", edge.name),
            }
        }
    }
    assert!(links > 100, "{links} links");
}

#[test]
fn elements_that_are_addressed_have_numbers_of_their_own() {
    for (name, plan) in plans() {
        let keeps_lines = |id: &Id| matches!(plan.element(*id).what, What::Cache(_) | What::Memory(_) | What::Level(_));
        let mut known = BTreeSet::new();
        for id in ids(&plan).filter(keeps_lines) {
            let element = plan.element(id);
            let node = element.node.unwrap_or_else(|| panic!("{name}: {} has no number", element.path));
            assert!(known.insert(node), "{name}: {} has the number of another", element.path);
        }
    }
}

#[test]
fn every_cache_can_reach_the_homes_of_its_lines() {
    let mut homes = 0;
    for (name, plan) in plans() {
        let routes = Routes::new(&plan);
        for id in ids(&plan) {
            if let What::Cache(cache) = &plan.element(id).what {
                let reached: BTreeSet<_> = routes.all(id).collect();
                for home in cache.spec.bank.below.owners() {
                    homes += 1;
                    assert!(reached.contains(home), "{name}: {} can't reach {home:?}", plan.element(id).path);
                }
            }
        }
    }
    assert!(homes > 1000, "{homes} homes");
}

#[test]
fn requests_go_to_first_level_caches_from_elements_with_numbers_or_past_all_caches() {
    let mut edges = 0;
    for (name, plan) in plans() {
        for edge in plan.edges.iter().filter(|edge| edge.freight == Freight::Requests) {
            let right = match &plan.element(edge.lower).what {
                What::Cache(cache) => cache.first_level && plan.element(edge.upper).node.is_some(),
                What::Direct { .. } | What::HostPort => true,
                _ => false,
            };
            assert!(right, "{name}: {}", edge.name);
            edges += 1;
        }
    }
    assert!(edges > 1000, "{edges} edges");
}

#[test]
fn a_plan_follows_from_the_machine_alone() {
    let text = |plan: &Plan| {
        let elements = plan.elements.iter().map(|element| format!("{} {}", element.path, element.part));
        elements.chain(plan.edges.iter().map(|edge| edge.name.clone())).collect::<Vec<_>>()
    };
    let machine = Machine::load("apu-c-l3", &[]).expect("a shipped machine is right");
    assert_eq!(text(&lower(&machine, Population::Program)), text(&lower(&machine, Population::Program)));
}

#[test]
fn cpu_and_gpus_are_one_domain_or_two_that_meet_in_memory() {
    let domains = |changes: &[&str]| {
        let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
        let machine = Machine::load("apu-c-l3", &changes).expect("it is right");
        lower(&machine, Population::Program).domains.iter().map(|d| (d.protocol, d.members, d.sees)).collect::<Vec<_>>()
    };
    assert_eq!(domains(&[]), [("mesi", Members::All, Sees::Newest)]);
    let cpu = ("mesi", Members::Cpu, Sees::Newest);
    assert_eq!(domains(&["system.join=memory"]), [cpu, ("mesi", Members::Gpus, Sees::Newest)]);
    let halcone = ["system.join=memory", "system.flush=kernels", "protocol=halcone", "gpu.dispatcher.invalidate=true"];
    assert_eq!(domains(&halcone), [cpu, ("halcone", Members::Gpus, Sees::ByTime)]);
}

#[test]
fn the_example_of_two_protocols_is_short_and_right() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/two-protocols.toml");
    let text = std::fs::read_to_string(path).expect("the example is there");
    assert!(text.lines().count() < 30, "{}", text.lines().count());
    let machine = Machine::load(path, &[]).expect("the example is right");
    let stress = machine::Stress { operations: 4000, seed: 3, lines: 24, round: 50, outstanding: 4 };
    let run = machine::stress(&machine, stress, &machine::Options { check: true, ..Default::default() });
    assert_eq!(run.outcome, engine::Outcome::Finished);
}
