//! Errors of devices, systems and programs: a clear error from the call that caused it, and no lost data.

use adsm::{
    Config, DeviceError, Error, Faults, KernelSource, Protocol, Runtime,
    accel::sim::{Operation, Sim, SimSpec},
};
use std::sync::Arc;

const PAGE: usize = 4096;

fn broken() -> DeviceError {
    DeviceError::Failed { device: "the simulated device".to_owned(), what: "a test", why: "on purpose".to_owned() }
}

fn with(spec: SimSpec, config: Config) -> (Arc<Sim>, Runtime) {
    let sim = Arc::new(Sim::new(spec));
    let runtime = Runtime::with(vec![Arc::<Sim>::clone(&sim)], config).unwrap();
    (sim, runtime)
}

fn poisoned() -> SimSpec {
    SimSpec { poison: true, ..SimSpec::default() }
}

fn add_one(runtime: &Runtime) -> adsm::Kernel {
    runtime.kernel(KernelSource::new("add_one").native(|call| {
        call.memory[0].iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
    }))
}

fn every_setting() -> impl Iterator<Item = Config> {
    [Protocol::Batch, Protocol::Lazy, Protocol::Rolling].into_iter().flat_map(|protocol| {
        [Faults::Mprotect, Faults::Userfaultfd].map(|faults| Config {
            protocol,
            faults,
            block: PAGE,
            ..Config::default()
        })
    })
}

#[test]
fn an_upload_that_fails_fails_the_call_and_leaves_the_object_as_it_was() {
    for config in every_setting() {
        let (sim, runtime) = with(poisoned(), config.clone());
        let kernel = add_one(&runtime);
        let mut x = runtime.alloc::<u8>(5 * PAGE).unwrap();
        for block in 0..5 {
            x[block * PAGE] = 10 + block as u8;
        }
        sim.fail_after(0, Operation::Upload, broken());
        let error = kernel.call(1, 1).write(&mut x).launch().map(drop).unwrap_err();
        assert!(matches!(error, Error::Device(_)), "{config:?}: {error}");
        for block in 0..5 {
            assert_eq!(x[block * PAGE], 10 + block as u8, "{config:?}");
        }
        kernel.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
        assert!((0..5).all(|block| x[block * PAGE] == 11 + block as u8 && x[block * PAGE + 1] == 1), "{config:?}");
    }
}

#[test]
fn an_eviction_that_fails_keeps_the_block_dirty_until_the_next_call() {
    let config = Config { block: PAGE, rolling: 2, ahead: 0, ..Config::default() };
    let (sim, runtime) = with(poisoned(), config);
    let kernel = add_one(&runtime);
    let mut x = runtime.alloc::<u8>(8 * PAGE).unwrap();
    sim.fail_after(1, Operation::Upload, broken());
    for block in 0..8 {
        x[block * PAGE] = 1;
    }
    assert_eq!(runtime.stats().failed_evictions, 1);
    kernel.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
    assert!((0..8).all(|block| x[block * PAGE] == 2));
}

#[test]
fn a_store_that_straddles_two_blocks_is_made_though_only_one_may_be_dirty() {
    for faults in [Faults::Mprotect, Faults::Userfaultfd] {
        let (_, runtime) = with(poisoned(), Config { block: PAGE, rolling: 1, ahead: 0, faults, ..Config::default() });
        let kernel = add_one(&runtime);
        let mut x = runtime.alloc::<u8>(8 * PAGE).unwrap();
        for block in (1..8).chain([3, 4, 3]) {
            let at = x.as_mut_ptr().wrapping_add(block * PAGE - 4).cast::<u64>();
            // SAFETY: eight bytes of the object, four of them in the block before.
            unsafe { at.write_unaligned(0x0404_0404_0404_0404) };
        }
        kernel.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
        assert!((1..8).all(|block| x[block * PAGE - 1] == 5 && x[block * PAGE] == 5 && x[block * PAGE + 9] == 1));
    }
}

#[test]
fn a_kernel_that_panics_is_an_error_of_its_sync() {
    let (_, runtime) = with(poisoned(), Config::default());
    let bad = runtime.kernel(KernelSource::new("bad").native(|call| assert!(call.memory.is_empty(), "on purpose")));
    let mut x = runtime.alloc::<u8>(PAGE).unwrap();
    let told = bad.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap_err().to_string();
    assert_eq!(told, "the simulated device: a kernel failed: it panicked");
    add_one(&runtime).call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
    assert_eq!(x[0], 1);
}

#[test]
fn a_failed_launch_is_reported_and_keeps_the_object() {
    for config in every_setting() {
        let (sim, runtime) = with(poisoned(), config);
        let kernel = add_one(&runtime);
        let mut x = runtime.alloc::<u8>(PAGE).unwrap();
        x[7] = 7;
        sim.fail_after(0, Operation::Launch, broken());
        assert!(kernel.call(1, 1).write(&mut x).launch().is_err());
        assert_eq!((x[7], x[8]), (7, 0));
    }
}

#[test]
fn an_error_of_the_kernel_is_reported_by_its_sync() {
    let (sim, runtime) = with(poisoned(), Config::default());
    let kernel = add_one(&runtime);
    let (mut x, mut y) = (runtime.alloc::<u8>(PAGE).unwrap(), runtime.alloc::<u8>(PAGE).unwrap());
    sim.fail_after(1, Operation::Kernel, broken());
    let good = kernel.call(1, 1).write(&mut x).launch().unwrap();
    let bad = kernel.call(1, 1).write(&mut y).launch().unwrap();
    good.sync().unwrap();
    let told = bad.sync().unwrap_err().to_string();
    assert_eq!(told, "the simulated device: a test failed: on purpose");
    assert_eq!((x[0], y[0]), (1, 0));
}

