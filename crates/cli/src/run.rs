//! `cohesim run`: a whole program inside the simulator.

use crate::{files, ui::Ui};
use engine::Time;
use mem::Bytes;
use miette::{IntoDiagnostic, WrapErr, bail, miette};
use os::{
    End, Options, Process,
    files::{Mount, Stdio},
    process::Totals,
};
use serde::Serialize;
use std::{
    borrow::Cow,
    cell::RefCell,
    io::{self, Write},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    rc::Rc,
};

/// Run a program: a built-in workload, or an x86-64 Linux program, statically linked.
///
/// The program sees the folder it is started in and those given with --mount, read-only unless said otherwise, and nothing
/// else of this computer. Its exit code is the command's; a program that a signal ended gives 128 plus the signal's number.
#[derive(clap::Args)]
pub struct Run {
    /// The program: the name of a workload (see `cohesim list workloads`), or an ELF file made with gcc -static or
    /// musl-gcc -static.
    program: PathBuf,
    /// Run without a timing model: a nominal core executes one instruction a nanosecond.
    #[arg(long)]
    functional: bool,
    /// Show a folder to the program, at its own path or at GUEST, to read or (with :rw) to write.
    #[arg(long, value_name = "HOST[:GUEST][:rw]")]
    mount: Vec<Mount>,
    /// How much memory the program may use.
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = size)]
    memory: Bytes,
    /// How many processors the program is told there are.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    cpus: u32,
    /// Stop the program after so many instructions.
    #[arg(long, value_name = "N")]
    max_instructions: Option<u64>,
    /// Stop the program after so much simulated time, such as 10s, 5ms or 100us.
    #[arg(long, value_name = "TIME", value_parser = time)]
    max_time: Option<Time>,
    /// How long a file that the program writes may become.
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = size)]
    max_file: Bytes,
    /// How much the program may write to files in all.
    #[arg(long, value_name = "SIZE", default_value = "16GiB", value_parser = size)]
    max_written: Bytes,
    /// A variable for the program's environment, which is otherwise empty but for PATH and HOME.
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    #[command(flatten)]
    opencl: crate::opencl::OpenCl,
    /// Arguments for the program, after `--`.
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<std::ffi::OsString>,
}

#[derive(Serialize)]
struct Report {
    program: String,
    end: &'static str,
    exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    instructions: u64,
    system_calls: u64,
    threads: u32,
    page_faults: u64,
    memory_bytes: u64,
    simulated_fs: u64,
    stdout: String,
}

impl Run {
    pub fn run(self, ui: &Ui) -> miette::Result<()> {
        if !self.functional {
            return Err(miette!(
                help = "add --functional",
                "programs run without a timing model only: there is no other mode yet"
            ));
        }
        let (program, path) = self.program()?;
        let here = std::env::current_dir().into_diagnostic().wrap_err("the working folder is gone")?;
        let output = ui.json.then(Captured::default);
        let options = self.options(&path, &here, output.clone())?;
        let name = self.program.display().to_string();
        let mut process =
            Process::start(&program, options).into_diagnostic().wrap_err_with(|| format!("can't run '{name}'"))?;
        let end = process.run();
        let totals = process.totals();
        if !matches!(end, End::Exited { .. }) {
            eprintln!("cohesim: {name}: {end}");
        }
        if ui.verbose {
            ui.note(&summary(&totals));
        }
        ui.report(&report(name, &end, &totals, output))?;
        // The guest's answer is the command's.
        std::process::exit(end.exit_code().into());
    }

    /// The program's bytes, and where it believes to lie. A workload's name goes before a file's: `./NAME` is a file.
    fn program(&self) -> miette::Result<(Cow<'static, [u8]>, PathBuf)> {
        if let Some(workload) = self.program.to_str().and_then(workloads::find) {
            return Ok((workloads::guest().into(), Path::new("/workloads").join(workload.name)));
        }
        if !self.program.exists() {
            return Err(miette!(
                help = "`cohesim list workloads` names what is built in",
                "there is neither a file nor a workload '{}'",
                self.program.display()
            ));
        }
        let path = self.program.canonicalize().into_diagnostic()?;
        Ok((files::read(&self.program)?.into(), path))
    }

    fn options(&self, path: &Path, here: &Path, output: Option<Captured>) -> miette::Result<Options> {
        let mut options = Options::new(path.display().to_string());
        options.arguments = vec![self.program.as_os_str().as_bytes().to_vec()];
        options.arguments.extend(self.arguments.iter().map(|argument| argument.clone().into_vec()));
        options.environment = self.environment(here)?;
        options.mounts = vec![Mount { host: here.into(), guest: Some(here.into()), writable: false }];
        options.mounts.extend(self.mount.iter().cloned());
        options.folder = here.into();
        options.driver = Box::new(self.opencl.driver(&options.mounts, here));
        if let Some(output) = output {
            options.stdio = Stdio::new(io::stdin(), output, io::stderr());
        }
        options.memory = self.memory;
        options.longest_file = self.max_file;
        options.most_written = self.max_written;
        options.cpus = self.cpus;
        options.max_instructions = self.max_instructions.unwrap_or(u64::MAX);
        options.max_time = self.max_time.unwrap_or(Time::NEVER);
        Ok(options)
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
        Ok(variables)
    }
}

/// The program's output, kept for the report.
#[derive(Clone, Default)]
struct Captured(Rc<RefCell<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn report(program: String, end: &End, totals: &Totals, output: Option<Captured>) -> Report {
    let (kind, message) = match end {
        End::Exited { .. } => ("exited", None),
        End::Killed { .. } => ("killed", Some(end.to_string())),
        End::Deadlock { .. } => ("deadlock", Some(end.to_string())),
        End::OutOfMemory { .. } => ("out of memory", Some(end.to_string())),
        End::InstructionLimit { .. } => ("instruction limit", Some(end.to_string())),
        End::TimeLimit { .. } => ("time limit", Some(end.to_string())),
    };
    let stdout = output.map(|output| String::from_utf8_lossy(&output.0.borrow()).into_owned());
    Report {
        program,
        end: kind,
        exit_code: end.exit_code(),
        message,
        instructions: totals.instructions,
        system_calls: totals.system_calls,
        threads: totals.threads,
        page_faults: totals.page_faults,
        memory_bytes: totals.memory.0,
        simulated_fs: totals.time.0,
        stdout: stdout.unwrap_or_default(),
    }
}

fn summary(totals: &Totals) -> String {
    format!(
        "{} instructions, {} system calls, {} threads, {} page faults, {} KiB of memory, {} of simulated time",
        totals.instructions,
        totals.system_calls,
        totals.threads,
        totals.page_faults,
        totals.memory.0 >> 10,
        totals.time
    )
}

/// A size: `4GiB`, `512 MiB`, `1000`.
fn size(text: &str) -> Result<Bytes, String> {
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

/// A length of time: `10s`, `5 ms`.
fn time(text: &str) -> Result<Time, String> {
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
    fn sizes_and_times_have_units() {
        assert_eq!((size("4GiB"), size("12"), size("1 KiB")), (Ok(Bytes(4 << 30)), Ok(Bytes(12)), Ok(Bytes(1024))));
        assert_eq!((time("10s"), time("5 ms")), (Ok(Time(10_000_000_000_000_000)), Ok(Time(5_000_000_000_000))));
        assert!(size("1TB").unwrap_err().contains("KiB, MiB or GiB"));
        assert!(time("10").unwrap_err().contains("needs a unit"));
        assert!(time("99999999999s").unwrap_err().contains("five hours"));
    }
}
