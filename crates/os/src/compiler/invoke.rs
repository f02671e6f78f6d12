//! One run of clang: its files, its arguments, and what it said.

use std::{
    fs::{self, DirBuilder, File},
    io::Read,
    os::unix::fs::DirBuilderExt,
    path::{Component, Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::atomic::{AtomicU64, Ordering},
};

use super::{
    Built, CompileError, Folder, Job, Options, Settings,
    cache::{Hash, hash},
    flags, wall,
    wall::{Permissions, system},
};

/// The name under which messages speak of the source.
const SOURCE: &str = "program.cl";
/// No log is longer.
const LONGEST_LOG: u64 = 1 << 20;

/// What a run of clang starts from.
#[derive(Clone, Copy)]
enum Stage<'a> {
    Whole,
    /// Bitcode that lacks the device libraries.
    Second(&'a [u8]),
}

pub struct Invocation<'a> {
    settings: &'a Settings,
    job: &'a Job<'a>,
    options: &'a Options,
    folders: &'a [Folder],
    /// The compiler itself.
    clang: PathBuf,
}

impl<'a> Invocation<'a> {
    pub fn new(
        settings: &'a Settings,
        job: &'a Job<'a>,
        options: &'a Options,
        folders: &'a [Folder],
    ) -> Result<Self, CompileError> {
        let missing = || CompileError::NoCompiler { clang: settings.clang.clone() };
        let clang = wall::locate(&settings.clang).ok_or_else(missing)?;
        if !settings.device_libs.join("ocml.bc").is_file() {
            return Err(CompileError::NoLibraries { folder: settings.device_libs.clone() });
        }
        Ok(Self { settings, job, options, folders, clang })
    }

    /// A hash of everything that the result depends on, if that is known: not of sources that read other files, unless
    /// they can be read first.
    pub fn key(&self) -> Result<Option<Hash>, CompileError> {
        let mut parts: Vec<Vec<u8>> = vec![self.identity(), format!("{:?}", self.options).into_bytes()];
        match self.job {
            Job::Build { source } if reads_files(source) => match self.run(Stage::Whole, &["-E"], "program.i") {
                Ok(read) => parts.extend([b"read".to_vec(), read.bytes]),
                // The messages are wanted: let the real run find the fault.
                Err(_) => return Ok(None),
            },
            Job::Build { source } => parts.extend([b"build".to_vec(), source.to_vec()]),
            Job::Compile { .. } => return Ok(None),
            Job::Link { inputs, library } => {
                parts.push(format!("link {library}").into_bytes());
                parts.extend(inputs.iter().cloned());
            }
        }
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        Ok(Some(hash(&parts)))
    }

    /// The compiler and its libraries: where they are, how large, and from when.
    fn identity(&self) -> Vec<u8> {
        let libraries = ["opencl.bc", "ocml.bc", "ockl.bc"].map(|name| self.settings.device_libs.join(name));
        let described = [self.clang.clone()].into_iter().chain(libraries).map(|path| {
            let meta = fs::metadata(&path).ok();
            let modified = meta.as_ref().and_then(|meta| meta.modified().ok());
            format!("{path:?} {:?} {modified:?}\n", meta.map(|meta| meta.len()))
        });
        described.collect::<String>().into_bytes()
    }

    pub fn make(&self) -> Result<Built, CompileError> {
        const BITCODE: [&str; 2] = ["-c", "-emit-llvm"];
        match self.job {
            Job::Build { source } => self.make_of(source, &[], "program.hsaco"),
            Job::Compile { source, .. } => self.make_of(source, &BITCODE, "program.bc"),
            Job::Link { library: false, .. } => self.run(Stage::Whole, &["-flto"], "program.hsaco"),
            Job::Link { library: true, .. } => {
                self.run(Stage::Whole, &["-r", "-flto", "-Wl,--plugin-opt=emit-llvm"], "program.bc")
            }
        }
    }

    /// Compiles a source, in two stages if it prints: LLVM turns `printf` into writes to a buffer only while nobody has
    /// defined it, and older device libraries define one that prints nothing.
    fn make_of(&self, source: &[u8], mode: &[&str], output: &str) -> Result<Built, CompileError> {
        if !String::from_utf8_lossy(source).contains("printf") {
            return self.run(Stage::Whole, mode, output);
        }
        let first = self.run(Stage::Whole, &["-c", "-emit-llvm", "-nogpulib"], "first.bc")?;
        let second = self.run(Stage::Second(&first.bytes), mode, output)?;
        Ok(Built { log: first.log + &second.log, ..second })
    }

