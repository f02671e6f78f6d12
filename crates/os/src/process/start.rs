//! Creates a process from a program file.

use super::{Heap, Limits, PID, Process, Random, Thread};
use crate::{
    Tid, Trap,
    files::{Files, Found, Mount, MountError, Namespace, Stdio, UsedFiles},
    guest::NoDriver,
    memory::AddressSpace,
    program::{Image, ProgramError, StackError, Start, set_up_stack},
    signal::Actions,
};
use engine::{Monitor, Time};
use mem::Bytes;
use std::{os::unix::ffi::OsStrExt, path::PathBuf};
use thiserror::Error;
use x86::{Blocks, Cpu, Reg};

/// How to start a process.
pub struct Options {
    /// The program's path as the guest knows it.
    pub path: Vec<u8>,
    /// The first argument is the program's name.
    pub arguments: Vec<Vec<u8>>,
    pub environment: Vec<Vec<u8>>,
    pub mounts: Vec<Mount>,
    /// The working folder as a guest path; it must be in a mount.
    pub folder: PathBuf,
    pub stdio: Stdio,
    pub memory: Bytes,
    /// The maximum size of a file, and the maximum total of bytes written.
    pub longest_file: Bytes,
    pub most_written: Bytes,
    /// The number of processors reported to the program.
    pub cpus: u32,
    pub max_instructions: u64,
    pub max_time: Time,
    pub driver: Box<dyn Trap>,
    /// Records the files that the program executes or maps: its loader and its libraries.
    pub files_used: Option<UsedFiles>,
    /// Lets the process be stopped from outside.
    pub monitor: Monitor,
}

impl Options {
    /// A program without files and driver, with the default limits.
    pub fn new(path: impl Into<Vec<u8>>) -> Options {
        let path = path.into();
        Options {
            arguments: vec![path.clone()],
            path,
            environment: Vec::new(),
            mounts: Vec::new(),
            folder: "/".into(),
            stdio: Stdio::inherit(),
            memory: Bytes(4 << 30),
            longest_file: Bytes(4 << 30),
            most_written: Bytes(16 << 30),
            cpus: 4,
            max_instructions: u64::MAX,
            max_time: Time::NEVER,
            driver: Box::new(NoDriver),
            files_used: None,
            monitor: Monitor::default(),
        }
    }
}

/// Why a process could not be started.
#[derive(Debug, Error)]
pub enum StartError {
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Stack(#[from] StackError),
    #[error(transparent)]
    Mount(#[from] MountError),
    #[error("the working folder '{0}' is not in any folder that is shown to the program")]
    Folder(String),
    /// The driver does not support the requested configuration.
    #[error("{0}")]
    Driver(String),
    /// A checkpoint can't be written or restored.
    #[error("{0}")]
    Checkpoint(String),
}

impl Process {
    /// Creates a process that is ready to run.
    pub fn start(program: &[u8], options: Options) -> Result<Process, StartError> {
        let mut space = AddressSpace::new(options.memory);
        let namespace = Namespace::new(&options.mounts)?;
        let folder = options.folder;
        let root = vec![namespace.root()];
        let steps = match namespace.walk(&root, folder.as_os_str().as_bytes(), true) {
            Ok(Found::Folder(steps)) => steps,
            _ => return Err(StartError::Folder(folder.display().to_string())),
        };
        let mut files = Files::new(namespace, options.stdio, steps, (options.path.clone(), program.into()));
        files.longest_file = options.longest_file.0;
        files.left_to_write = options.most_written.0;
        files.used = options.files_used;
        let image = Image::load(program, &mut space, &mut |path| files.read_loader(path))?;
        let mut random = Random::new();
        let mut seed = [0; 16];
        random.fill_bytes(&mut seed);
        let start = Start {
            arguments: &options.arguments,
            environment: &options.environment,
            path: &options.path,
            random: seed,
            uid: 1000,
            gid: 1000,
        };
        let stack = set_up_stack(&mut space, &image, &start)?;
        let mut driver = options.driver;
        driver.see(files.view());
        let mut cpu = Cpu::new();
        cpu.rip = image.loader.map_or(image.entry, |loader| loader.entry);
        // Libraries of some distributions require x86-64-v2.
        cpu.features.sse4 = image.loader.is_some();
        cpu.gpr[Reg::Rsp] = stack;
        let mut command_line = options.arguments.join(&0);
        command_line.push(0);
        Ok(Process {
            space,
            blocks: Blocks::new(),
            threads: vec![Thread::new(Tid(PID), cpu)],
            next_tid: PID + 1,
            turn: 0,
            next_futex_turn: 0,
            yielded: false,
            clock: Default::default(),
            files,
            actions: Actions::default(),
            pending: Vec::new(),
            heap: Heap { start: image.end, end: image.end },
            random,
            driver,
            cpus: options.cpus.max(1),
            agents: 1,
            agent: 0,
            has_bound: false,
            alarm: None,
            end: None,
            monitor: options.monitor,
            told: 0,
            region: Default::default(),
            forward: None,
            limits: Limits { instructions: options.max_instructions, time: options.max_time },
            symbols: image.symbols,
            command_line,
            named: Default::default(),
            refused: Default::default(),
            explained: Default::default(),
            calls: 0,
        })
    }
}
