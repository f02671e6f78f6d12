//! `--selftest`: checks that everything works on this device.
//!
//! Compares random accesses by CPU and kernels with a plain model in every setting, and each program with its Rust
//! version; runs several threads at once; tries misuse. It continues after failures and reports them.

use crate::{
    measure::Opened,
    programs,
    store::{Adsm, Arg, Copies, Managed, Outcome, Store},
};
use adsm::{
    Config, Faults, Protocol, Runtime, Schedule,
    accel::{
        Accelerator,
        sim::{Sim, SimSpec},
    },
};
use std::{sync::Arc, time::Instant};

const PAGE: usize = 4096;

pub fn run(opened: &Opened, quick: bool) -> Outcome<bool> {
    println!("{}\ndevice: {}", crate::measure::machine(), opened.accel.name());
    for file in ["/proc/sys/vm/unprivileged_userfaultfd", "/proc/sys/vm/max_map_count"] {
        println!("{file}: {}", std::fs::read_to_string(file).unwrap_or_default().trim());
    }
    let mut failed = 0;
    let mut check = |name: String, outcome: Outcome<String>, begin: Instant| {
        let seconds = begin.elapsed().as_secs_f64();
        match outcome {
            Ok(note) => println!("ok      {seconds:7.3} s  {name}  {note}"),
            Err(why) => {
                failed += 1;
                println!("FAILED  {seconds:7.3} s  {name}: {why}");
            }
        }
    };
    for faults in [Faults::Mprotect, Faults::Userfaultfd, Faults::UserfaultfdUserOnly] {
        for protocol in [Protocol::Batch, Protocol::Lazy, Protocol::Rolling] {
            for block in [PAGE, 16 * PAGE, 64 * PAGE] {
                let known = protocol != Protocol::Rolling && block != PAGE;
                if known || quick && (faults == Faults::UserfaultfdUserOnly || block == 64 * PAGE) {
                    continue;
                }
                for ahead in [0, 128 * PAGE] {
                    let config = Config { protocol, block, faults, ahead, ..Config::default() };
                    let begin = Instant::now();
                    let rounds = if quick { 4 } else { 12 };
                    let outcome = random(std::slice::from_ref(&opened.accel), &config, rounds);
                    check(
                        format!("random accesses: {faults:?} {protocol} block {block} ahead {ahead}"),
                        outcome,
                        begin,
                    );
                }
            }
        }
    }
    if let Some(cuda) = &opened.cuda {
        for protocol in [Protocol::Batch, Protocol::Lazy, Protocol::Rolling] {
            let config = Config { protocol, block: 4 * PAGE, schedule: Schedule::RoundRobin, ..Config::default() };
            let begin = Instant::now();
            let outcome = cuda.open_again().map_err(Into::into).and_then(|again| {
                let both: [Arc<dyn Accelerator>; 2] = [Arc::clone(&opened.accel), Arc::new(again)];
                random(&both, &config, 12)
            });
            check(format!("random accesses: {protocol}, the GPU as two devices, kernels in turns"), outcome, begin);
        }
    }
    let begin = Instant::now();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| threads(&opened.accel)));
    check("several threads".to_owned(), outcome.unwrap_or_else(|_| Err("a thread panicked".into())), begin);
    let begin = Instant::now();
    check("misuse".to_owned(), misuse(&opened.accel), begin);
    for program in programs::all(0) {
        let begin = Instant::now();
        let sim: Arc<dyn Accelerator> = Arc::new(Sim::new(SimSpec::default()));
        let outcome = (|| {
            let mut reference = Copies::new(&sim, false, &program.buffers)?;
            let mut stores: Vec<(&str, Box<dyn Store>)> = vec![
                ("copies", Box::new(Copies::new(&opened.accel, true, &program.buffers)?)),
                (
                    "adsm",
                    Box::new(Adsm::new(
                        &opened.accel,
                        Config { block: 4 * PAGE, ..Config::default() },
                        &program.buffers,
                    )?),
                ),
            ];
            if let Some(cuda) = &opened.cuda {
                stores.push(("managed", Box::new(Managed::new(cuda, true, &program.buffers)?)));
            }
            let mut worst = 0.0f64;
            for round in 0..3 {
                let expected = program.round(&mut reference, round)?;
                for (way, store) in &mut stores {
                    let digest = program.round(&mut **store, round)?;
                    let error = (digest - expected).abs() / expected.abs().max(1.0);
                    worst = worst.max(error);
                    if error > 1e-4 || error.is_nan() {
                        return Err(format!("{way}, round {round}: {digest}, expected {expected}").into());
                    }
                }
            }
            Ok(format!("relative error {worst:.1e}"))
        })();
        check(format!("program {}", program.name), outcome, begin);
    }
    println!("{}", if failed == 0 { "everything is right".to_owned() } else { format!("{failed} FAILED") });
    Ok(failed == 0)
}

