//! Several threads at once, with a device whose delays vary.

use adsm::{
    Config, Faults, KernelSource, Protocol, Runtime,
    accel::sim::{Sim, SimSpec},
};
use std::{sync::Arc, thread, time::Duration};

const PAGE: usize = 4096;
const THREADS: usize = 4;
const PART: usize = 7 * PAGE / 2;

fn stress(config: Config, jitter: Duration) {
    let spec = SimSpec { poison: true, jitter, ..SimSpec::default() };
    let runtime = Runtime::with(vec![Arc::new(Sim::new(spec))], config.clone()).unwrap();
    let add_one = runtime.kernel(KernelSource::new("add_one").native(|call| {
        call.memory[0].iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
    }));
    // Parts end in the middle of blocks, so threads share blocks but no bytes.
    let mut shared = runtime.alloc::<u8>(THREADS * PART).unwrap();
    for round in 0..6u8 {
        thread::scope(|scope| {
            for (number, part) in shared.chunks_mut(PART).enumerate() {
                let (runtime, add_one) = (&runtime, &add_one);
                scope.spawn(move || {
                    for (i, byte) in part.iter_mut().enumerate().step_by(1 + number * 97) {
                        assert_eq!(*byte, expected(number, i, round), "part {number} byte {i} round {round}");
                        *byte = byte.wrapping_add(number as u8);
                    }
                    // And an object of the thread's own.
                    let mut own = runtime.alloc::<u8>(2 * PAGE + number).unwrap();
                    own[PAGE] = round;
                    add_one.call(1, 1).write(&mut own).launch().unwrap().sync().unwrap();
                    assert_eq!((own[PAGE], own[0]), (round + 1, 1));
                });
            }
        });
        add_one.call(1, 1).write(&mut shared).launch().unwrap().sync().unwrap();
    }
    for (number, part) in shared.chunks(PART).enumerate() {
        for (i, &byte) in part.iter().enumerate() {
            assert_eq!(byte, expected(number, i, 6), "{config:?} part {number} byte {i}");
        }
    }
}

/// The value after `rounds` rounds: in each, a kernel adds one, and the thread adds its number to some bytes.
fn expected(number: usize, i: usize, rounds: u8) -> u8 {
    let touched = i.is_multiple_of(1 + number * 97);
    rounds.wrapping_mul(1 + if touched { number as u8 } else { 0 })
}

#[test]
fn threads_that_share_blocks_lose_nothing() {
    for protocol in [Protocol::Lazy, Protocol::Rolling] {
        for faults in [Faults::Mprotect, Faults::Userfaultfd] {
            for (block, rolling, ahead) in [(PAGE, 2, 0), (PAGE, 0, 16 * PAGE), (4 * PAGE, 3, 0)] {
                for jitter in [Duration::ZERO, Duration::from_micros(60)] {
                    stress(Config { protocol, faults, block, rolling, ahead, ..Config::default() }, jitter);
                }
            }
        }
    }
}
