//! Several devices: blocks follow the kernels that use them, kernels run where the policy says, and a failure of one
//! device does not affect the others.

use adsm::{
    Config, DeviceError, Error, Faults, Kernel, KernelSource, Placement, Protocol, Runtime, Schedule,
    accel::{
        Accelerator,
        sim::{Operation, Sim, SimSpec},
    },
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

const PAGE: usize = 4096;

fn poisoned() -> SimSpec {
    SimSpec { poison: true, ..SimSpec::default() }
}

fn several<const N: usize>(specs: [SimSpec; N], config: Config) -> ([Arc<Sim>; N], Runtime) {
    let sims = specs.map(|spec| Arc::new(Sim::new(spec)));
    let accels = sims.iter().map(|sim| Arc::<Sim>::clone(sim) as Arc<dyn Accelerator>).collect();
    (sims, Runtime::with(accels, config).unwrap())
}

fn in_pages() -> Config {
    Config { block: PAGE, ..Config::default() }
}

fn add_one(runtime: &Runtime) -> Kernel {
    runtime.kernel(KernelSource::new("add_one").native(|call| {
        call.memory[0].iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
    }))
}

fn copy(runtime: &Runtime) -> Kernel {
    runtime.kernel(KernelSource::new("copy").native(|call| {
        let (from, to) = call.memory.split_at_mut(1);
        to[0].copy_from_slice(from[0]);
    }))
}

fn broken() -> DeviceError {
    DeviceError::Failed { device: "the simulated device".to_owned(), what: "a test", why: "on purpose".to_owned() }
}

fn every_setting() -> impl Iterator<Item = Config> {
    [Protocol::Batch, Protocol::Lazy, Protocol::Rolling].into_iter().flat_map(|protocol| {
        [Faults::Mprotect, Faults::Userfaultfd].map(|faults| Config { protocol, faults, ..in_pages() })
    })
}

#[test]
fn a_kernel_may_run_on_any_device_and_finds_what_the_last_one_wrote() {
    for config in every_setting() {
        for peers in [false, true] {
            let spec = || SimSpec { peers, ..poisoned() };
            let (_, runtime) = several([spec(), spec(), spec()], config.clone());
            let add_one = add_one(&runtime);
            let mut x = runtime.alloc::<u8>(5 * PAGE).unwrap();
            x[PAGE] = 10;
            for device in [0, 1, 2, 1, 1, 0] {
                let call = add_one.call(1, 1).write(&mut x).on(device).launch().unwrap();
                assert_eq!(call.device(), device);
                call.sync().unwrap();
            }
            assert_eq!((x[PAGE], x[0], x[5 * PAGE - 1]), (16, 6, 6), "{config:?} peers {peers}");
        }
    }
}

#[test]
fn only_blocks_that_the_other_device_lacks_are_transferred() {
    let (_, runtime) = several([poisoned(), poisoned()], in_pages());
    let (add_one, copy) = (add_one(&runtime), copy(&runtime));
    let (mut x, mut y) = (runtime.alloc::<u8>(8 * PAGE).unwrap(), runtime.alloc::<u8>(8 * PAGE).unwrap());
    add_one.call(1, 1).write(&mut x).on(0).launch().unwrap().sync().unwrap();
    let before = runtime.stats();
    copy.call(1, 1).read(&x).write(&mut y).on(1).launch().unwrap().sync().unwrap();
    let first = runtime.stats().since(&before);
    assert_eq!(first.migration_bytes, 8 * PAGE as u64, "x, which only device 0 had");
    assert_eq!(first.upload_bytes, 8 * PAGE as u64, "y, whose zeroes the host had");
    // Both devices have x now, and the host changes one block of it.
    x[3 * PAGE] = 7;
    let before = runtime.stats();
    copy.call(1, 1).read(&x).write(&mut y).on(1).launch().unwrap().sync().unwrap();
    let second = runtime.stats().since(&before);
    assert_eq!((second.migration_bytes, second.upload_bytes), (0, PAGE as u64));
    copy.call(1, 1).read(&x).write(&mut y).on(0).launch().unwrap().sync().unwrap();
    assert_eq!((y[3 * PAGE], y[0], y[8 * PAGE - 1]), (7, 1, 1));
}

#[test]
fn kernels_on_two_devices_read_one_object_at_the_same_time() {
    let slow = || SimSpec { latency: Duration::from_millis(30), ..poisoned() };
    let (_, runtime) = several([slow(), slow()], in_pages());
    let copy = copy(&runtime);
    let mut x = runtime.alloc::<u8>(PAGE).unwrap();
    let (mut y, mut z) = (runtime.alloc_on::<u8>(0, PAGE).unwrap(), runtime.alloc_on::<u8>(1, PAGE).unwrap());
    x.fill(5);
    let one = copy.call(1, 1).read(&x).write(&mut y).on(0).launch().unwrap();
    let other = copy.call(1, 1).read(&x).write(&mut z).on(1).launch().unwrap();
    assert_eq!(x[0], 5, "and the CPU reads it too");
    one.sync().unwrap();
    other.sync().unwrap();
    assert_eq!((y[9], z[9]), (5, 5));
}

#[test]
fn a_call_on_another_device_waits_for_the_one_that_writes_its_object() {
    for config in every_setting() {
        let slow = || SimSpec { latency: Duration::from_millis(5), ..poisoned() };
        let (_, runtime) = several([slow(), slow()], config.clone());
        let add_one = add_one(&runtime);
        let mut x = runtime.alloc::<u8>(2 * PAGE).unwrap();
        x[0] = 1;
        for device in [0, 1, 0] {
            std::mem::forget(add_one.call(1, 1).write(&mut x).on(device).launch().unwrap());
        }
        runtime.sync().unwrap();
        assert_eq!((x[0], x[PAGE]), (4, 3), "{config:?}");
    }
}

#[test]
fn a_block_that_cannot_be_fetched_fails_the_call_and_harms_nothing() {
    for peers in [false, true] {
        for (fails, operation) in [(0, Operation::Download), (1, Operation::Upload), (1, Operation::Allocate)] {
            let spec = || SimSpec { peers, ..poisoned() };
            let (sims, runtime) = several([spec(), spec()], in_pages());
            let add_one = add_one(&runtime);
            let mut x = runtime.alloc::<u8>(4 * PAGE).unwrap();
            add_one.call(1, 1).write(&mut x).on(0).launch().unwrap().sync().unwrap();
            sims[fails].fail_after(0, operation, broken());
            let error = add_one.call(1, 1).write(&mut x).on(1).launch().map(drop).unwrap_err();
            assert!(matches!(error, Error::Device(_)), "{operation:?}: {error}");
            assert!(x.iter().all(|&byte| byte == 1), "{operation:?}");
            add_one.call(1, 1).write(&mut x).on(1).launch().unwrap().sync().unwrap();
            assert!(x.iter().all(|&byte| byte == 2), "{operation:?}");
        }
    }
}

#[test]
fn a_launch_that_fails_after_a_migration_leaves_the_object_accessible() {
    for config in every_setting() {
        let (sims, runtime) = several([poisoned(), poisoned()], config.clone());
        let add_one = add_one(&runtime);
        let mut x = runtime.alloc::<u8>(3 * PAGE).unwrap();
        add_one.call(1, 1).write(&mut x).on(0).launch().unwrap().sync().unwrap();
        x[PAGE] = 8;
        sims[1].fail_after(0, Operation::Launch, broken());
        assert!(add_one.call(1, 1).write(&mut x).on(1).launch().is_err());
        assert_eq!((x[0], x[PAGE], x[2 * PAGE]), (1, 8, 1), "{config:?}");
    }
}

#[test]
fn what_two_devices_have_outlives_one_of_them() {
    let (sims, runtime) = several([poisoned(), poisoned()], in_pages());
    let (add_one, copy) = (add_one(&runtime), copy(&runtime));
    let (mut x, mut y) = (runtime.alloc::<u8>(4 * PAGE).unwrap(), runtime.alloc_on::<u8>(1, 4 * PAGE).unwrap());
    add_one.call(1, 1).write(&mut x).on(0).launch().unwrap().sync().unwrap();
    copy.call(1, 1).read(&x).write(&mut y).on(1).launch().unwrap().sync().unwrap();
    sims[0].lose("it was unplugged");
    assert_eq!(x.salvage(), 0, "device 1 has all of it");
    assert!(x.iter().all(|&byte| byte == 1));
    assert!(add_one.call(1, 1).write(&mut x).on(0).launch().is_err());
    for _ in 0..2 {
        let call = add_one.call(1, 1).write(&mut x).launch().unwrap();
        assert_eq!(call.device(), 1, "a device that is lost is passed over");
        call.sync().unwrap();
    }
    assert_eq!(x[0], 3);
}

#[test]
fn a_full_device_refuses_the_call_and_the_object_stays_where_it_is() {
    let small = SimSpec { memory: 2 * PAGE, ..poisoned() };
    let (sims, runtime) = several([poisoned(), small], in_pages());
    let add_one = add_one(&runtime);
    let mut x = runtime.alloc::<u8>(3 * PAGE).unwrap();
    x[7] = 7;
    let told = add_one.call(1, 1).write(&mut x).on(1).launch().map(drop).unwrap_err().to_string();
    assert!(told.contains("has not enough memory for"), "{told}");
    add_one.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
    assert_eq!(x[7], 8);
    drop(x);
    assert_eq!((sims[0].used(), sims[1].used()), (0, 0));
}

#[test]
fn an_object_frees_its_memory_on_every_device() {
    let (sims, runtime) = several([poisoned(), poisoned()], in_pages());
    let add_one = add_one(&runtime);
    let mut x = runtime.alloc::<u8>(3 * PAGE).unwrap();
    add_one.call(1, 1).write(&mut x).on(1).launch().unwrap().sync().unwrap();
    assert_eq!((sims[0].used(), sims[1].used()), (3 * PAGE, 3 * PAGE));
    drop(x);
    assert_eq!((sims[0].used(), sims[1].used()), (0, 0));
}

#[test]
fn kernels_go_where_the_policy_says() {
    let spec = || SimSpec { peers: true, ..poisoned() };
    let (_, runtime) = several([spec(), spec(), spec()], in_pages());
    // Kernels that end when the test lets them.
    let go = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&go);
    let kernel = runtime.kernel(KernelSource::new("wait").native(move |_| {
        while !told.load(Ordering::Acquire) {
            thread::yield_now();
        }
    }));
    let mut objects: Vec<_> = (0..4).map(|_| runtime.alloc::<u8>(PAGE).unwrap()).collect();
    let mut run = |schedule| {
        runtime.set_schedule(schedule).unwrap();
        go.store(false, Ordering::Release);
        let calls: Vec<_> = objects.iter_mut().map(|x| kernel.call(1, 1).write(x).launch().unwrap()).collect();
        let devices: Vec<_> = calls.iter().map(adsm::InFlight::device).collect();
        go.store(true, Ordering::Release);
        calls.into_iter().for_each(|call| call.sync().unwrap());
        devices
    };
    assert_eq!(run(Schedule::Affinity), [0, 0, 0, 0], "where they were allocated");
    assert_eq!(run(Schedule::RoundRobin), [0, 1, 2, 0]);
    assert_eq!(run(Schedule::Affinity), [0, 1, 2, 0], "where they went");
    assert_eq!(run(Schedule::Fixed(2)), [2, 2, 2, 2]);
    assert_eq!(run(Schedule::LeastLoaded), [0, 1, 2, 0]);
    assert!(runtime.set_schedule(Schedule::Fixed(3)).is_err());
}

