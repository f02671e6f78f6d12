//! Bytes that the ADSM protocols move, and the cost of the faults by which they detect accesses.

use engine::{Monitor, Time};
use figures::{Job, Measured};

/// Two objects of 16 pages. Before each of two steps the host changes one cell of one object; at the end it reads one
/// object.
fn stencil(policy: &str, more: &[&str]) -> Measured {
    let arguments = "--size 32x32x16 --iterations 2 --variant source --read-results --no-check";
    let changes = [&"gpus=1", &policy].into_iter().chain(more).map(|change| (*change).to_owned());
    let job = Job::new("multi-pcie", "stencil", arguments).with(&changes.collect::<Vec<_>>());
    figures::run(&job, &Monitor::default()).unwrap_or_else(|error| panic!("{job}: {error}"))
}

const OBJECT: u64 = 64 << 10;
const BLOCK: u64 = 4 << 10;

#[test]
fn lazy_update_moves_whole_objects_and_rolling_update_blocks() {
    // The input is sent; then the object (or only the block) with the cell is fetched and sent back; at the end the
    // result is fetched.
    let lazy = stencil("driver.policy=adsm-lazy", &["driver.block=4 KiB"]);
    assert_eq!(lazy.moved_data(), 4 * OBJECT, "{:?}", lazy.moved);
    let rolling = stencil("driver.policy=adsm-rolling", &["driver.block=4 KiB", "driver.rolling=64"]);
    assert_eq!(rolling.moved_data(), 2 * OBJECT + 2 * BLOCK, "{:?}", rolling.moved);
}

#[test]
fn batch_update_moves_all_objects_to_and_fro_around_every_kernel() {
    let batch = stencil("driver.policy=adsm-batch", &[]);
    assert_eq!(batch.moved_data(), 2 * (2 + 2) * OBJECT, "{:?}", batch.moved);
    assert_eq!((batch.host_faults, batch.fault_fs), (0, 0));
}

#[test]
fn a_fault_of_the_host_takes_what_the_driver_needs_to_answer_it() {
    let lazy = |fault, search| stencil("driver.policy=adsm-lazy", &[fault, search]);
    let quick = lazy("driver.fault=1 us", "driver.search=0 ns");
    let slow = lazy("driver.fault=21 us", "driver.search=0 ns");
    // The input is written, and changed while it is open; a cell of the next field is read and written; the last field
    // is read.
    assert_eq!((quick.host_faults, slow.host_faults), (4, 4));
    assert_eq!((quick.fault_fs, slow.fault_fs), (4 * Time::micros(1).0, 4 * Time::micros(21).0));
    let later = slow.end_fs - quick.end_fs;
    assert!(later.abs_diff(4 * Time::micros(20).0) < Time::micros(1).0, "{later} fs later");
}

#[test]
fn the_search_for_a_block_takes_a_step_for_each_halving_of_them() {
    let of = |block| stencil("driver.policy=adsm-rolling", &[block, "driver.fault=0 ns", "driver.search=1 us"]);
    let (few, many) = (of("driver.block=64 KiB"), of("driver.block=4 KiB"));
    // An object has one block, or sixteen. While the first object is written it is the only one: the search takes no
    // steps, or four.
    let rest = |run: &Measured, first| (run.host_faults - first) * Time::micros(1).0;
    assert_eq!(few.fault_fs, rest(&few, 1));
    assert_eq!(many.fault_fs, 16 * Time::micros(4).0 + 5 * rest(&many, 16));
    // With many blocks, the block with the cell has been sent before its first change, and is opened again.
    assert_eq!((few.host_faults, many.host_faults), (1 + 2 + 1, 16 + 1 + 2 + 16));
}

#[test]
fn the_host_continues_while_a_changed_block_is_sent() {
    let run = |rolling: &str| {
        let changes =
            ["gpus=1", "fabric.bandwidth=1 GB/s", "driver.policy=adsm-rolling", "driver.block=16 KiB", rolling];
        let job = Job::new("multi-pcie", "vecadd", "--size 16384 --no-check").with(&changes.map(str::to_owned));
        figures::run(&job, &Monitor::default()).unwrap_or_else(|error| panic!("{job}: {error}"))
    };
    let (early, late) = (run("driver.rolling=1"), run("driver.rolling=100"));
    // Seven of the eight input blocks are sent while the host writes the next one; otherwise all are sent before the
    // kernel.
    assert_eq!((early.moved["write back"], late.moved["call"]), (7 << 14, 8 << 14));
    let (saved, transfers) = (late.end_fs.saturating_sub(early.end_fs), (7 << 14) * Time::nanos(1).0);
    assert!(saved > transfers, "{saved} fs saved of more than {transfers}");
}