/// A small generator with a fixed seed, so that failures are reproducible.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}

fn random(accels: &[Arc<dyn Accelerator>], config: &Config, rounds: usize) -> Outcome<String> {
    let stir = programs::stir();
    let mut seed = Random(0x9E37_79B9_7F4A_7C15);
    let mut faults = 0;
    for round in 0..rounds {
        let bytes = 1 + seed.below(200 * PAGE);
        let mut store = Adsm::on(accels, Config { rolling: seed.below(4), ..config.clone() }, &[bytes; 3])?;
        let mut model = vec![vec![0u8; bytes]; 3];
        for act in 0..60 {
            let (object, at, value) = (seed.below(3), seed.below(bytes), seed.below(256) as u8);
            match seed.below(10) {
                0..=2 => {
                    let got = store.host(object)[at];
                    if got != model[object][at] {
                        let expected = model[object][at];
                        return Err(
                            format!("round {round} act {act}: {object}[{at}] is {got}, expected {expected}").into()
                        );
                    }
                }
                3..=5 => {
                    store.host(object)[at] = value;
                    model[object][at] = value;
                }
                6 => {
                    store.host(object)[at..].fill(value);
                    model[object][at..].fill(value);
                }
                7 => {
                    if store.host(object)[at..] != model[object][at..] {
                        return Err(format!("round {round} act {act}: object {object} differs after {at}").into());
                    }
                }
                _ => {
                    let to = (object + 1) % 3;
                    let groups = bytes.div_ceil(256) as u32;
                    store.run(
                        &stir,
                        [groups, 1, 1],
                        [256, 1, 1],
                        &[Arg::In(object), Arg::Out(to), (bytes as u32).into()],
                    )?;
                    for i in (0..bytes).step_by(3) {
                        model[to][i] = model[to][i].wrapping_add(model[object][i]).wrapping_add(1);
                    }
                }
            }
        }
        for (object, model) in model.iter().enumerate() {
            if store.host(object) != &model[..] {
                return Err(format!("round {round}: object {object} differs at the end").into());
            }
        }
        faults += store.stats().map_or(0, |stats| stats.load_faults + stats.store_faults);
    }
    Ok(format!("{faults} faults"))
}