#[test]
fn objects_are_spread_over_devices_as_the_policy_says() {
    let specs = || [SimSpec::default(), SimSpec::default(), SimSpec::default()];
    let (sims, turns) = several(specs(), Config { placement: Placement::RoundRobin, ..Config::default() });
    let _kept: Vec<_> = (0..6).map(|_| turns.alloc::<u8>(1).unwrap()).collect();
    assert_eq!(sims.map(|sim| sim.used()), [2 * PAGE; 3]);
    let (sims, filled) = several(specs(), Config { placement: Placement::LeastFilled, ..Config::default() });
    let _kept: Vec<_> = [9000, 10, 10, 10, 10].map(|bytes| filled.alloc::<u8>(bytes).unwrap()).into();
    assert_eq!(sims.map(|sim| sim.used()), [3 * PAGE, 2 * PAGE, 2 * PAGE]);
}

#[test]
fn memory_that_cpu_and_device_share_stays_with_its_device() {
    let shared = || SimSpec { shared_memory: true, ..SimSpec::default() };
    let (_, runtime) = several([shared(), shared()], Config::default());
    let (add_one, copy) = (add_one(&runtime), copy(&runtime));
    let (x, mut y) = (runtime.alloc_on::<u8>(0, 9).unwrap(), runtime.alloc_on::<u8>(1, 9).unwrap());
    assert!(matches!(copy.call(1, 1).read(&x).write(&mut y).launch(), Err(Error::TwoDevices { .. })));
    let call = add_one.call(1, 1).write(&mut y).launch().unwrap();
    assert_eq!(call.device(), 1);
    call.sync().unwrap();
    assert_eq!(y[0], 1);
}

