//! Runs a job: a program on a machine's cores, or on a host outside it, and on its GPUs.

use crate::{Job, Measured, counts};
use engine::{Monitor, Outcome, Pressure, Region, Value};
use machine::{
    DriverFacts, Machine, MachineError,
    program::{Finish, ModelGpus},
};
use os::{
    End, Process,
    files::Stdio,
    opencl::{Driver, Settings},
    process::StartError,
};
use rustix::time::{ClockId, clock_gettime};
use std::{
    io::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
};
use thiserror::Error;

/// Why a run gave no result.
#[derive(Debug, Error)]
pub enum RunError {
    #[error("there is no shipped machine '{0}'")]
    NoMachine(String),
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error("no program '{0}' is built in")]
    NoProgram(String),
    #[error("the program can't be started: {0}")]
    Start(#[from] StartError),
    #[error("the program failed: {end}{output}")]
    Failed { end: String, output: String },
    #[error("a bug in the simulator: {0}")]
    Panicked(String),
    #[error("the run was interrupted")]
    Interrupted,
}

/// A job whose machine and program have been found.
pub(crate) struct Prepared {
    pub machine: Machine,
    pub image: &'static [u8],
}

impl Prepared {
    pub fn new(job: &Job) -> Result<Self, RunError> {
        let is_file = job.machine.ends_with(".toml");
        if !is_file && !machine::shipped().any(|name| name == job.machine) {
            return Err(RunError::NoMachine(job.machine.clone()));
        }
        let machine = Machine::load(&job.machine, &job.changes)?;
        let gpu = workloads::find(&job.program).map(|_| workloads::guest());
        let image = gpu.or_else(|| workloads::find_cpu_program(&job.program).map(|program| program.image));
        Ok(Self { machine, image: image.ok_or_else(|| RunError::NoProgram(job.program.clone()))? })
    }
}

/// Runs a job to its end on this thread. A panic of the simulator ends only this run, because other runs may have taken
/// hours.
pub fn run(job: &Job, monitor: &Monitor) -> Result<Measured, RunError> {
    catch_unwind(AssertUnwindSafe(|| simulate(job, monitor))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a word");
        Err(RunError::Panicked(text.to_owned()))
    })
}

fn simulate(job: &Job, monitor: &Monitor) -> Result<Measured, RunError> {
    let Prepared { machine, image } = Prepared::new(job)?;
    let cores = machine.cpu.as_ref().map_or(1, |complex| complex.cores);
    let words = std::iter::once(&job.program).chain(&job.arguments).map(|word| word.clone().into_bytes()).collect();
    let facts = DriverFacts::from(&machine);
    let output = Kept::default();
    let (path, stdout, watched) = (format!("/workloads/{}", job.program), output.clone(), monitor.clone());
    let make = move |inside: &ModelGpus| {
        let mut options = os::Options::new(path);
        options.arguments = words;
        options.stdio = Stdio::new(io::empty(), stdout.clone(), stdout);
        options.cpus = cores as u32;
        options.monitor = watched;
        let settings = Settings { monitor: options.monitor.clone(), ..facts.settings() };
        let driver = Driver::on(settings, Box::new(inside.clone())).map_err(StartError::Driver)?;
        let usage = driver.usage();
        options.driver = Box::new(driver);
        Ok((Process::start(image, options)?, usage))
    };
    let begun = seconds();
    let how = machine::Options { threads: 1, monitor: monitor.clone(), ..Default::default() };
    let (Finish { end, totals, usage, kernel_time, .. }, run) = machine::run(&machine, &how, make)?;
    let host_seconds = seconds() - begun;
    let broken = || match &run.outcome {
        Outcome::Finished => end.to_string(),
        other => other.to_string(),
    };
    match (&run.outcome, &end) {
        (Outcome::Finished, End::Exited { code: 0 }) => {}
        _ if monitor.is_stopped() => return Err(RunError::Interrupted),
        _ => return Err(RunError::Failed { end: broken(), output: output.text() }),
    }
    let number = run.regions.iter().position(|region| region.name == "region_of_interest");
    let region = number.map(|number| &run.regions[number]);
    let pressure = number.map_or(Pressure { events: run.events, most: 0 }, |number| run.pressure[number]);
    let total = run.total();
    let cpu_clock = machine.cpu.as_ref().map_or(1, |complex| complex.clock.0);
    Ok(Measured {
        region_fs: totals.region.unwrap_or(totals.time).0,
        cpu_fs: region.map_or(0, |region| longest(region, "fetch_stall", cpu_clock)),
        gpu_fs: region.map_or(0, |region| longest(region, "issue", machine.clock.0)),
        kernels_fs: kernel_time.0,
        end_fs: run.end.0,
        events: run.events,
        region_events: pressure.events,
        region_most_events: pressure.most,
        region_core_cycles: region.map_or(0, |region| at_work(region, "fetch_stall").iter().sum()),
        cpu_instructions: totals.instructions,
        cpu_hertz: cpu_clock,
        gpu_hertz: machine.clock.0,
        moved: machine::moved_by_cause(&total),
        links: machine::moved_by_link(&total),
        host_faults: usage.paged.host_faults,
        fault_fs: usage.paged.fault_time.0,
        counts: counts::sums(&job.counts, &total),
        host_seconds,
    })
}

