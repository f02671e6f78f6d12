//! Random accesses of CPU and kernels on one to three devices, compared with a plain model, for every protocol, fault
//! engine and block size.
//!
//! Devices and host poison what they do not own, so that a missing transfer shows as a wrong value.

use adsm::{
    Config, Faults, KernelSource, Protocol, Runtime, Shared,
    accel::sim::{Sim, SimSpec},
};
use proptest::prelude::*;
use std::sync::Arc;

const PAGE: usize = 4096;
const HUGE: usize = 2 << 20;
const OBJECTS: usize = 3;

#[derive(Clone, Debug)]
enum Act {
    Load {
        object: usize,
        at: usize,
    },
    Store {
        object: usize,
        at: usize,
        value: u8,
    },
    Sweep {
        object: usize,
        value: u8,
    },
    Sum {
        object: usize,
    },
    Fill {
        object: usize,
        byte: u8,
    },
    /// `to[i] += from[i] + 1` for every third byte; other bytes are not changed.
    Kernel {
        from: usize,
        to: usize,
        device: usize,
    },
    Recreate {
        object: usize,
    },
}

fn acts(bytes: usize) -> impl Strategy<Value = Vec<Act>> {
    let object = 0..OBJECTS;
    let one = prop_oneof![
        4 => (object.clone(), 0..bytes).prop_map(|(object, at)| Act::Load { object, at }),
        4 => (object.clone(), 0..bytes, any::<u8>()).prop_map(|(object, at, value)| Act::Store { object, at, value }),
        1 => (object.clone(), any::<u8>()).prop_map(|(object, value)| Act::Sweep { object, value }),
        1 => object.clone().prop_map(|object| Act::Sum { object }),
        1 => (object.clone(), any::<u8>()).prop_map(|(object, byte)| Act::Fill { object, byte }),
        3 => (object.clone(), 1..OBJECTS, 0..3usize)
            .prop_map(|(from, by, device)| Act::Kernel { from, to: (from + by) % OBJECTS, device }),
        1 => object.prop_map(|object| Act::Recreate { object }),
    ];
    proptest::collection::vec(one, 1..60)
}

/// The settings of a runtime, and its devices.
#[derive(Clone, Debug)]
struct Setting {
    config: Config,
    one_pointer: bool,
    devices: usize,
    /// Devices copy from each other without the host.
    peers: bool,
}

fn settings() -> impl Strategy<Value = Setting> {
    let protocol = prop_oneof![
        1 => Just(Protocol::Batch),
        2 => Just(Protocol::Lazy),
        5 => Just(Protocol::Rolling),
    ];
    let faults = prop_oneof![Just(Faults::Mprotect), Just(Faults::Userfaultfd), Just(Faults::UserfaultfdUserOnly)];
    let block = prop_oneof![Just(PAGE), Just(3 * PAGE), Just(4 * PAGE), Just(64 * PAGE)];
    let (ahead, read_back) = (prop_oneof![Just(0), Just(8 * PAGE)], prop_oneof![Just(0), Just(16 * PAGE)]);
    let config = (protocol, faults, block, 0..4usize, ahead, read_back).prop_map(
        |(protocol, faults, block, rolling, ahead, read_back)| Config {
            protocol,
            faults,
            block,
            rolling,
            ahead,
            read_back,
            ..Config::default()
        },
    );
    (config, any::<bool>(), 1..4usize, any::<bool>()).prop_map(|(config, one_pointer, devices, peers)| Setting {
        config,
        one_pointer,
        devices,
        peers,
    })
}

fn mix(runtime: &Runtime) -> adsm::Kernel {
    runtime.kernel(KernelSource::new("mix").native(|call| {
        let threads = call.threads();
        let (from, to) = call.memory.split_at_mut(1);
        for i in (0..threads).step_by(3) {
            to[0][i] = to[0][i].wrapping_add(from[0][i]).wrapping_add(1);
        }
    }))
}

fn pair(objects: &mut [Shared<[u8]>], from: usize, to: usize) -> (&Shared<[u8]>, &mut Shared<[u8]>) {
    let (low, high) = objects.split_at_mut(from.max(to));
    if from < to { (&low[from], &mut high[0]) } else { (&high[0], &mut low[to]) }
}

fn run(setting: Setting, bytes: usize, acts: Vec<Act>) {
    let Setting { config, one_pointer, devices, peers } = setting;
    let device = |_| -> Arc<dyn adsm::accel::Accelerator> {
        Arc::new(Sim::new(SimSpec { poison: true, one_pointer, peers, ..SimSpec::default() }))
    };
    let runtime = Runtime::with((0..devices).map(device).collect(), config).unwrap();
    let mix = mix(&runtime);
    let fresh = || if one_pointer { runtime.alloc::<u8>(bytes) } else { runtime.safe_alloc(bytes) }.unwrap();
    let mut objects: Vec<_> = (0..OBJECTS).map(|_| fresh()).collect();
    let mut model = vec![vec![0u8; bytes]; OBJECTS];
    for act in acts {
        match act {
            Act::Load { object, at } => assert_eq!(objects[object][at], model[object][at], "{object}[{at}]"),
            Act::Store { object, at, value } => {
                objects[object][at] = value;
                model[object][at] = value;
            }
            Act::Sweep { object, value } => {
                objects[object].fill(value);
                model[object].fill(value);
            }
            Act::Sum { object } => {
                let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
                assert_eq!(sum(&objects[object]), sum(&model[object]));
            }
            Act::Fill { object, byte } => {
                objects[object].fill_bytes(byte).unwrap();
                model[object].fill(byte);
            }
            Act::Kernel { from, to, device } => {
                let (read, written) = pair(&mut objects, from, to);
                let call = mix.call(1, bytes as u32).read(read).write(written).on(device % devices);
                call.launch().unwrap().sync().unwrap();
                for i in (0..bytes).step_by(3) {
                    model[to][i] = model[to][i].wrapping_add(model[from][i]).wrapping_add(1);
                }
            }
            Act::Recreate { object } => {
                objects[object] = fresh();
                model[object].fill(0);
            }
        }
    }
    for (object, model) in objects.iter().zip(&model) {
        assert!(object[..] == model[..]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn cpu_and_kernels_see_what_a_plain_array_would_hold(
        setting in settings(),
        (bytes, acts) in (1..20 * PAGE).prop_flat_map(|bytes| (Just(bytes), acts(bytes))),
    ) {
        run(setting, bytes, acts);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 50, ..ProptestConfig::default() })]

    /// Objects with huge pages, whose blocks are smaller than a huge page.
    #[test]
    fn so_they_do_in_large_objects(
        setting in settings(),
        (bytes, acts) in (HUGE..3 * HUGE).prop_flat_map(|bytes| (Just(bytes), acts(bytes))),
    ) {
        let Config { block, ahead, read_back, .. } = setting.config;
        let config = Config { block: block * 16, ahead: ahead * 64, read_back: read_back * 64, ..setting.config };
        run(Setting { config, ..setting }, bytes, acts);
    }
}
