//! Random accesses of CPU and kernels against a plain model, for every protocol, fault engine and block size.
//!
//! The device poisons what it does not own and so does the host, so a transfer too few is a wrong value.

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
    /// `to[i] += from[i] + 1` for every third byte, and nothing else.
    Kernel {
        from: usize,
        to: usize,
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
        3 => (object.clone(), 1..OBJECTS).prop_map(|(from, by)| Act::Kernel { from, to: (from + by) % OBJECTS }),
        1 => object.prop_map(|object| Act::Recreate { object }),
    ];
    proptest::collection::vec(one, 1..60)
}

fn settings() -> impl Strategy<Value = (Config, bool)> {
    let protocol = prop_oneof![
        1 => Just(Protocol::Batch),
        2 => Just(Protocol::Lazy),
        5 => Just(Protocol::Rolling),
    ];
    let faults = prop_oneof![Just(Faults::Mprotect), Just(Faults::Userfaultfd), Just(Faults::UserfaultfdUserOnly)];
    let block = prop_oneof![Just(PAGE), Just(3 * PAGE), Just(4 * PAGE), Just(64 * PAGE)];
    let ahead = prop_oneof![Just(0), Just(8 * PAGE)];
    (protocol, faults, block, 0..4usize, ahead, any::<bool>()).prop_map(
        |(protocol, faults, block, rolling, ahead, one_pointer)| {
            (Config { protocol, faults, block, rolling, ahead, trace: None }, one_pointer)
        },
    )
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

fn run(config: Config, one_pointer: bool, bytes: usize, acts: Vec<Act>) {
    let sim = Sim::new(SimSpec { poison: true, one_pointer, ..SimSpec::default() });
    let runtime = Runtime::with(vec![Arc::new(sim)], config).unwrap();
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
            Act::Kernel { from, to } => {
                let (read, written) = pair(&mut objects, from, to);
                mix.call(1, bytes as u32).read(read).write(written).launch().unwrap().sync().unwrap();
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
        (config, one_pointer) in settings(),
        (bytes, acts) in (1..20 * PAGE).prop_flat_map(|bytes| (Just(bytes), acts(bytes))),
    ) {
        run(config, one_pointer, bytes, acts);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 50, ..ProptestConfig::default() })]

    /// Objects with huge pages, whose blocks are smaller than those.
    #[test]
    fn so_they_do_in_large_objects(
        (config, one_pointer) in settings(),
        (bytes, acts) in (HUGE..3 * HUGE).prop_flat_map(|bytes| (Just(bytes), acts(bytes))),
    ) {
        run(Config { block: config.block * 16, ahead: config.ahead * 64, ..config }, one_pointer, bytes, acts);
    }
}