/// Reasons of cores and compute units for cycles without work.
const IDLE: [&str; 3] = ["idle", "no_wave", "launch"];

/// Busy time of the busiest element among those that account for this reason.
fn longest(region: &Region, reason: &str, hertz: u64) -> u64 {
    let cycles = at_work(region, reason).into_iter().max().unwrap_or(0);
    (u128::from(cycles) * 1_000_000_000_000_000 / u128::from(hertz)) as u64
}

/// The busy cycles of each element that accounts for this reason.
fn at_work(region: &Region, reason: &str) -> Vec<u64> {
    let statistics = &region.statistics.0;
    let count = |value: &Value| if let Value::Count(n) = value { *n } else { 0 };
    let elements = statistics.keys().filter_map(|path| path.strip_suffix(reason)?.strip_suffix(".cycles."));
    let busy = elements.map(|element| {
        let own = format!("{element}.cycles.");
        let phases = region.statistics.starting(&own);
        let idle = |path: &str| IDLE.iter().any(|reason| path.strip_prefix(&own) == Some(reason));
        phases.filter(|(path, _)| !idle(path)).map(|(_, value)| count(value)).sum::<u64>()
    });
    busy.collect()
}

/// Processor time of this thread.
fn seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The program's output.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&bytes);
        if text.trim().is_empty() { String::new() } else { format!("; it printed: {}", text.trim()) }
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Statistics, Time};

    #[test]
    fn the_busiest_element_that_knows_a_reason_counts_without_its_idle_cycles() {
        let counts = [
            ("cpu.core0.cycles.busy", 5),
            ("cpu.core0.cycles.fetch_stall", 2),
            ("cpu.core0.cycles.idle", 100),
            ("cpu.core1.cycles.busy", 1),
            ("cpu.core1.cycles.fetch_stall", 0),
            ("gpu0.array0.cu0.cycles.issue", 3),
            ("gpu0.array0.cu0.cycles.launch", 9),
            ("gpu0.array0.cu0.cycles.no_wave", 50),
            ("gpu0.array0.cu0.cycles.vector", 1),
        ];
        let statistics = Statistics(counts.map(|(path, n)| (path.into(), Value::Count(n))).into());
        let region = Region { name: String::new(), start: Time::ZERO, end: Time::ZERO, statistics };
        assert_eq!(longest(&region, "fetch_stall", 1_000_000_000_000_000), 7);
        assert_eq!(longest(&region, "issue", 500_000_000_000_000), 8);
        assert_eq!(longest(&region, "no_such_reason", 1), 0);
    }
}
