//! Runs a program inside this process, functionally or on a machine.

use engine::{Outcome, Time};
use machine::{
    DriverFacts, Machine,
    program::{Finish, ModelGpus},
};
use mem::Bytes;
use os::{
    End, Process, compiler,
    files::{Mount, Stdio},
    opencl::{Driver, PolicyKind, Settings},
    process::StartError,
};
use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
};

/// A program and its limits.
#[derive(Clone)]
pub struct Guest {
    pub image: Arc<[u8]>,
    pub arguments: Vec<Vec<u8>>,
    pub mounts: Vec<Mount>,
    pub folder: &'static str,
    pub instructions: u64,
    /// Limit of simulated time, on a machine.
    pub time: Time,
}

/// The end of a run, and its output.
pub struct Ended {
    pub end: End,
    pub out: Vec<u8>,
}

impl Guest {
    pub fn new(image: Vec<u8>) -> Self {
        let arguments = vec![b"guest".to_vec()];
        let time = Time::micros(20_000);
        Self { image: image.into(), arguments, mounts: Vec::new(), folder: "/", instructions: 2_000_000, time }
    }

    fn options(&self, out: &Kept) -> os::Options {
        let mut options = os::Options::new("/guest");
        options.arguments = self.arguments.clone();
        options.mounts = self.mounts.clone();
        options.folder = self.folder.into();
        options.stdio = Stdio::new(io::empty(), out.clone(), io::sink());
        options.memory = Bytes(256 << 20);
        options.longest_file = Bytes(1 << 20);
        options.most_written = Bytes(16 << 20);
        options.max_instructions = self.instructions;
        options.max_time = Time(u64::MAX - 1);
        options
    }
}

/// Settings without a compiler: clang itself is not under test.
fn settings(policy: PolicyKind) -> Settings {
    let compiler = compiler::Settings { clang: "/no/compiler".into(), cache: None, ..compiler::Settings::default() };
    Settings { policy, compiler, kernel_limit: Some(100_000), ..Settings::default() }
}

/// Runs a program functionally, and returns the process for inspection.
pub fn functional(guest: &Guest) -> Result<(Ended, Process), StartError> {
    let out = Kept::default();
    let mut options = guest.options(&out);
    options.driver = Box::new(Driver::new(settings(PolicyKind::Memcpy)));
    let mut process = Process::start(&guest.image, options)?;
    let end = process.run();
    Ok((Ended { end, out: out.take() }, process))
}

/// Why a run on a machine gave no result.
pub enum Failed {
    Refused(StartError),
    /// The machine made an error.
    Wrong(String),
}

/// Runs a program on a machine, with every read checked.
pub fn on(machine: &Machine, guest: &Guest, threads: usize) -> Result<Ended, Failed> {
    let how = machine::Options { threads, check: true, until: Some(guest.time), ..Default::default() };
    let ended = in_time(machine, &how, guest)?;
    match &ended.end {
        End::MachineBroken { report } if is_machines_fault(report) => Err(Failed::Wrong(report.clone())),
        _ => Ok(ended),
    }
}

/// Whether a stopped machine is itself at fault. A kernel with an illegal operation also stops the machine.
fn is_machines_fault(report: &str) -> bool {
    ["no progress", "deadlock", "livelock", "the correct value is", "check failed"]
        .iter()
        .any(|word| report.contains(word))
}

/// Runs the program timed, on the machine's cores or on a host outside it.
fn in_time(machine: &Machine, how: &machine::Options, guest: &Guest) -> Result<Ended, Failed> {
    let cores = machine.cpu.as_ref().map_or(4, |cpu| cpu.cores);
    let facts = DriverFacts::from(machine);
    let (guest, out) = (guest.clone(), Kept::default());
    let kept = out.clone();
    let make = move |inside: &ModelGpus| {
        let mut options = guest.options(&kept);
        options.cpus = cores as u32;
        let plain = settings(facts.policy);
        let settings = Settings { compiler: plain.compiler, kernel_limit: plain.kernel_limit, ..facts.settings() };
        let driver = Driver::on(settings, Box::new(inside.clone())).map_err(StartError::Driver)?;
        let usage = driver.usage();
        options.driver = Box::new(driver);
        Ok((Process::start(&guest.image, options)?, usage))
    };
    let (Finish { end, .. }, run) = machine::run(machine, how, make).map_err(Failed::Refused)?;
    let end = match run.outcome {
        Outcome::Finished | Outcome::Interrupted => end,
        Outcome::TimeLimit => End::TimeLimit { time: run.end },
        other => End::MachineBroken { report: other.to_string() },
    };
    Ok(Ended { end, out: out.take() })
}

/// A program's output.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

/// Maximum output kept of a program.
const MOST_KEPT: usize = 4 << 20;

impl Kept {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MOST_KEPT - kept.len().min(MOST_KEPT);
        kept.extend(&bytes[..bytes.len().min(room)]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
