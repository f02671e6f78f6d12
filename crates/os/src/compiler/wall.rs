//! The wall around the compiler.
//!
//! Landlock, where the kernel has it: a thread gives up its rights to everything but a list of folders, and to the
//! network, and then starts the compiler, which inherits that. Otherwise bubblewrap, where it is installed: a file
//! system of its own that holds only those folders. Limits on time, memory and file sizes come on top of either.
//!
//! What Landlock does not hide is whether a path exists: opening it is refused, which differs from its not being there.

use std::{
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};

use super::CompileError;

/// Longer than any compiler should take.
const SECONDS: u64 = 120;
const MEMORY_BYTES: u64 = 8 << 30;
const FILE_BYTES: u64 = 256 << 20;

/// What the compiler may touch.
#[derive(Clone, Debug)]
pub struct Permissions {
    /// Files and folders it may read and run.
    pub readable: Vec<PathBuf>,
    /// The folder it may write.
    pub writable: PathBuf,
}

/// What confines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
    Landlock,
    Bubblewrap,
    Nothing,
}

/// Runs a command behind the wall, until it ends.
pub fn run(command: Command, permissions: &Permissions, allow_unconfined: bool) -> Result<ExitStatus, CompileError> {
    let means = match () {
        () if landlock_is_there() => Means::Landlock,
        () if bubblewrap_is_there() => Means::Bubblewrap,
        () if allow_unconfined => Means::Nothing,
        () => return Err(CompileError::Unconfined),
    };
    let program = command.get_program().to_owned();
    let spawned = match means {
        Means::Landlock => spawn_in_landlock(command, permissions),
        Means::Bubblewrap => wrapped(&command, permissions).process_group(0).spawn(),
        Means::Nothing => {
            let mut command = command;
            command.process_group(0).spawn()
        }
    };
    let child = spawned.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => CompileError::NoCompiler { clang: program.into() },
        _ => system("the compiler could not be started", &error),
    })?;
    wait(child)
}

pub fn system(what: &str, error: &dyn std::fmt::Display) -> CompileError {
    CompileError::System { what: what.into(), detail: error.to_string() }
}

fn landlock_is_there() -> bool {
    let made = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(|ruleset| ruleset.create());
    made.is_ok()
}

/// Gives a thread's rights up and starts the command from it: what a thread may not do, its children may not.
fn spawn_in_landlock(mut command: Command, permissions: &Permissions) -> io::Result<Child> {
    let permissions = permissions.clone();
    let confined = thread::Builder::new().name("compiler".into()).spawn(move || {
        restrict(&permissions).map_err(io::Error::other)?;
        command.process_group(0).spawn()
    })?;
    confined.join().unwrap_or_else(|_| Err(io::Error::other("the thread that starts the compiler broke down")))
}

fn restrict(permissions: &Permissions) -> Result<(), String> {
    // What newer kernels can refuse on top is refused where they can.
    let abi = ABI::V6;
    let told = |error: landlock::RulesetError| error.to_string();
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(abi)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(abi)))
        .and_then(|ruleset| ruleset.create())
        .map_err(told)?;
    let read = AccessFs::from_read(abi);
    let read_file = AccessFs::ReadFile | AccessFs::Execute;
    for path in &permissions.readable {
        // What is not there need not be shown.
        let Ok(fd) = PathFd::new(path) else { continue };
        let access = if path.is_dir() { read } else { read_file };
        ruleset = ruleset.add_rule(PathBeneath::new(fd, access)).map_err(told)?;
    }
    if let Ok(fd) = PathFd::new("/dev/null") {
        ruleset = ruleset.add_rule(PathBeneath::new(fd, AccessFs::ReadFile | AccessFs::WriteFile)).map_err(told)?;
    }
    let own = PathFd::new(&permissions.writable).map_err(|error| error.to_string())?;
    ruleset = ruleset.add_rule(PathBeneath::new(own, AccessFs::from_all(abi))).map_err(told)?;
    let status = ruleset.restrict_self().map_err(told)?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err("Landlock did not take effect".into()),
        _ => Ok(()),
    }
}

const BUBBLEWRAP: &str = "bwrap";

fn bubblewrap_is_there() -> bool {
    // It must not only be installed: the kernel must let it make namespaces.
    let mut trial = Command::new(BUBBLEWRAP);
    trial.args(["--unshare-all", "--ro-bind", "/", "/", "true"]);
    trial.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    trial.status().is_ok_and(|status| status.success())
}

/// The same command in a file system that holds nothing but what it may see.
fn wrapped(command: &Command, permissions: &Permissions) -> Command {
    let mut wrapped = Command::new(BUBBLEWRAP);
    wrapped.args(["--unshare-all", "--die-with-parent", "--dev", "/dev"]);
    for path in &permissions.readable {
        wrapped.arg("--ro-bind-try").arg(path).arg(path);
    }
    wrapped.arg("--bind").arg(&permissions.writable).arg(&permissions.writable);
    wrapped.arg("--chdir").arg(&permissions.writable).arg("--clearenv");
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            wrapped.arg("--setenv").arg(name).arg(value);
        }
    }
    wrapped.arg("--").arg(command.get_program()).args(command.get_args());
    wrapped.stdin(Stdio::null()).stdout(Stdio::null());
    wrapped
}

/// Waits for the end, within the limits.
fn wait(mut child: Child) -> Result<ExitStatus, CompileError> {
    let pid = Pid::from_child(&child);
    let limit = |amount: u64| Rlimit { current: Some(amount), maximum: Some(amount) };
    for (resource, amount) in
        [(Resource::Cpu, SECONDS), (Resource::As, MEMORY_BYTES), (Resource::Fsize, FILE_BYTES), (Resource::Core, 0)]
    {
        // A compiler that has ended already needs no limits.
        let _ = prlimit(Some(pid), resource, limit(amount));
    }
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if start.elapsed() > Duration::from_secs(SECONDS) => {
                let _ = kill_process_group(pid, Signal::KILL);
                let _ = child.wait();
                return Err(CompileError::TooLong { seconds: SECONDS });
            }
            Ok(None) => {
                thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(20));
            }
            Err(error) => return Err(system("the compiler could not be waited for", &error)),
        }
    }
}

/// Where a program lies that is given by name.
pub fn locate(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.canonicalize().ok();
    }
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder| folder.join(program)).find(|path| path.is_file())?.canonicalize().ok()
}
