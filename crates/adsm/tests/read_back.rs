//! Early downloads: of what the program read after the last calls, and of what comes next in a sequence.

use adsm::{
    Config, DeviceError, Kernel, KernelSource, Runtime,
    accel::sim::{Operation, Sim, SimSpec},
};
use std::sync::Arc;

const PAGE: usize = 4096;

fn with(config: Config) -> (Arc<Sim>, Runtime, Kernel) {
    let sim = Arc::new(Sim::new(SimSpec { poison: true, ..SimSpec::default() }));
    let runtime = Runtime::with(vec![Arc::<Sim>::clone(&sim)], config).unwrap();
    let add_one = runtime.kernel(KernelSource::new("add_one").native(|call| {
        call.memory[0].iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
    }));
    (sim, runtime, add_one)
}

fn in_pages() -> Config {
    Config { block: PAGE, ahead: 4 * PAGE, read_back: 16 * PAGE, ..Config::default() }
}

#[test]
fn a_block_read_after_three_calls_is_in_flight_after_the_fourth() {
    let (_, runtime, add_one) = with(in_pages());
    let mut x = runtime.alloc::<u8>(32 * PAGE).unwrap();
    for round in 1..=6u8 {
        let before = runtime.stats();
        add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
        let early = runtime.stats().since(&before).early_downloads;
        assert_eq!(early, if round < 4 { 0 } else { 2 }, "round {round}: blocks 7 and 20");
        assert_eq!((x[7 * PAGE], x[20 * PAGE + 5]), (round, round));
        assert_eq!(runtime.stats().since(&before).downloads, 2, "round {round}: nothing came twice");
    }
}

#[test]
fn what_was_fetched_in_vain_is_not_fetched_again() {
    let (_, runtime, add_one) = with(in_pages());
    let mut x = runtime.alloc::<u8>(8 * PAGE).unwrap();
    for _ in 0..3 {
        add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
        assert_ne!(x[0], 0);
    }
    let early = |x: &mut adsm::Shared<[u8]>| {
        let before = runtime.stats();
        add_one.call(1, 1).write(x).launch().unwrap().sync().unwrap();
        runtime.stats().since(&before).early_downloads
    };
    assert_eq!((early(&mut x), early(&mut x), early(&mut x)), (1, 0, 0));
    assert_eq!((x[0], x[PAGE]), (6, 6));
}

#[test]
fn a_block_read_after_eight_calls_is_open_after_the_next_ones_and_watched_from_time_to_time() {
    let (_, runtime, add_one) = with(in_pages());
    let mut x = runtime.alloc::<u8>(32 * PAGE).unwrap();
    let mut faults = Vec::new();
    for round in 1..=27u8 {
        let before = runtime.stats();
        add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
        assert_eq!((x[7 * PAGE], x[7 * PAGE + 9]), (round, round));
        let stats = runtime.stats().since(&before);
        assert_eq!(stats.downloads, 1, "round {round}");
        faults.push(stats.load_faults);
    }
    // Eight accesses are seen, eight trusted, one seen, nine trusted, one seen.
    let expected: Vec<u64> = [(8, 1), (8, 0), (1, 1), (9, 0), (1, 1)].map(|(n, fault)| vec![fault; n]).concat();
    assert_eq!(faults, expected);
}

#[test]
fn what_is_open_on_trust_can_be_written_given_to_kernels_and_left_alone() {
    let (sim, runtime, add_one) = with(in_pages());
    let mut x = runtime.alloc::<u8>(4 * PAGE).unwrap();
    let broken = || DeviceError::Failed { device: String::new(), what: "a test", why: "on purpose".to_owned() };
    let mut expected = 0u8;
    for round in 0..60 {
        match round {
            20 => sim.fail_after(0, Operation::Arrival, broken()),
            40 => sim.fail_after(0, Operation::Download, broken()),
            _ => {}
        }
        add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
        expected = expected.wrapping_add(1);
        if round % 11 == 10 {
            // A call without an access in between.
            add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
            expected = expected.wrapping_add(1);
        }
        assert_eq!(x[PAGE], expected, "round {round}");
        if round % 3 == 0 {
            x[PAGE] = 100;
            expected = 100;
        }
    }
}

