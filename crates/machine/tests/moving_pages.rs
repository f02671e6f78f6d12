//! Random accesses to virtual addresses while a driver moves pages between memories. Faults, shootdowns, cache recalls
//! and transfers are in flight all the time, and every read is right.

use engine::{Outcome, Run};
use machine::{Forgotten, Machine, Options, Stress, moves_pages, stress_pages};

/// Two arrays of two compute units per GPU and two banks; caches, TLBs and queues of minimum size.
const SMALL: &[&str] = &[
    "gpu.arrays=2",
    "gpu.units_per_array=2",
    "gpu.l2.banks=2",
    "gpu.l2.size=1KiB",
    "gpu.l2.ways=2",
    "gpu.l2.mshrs=2",
    "gpu.l2.waiting=2",
    "gpu.l1v.size=512",
    "gpu.l1v.ways=2",
    "gpu.l1v.mshrs=2",
    "gpu.l1v.waiting=2",
    "gpu.mmu.entries=2",
    "gpu.mmu.ways=2",
    "gpu.mmu.misses=2",
    "gpu.mmu.waiting=2",
    "wires.l1_l2.capacity=1",
    "wires.l2_memory.capacity=1",
    "fabric.credits=1",
];

fn machine(name: &str, changes: &[&str]) -> Machine {
    let changes: Vec<String> = SMALL.iter().chain(changes).map(|change| (*change).to_owned()).collect();
    Machine::load(name, &changes).unwrap_or_else(|error| panic!("{name} {changes:?}: {error}"))
}

const OPERATIONS: u64 = 4_000;

fn run(machine: &Machine, lines: u64, forgets: Option<Forgotten>, threads: usize) -> Run {
    // An omitted step may show only later.
    let operations = if forgets.is_some() { 10 * OPERATIONS } else { OPERATIONS };
    let what = Stress { operations, seed: 11, lines, round: 125, outstanding: 8 };
    stress_pages(machine, what, forgets, &Options { check: true, threads, ..Options::default() })
}

fn count(run: &Run, end: &str) -> u64 {
    let total = run.total();
    total.0.keys().filter(|path| path.ends_with(end)).map(|path| total.count(path)).sum()
}

#[test]
fn every_read_is_right_while_pages_move_between_memories_with_any_number_of_threads() {
    let machines: [(&str, &[&str]); 4] = [
        ("multi-pcie", &["gpus=3"]),
        ("multi-pcie", &["gpus=2", "protocol=halcone", "remote.from=l2"]),
        ("multi-nvlink", &["gpus=2"]),
        ("multi-shared", &["gpus=2"]),
    ];
    for (number, (name, changes)) in machines.into_iter().enumerate() {
        let machine = machine(name, changes);
        let one = run(&machine, 48, None, 1);
        assert_eq!(one.outcome, Outcome::Finished, "{name} {changes:?}");
        if number == 0 {
            assert!(one.regions == run(&machine, 48, None, 2).regions, "{name}: threads change statistics");
        }
        let counted = [".driver.migrations", ".driver.faults", ".driver.recalls", ".shot_down", ".dma.copies"];
        let counted = counted.map(|end| (end, count(&one, end)));
        assert!(counted.iter().all(|(_, count)| *count > 10), "{name} {changes:?}: {counted:?} is too low");
    }
}

/// More pages than TLBs shoot down one by one.
#[test]
fn every_read_is_right_where_tlbs_forget_whole_address_spaces() {
    let machine = machine("multi-pcie", &["gpus=2", "gpu.mmu.entries=32", "gpu.mmu.ways=32"]);
    let run = run(&machine, 160, None, 1);
    assert_eq!(run.outcome, Outcome::Finished);
}

#[test]
fn a_forgotten_flush_invalidation_or_shootdown_is_noticed() {
    let machine = machine("multi-pcie", &["gpus=2"]);
    for forgets in [Forgotten::Flush, Forgotten::Invalidation, Forgotten::Shootdown] {
        let outcomes = [1, 2].map(|threads| run(&machine, 48, Some(forgets), threads).outcome);
        let Outcome::Failed { context, message, .. } = &outcomes[0] else { panic!("{forgets:?}: {}", outcomes[0]) };
        // A dirty line that receives an invalidation is detected before any read.
        let noticed = ["a wrong value was read", "met 'Invalidate', which the table says can't happen"];
        assert!(noticed.iter().any(|what| message.contains(what)), "{forgets:?}: {context}: {message}");
        assert_eq!(outcomes[0], outcomes[1], "{forgets:?}");
    }
    assert_eq!(run(&machine, 48, None, 1).outcome, Outcome::Finished);
}

#[test]
fn pages_move_where_a_driver_keeps_the_tables_of_gpus() {
    let can = |name: &str| moves_pages(&Machine::load(name, &[]).expect("a shipped machine is sound"));
    assert!(["multi-pcie", "multi-nvlink", "multi-shared"].into_iter().all(can));
    assert!(!["r9nano", "apu-c-l3", "mini-halcone"].into_iter().any(can));
}
