//! A program inside the simulator, for `cohesim run` and `cohesim compare`.

use crate::{files, progress::Progress};
use clap::builder::{OsStringValueParser, TypedValueParser};
use engine::{Monitor, Outcome, Run, Time};
use machine::{
    DriverFacts, Machine,
    checkpoint::Parts,
    program::{Finish, ModelGpus},
};
use mem::Bytes;
use miette::{IntoDiagnostic, WrapErr, bail, miette};
use os::{
    End, Options, Process,
    files::{LIBRARIES, Mount, Stdio, UsedFiles},
    opencl::Usage,
    process::{StartError, Totals},
};
use std::{
    borrow::Cow,
    io::{self, Write},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

/// A program, and what it may do.
#[derive(Clone, clap::Args)]
pub struct GuestOptions {
    /// The program: the name of a workload (see `cohesim list workloads`), or an ELF file made with gcc -static or
    /// musl-gcc -static; one that is dynamically linked needs --host-libraries or --root.
    pub program: PathBuf,
    /// Give the program access to a folder, at its own path or at GUEST: to read, or with :rw also to write.
    #[arg(long, value_name = "HOST[:GUEST][:rw]",
          value_parser = OsStringValueParser::new().try_map(|text| Mount::parse(&text)))]
    mount: Vec<Mount>,
    /// Let the program read the libraries of this computer (/lib, /lib64, /usr/lib, /usr/lib64, /usr/local/lib). A
    /// dynamically linked program needs this or --root.
    #[arg(long)]
    host_libraries: bool,
    /// Let the program read this folder as its /. A dynamically linked program finds its loader and libraries there.
    #[arg(long, value_name = "DIR", conflicts_with = "host_libraries")]
    root: Option<PathBuf>,
    /// Maximum memory of the program.
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = size)]
    memory: Bytes,
    /// Number of processors that the program sees [default: the number of the machine's, or 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    cpus: Option<u32>,
    /// Stop the program after this many instructions.
    #[arg(long, value_name = "N")]
    max_instructions: Option<u64>,
    /// Stop the program after this much simulated time, such as 10s, 5ms or 100us.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub max_time: Option<Time>,
    /// Maximum size of a file that the program writes.
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = size)]
    max_file: Bytes,
    /// Maximum number of bytes that the program may write to all files together. (Kernels compiled for the program are
    /// kept in the user's cache and do not count; the cache holds at most 512 MiB.)
    #[arg(long, value_name = "SIZE", default_value = "16GiB", value_parser = size)]
    max_written: Bytes,
    /// Maximum size of the program's output that is kept if it is not shown (with --json, and by compare). Output
    /// beyond it is counted and discarded.
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = size)]
    max_output: Bytes,
    /// Set an environment variable of the program. By default it has PATH and HOME only and, with --host-libraries or
    /// --root, LD_LIBRARY_PATH with the folder of the OpenCL library.
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    #[command(flatten)]
    opencl: crate::opencl::OpenCl,
    /// Arguments for the program, after `--`.
    #[arg(last = true, value_name = "ARGUMENT")]
    pub arguments: Vec<std::ffi::OsString>,
}

/// The system's library folders.
const HOST_LIBRARIES: [&str; 5] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"];

/// The GPUs on which kernels run.
pub enum On<'a> {
    /// Functional GPUs; `races`: detect data races of kernels.
    Nothing {
        races: bool,
    },
    Machine(&'a Machine, &'a machine::Options),
}

/// Where the program's output goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// To standard output.
    Shown,
    /// Kept for the report, not printed.
    Kept,
}

/// The result of a program's run.
pub struct Ran {
    pub end: End,
    pub totals: Totals,
    pub usage: Usage,
    /// The program's output, if kept.
    pub output: Printed,
    /// The loader, libraries and other files that it mapped, with their SHA-256.
    pub files_used: Vec<(String, [u8; 32])>,
    /// The run of the machine, if there is one.
    pub run: Option<Run>,
    /// The kernels before which the run drained.
    pub parts: Parts,
    /// Wall time in seconds.
    pub seconds: f64,
}

impl GuestOptions {
    /// The program's name.
    pub fn name(&self) -> String {
        self.program.display().to_string()
    }

