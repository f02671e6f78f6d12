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
    #[error("it can't be run: {0}")]
    Io(#[from] io::Error),
    #[error("it did not end well: {0}")]
    Failed(String),
    #[error("it did not tell the time of its region of interest")]
    NoTime,
}

/// Number of repetitions. The shortest time counts, because it was disturbed least.
const TIMES: usize = 3;

/// Runs the program of a job with its arguments, and returns the seconds of its region of interest.
pub fn run(job: &Job) -> Result<f64, NativeError> {
    let program = workloads::find_cpu_program(&job.program).ok_or(NativeError::NotForCpu)?;
    let file = Executable::new(program.image)?;
    let mut best = f64::INFINITY;
    for _ in 0..TIMES {
        let output = Command::new(&file.0).arg0(&job.program).args(&job.arguments).arg("--time").output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            return Err(NativeError::Failed(format!("{}: {}", output.status, text.trim())));
        }
        best = best.min(region(&text).ok_or(NativeError::NoTime)?);
    }
    Ok(best)
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
    fn a_program_tells_how_long_it_took() {
        let job = Job::new("", "lud-omp", "--size tiny --threads 2");
        assert!(run(&job).expect("the committed program is sound") > 0.0);
        assert!(matches!(run(&Job::new("", "write", "")), Err(NativeError::NotForCpu)));
        assert!(matches!(run(&Job::new("", "lud-omp", "--size 0")), Err(NativeError::Failed(_))));
    }

    #[test]
    fn the_rate_of_the_counter_is_told_or_not_known() {
        let named = "model name\t: A CPU @ 2.60GHz\ncpu MHz\t: 3100.0\nflags\t: tsc constant_tsc\n";
        let guest = "model name\t: A CPU\ncpu MHz\t: 2300.000\nflags\t: constant_tsc hypervisor\n";
        assert_eq!((rate(named), rate(guest)), (Some(2.6e9), Some(2.3e9)));
        assert_eq!(rate("model name\t: A CPU\ncpu MHz\t: 2300.000\nflags\t: constant_tsc\n"), None);
        assert_eq!(rate(""), None);
    }
}
