//! Runs a CPU program natively on this computer, for comparison with the simulation.

use crate::Job;
use std::{
    fs, io,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::PathBuf,
    process::Command,
};
use thiserror::Error;

/// Why a native run gave no time.
#[derive(Debug, Error)]
pub enum NativeError {
    #[error("only programs of the CPU alone run natively")]
    NotForCpu,
    #[error("the program can't be run: {0}")]
    Io(#[from] io::Error),
    #[error("the program failed: {0}")]
    Failed(String),
    #[error("the program did not print the time of its region of interest")]
    NoTime,
}

/// Number of repetitions of each program.
const TIMES: usize = 9;

/// The times of a program's repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// The shortest, in seconds: it was disturbed least.
    pub best: f64,
    /// How much longer the median was, relative to the shortest.
    pub spread: f64,
}

impl Times {
    fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        let best = seconds[0];
        Self { best, spread: seconds[seconds.len() / 2] / best - 1.0 }
    }
}

/// Runs the programs of jobs with their arguments, and measures their regions of interest. Repetitions are interleaved:
/// each program runs once before any runs again, so that a disturbance hits all alike. Also returns how busy other
/// programs kept this computer meanwhile.
pub fn run_all(jobs: &[Job]) -> (Vec<Result<Times, NativeError>>, Option<Others>) {
    let meter = Usage::now();
    let mut seconds: Vec<Result<Vec<f64>, NativeError>> = jobs.iter().map(|_| Ok(Vec::new())).collect();
    for _ in 0..TIMES {
        for (job, seconds) in jobs.iter().zip(&mut seconds) {
            let Ok(earlier) = seconds else { continue };
            match once(job) {
                Ok(time) => earlier.push(time),
                Err(error) => *seconds = Err(error),
            }
        }
    }
    let others = meter.zip(Usage::now()).map(|(before, after)| after.others_since(&before));
    (seconds.into_iter().map(|seconds| seconds.map(Times::of)).collect(), others)
}

/// Runs the program of a job once; returns the seconds of its region of interest.
fn once(job: &Job) -> Result<f64, NativeError> {
    let program = workloads::find_cpu_program(&job.program).ok_or(NativeError::NotForCpu)?;
    let file = Executable::new(program.image)?;
    let output = Command::new(&file.0).arg0(&job.program).args(&job.arguments).arg("--time").output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        return Err(NativeError::Failed(format!("{}: {}", output.status, text.trim())));
    }
    region(&text).ok_or(NativeError::NoTime)
}

/// How many processors other programs kept busy, of how many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Others {
    pub busy: f64,
    pub processors: f64,
}

impl Others {
    /// Whether comparisons mean something: others had less than a twentieth of a processor.
    pub fn are_quiet(&self) -> bool {
        self.busy < 0.05
    }
}

/// Time that processors have spent so far, in ticks: in all, busy, and for programs that this one has started.
#[derive(Clone, Copy, Debug)]
struct Usage {
    all: f64,
    busy: f64,
    own: f64,
    processors: f64,
}

impl Usage {
    /// `None` where the system does not say.
    fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?, &fs::read_to_string("/proc/self/stat").ok()?)
    }

    fn parse(stat: &str, own: &str) -> Option<Self> {
        let total = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<f64> = total.split_whitespace().take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
        let (all, idle) = (ticks.iter().sum::<f64>(), ticks.get(3)? + ticks.get(4)?);
        let processors = stat.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
        // After the name: utime, stime, cutime and cstime are the fields 14 to 17.
        let fields = own.rsplit_once(')')?.1.split_whitespace().skip(11).take(4);
        let own = fields.map(|field| field.parse::<f64>().ok()).sum::<Option<f64>>()?;
        Some(Self { all, busy: all - idle, own, processors: processors as f64 })
    }

    fn others_since(&self, before: &Self) -> Others {
        let (all, busy, own) = (self.all - before.all, self.busy - before.busy, self.own - before.own);
        let of_others = if all > 0.0 { ((busy - own) / all).max(0.0) } else { 0.0 };
        Others { busy: of_others * self.processors, processors: self.processors }
    }
}