    /// The program's bytes, and its path as the program sees it. A workload's name takes precedence over a file's:
    /// `./NAME` is a file.
    pub fn image(&self) -> miette::Result<(Cow<'static, [u8]>, PathBuf)> {
        if let Some(name) = self.program.to_str() {
            let gpu = workloads::find(name).map(|workload| (workload.name, workloads::guest()));
            let built_in =
                gpu.or_else(|| workloads::find_cpu_program(name).map(|program| (program.name, program.image)));
            if let Some((name, image)) = built_in {
                return Ok((image.into(), Path::new("/workloads").join(name)));
            }
        }
        if !self.program.exists() {
            return Err(miette!(
                help = "`cohesim list workloads` lists the built-in programs",
                "there is neither a file nor a workload '{}'",
                self.program.display()
            ));
        }
        let path = self.program.canonicalize().into_diagnostic()?;
        Ok((files::read(&self.program)?.into(), path))
    }

    /// Identifies the program, its arguments, and the properties of the computer that it can query.
    pub fn identity(&self) -> miette::Result<Vec<u8>> {
        let (image, path) = self.image()?;
        let mut parts =
            vec![image.into_owned(), path.into_os_string().into_vec(), self.memory.0.to_le_bytes().to_vec()];
        parts.push(self.cpus.unwrap_or_default().to_le_bytes().to_vec());
        parts.extend(self.env.iter().map(|variable| variable.clone().into_bytes()));
        parts.push(Vec::new());
        parts.extend(self.arguments.iter().map(|argument| argument.clone().into_vec()));
        // Each part is preceded by its length, so that different lists never give the same bytes.
        Ok(parts.iter().flat_map(|part| [&(part.len() as u64).to_le_bytes()[..], part].concat()).collect())
    }

    /// Runs the program to its end.
    pub fn run(&self, on: On, output: Output, monitor: &Monitor, progress: &Progress) -> miette::Result<Ran> {
        if let (On::Machine(..), Some(option)) = (&on, self.opencl.functional_only()) {
            bail!("{option} is for functional runs: add --functional");
        }
        match on {
            On::Machine(machine, options) => self.run_in_time(machine, options, output, monitor, progress),
            On::Nothing { races } => self.run_without_time(races, output, monitor, progress),
        }
    }

    fn run_without_time(
        &self,
        races: bool,
        output: Output,
        monitor: &Monitor,
        progress: &Progress,
    ) -> miette::Result<Ran> {
        let start = Instant::now();
        let (image, path) = self.image()?;
        let (here, kept) = (here()?, Captured::new(self.max_output));
        let mut options = self.options(&path, &here)?;
        options.monitor = monitor.clone();
        options.stdio = stdio(output, &kept, progress.around(io::stdout()), progress.around(io::stderr()));
        let driver = self.opencl.driver(&options, None, races).map_err(|error| miette!("{error}"))?;
        let usage = driver.usage();
        options.driver = Box::new(driver);
        let mut process = Process::start(&image, options)
            .into_diagnostic()
            .wrap_err_with(|| format!("can't run '{}'", self.name()))?;
        let end = process.run();
        let totals = process.totals();
        drop(process);
        let seconds = start.elapsed().as_secs_f64();
        // Functional runs have no identity, so nothing is hashed.
        let (output, files_used) = (kept.printed(), Vec::new());
        Ok(Ran { end, totals, usage: usage.take(), output, files_used, run: None, parts: Parts::default(), seconds })
    }