#[test]
fn a_full_device_says_how_much_it_has() {
    let (sim, runtime) = with(SimSpec { memory: 10 * PAGE, ..SimSpec::default() }, Config::default());
    let kept = runtime.alloc::<u8>(6 * PAGE).unwrap();
    let told = runtime.alloc::<u8>(5 * PAGE).map(drop).unwrap_err().to_string();
    assert_eq!(
        told,
        format!("the simulated device has not enough memory for {} bytes ({} are free)", 5 * PAGE, 4 * PAGE)
    );
    drop(kept);
    assert_eq!(sim.used(), 0);
    assert!(runtime.alloc::<u8>(10 * PAGE).is_ok());
}

#[test]
fn a_lost_device_is_an_error_of_every_call_and_what_the_cpu_has_stays() {
    let config = Config { block: PAGE, ..Config::default() };
    let (sim, runtime) = with(SimSpec::default(), config);
    let kernel = add_one(&runtime);
    let mut x = runtime.alloc::<u8>(4 * PAGE).unwrap();
    x.fill(5);
    sim.lose("it was unplugged");
    let told = kernel.call(1, 1).write(&mut x).launch().map(drop).unwrap_err().to_string();
    assert!(told.starts_with("the simulated device is lost: it was unplugged"), "{told}");
    assert!(x.iter().all(|&byte| byte == 5));
    assert!(runtime.alloc::<u8>(1).is_err());
}

#[test]
fn the_cpu_s_last_copies_can_be_salvaged_after_a_device_was_lost_in_flight() {
    let (sim, runtime) = with(SimSpec::default(), Config { block: PAGE, ..Config::default() });
    let kernel = add_one(&runtime);
    let mut x = runtime.alloc::<u8>(4 * PAGE).unwrap();
    x.fill(5);
    kernel.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
    assert_eq!(x[0], 6);
    sim.lose("it was unplugged");
    assert_eq!(x.salvage(), 3 * PAGE);
    assert_eq!((x[0], x[PAGE]), (6, 5));
}

#[test]
fn objects_that_are_too_large_or_have_no_bytes_are_refused() {
    let (_, runtime) = with(SimSpec::default(), Config::default());
    assert!(matches!(runtime.alloc::<u64>(usize::MAX / 4), Err(Error::Size { .. })));
    assert!(matches!(runtime.alloc::<u8>(usize::MAX - 5), Err(Error::Size { .. })));
    assert!(matches!(runtime.host().allocate(0, 0, true), Err(Error::Size { .. })));
    let empty = runtime.alloc::<u8>(0).unwrap();
    assert!(empty.is_empty());
}

#[test]
fn an_object_can_be_freed_once_and_not_in_flight() {
    let (sim, runtime) = with(SimSpec::default(), Config::default());
    let host = runtime.host();
    let object = host.allocate(0, PAGE, true).unwrap();
    host.free(&object).unwrap();
    assert!(matches!(host.free(&object), Err(Error::Foreign { freed: true, .. })));
    drop(object);
    assert_eq!(sim.used(), 0);
}

#[test]
fn one_pointer_is_refused_where_it_is_not_possible_and_safe_alloc_translates() {
    let (_, runtime) = with(SimSpec { one_pointer: false, ..SimSpec::default() }, Config::default());
    let told = runtime.alloc::<u8>(1).map(drop).unwrap_err().to_string();
    assert!(told.contains("allocate with safe_alloc"), "{told}");
    let x = runtime.safe_alloc::<u8>(1).unwrap();
    assert_ne!(x.safe(), x.as_ptr() as u64);
}

#[test]
fn where_memory_is_shared_nothing_is_copied_and_nothing_faults() {
    let (_, runtime) = with(SimSpec { shared_memory: true, ..SimSpec::default() }, Config::default());
    let kernel = add_one(&runtime);
    let mut x = runtime.alloc::<u8>(5 * PAGE).unwrap();
    x.fill(8);
    kernel.call(1, 1).write(&mut x).launch().unwrap().sync().unwrap();
    assert!(x.iter().all(|&byte| byte == 9));
    let stats = runtime.stats();
    assert_eq!((stats.uploads, stats.downloads, stats.load_faults, stats.store_faults), (0, 0, 0, 0));
    assert_eq!(x.safe(), x.as_ptr() as u64);
}

#[test]
fn a_forgotten_call_is_awaited_by_the_next_touch() {
    let (_, runtime) = with(
        SimSpec { latency: std::time::Duration::from_millis(20), shared_memory: true, ..SimSpec::default() },
        Config::default(),
    );
    let kernel = add_one(&runtime);
    let mut x = runtime.alloc::<u8>(PAGE).unwrap();
    std::mem::forget(kernel.call(1, 1).write(&mut x).launch().unwrap());
    assert_eq!(x[0], 1);
}

#[test]
fn the_transfer_the_paper_admits_to_is_not_made_for_what_a_kernel_only_reads() {
    let (_, runtime) = with(poisoned(), Config { block: PAGE, ..Config::default() });
    let kernel = runtime.kernel(KernelSource::new("nothing").native(|_| {}));
    let (mut x, mut y) = (runtime.alloc::<u8>(8 * PAGE).unwrap(), runtime.alloc::<u8>(1).unwrap());
    x.fill(3);
    kernel.call(1, 1).read(&x).write(&mut y).launch().unwrap().sync().unwrap();
    assert!(x.iter().all(|&byte| byte == 3));
    assert_eq!(runtime.stats().downloads, 0);
}