#[test]
fn an_object_of_another_runtime_and_a_device_that_is_not_there_are_refused() {
    let (_, runtime) = several([SimSpec::default()], Config::default());
    let (_, other) = several([SimSpec::default()], Config::default());
    let add_one = add_one(&runtime);
    let (mut x, mut foreign) = (runtime.alloc::<u8>(9).unwrap(), other.alloc::<u8>(9).unwrap());
    assert!(matches!(add_one.call(1, 1).write(&mut foreign).launch(), Err(Error::Foreign { .. })));
    let told = add_one.call(1, 1).write(&mut x).on(1).launch().map(drop).unwrap_err().to_string();
    assert_eq!(told, "device=1 is not valid: there are 1, and the first is 0");
    assert!(runtime.alloc_on::<u8>(7, 9).is_err());
    assert!(Runtime::with(Vec::new(), Config::default()).is_err());
}

/// Threads that share blocks of two objects but no bytes, on devices with varying delays.
#[test]
fn threads_and_devices_lose_nothing() {
    const THREADS: usize = 3;
    for protocol in [Protocol::Lazy, Protocol::Rolling] {
        for peers in [false, true] {
            let spec = || SimSpec { peers, jitter: Duration::from_micros(60), ..poisoned() };
            let config = Config { protocol, rolling: 2, ahead: 2 * PAGE, read_back: 4 * PAGE, ..in_pages() };
            let (_, runtime) = several([spec(), spec(), spec()], config);
            runtime.set_schedule(Schedule::RoundRobin).unwrap();
            let add_one = add_one(&runtime);
            let part = 5 * PAGE / 2;
            let mut shared = runtime.alloc::<u8>(THREADS * part).unwrap();
            for round in 0..8u8 {
                thread::scope(|scope| {
                    for (number, part) in shared.chunks_mut(part).enumerate() {
                        let (runtime, add_one) = (&runtime, &add_one);
                        scope.spawn(move || {
                            for (i, byte) in part.iter_mut().enumerate() {
                                assert_eq!(*byte, round.wrapping_mul(2), "part {number} byte {i} round {round}");
                                *byte = byte.wrapping_add(1);
                            }
                            let mut own = runtime.alloc::<u8>(2 * PAGE + number).unwrap();
                            own[PAGE] = round;
                            for _ in 0..3 {
                                add_one.call(1, 1).write(&mut own).launch().unwrap().sync().unwrap();
                            }
                            assert_eq!((own[PAGE], own[0]), (round + 3, 3));
                        });
                    }
                });
                add_one.call(1, 1).write(&mut shared).launch().unwrap().sync().unwrap();
            }
            assert!(shared.iter().all(|&byte| byte == 16));
        }
    }
}