    /// Runs the program on a machine: on its cores, or on a host outside it.
    fn run_in_time(
        &self,
        machine: &Machine,
        how: &machine::Options,
        output: Output,
        monitor: &Monitor,
        progress: &Progress,
    ) -> miette::Result<Ran> {
        let start = Instant::now();
        let (image, path) = self.image()?;
        let (here, kept, used) = (here()?, Captured::new(self.max_output), UsedFiles::default());
        // Errors in the options are reported before the machine is built.
        self.options(&path, &here)?;
        let cores = machine.cpu.as_ref().map(|complex| complex.cores as u32);
        let (guest, facts, monitor, captured) =
            (self.clone(), DriverFacts::from(machine), monitor.clone(), kept.clone());
        let files_used = used.clone();
        let streams = progress.streams();
        let make = move |gpus: &ModelGpus| {
            let mut options = guest.options(&path, &here).expect("they were right a moment ago");
            options.monitor = monitor.clone();
            options.cpus = guest.cpus.or(cores).unwrap_or(options.cpus);
            options.stdio = stdio(output, &captured, streams.around(io::stdout()), streams.around(io::stderr()));
            options.files_used = Some(files_used.clone());
            let driver = guest.opencl.driver(&options, Some((facts, gpus.for_driver())), false);
            let driver = driver.map_err(StartError::Driver)?;
            let usage = driver.usage();
            options.driver = Box::new(driver);
            Ok((Process::start(&image, options)?, usage))
        };
        let ran = machine::run_in_parts(machine, how, make);
        let (Finish { mut end, totals, usage, threads, .. }, run, parts) =
            ran.into_diagnostic().wrap_err_with(|| format!("can't run '{}'", self.name()))?;
        match (&run.outcome, how.until) {
            (Outcome::Finished | Outcome::Interrupted, _) => {}
            (Outcome::TimeLimit, Some(time)) => end = End::TimeLimit { time },
            (Outcome::Deadlock(_), _) if matches!(end, End::Deadlock { .. }) => {}
            (outcome, _) => {
                let threads = threads.iter().map(|(tid, what)| format!("\n  {tid} waits for {what}"));
                let program = if threads.len() > 0 { "\nthe program's threads:" } else { "" };
                end = End::MachineBroken { report: format!("{outcome}{program}{}", threads.collect::<String>()) };
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        Ok(Ran { end, totals, usage, output: kept.printed(), files_used: used.list(), run: Some(run), parts, seconds })
    }

    fn options(&self, path: &Path, here: &Path) -> miette::Result<Options> {
        let mut options = Options::new(path.as_os_str().as_bytes());
        options.arguments = vec![self.program.as_os_str().as_bytes().to_vec()];
        options.arguments.extend(self.arguments.iter().map(|argument| argument.clone().into_vec()));
        options.environment = self.environment(here)?;
        // If two mounts have one path, the later one takes precedence: the user's mounts over the libraries.
        options.mounts = self.libraries();
        options.mounts.extend(self.shown(here));
        options.folder = here.into();
        options.memory = self.memory;
        options.longest_file = self.max_file;
        options.most_written = self.max_written;
        options.cpus = self.cpus.unwrap_or(4);
        options.max_instructions = self.max_instructions.unwrap_or(u64::MAX);
        options.max_time = self.max_time.unwrap_or(Time::NEVER);
        Ok(options)
    }

    /// Whether the program may write to a folder of this computer.
    pub fn writes(&self) -> bool {
        self.mount.iter().any(|mount| mount.writable)
    }

    /// The folders that the user mounts, the current folder first.
    fn shown(&self, here: &Path) -> Vec<Mount> {
        let working = Mount { host: here.into(), guest: Some(here.into()), writable: false };
        std::iter::once(working).chain(self.mount.iter().cloned()).collect()
    }

    /// Mounts for the loader and libraries of a dynamically linked program.
    fn libraries(&self) -> Vec<Mount> {
        let read_only =
            |host: &Path, guest: &str| Mount { host: host.into(), guest: Some(guest.into()), writable: false };
        if let Some(root) = &self.root {
            return vec![read_only(root, "/")];
        }
        let folders = HOST_LIBRARIES.iter().filter(|folder| self.host_libraries && Path::new(folder).is_dir());
        folders.map(|folder| read_only(Path::new(folder), folder)).collect()
    }

    fn environment(&self, here: &Path) -> miette::Result<Vec<Vec<u8>>> {
        let mut variables = vec![b"PATH=/usr/bin:/bin".to_vec(), [b"HOME=", here.as_os_str().as_bytes()].concat()];
        for variable in &self.env {
            let Some((name, _)) = variable.split_once('=').filter(|(name, _)| !name.is_empty()) else {
                bail!("'--env {variable}' is not NAME=VALUE");
            };
            let start = format!("{name}=");
            variables.retain(|other| !other.starts_with(start.as_bytes()));
            variables.push(variable.clone().into_bytes());
        }
        if self.host_libraries || self.root.is_some() {
            // Before the system's folders, which may hold another OpenCL library.
            let given = variables.iter_mut().find(|variable| variable.starts_with(b"LD_LIBRARY_PATH="));
            match given {
                Some(path) => path.extend(format!(":{LIBRARIES}").as_bytes()),
                None => variables.push(format!("LD_LIBRARY_PATH={LIBRARIES}").into_bytes()),
            }
        }
        Ok(variables)
    }
}

fn here() -> miette::Result<PathBuf> {
    std::env::current_dir().into_diagnostic().wrap_err("the working folder is gone")
}

/// The program's input and outputs.
fn stdio(output: Output, kept: &Captured, out: impl Write + 'static, err: impl Write + 'static) -> Stdio {
    match output {
        Output::Shown => Stdio::inherit().with_outputs(out, err),
        Output::Kept => Stdio::new(io::stdin(), kept.clone(), err),
    }
}

/// A program's output, as far as it was kept.
#[derive(Debug, PartialEq, Eq)]
pub struct Printed {
    /// The first part of it.
    pub text: String,
    /// Length of the whole output.
    pub bytes: u64,
    /// Whether `text` is the whole output.
    pub whole: bool,
}

/// Captures a program's output for the report, up to a limit.
#[derive(Clone)]
struct Captured {
    kept: Arc<Mutex<Kept>>,
    room: usize,
}

#[derive(Default)]
struct Kept {
    first: Vec<u8>,
    bytes: u64,
}

impl Captured {
    fn new(room: Bytes) -> Captured {
        Captured { kept: Arc::default(), room: usize::try_from(room.0).unwrap_or(usize::MAX) }
    }

    fn printed(&self) -> Printed {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept.first).into_owned();
        Printed { text, bytes: kept.bytes, whole: kept.first.len() as u64 == kept.bytes }
    }
}

impl Write for Captured {
    /// Accepts everything: a program that prints too much continues, as it would with its output shown.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = (self.room - kept.first.len()).min(bytes.len());
        kept.first.extend(&bytes[..fits]);
        kept.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A size: `4GiB`, `512 MiB`, `1000`.
pub fn size(text: &str) -> Result<Bytes, String> {
    let (number, unit) = split(text)?;
    let shift = match unit {
        "" | "B" => 0,
        "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        _ => return Err(format!("'{unit}' is not a unit: write KiB, MiB or GiB")),
    };
    number.checked_mul(1 << shift).map(Bytes).ok_or_else(|| format!("{text} is too large"))
}

/// A duration: `10s`, `5 ms`.
pub fn time(text: &str) -> Result<Time, String> {
    let (number, unit) = split(text)?;
    let scale: u64 = match unit {
        "s" => 1_000_000_000_000_000,
        "ms" => 1_000_000_000_000,
        "us" => 1_000_000_000,
        "ns" => 1_000_000,
        "" => return Err("a time needs a unit: write s, ms, us or ns".into()),
        _ => return Err(format!("'{unit}' is not a unit: write s, ms, us or ns")),
    };
    number.checked_mul(scale).map(Time).ok_or_else(|| format!("{text} is more than five hours"))
}

fn split(text: &str) -> Result<(u64, &str), String> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..end].parse().map_err(|_| format!("'{text}' does not begin with a whole number"))?;
    Ok((number, text[end..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_output_without_end_the_first_is_kept_and_the_rest_counted() {
        let mut captured = Captured::new(Bytes(10));
        for _ in 0..1000 {
            captured.write_all(b"1234").unwrap();
        }
        assert_eq!(captured.printed(), Printed { text: "1234123412".into(), bytes: 4000, whole: false });
        assert!(captured.kept.lock().unwrap().first.capacity() < 100);
    }

    #[test]
    fn sizes_and_times_have_units() {
        assert_eq!((size("4GiB"), size("12"), size("1 KiB")), (Ok(Bytes(4 << 30)), Ok(Bytes(12)), Ok(Bytes(1024))));
        assert_eq!((time("10s"), time("5 ms")), (Ok(Time(10_000_000_000_000_000)), Ok(Time(5_000_000_000_000))));
        assert!(size("1TB").unwrap_err().contains("KiB, MiB or GiB"));
        assert!(time("10").unwrap_err().contains("needs a unit"));
        assert!(time("99999999999s").unwrap_err().contains("five hours"));
    }
}
