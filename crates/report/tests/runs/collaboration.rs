//! Runs a program on the cores and the GPU of one machine, for tests of reports.

use engine::Run;
use machine::{
    DriverFacts, Machine, Options,
    program::{Finish, ModelGpus},
};
use os::{End, Process, files::Stdio, opencl::Driver};
use std::io;

/// A small variant of a shipped machine, with these changes.
pub fn machine(name: &str, changes: &[&str]) -> Machine {
    let small = ["cpu.cores=3", "system.slices=2", "system.channels=2"];
    let changes: Vec<String> = small.iter().chain(changes).map(|change| (*change).to_owned()).collect();
    Machine::load(name, &changes).expect("it comes with cohesim")
}

/// Two cores and the GPU detect the edges of one image.
pub fn edges(machine: &Machine) -> (Run, Finish) {
    let shared = machine.cpu.as_ref().is_some_and(|complex| complex.shared && machine.fabric.is_none());
    let copies = if shared { "none" } else { "explicit" };
    let words = ["edge", "--size", "tiny", "--cpu-share", "50", "--threads", "2", "--copies", copies];
    run(machine, &words, workloads::guest())
}

/// A program without kernels.
pub fn hotspot(machine: &Machine) -> (Run, Finish) {
    let program = workloads::find_cpu_program("hotspot-omp").expect("it is built in");
    run(machine, &["hotspot-omp", "--size", "tiny", "--threads", "2"], program.image)
}

fn run(machine: &Machine, words: &[&str], image: &'static [u8]) -> (Run, Finish) {
    let cores = machine.cpu.as_ref().map_or(4, |complex| complex.cores as u32);
    let facts = DriverFacts::from(machine);
    let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
    let make = move |inside: &ModelGpus| {
        let mut options = os::Options::new("/workloads/program".to_owned());
        options.arguments = words;
        options.stdio = Stdio::new(io::empty(), io::sink(), io::sink());
        options.cpus = cores;
        let driver = Driver::with_gpus(facts.settings(), Box::new(inside.clone()));
        let usage = driver.usage();
        options.driver = Box::new(driver);
        Ok((Process::start(image, options)?, usage))
    };
    let options = Options { threads: 1, ..Options::default() };
    let (finish, run) = machine::run(machine, &options, make).expect("the machine can run programs");
    assert_eq!(finish.end, End::Exited { code: 0 }, "{}", run.outcome);
    (run, finish)
}
