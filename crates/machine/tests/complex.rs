//! A CPU and a GPU on one memory: random accesses to few lines, by everybody at once.

use engine::{Outcome, Run};
use machine::{Machine, Options, Stress, stress};

/// Caches of a few lines, queues of one or two places.
const SMALL: &[&str] = &[
    "cpu.cores=3",
    "system.slices=2",
    "system.channels=2",
    "system.network.capacity=2",
    "system.hub.capacity=1",
    "cpu.l1d.size=512",
    "cpu.l1d.mshrs=2",
    "cpu.l1d.waiting=2",
    "cpu.l2.size=1KiB",
    "cpu.l2.mshrs=2",
    "cpu.l2.waiting=2",
    "cpu.l3.size=1KiB",
    "cpu.l3.ways=4",
    "cpu.l3.mshrs=2",
    "cpu.l3.waiting=2",
    "gpu.arrays=2",
    "gpu.units_per_array=1",
    "gpu.l1v.size=512",
    "gpu.l1v.ways=2",
    "gpu.l1v.mshrs=2",
    "gpu.l1v.waiting=2",
    "gpu.l2.size=2KiB",
    "gpu.l2.ways=2",
    "gpu.l2.mshrs=2",
    "gpu.l2.waiting=2",
    "wires.l1_l2.capacity=2",
];

fn run(changes: &[&str], operations: u64, threads: usize) -> Run {
    let changes: Vec<String> = changes.iter().map(|&change| change.to_owned()).collect();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/apu-c-l3.toml");
    let machine = Machine::load(file, &changes).expect("the machine is sound");
    let what = Stress { operations, seed: 7, lines: 48, round: 500, outstanding: 12 };
    stress(&machine, what, &Options { threads, check: true, ..Options::default() })
}

#[test]
fn every_read_is_right_with_the_smallest_caches_and_queues() {
    let runs = [1, 2].map(|threads| run(SMALL, 8_000, threads));
    assert_eq!(runs[0].outcome, Outcome::Finished);
    assert!(runs[0].regions == runs[1].regions, "threads change statistics");
}

#[test]
fn every_read_is_right_as_the_machine_is() {
    assert_eq!(run(&[], 10_000, 1).outcome, Outcome::Finished);
}

mod program {
    use super::*;
    use engine::Outcome;
    use machine::program::{Finish, Inside};
    use os::{
        End, Options as ProcessOptions, Process,
        files::Stdio,
        opencl::{Driver, PolicyKind, Settings},
    };
    use std::{
        io::{self, Cursor, Write},
        sync::{Arc, Mutex},
    };

    /// Programs that check themselves, of `os`.
    const GUESTS: &[u8] = include_bytes!("../../os/tests/guests/guests");
    /// The built-in workloads.
    const WORKLOADS: &[u8] = include_bytes!("../../workloads/guest/workloads.elf");

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("nobody panics while he writes").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn run(program: &'static [u8], words: &[&str], threads: usize) -> (Finish, engine::Run, String) {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/apu-c-l3.toml");
        let machine = Machine::load(file, &["cpu.cores=4".to_owned()]).expect("the machine is sound");
        let words: Vec<Vec<u8>> = std::iter::once(&"guest").chain(words).map(|word| word.as_bytes().to_vec()).collect();
        let (out, kept) = (Kept::default(), Kept::default());
        let stdout = out.clone();
        let make = move |gpus: &Inside| {
            let mut options = ProcessOptions::new("/guest");
            options.arguments = words;
            options.stdio = Stdio::new(Cursor::new(Vec::new()), stdout, kept);
            options.cpus = 4;
            let settings = Settings { policy: PolicyKind::Shared, ..Settings::default() };
            let driver = Driver::with_gpus(settings, Box::new(gpus.clone()));
            let usage = driver.usage();
            options.driver = Box::new(driver);
            Ok((Process::start(program, options)?, usage))
        };
        let options = Options { threads, check: true, ..Options::default() };
        let (finish, run) = machine::run(&machine, &options, make).expect("the committed programs are sound");
        let out = String::from_utf8_lossy(&out.0.lock().expect("the run is over")).into_owned();
        (finish, run, out)
    }

    fn good(program: &'static [u8], words: &[&str]) -> String {
        let (finish, run, out) = run(program, words, 1);
        if let Outcome::Stuck(r) | Outcome::Deadlock(r) = &run.outcome {
            for w in &r.waiting {
                println!("{} on {} since {:.1} ns held {}", w.context, w.on, w.since.0 as f64 / 1e6, w.held_up);
            }
        } else {
            assert_eq!(run.outcome, Outcome::Finished, "{out}");
        }
        assert_eq!(finish.end, End::Exited { code: 0 }, "{out}");
        out
    }

    #[test]
    fn a_program_prints() {
        assert_eq!(good(GUESTS, &["hello"]), "hello, world\n");
    }

    #[test]
    fn a_sum_of_vectors_is_right() {
        println!("{}", good(WORKLOADS, &["vecadd"]));
    }
}