#[test]
fn an_element_that_is_never_the_same_starts_nothing() {
    let (_, runtime, add_one) = with(in_pages());
    let mut x = runtime.alloc::<u8>(64 * PAGE).unwrap();
    for round in 0..20 {
        let at = round * 7 % 64 * PAGE;
        x[at] = 1;
        add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
        assert_eq!(x[at], 2);
    }
    assert_eq!(runtime.stats().early_downloads, 0);
}

#[test]
fn going_through_an_object_fetches_ahead_and_sees_every_byte() {
    let (_, runtime, add_one) = with(in_pages());
    let mut x = runtime.alloc::<u8>(64 * PAGE).unwrap();
    for round in 1..=3 {
        add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
        let before = runtime.stats();
        assert!(x.iter().all(|&byte| byte == round));
        let stats = runtime.stats().since(&before);
        assert!(stats.early_downloads > 0 && stats.load_faults < 32, "{stats:?}");
    }
}

#[test]
fn a_row_of_stores_opens_the_fetched_blocks_at_once() {
    let (_, runtime, add_one) = with(in_pages());
    let mut x = runtime.alloc::<u8>(64 * PAGE).unwrap();
    add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
    let before = runtime.stats();
    (0..64).for_each(|page| x[page * PAGE] = 7);
    assert_eq!(runtime.stats().since(&before).store_faults, 17, "the first block, three more, then four at a time");
    add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
    assert!((0..64).all(|page| (x[page * PAGE], x[page * PAGE + 1]) == (8, 2)));
}

#[test]
fn no_more_is_on_its_way_than_allowed() {
    let (_, runtime, add_one) = with(Config { read_back: 3 * PAGE, ..in_pages() });
    let mut x = runtime.alloc::<u8>(64 * PAGE).unwrap();
    for _ in 0..3 {
        add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
        assert!(x.iter().all(|&byte| byte != 0));
    }
    let before = runtime.stats();
    add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
    assert_eq!(runtime.stats().since(&before).download_bytes, 3 * PAGE as u64);
    let (_, runtime, add_one) = with(Config { read_back: 0, ..in_pages() });
    let mut x = runtime.alloc::<u8>(64 * PAGE).unwrap();
    for round in 1..4 {
        add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
        assert!(x.iter().all(|&byte| byte == round));
    }
    assert_eq!(runtime.stats().early_downloads, 0);
}

#[test]
fn a_block_that_does_not_arrive_is_fetched_when_it_is_accessed() {
    let (sim, runtime, add_one) = with(in_pages());
    let mut x = runtime.alloc::<u8>(4 * PAGE).unwrap();
    let broken = || DeviceError::Failed { device: String::new(), what: "a test", why: "on purpose".to_owned() };
    for round in 1..=7u8 {
        if round == 5 {
            sim.fail_after(0, Operation::Arrival, broken());
        }
        if round == 6 {
            sim.fail_after(0, Operation::Download, broken());
        }
        add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
        assert_eq!(x[PAGE], round);
    }
}

#[test]
fn stores_calls_and_frees_meet_blocks_that_are_on_their_way() {
    let (_, runtime, add_one) = with(in_pages());
    let mut x = runtime.alloc::<u8>(4 * PAGE).unwrap();
    for round in 1..=4u8 {
        add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
        assert_eq!((x[0], x[PAGE], x[2 * PAGE]), (round, round, round));
    }
    assert!(runtime.stats().early_downloads > 0);
    add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
    x[PAGE] = 100;
    add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
    assert_eq!((x[0], x[PAGE], x[PAGE + 1]), (6, 101, 6));
    add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
    x.fill_bytes(9).unwrap();
    assert!(x.iter().all(|&byte| byte == 9));
    add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
    drop(x);
}

#[test]
fn a_range_is_opened_at_once_and_the_next_sets_out() {
    let (_, runtime, add_one) = with(in_pages());
    let mut x = runtime.alloc::<u8>(32 * PAGE).unwrap();
    add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
    let before = runtime.stats();
    x.touch(0..4 * PAGE).unwrap();
    let stats = runtime.stats().since(&before);
    assert_eq!((stats.store_faults, stats.downloads, stats.early_downloads), (1, 2, 1), "four blocks, and four more");
    x.touch(0..8 * PAGE).unwrap();
    assert!(x.iter().all(|&byte| byte == 1));
}
