//! A litmus test: after a release and an acquire, a compute unit must read what a compute unit of another GPU wrote.
//!
//! The fence is the one that suffices on a single GPU: the writer's first-level cache is flushed and the reader's is
//! invalidated. Protocols that keep GPUs coherent add the steps of their own fences.

use protocol::{
    Kind, Node,
    catalogue::find,
    check::{Limits, Network, Report, Stage, System, check},
};

const WRITER: usize = 0;
const READER: usize = 1;

/// Both compute units use the line; then the writer releases, and the reader acquires and reads.
fn across_gpus(name: &str, release: &[Stage], acquire: &[Stage]) -> System {
    let mut system = (find(name).unwrap().system("gpus").unwrap().build)(2, 1);
    let mut stages = vec![
        Stage::Work { cores: vec![WRITER, READER] },
        Stage::Tell { kind: Kind::Flush, members: vec![l1(&system, WRITER), l1(&system, READER)] },
    ];
    stages.extend_from_slice(release);
    stages.extend_from_slice(acquire);
    system.stages = stages;
    system
}

fn l1(system: &System, core: usize) -> Node {
    let place = system.members.iter().position(|member| member.core == Some(core));
    Node(place.expect("each core has a first-level cache") as u16)
}

fn l2s(system: &System) -> Vec<Node> {
    let named = |member: &protocol::check::Member| member.name.starts_with("l2");
    (0..system.members.len()).filter(|&place| named(&system.members[place])).map(|place| Node(place as u16)).collect()
}

fn search(system: System) -> Report {
    check(system, Network::Unordered, Limits { values: 1, ..Limits::default() })
}

fn forget(name: &str) -> Stage {
    let system = (find(name).unwrap().system("gpus").unwrap().build)(2, 1);
    Stage::Tell { kind: Kind::Invalidate, members: vec![l1(&system, WRITER), l1(&system, READER)] }
}

fn is_stale(report: &Report) -> bool {
    let value = "a read returns a value it may: none lost, none invented";
    report.properties.iter().any(|property| property.name == value && property.holds == Some(false))
}

#[test]
fn on_two_gpus_without_coherence_the_reader_misses_the_write() {
    let report = search(across_gpus("wb_nc", &[], &[forget("wb_nc")]));
    assert!(is_stale(&report), "{:?}", report.properties);
    println!("{}", report.counterexample.unwrap());
}

#[test]
fn under_halcone_the_reader_sees_the_write_once_its_caches_have_the_latest_time() {
    let system = across_gpus("halcone", &[], &[]);
    let raise = Stage::Tell { kind: Kind::Invalidate, members: l2s(&system) };
    let report = search(across_gpus("halcone", &[raise], &[forget("halcone")]));
    assert!(report.holds(), "{}", report.counterexample.unwrap_or_default());
}

#[test]
fn under_g_tsc_the_reader_sees_the_write_once_its_clock_shows_the_writer_s_time() {
    let report = search(across_gpus("gtsc", &[], &[Stage::Meet]));
    assert!(report.holds(), "{}", report.counterexample.unwrap_or_default());
    let report = search(across_gpus("gtsc", &[], &[]));
    assert!(is_stale(&report), "without the time nothing is promised: {:?}", report.properties);
}

#[test]
fn under_hmg_the_reader_sees_the_write_after_a_release_of_the_system() {
    let system = across_gpus("hmg", &[], &[]);
    let drain = Stage::Tell { kind: Kind::Flush, members: l2s(&system) };
    let report = search(across_gpus("hmg", &[drain.clone(), Stage::Meet], &[forget("hmg")]));
    assert!(report.holds(), "{}", report.counterexample.unwrap_or_default());
    let report = search(across_gpus("hmg", &[drain], &[forget("hmg")]));
    assert!(is_stale(&report), "what homes have told others must have arrived: {:?}", report.properties);
    let report = search(across_gpus("hmg", &[], &[forget("hmg")]));
    assert!(is_stale(&report), "a release of the device does not reach another: {:?}", report.properties);
}
