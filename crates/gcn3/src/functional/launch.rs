//! Programs, buffers and launches.

use mem::{Bytes, VirtAddr};
use std::{sync::Arc, thread};
use thiserror::Error;

use super::{
    grid::{Deal, Job, Plan, Worker},
    immediate::Shared,
    memory::{MappedMemory, MemoryError},
};
use crate::{
    code::Code,
    dispatch::{Dispatch, DispatchError, Places},
    error::ExecError,
    object::{CodeObject, Image, Kernel, ObjectError},
};

/// The lowest address of code objects and buffers, which are placed on separate pages.
const FIRST_ADDRESS: u64 = 0x1_0000_0000;
/// Unmapped bytes after each allocation, so that overruns are detected.
const GAP: u64 = 0x1000;
/// Why a launch failed.
#[derive(Debug, Error)]
pub enum LaunchError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error(transparent)]
    Exec(#[from] Box<ExecError>),
    #[error("kernel '{kernel}' starts at {entry}, where the program has no code")]
    NoCode { kernel: String, entry: VirtAddr },
}

/// How to run a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The number of threads that run workgroups.
    pub threads: usize,
    /// The maximum number of instructions of a wavefront, after which it counts as an endless loop.
    pub limit: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { threads: 1, limit: None }
    }
}

/// Statistics of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Wavefront instructions executed.
    pub instructions: u64,
    /// Wavefronts started.
    pub wavefronts: u64,
}

/// A decoded code object in a GPU's memory.
#[derive(Debug)]
pub struct Program {
    pub image: Image,
    codes: Vec<Arc<Code>>,
}

impl Program {
    /// Decodes the code of an image; the caller writes the image to memory.
    pub fn new(image: Image) -> Self {
        let executable = image.segments.iter().filter(|segment| segment.executable && !segment.bytes.is_empty());
        let codes = executable.map(|segment| Arc::new(Code::new(segment.address.0, &segment.bytes))).collect();
        Self { image, codes }
    }

    /// The code that contains a kernel's entry.
    pub fn code_of(&self, kernel: &Kernel) -> Result<&Arc<Code>, LaunchError> {
        let entry = self.image.kernel_entry(kernel);
        let holds = |code: &&Arc<Code>| code.start() <= entry.0 && entry.0 < code.end();
        self.codes.iter().find(holds).ok_or_else(|| LaunchError::NoCode { kernel: kernel.name.clone(), entry })
    }
}

/// A functional GPU: its memory, and launches that run to their end at once.
#[derive(Debug)]
pub struct Gpu {
    pub memory: MappedMemory,
    next: u64,
}

impl Default for Gpu {
    fn default() -> Self {
        Self { memory: MappedMemory::default(), next: FIRST_ADDRESS }
    }
}

/// A limit on threads, more than any computer has cores for.
const MOST_THREADS: usize = 1024;

impl Gpu {
    pub fn new() -> Self {
        Self::default()
    }

    /// Allocates `size` zeroed bytes, page-aligned.
    pub fn alloc(&mut self, size: Bytes) -> Result<VirtAddr, MemoryError> {
        let base = VirtAddr(self.next);
        self.memory.map(base, Bytes(size.0.max(4)), true)?;
        self.next = (self.next + size.0 + GAP).next_multiple_of(GAP);
        Ok(base)
    }

    /// Loads a code object into memory and decodes its code.
    pub fn load(&mut self, object: &CodeObject) -> Result<Program, LaunchError> {
        let base = VirtAddr(self.next.next_multiple_of(0x1_0000));
        let image = object.load(base)?;
        for segment in image.segments.iter().filter(|segment| !segment.bytes.is_empty()) {
            self.memory.map(segment.address, Bytes(segment.bytes.len() as u64), segment.writable)?;
            self.memory.write(segment.address, &segment.bytes)?;
        }
        self.next = (image.end().0 + GAP).next_multiple_of(GAP);
        Ok(Program::new(image))
    }

    /// Runs a kernel over its grid, with the arguments set in `dispatch`.
    pub fn launch(&mut self, program: &Program, dispatch: &Dispatch, options: Options) -> Result<Run, LaunchError> {
        let code = program.code_of(dispatch.kernel())?;
        let options = Options { threads: options.threads.clamp(1, MOST_THREADS), ..options };
        let plan = Plan::new(dispatch, options);
        let parts = self.place_parts(program, dispatch, &plan)?;
        let job = Job { plan: &plan, dispatch, places: &parts.places, code };
        let deal = Deal::default();
        let run = self.run_all(job, &deal, options.threads);
        for base in parts.mapped {
            self.memory.unmap(base);
        }
        match deal.into_error() {
            Some(error) => Err(error),
            None => Ok(run),
        }
    }

    /// Writes what a launch needs to memory, for another engine that runs it with at most `waves` wavefronts in flight.
    pub fn stage(&mut self, program: &Program, dispatch: &Dispatch, waves: u64) -> Result<Places, LaunchError> {
        let parts = self.place_parts(program, dispatch, &Plan::for_waves(dispatch, waves));
        let end = self.memory.end();
        self.next = self.next.max((end.0 + GAP).next_multiple_of(GAP));
        Ok(parts?.places)
    }

    fn run_all(&self, job: Job<'_>, deal: &Deal, threads: usize) -> Run {
        let memory = Shared { memory: &self.memory, alone: threads == 1 };
        let work = |thread: u32| {
            let mut worker = Worker::new(thread);
            while worker.turn(job, deal, &mut memory.clone()) {}
            worker.run
        };
        if threads == 1 {
            return work(0);
        }
        thread::scope(|scope| {
            let start = |n| thread::Builder::new().spawn_scoped(scope, move || work(n));
            // If the operating system refuses some threads, the others do their work.
            let workers: Vec<_> = (1..threads as u32).map_while(|n| start(n).ok()).collect();
            let own = work(0);
            workers.into_iter().fold(own, |total, worker| {
                let run = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                Run {
                    instructions: total.instructions + run.instructions,
                    wavefronts: total.wavefronts + run.wavefronts,
                }
            })
        })
    }

    /// Writes what a launch needs to memory: arguments, packet, queue, scratch.
    fn place_parts(&mut self, program: &Program, dispatch: &Dispatch, plan: &Plan) -> Result<Parts, LaunchError> {
        let saved = self.next;
        let mut mapped = [VirtAddr(0); 4];
        for (place, size) in mapped.iter_mut().zip(plan.part_sizes(dispatch)) {
            *place = self.alloc(size)?;
        }
        let places = plan.places(program.image.base, mapped);
        self.memory.write(places.kernarg, &dispatch.kernarg(&places))?;
        self.memory.write(places.packet, &dispatch.packet(&places))?;
        self.memory.write(places.queue, &dispatch.queue(&places))?;
        self.next = saved;
        Ok(Parts { places, mapped })
    }
}

struct Parts {
    places: Places,
    mapped: [VirtAddr; 4],
}
