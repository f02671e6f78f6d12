//! Runs a program of the toolchain as a child process: confined, within resource limits, and never left running.
//!
//! The child ends when it is done, when it takes too long, when the user ends the simulation, or when this process ends
//! for any reason. In the last case the host kernel kills it. The child must request that itself between fork and exec,
//! which is why this is the crate's only file with `unsafe`.
#![allow(unsafe_code)]

use std::{
    fs::File,
    io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use engine::Monitor;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, fchdir, kill_process_group, set_parent_process_death_signal, setrlimit,
};

use super::{CompileError, toolchain::Toolchain, wall, workspace::Workspace};

/// The time limit of a build.
pub const SECONDS: u64 = 120;
const MEMORY_BYTES: u64 = 8 << 30;
/// The largest file that the child may write, and so the largest code object.
pub const FILE_BYTES: u64 = 64 << 20;

/// Runs programs of the toolchain for one build.
pub struct Keeper<'a> {
    pub toolchain: &'a Toolchain,
    pub workspace: &'a Workspace,
    pub allow_unconfined: bool,
    pub until: Instant,
    pub monitor: &'a Monitor,
}

impl Keeper<'_> {
    /// Runs a command in the build's folder until it ends; its output goes to `log`.
    pub fn run(&self, mut command: Command, log: File) -> Result<ExitStatus, CompileError> {
        let confined = wall::is_there();
        if !confined && !self.allow_unconfined {
            return Err(CompileError::Unconfined);
        }
        let unstarted = |error: io::Error| system("the compiler could not be started", &error);
        let folder = self.workspace.folder().try_clone().map_err(unstarted)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).process_group(0);
        prepare(&mut command, folder);
        // This thread gives up its own rights and waits until the child has ended: the child dies with the thread that
        // started it.
        let work = || {
            if confined {
                wall::restrict(self.toolchain, self.workspace).map_err(unstarted)?;
            }
            self.wait(command.spawn().map_err(unstarted)?)
        };
        thread::scope(|scope| {
            let thread = thread::Builder::new().name("compiler".into()).spawn_scoped(scope, work).map_err(unstarted)?;
            let broken = |_| Err(unstarted(io::Error::other("the thread that starts it panicked")));
            thread.join().unwrap_or_else(broken)
        })
    }

    fn wait(&self, mut child: Child) -> Result<ExitStatus, CompileError> {
        let mut pause = Duration::from_millis(1);
        loop {
            let stopped = match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if self.monitor.is_stopped() => CompileError::Interrupted,
                Ok(None) if Instant::now() > self.until => CompileError::TooLong { seconds: SECONDS },
                Ok(None) => {
                    thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(20));
                    continue;
                }
                Err(error) => system("waiting for the compiler failed", &error),
            };
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            let _ = child.wait();
            return Err(stopped);
        }
    }
}

pub fn system(what: &str, error: &dyn std::fmt::Display) -> CompileError {
    CompileError::System { what: what.into(), detail: error.to_string() }
}

/// Makes the new process enter its folder, set its resource limits, and die with the thread that started it.
fn prepare(command: &mut Command, folder: OwnedFd) {
    const LIMITS: [(Resource, u64); 4] =
        [(Resource::Cpu, SECONDS), (Resource::As, MEMORY_BYTES), (Resource::Fsize, FILE_BYTES), (Resource::Core, 0)];
    let before = move || {
        fchdir(&folder)?;
        for (resource, amount) in LIMITS {
            setrlimit(resource, Rlimit { current: Some(amount), maximum: Some(amount) })?;
        }
        Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
    };
    // SAFETY: between fork and exec only direct system calls are made; no memory is allocated and no lock is taken.
    unsafe { command.pre_exec(before) };
}
