//! One build: writes its files, runs clang and the linker, and collects their messages.
//!
//! clang's driver would start further processes. Here it is asked for one step at a time, which it performs in its own
//! process, and the linker is started directly.

use std::{
    os::unix::process::CommandExt,
    process::{Command, ExitStatus},
    time::{Duration, Instant},
};

use engine::Monitor;

use super::{
    Built, CompileError, Job, Options,
    cache::{Hash, hash},
    child::{self, Keeper, system},
    flags,
    headers::Headers,
    toolchain::Toolchain,
    workspace::Workspace,
};

/// The name of the source file in messages.
const SOURCE: &str = "program.cl";
const OVERLAY: &str = "overlay.yaml";
const LOG: &str = "log";
/// The log is truncated to this length.
const LONGEST_LOG: u64 = 1 << 20;

pub struct Invocation<'a> {
    pub toolchain: &'a Toolchain,
    pub job: &'a Job<'a>,
    pub options: &'a Options,
    pub headers: &'a Headers<'a>,
    pub allow_unconfined: bool,
    pub monitor: &'a Monitor,
}

impl Invocation<'_> {
    /// A hash of everything that the result depends on.
    pub fn key(&self) -> Hash {
        let mut parts: Vec<Vec<u8>> = vec![self.toolchain.identity(), format!("{:?}", self.options).into_bytes()];
        match self.job {
            Job::Build { source } => parts.extend([b"build".to_vec(), source.to_vec()]),
            Job::Compile { source, .. } => parts.extend([b"compile".to_vec(), source.to_vec()]),
            Job::Link { inputs, library } => {
                parts.push(format!("link {library}").into_bytes());
                parts.extend(inputs.iter().cloned());
            }
        }
        parts.extend(self.headers.folders().map(String::into_bytes));
        for (name, bytes) in self.headers.files() {
            parts.extend([name.into_bytes(), bytes.to_vec()]);
        }
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        hash(&parts)
    }

    pub fn make(&self) -> Result<Built, CompileError> {
        let workspace =
            Workspace::new().map_err(|error| system("a folder for the compiler could not be made", &error))?;
        let keeper = Keeper {
            toolchain: self.toolchain,
            workspace: &workspace,
            allow_unconfined: self.allow_unconfined,
            until: Instant::now() + Duration::from_secs(child::SECONDS),
            monitor: self.monitor,
        };
        let mut build = Build { what: self, keeper, log: String::new() };
        let output = match self.job {
            Job::Build { source } => {
                build.compile(source, &["-c"], "program.o")?;
                build.link(&["-shared"], &["program.o".into()], "program.hsaco")?
            }
            Job::Compile { source, .. } => build.compile(source, &["-c", "-emit-llvm"], "program.bc")?,
            Job::Link { inputs, library } => build.link_bitcode(inputs, *library)?,
        };
        // The child's file-size limit guarantees that the output is no larger.
        let bytes = workspace.read(output, child::FILE_BYTES);
        let bytes = bytes.map_err(|error| system("the compiler made no output", &error))?;
        Ok(Built { bytes, log: build.log })
    }
}

/// A build in progress.
struct Build<'a> {
    what: &'a Invocation<'a>,
    keeper: Keeper<'a>,
    /// All messages so far.
    log: String,
}

