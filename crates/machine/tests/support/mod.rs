//! Programs on whole machines with a CPU.

mod kept;

use engine::{Outcome, Run};
use kept::Kept;
use machine::{
    DriverFacts, Machine, Options,
    checkpoint::Parts,
    program::{Finish, ModelGpus},
};
use os::{End, Options as ProcessOptions, Process, StartError, files::Stdio, opencl::Driver};
use std::io::Cursor;

/// The built-in workloads.
pub const WORKLOADS: &[u8] = include_bytes!("../../../workloads/guest/workloads.elf");

/// Runs a program and checks every read.
pub fn run(machine: &Machine, program: &'static [u8], words: &[&str], threads: usize) -> (Finish, Run, String) {
    run_with(machine, program, words, Options { threads, check: true, ..Options::default() })
}

/// Runs a program with these options.
pub fn run_with(machine: &Machine, program: &'static [u8], words: &[&str], how: Options) -> (Finish, Run, String) {
    let words: Vec<Vec<u8>> = std::iter::once(&"guest").chain(words).map(|word| word.as_bytes().to_vec()).collect();
    let (out, kept) = (Kept::default(), Kept::default());
    let stdout = out.clone();
    let facts = DriverFacts::from(machine);
    let make = move |gpus: &ModelGpus| {
        let mut options = ProcessOptions::new("/guest");
        options.arguments = words;
        options.stdio = Stdio::new(Cursor::new(Vec::new()), stdout, kept);
        options.cpus = 4;
        let driver = Driver::with_gpus(facts.settings(), gpus.for_driver());
        let usage = driver.usage();
        options.driver = Box::new(driver);
        Ok((Process::start(program, options)?, usage))
    };
    let (finish, run) = machine::run(machine, &how, make).expect("the committed programs are sound");
    (finish, run, out.text())
}

/// Runs a program that may drain, and begin with a checkpoint.
#[allow(dead_code, reason = "the other tests run programs whole")]
pub fn run_in_parts(
    machine: &Machine,
    program: &'static [u8],
    words: &[&str],
    how: Options,
) -> Result<(Finish, Run, Parts, String), StartError> {
    let words: Vec<Vec<u8>> = std::iter::once(&"guest").chain(words).map(|word| word.as_bytes().to_vec()).collect();
    let (out, kept) = (Kept::default(), Kept::default());
    let (stdout, facts) = (out.clone(), DriverFacts::from(machine));
    let make = move |gpus: &ModelGpus| {
        let mut options = ProcessOptions::new("/guest");
        options.arguments = words.clone();
        options.stdio = Stdio::new(Cursor::new(Vec::new()), stdout.clone(), kept.clone());
        options.cpus = 4;
        let driver = Driver::with_gpus(facts.settings(), gpus.for_driver());
        let usage = driver.usage();
        options.driver = Box::new(driver);
        Ok((Process::start(program, options)?, usage))
    };
    let (finish, run, parts) = machine::run_in_parts(machine, &how, make)?;
    Ok((finish, run, parts, out.text()))
}

/// Runs a program that must end well.
#[track_caller]
pub fn good(machine: &Machine, program: &'static [u8], words: &[&str], threads: usize) -> (String, Run) {
    let (finish, run, out) = run(machine, program, words, threads);
    assert_eq!(run.outcome, Outcome::Finished, "{} {words:?}: {out}", machine.name);
    assert_eq!(finish.end, End::Exited { code: 0 }, "{} {words:?}: {out}", machine.name);
    (out, run)
}