    /// Runs clang in a folder of its own.
    fn run(&self, stage: Stage<'_>, mode: &[&str], output: &str) -> Result<Built, CompileError> {
        let own = OwnFolder::new().map_err(|error| system("a folder for the compiler could not be made", &error))?;
        let log_path = own.0.join("log");
        let log = File::create(&log_path).map_err(|error| system("the compiler's log could not be made", &error))?;
        let mut command = Command::new(&self.clang);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("TMPDIR", &own.0).env("LC_ALL", "C.UTF-8");
        command.current_dir(&own.0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        command.args(flags::target(flags::CODE_OBJECT_VERSION)).args(mode);
        // What a configuration file of the host says is not for guests.
        command.arg("--no-default-config").arg("-fno-color-diagnostics");
        command.arg(&self.options.optimisation);
        let unwritten = |error: std::io::Error| system("the compiler's input could not be written", &error);
        match stage {
            Stage::Whole => {
                let files = self.lay_out(&own.0).map_err(unwritten)?;
                command.args(self.arguments()).args(files);
            }
            Stage::Second(bitcode) => {
                fs::write(own.0.join("first.bc"), bitcode).map_err(unwritten)?;
                command.args(self.second_arguments()).args(["-x", "ir", "first.bc"]);
            }
        }
        command.args(["-o", output]);
        let status = wall::run(command, &self.permissions(&own.0), self.settings.allow_unconfined)?;
        let log = self.tidy(&read_log(&log_path), &own.0);
        if !status.success() {
            return Err(failure(log, status));
        }
        let bytes = fs::read(own.0.join(output)).map_err(|error| system("the compiler made no output", &error))?;
        Ok(Built { bytes, log })
    }

    /// Writes the input to the compiler's folder; gives its names.
    fn lay_out(&self, own: &Path) -> std::io::Result<Vec<String>> {
        match self.job {
            Job::Build { source } => fs::write(own.join(SOURCE), source)?,
            Job::Compile { source, headers } => {
                fs::write(own.join(SOURCE), source)?;
                for (name, text) in *headers {
                    // A name that leads elsewhere names nothing that could be included.
                    let relative = Path::new(name);
                    if relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
                        let path = own.join("headers").join(relative);
                        fs::create_dir_all(path.parent().unwrap_or(own))?;
                        fs::write(path, text)?;
                    }
                }
            }
            Job::Link { inputs, .. } => {
                let mut names = Vec::new();
                for (n, input) in inputs.iter().enumerate() {
                    names.push(format!("part{n}.bc"));
                    fs::write(own.join(&names[n]), input)?;
                }
                return Ok(names);
            }
        }
        Ok(vec![SOURCE.into()])
    }

    fn arguments(&self) -> Vec<String> {
        if let Job::Link { .. } = self.job {
            // Language and warnings are behind us.
            return vec!["-nogpulib".into()];
        }
        let mut arguments = flags::language(&self.options.standard, &self.settings.device_libs);
        arguments.extend(self.options.flags.iter().cloned());
        if let Job::Compile { .. } = self.job {
            arguments.push("-Iheaders".into());
        }
        let named = self.options.include.iter().filter_map(|name| self.host_path(name));
        let last = self.folders.last().map(|folder| folder.host.clone());
        arguments.extend(named.chain(last).map(|folder| format!("-I{}", folder.display())));
        arguments
    }

    /// What matters when the device libraries are added to bitcode.
    fn second_arguments(&self) -> Vec<String> {
        let options = self.options.flags.iter().filter(|flag| flag.starts_with("-cl-")).cloned();
        let libraries = format!("--rocm-device-lib-path={}", self.settings.device_libs.display());
        ["-Qunused-arguments".into(), libraries].into_iter().chain(options).collect()
    }

    /// Where a folder lies that the program names: relative to its working folder (the last one), or under a name that it
    /// was given.
    fn host_path(&self, name: &str) -> Option<PathBuf> {
        let name = Path::new(name);
        if name.is_relative() {
            return self.folders.last().map(|folder| folder.host.join(name));
        }
        let fits = |folder: &&Folder| name.starts_with(&folder.guest);
        let folder = self.folders.iter().filter(fits).max_by_key(|folder| folder.guest.len())?;
        Some(folder.host.join(name.strip_prefix(&folder.guest).ok()?))
    }

    fn permissions(&self, own: &Path) -> Permissions {
        let mut readable: Vec<PathBuf> = Vec::new();
        // The compiler, what is installed with it, and the system's libraries; nothing of the user's.
        readable.push(self.clang.clone());
        if let Some(bin) = self.clang.parent() {
            readable.extend(["ld.lld", "lld", "clang", "clang-19"].map(|tool| bin.join(tool)));
            readable.extend(bin.parent().map(|root| root.join("lib")));
        }
        readable.extend(["/usr/bin/ld.lld", "/usr/bin/ld.lld-19", "/usr/bin/lld-19"].map(PathBuf::from));
        readable.extend(["/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache"].map(PathBuf::from));
        readable.push(self.settings.device_libs.clone());
        readable.extend(self.folders.iter().map(|folder| folder.host.clone()));
        Permissions { readable, writable: own.to_owned() }
    }

    /// The log without the host's names of things.
    fn tidy(&self, log: &str, own: &Path) -> String {
        let mut log = log.replace(&format!("{}/", own.display()), "");
        for folder in self.folders {
            log = log.replace(&*folder.host.to_string_lossy(), &folder.guest);
        }
        log
    }
}

/// Whether a source may depend on more than itself.
fn reads_files(source: &[u8]) -> bool {
    let text = String::from_utf8_lossy(source);
    ["include", "embed", "incbin", "import", "__DATE__", "__TIME"].iter().any(|word| text.contains(word))
}

fn read_log(path: &Path) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(path) {
        // What can't be read is no log.
        let _ = file.take(LONGEST_LOG).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn failure(mut log: String, status: ExitStatus) -> CompileError {
    if log.lines().any(|line| line.contains("lld") && line.contains("unable to execute")) {
        return CompileError::NoLinker;
    }
    if log.is_empty() {
        log = format!("the compiler ended with {status}\n");
    }
    CompileError::Refused { log }
}

/// A folder of our own, as long as it is needed.
struct OwnFolder(PathBuf);

impl OwnFolder {
    fn new() -> std::io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let base = std::env::temp_dir();
        // A name that somebody else took first is not taken over: the next one is tried.
        for _ in 0..1000 {
            let n = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("cohesim-cc-{}-{n}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path.canonicalize()?)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(std::io::Error::other("no name was free"))
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        // A folder left behind in the system's place for temporary files harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}