impl Build<'_> {
    /// Compiles a source, in two stages if it uses `printf`: LLVM turns `printf` into writes to a buffer only if it is
    /// not yet defined, and older device libraries define a `printf` that prints nothing.
    fn compile<'n>(&mut self, source: &[u8], mode: &[&str], output: &'n str) -> Result<&'n str, CompileError> {
        self.write(SOURCE, source)?;
        let stored = |n: usize| format!("header{n}");
        for (n, (_, bytes)) in self.what.headers.files().enumerate() {
            self.write(&stored(n), bytes)?;
        }
        self.write(OVERLAY, self.what.headers.overlay(SOURCE, stored, self.what.toolchain).as_bytes())?;
        if !String::from_utf8_lossy(source).contains("printf") {
            return self.clang(mode, &self.language(), SOURCE, output);
        }
        self.clang(&["-c", "-emit-llvm", "-nogpulib"], &self.language(), SOURCE, "first.bc")?;
        self.clang(mode, &self.of_bitcode(), "first.bc", output)
    }

    fn link_bitcode(&mut self, inputs: &[Vec<u8>], library: bool) -> Result<&'static str, CompileError> {
        let mut objects = Vec::new();
        for (n, input) in inputs.iter().enumerate() {
            let (bitcode, object) = (format!("part{n}.bc"), format!("part{n}.o"));
            self.write(&bitcode, input)?;
            self.clang(&["-c", "-flto"], &["-nogpulib".into(), "-x".into(), "ir".into()], &bitcode, &object)?;
            objects.push(object);
        }
        let level = self.what.options.optimisation.trim_start_matches("-O");
        let (optimise, generate) = (format!("-plugin-opt=O{level}"), format!("--lto-CGO{level}"));
        match library {
            false => self.link(&["-shared", &optimise, &generate], &objects, "program.hsaco"),
            true => {
                let whole = ["-shared", "-r", "--plugin-opt=emit-llvm", &optimise, &generate];
                self.link(&whole, &objects, "program.bc")
            }
        }
    }

    /// Arguments for compiling a source, besides the target.
    fn language(&self) -> Vec<String> {
        let Invocation { toolchain, options, headers, .. } = self.what;
        let mut arguments = flags::language(&options.standard, &toolchain.device_libs);
        arguments.extend(["-ivfsoverlay".into(), OVERLAY.into()]);
        arguments.extend(options.flags.iter().cloned());
        arguments.extend(headers.folders().map(|folder| format!("-I{folder}")));
        arguments
    }

    /// Arguments for linking the device libraries into bitcode.
    fn of_bitcode(&self) -> Vec<String> {
        let options = self.what.options.flags.iter().filter(|flag| flag.starts_with("-cl-")).cloned();
        let libraries = format!("--rocm-device-lib-path={}", self.what.toolchain.device_libs.display());
        let fixed = ["-Qunused-arguments".into(), libraries, "-x".into(), "ir".into()];
        fixed.into_iter().chain(options).collect()
    }

    fn clang<'n>(
        &mut self,
        mode: &[&str],
        arguments: &[String],
        input: &str,
        output: &'n str,
    ) -> Result<&'n str, CompileError> {
        let toolchain = self.what.toolchain;
        let mut command = Command::new(&toolchain.clang);
        command.args(flags::target(flags::CODE_OBJECT_VERSION)).args(mode);
        // Configuration files of the host must not affect guests.
        command.args(["--no-default-config", "-fno-color-diagnostics", "-fno-crash-diagnostics", "-resource-dir"]);
        command.arg(&toolchain.resources).arg(&self.what.options.optimisation);
        command.args(arguments).args([input, "-o", output]);
        self.run(command)?;
        Ok(output)
    }

    fn link<'n>(&mut self, mode: &[&str], objects: &[String], output: &'n str) -> Result<&'n str, CompileError> {
        let mut command = Command::new(self.what.toolchain.linker()?);
        // lld selects its ELF flavour by the name it is called by.
        command.arg0("ld.lld").arg("--no-undefined").args(mode).args(objects);
        command.args(["-plugin-opt=mcpu=gfx803", "-o", output]);
        self.run(command)?;
        Ok(output)
    }

    fn run(&mut self, mut command: Command) -> Result<(), CompileError> {
        command.env_clear().env("PATH", "/usr/bin:/bin").env("TMPDIR", ".").env("LC_ALL", "C.UTF-8");
        command.env("LD_LIBRARY_PATH", self.what.toolchain.library_path());
        // Makes `__DATE__`, `__TIME__` and `__TIMESTAMP__` the same in every build.
        command.env("SOURCE_DATE_EPOCH", "0");
        let workspace = self.keeper.workspace;
        let log = workspace.create(LOG).map_err(|error| system("the compiler's log could not be made", &error))?;
        let status = self.keeper.run(command, log)?;
        // An unreadable log counts as empty.
        let log = workspace.read(LOG, LONGEST_LOG).unwrap_or_default();
        self.log.push_str(&String::from_utf8_lossy(&log));
        if status.success() { Ok(()) } else { Err(self.failure(status)) }
    }

    fn failure(&mut self, status: ExitStatus) -> CompileError {
        if self.log.is_empty() {
            self.log = format!("the compiler ended with {status}\n");
        }
        CompileError::Refused { log: std::mem::take(&mut self.log) }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), CompileError> {
        let written = self.keeper.workspace.write(name, bytes);
        written.map_err(|error| system("the compiler's input could not be written", &error))
    }
}