/// Threads with objects of their own, and one object of which each reads and writes a part.
fn threads(accel: &Arc<dyn Accelerator>) -> Outcome<String> {
    let config = Config { block: PAGE, rolling: 16, ..Config::default() };
    let runtime = Runtime::with(vec![Arc::clone(accel)], config)?;
    let stir = runtime.kernel(programs::stir());
    let count = 8 * PAGE;
    let abilities = accel.abilities();
    let one_pointer = abilities.one_pointer || abilities.shared_memory;
    let alloc = |bytes| if one_pointer { runtime.alloc::<u8>(bytes) } else { runtime.safe_alloc(bytes) };
    let mut shared = alloc(4 * count)?;
    for round in 0..20u8 {
        std::thread::scope(|scope| {
            for (thread, part) in shared.chunks_mut(count).enumerate() {
                scope.spawn(move || part.iter_mut().for_each(|byte| *byte = byte.wrapping_add(thread as u8 + round)));
            }
            for _ in 0..2 {
                let (alloc, stir) = (&alloc, &stir);
                scope.spawn(move || {
                    let mut own = alloc(count).expect("there is room");
                    let from = alloc(count).expect("there is room");
                    own.fill(round);
                    stir.call(count as u32 / 256, 256)
                        .read(&from)
                        .write(&mut own)
                        .value(count as u32)
                        .launch()
                        .and_then(adsm::InFlight::sync)
                        .expect("the kernel runs");
                    assert!(own.iter().enumerate().all(|(i, &byte)| byte == round + u8::from(i % 3 == 0)));
                });
            }
        });
        let zero = alloc(4 * count)?;
        stir.call(4 * count as u32 / 256, 256)
            .read(&zero)
            .write(&mut shared)
            .value(4 * count as u32)
            .launch()?
            .sync()?;
    }
    let sum: u32 = (0..20u32).sum();
    for (thread, part) in shared.chunks(count).enumerate() {
        for (i, &byte) in part.iter().enumerate() {
            let at = thread * count + i;
            let expected = (sum + 20 * thread as u32 + if at.is_multiple_of(3) { 20 } else { 0 }) as u8;
            if byte != expected {
                return Err(format!("byte {at} is {byte}, expected {expected}").into());
            }
        }
    }
    Ok(String::new())
}

/// Misuse by a program is refused without harm.
fn misuse(accel: &Arc<dyn Accelerator>) -> Outcome<String> {
    let runtime = Runtime::with(vec![Arc::clone(accel)], Config::default())?;
    let host = runtime.host();
    let one_pointer = accel.abilities().one_pointer || accel.abilities().shared_memory;
    let expect = |what: &str, refused: bool| if refused { Ok(()) } else { Err(format!("{what} was not refused")) };
    expect("an object larger than any memory", host.allocate(0, 1 << 50, one_pointer).is_err())?;
    expect("an object of no bytes", host.allocate(0, 0, one_pointer).is_err())?;
    let mut told = String::new();
    for _ in 0..3 {
        let object = host.allocate(0, 3 * PAGE, one_pointer)?;
        host.free(&object)?;
        let again = host.free(&object);
        told = again.as_ref().err().map(ToString::to_string).unwrap_or_default();
        expect("a double free", again.is_err())?;
    }
    expect("a foreign pointer", runtime.find(&raw const told as usize).is_err())?;
    Ok(format!("(a double free says: {told})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use adsm::accel::opencl::OpenCl;

    fn on(accel: Arc<dyn Accelerator>) {
        assert!(run(&Opened { accel, cuda: None }, true).unwrap());
    }

    #[test]
    fn everything_is_right_on_the_simulated_device() {
        on(Arc::new(Sim::new(SimSpec { poison: true, ..SimSpec::default() })));
    }

    #[test]
    fn everything_is_right_where_memory_is_shared() {
        on(Arc::new(Sim::new(SimSpec { shared_memory: true, ..SimSpec::default() })));
    }

    fn opencl(buffers: bool) {
        match OpenCl::all_with(buffers).map(|mut devices| devices.remove(0)) {
            Ok(device) => on(Arc::new(device)),
            Err(why) => {
                assert!(std::env::var_os("COHESIM_REQUIRE_POCL").is_none(), "{why}");
                eprintln!("skipped: {why}");
            }
        }
    }

    #[test]
    fn everything_is_right_in_opencl_s_shared_virtual_memory() {
        opencl(false);
    }

    #[test]
    fn everything_is_right_in_opencl_s_buffers() {
        opencl(true);
    }
}