/// Parses the time in `lud-omp region: 0.123 s`.
fn region(text: &str) -> Option<f64> {
    let time = text.lines().find_map(|line| line.split_once(" region: "))?.1;
    time.strip_suffix(" s")?.parse().ok()
}

/// An executable file, removed on drop.
struct Executable(PathBuf);

impl Executable {
    fn new(image: &[u8]) -> io::Result<Self> {
        let file = Self(std::env::temp_dir().join(format!("cohesim-native-{}", std::process::id())));
        fs::write(&file.0, image)?;
        fs::set_permissions(&file.0, fs::Permissions::from_mode(0o700))?;
        Ok(file)
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // A leftover file does no harm: it lies in the system's temporary folder.
        _ = fs::remove_file(&self.0);
    }
}

/// Frequency of this processor's time-stamp counter, by which programs measure cycles; `None` if it is unknown.
pub fn tsc_hertz() -> Option<f64> {
    rate(&fs::read_to_string("/proc/cpuinfo").ok()?)
}

/// The nominal frequency in the model's name or, in a virtual machine, where it is constant, the reported one.
fn rate(cpuinfo: &str) -> Option<f64> {
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim())
    };
    let flags = field("flags")?;
    let has = |flag: &str| flags.split_whitespace().any(|other| other == flag);
    if !has("constant_tsc") {
        return None;
    }
    if let Some((_, rate)) = field("model name")?.split_once("@ ") {
        return Some(rate.strip_suffix("GHz")?.trim().parse::<f64>().ok()? * 1e9);
    }
    has("hypervisor").then(|| field("cpu MHz")?.parse::<f64>().ok()).flatten().map(|mhz| mhz * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_prints_how_long_it_took() {
        let job = Job::new("", "lud-omp", "--size tiny --threads 2");
        let jobs = [job, Job::new("", "write", ""), Job::new("", "lud-omp", "--size 0")];
        let (times, _) = run_all(&jobs);
        assert!(matches!(&times[0], Ok(times) if times.best > 0.0 && times.spread >= 0.0), "{:?}", times[0]);
        assert!(matches!(times[1], Err(NativeError::NotForCpu)));
        assert!(matches!(times[2], Err(NativeError::Failed(_))));
    }

    #[test]
    fn the_shortest_time_counts_and_the_spread_is_that_of_the_median() {
        assert_eq!(Times::of(vec![3.0, 2.0, 2.5]), Times { best: 2.0, spread: 0.25 });
    }

    #[test]
    fn the_load_of_other_programs_leaves_out_those_started_here() {
        let stat = |busy: u64, idle: u64| format!("cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 1\ncpu1 1 1\nintr 1\n");
        let own = |ticks: u64| format!("7 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 0 0 {ticks} 0 20 0");
        let before = Usage::parse(&stat(100, 100), &own(50)).unwrap();
        let after = Usage::parse(&stat(200, 200), &own(100)).unwrap();
        assert_eq!(after.others_since(&before), Others { busy: 0.5, processors: 2.0 });
        assert!(!after.others_since(&before).are_quiet());
        assert!(Usage::parse("", "").is_none());
    }

    #[test]
    fn the_rate_of_the_counter_is_reported_or_unknown() {
        let named = "model name\t: A CPU @ 2.60GHz\ncpu MHz\t: 3100.0\nflags\t: tsc constant_tsc\n";
        let guest = "model name\t: A CPU\ncpu MHz\t: 2300.000\nflags\t: constant_tsc hypervisor\n";
        assert_eq!((rate(named), rate(guest)), (Some(2.6e9), Some(2.3e9)));
        assert_eq!(rate("model name\t: A CPU\ncpu MHz\t: 2300.000\nflags\t: constant_tsc\n"), None);
        assert_eq!(rate(""), None);
    }
}
