//! Programs, buffers and launches.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use mem::{Bytes, VirtAddr};
use thiserror::Error;

use super::{
    memory::{Memory, MemoryError},
    workgroup::{Surroundings, Workgroup},
};
use crate::{
    code::Code,
    dispatch::{Apertures, Dispatch, DispatchError, Places},
    error::ExecError,
    object::{CodeObject, Image, ObjectError},
};

/// Code objects and buffers lie here and above, on pages of their own.
const FIRST_ADDRESS: u64 = 0x1_0000_0000;
/// Unmapped bytes behind everything, so that running over an end is noticed.
const GAP: u64 = 0x1000;
/// Wavefront instructions after which a workgroup lets others run.
const SLICE: u64 = 1 << 17;
/// Workgroups that may be under way per thread, where each needs scratch memory of its own.
const RESIDENT: u32 = 64;
/// Scratch memory for all of them, as long as that lets one be under way per thread.
const SCRATCH_BYTES: u64 = 256 << 20;

/// What went wrong in a launch.
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

/// How a launch is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Threads that run workgroups.
    pub threads: usize,
    /// The most instructions that one wavefront may execute before it counts as an endless loop.
    pub limit: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { threads: 1, limit: None }
    }
}

/// What a launch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Wavefront instructions executed.
    pub instructions: u64,
    /// Wavefronts started.
    pub wavefronts: u64,
}

/// A code object in a GPU's memory, decoded.
#[derive(Debug)]
pub struct Program {
    pub image: Image,
    codes: Vec<Code>,
}

/// A GPU without time: memory, and launches that run to their end at once.
#[derive(Debug)]
pub struct Gpu {
    pub memory: Memory,
    next: u64,
}

impl Default for Gpu {
    fn default() -> Self {
        Self { memory: Memory::default(), next: FIRST_ADDRESS }
    }
}

impl Gpu {
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets aside `size` bytes of zeros, aligned to a page.
    pub fn alloc(&mut self, size: Bytes) -> Result<VirtAddr, MemoryError> {
        let base = VirtAddr(self.next);
        self.memory.map(base, Bytes(size.0.max(4)), true)?;
        self.next = (self.next + size.0 + GAP).next_multiple_of(GAP);
        Ok(base)
    }

    /// Places a code object in memory and decodes its code.
    pub fn load(&mut self, object: &CodeObject) -> Result<Program, LaunchError> {
        let base = VirtAddr(self.next.next_multiple_of(0x1_0000));
        let image = object.load(base)?;
        let mut codes = Vec::new();
        for segment in &image.segments {
            if segment.bytes.is_empty() {
                continue;
            }
            self.memory.map(segment.address, Bytes(segment.bytes.len() as u64), segment.writable)?;
            self.memory.write(segment.address, &segment.bytes)?;
            if segment.executable {
                codes.push(Code::new(segment.address.0, &segment.bytes));
            }
        }
        self.next = (image.end().0 + GAP).next_multiple_of(GAP);
        Ok(Program { image, codes })
    }

    /// Runs a kernel over its grid. The arguments are those set in `dispatch`.
    pub fn launch(&mut self, program: &Program, dispatch: &Dispatch, options: Options) -> Result<Run, LaunchError> {
        let kernel = dispatch.kernel();
        let entry = program.image.kernel_entry(kernel);
        let holds = |code: &&Code| code.start() <= entry.0 && entry.0 < code.end();
        let code = program
            .codes
            .iter()
            .find(holds)
            .ok_or_else(|| LaunchError::NoCode { kernel: kernel.name.clone(), entry })?;
        let threads = options.threads.max(1);
        let waves = dispatch.waves([0, 0, 0]);
        // More workgroups than can be counted are more than can be run: the last ones never get their turn.
        let groups = dispatch.groups().iter().fold(1, |all: u64, n| all.saturating_mul(u64::from(*n)));
        let resident = match dispatch.scratch_per_wave() * u64::from(waves) {
            0 => 16 * RESIDENT,
            group => (SCRATCH_BYTES / threads as u64 / group).clamp(1, RESIDENT.into()) as u32,
        };
        let slots = u64::from(resident) * threads as u64 * u64::from(waves);
        let parts = self.place_parts(program, dispatch, slots)?;
        let launch = Launch {
            dispatch,
            places: parts.places,
            code,
            memory: &self.memory,
            groups,
            waves,
            resident,
            alone: threads == 1,
            limit: options.limit.unwrap_or(u64::MAX),
            next: AtomicU64::new(0),
            failed: AtomicU64::new(u64::MAX),
            error: Mutex::new(None),
        };
        let run = launch.run_all(threads);
        let error = launch.error.into_inner().unwrap_or_else(PoisonError::into_inner);
        for base in parts.mapped {
            self.memory.unmap(base);
        }
        match error {
            Some((_, error)) => Err(error),
            None => Ok(run),
        }
    }

    /// Puts what a launch needs in memory: arguments, packet, queue, scratch.
    fn place_parts(&mut self, program: &Program, dispatch: &Dispatch, slots: u64) -> Result<Parts, LaunchError> {
        let saved = self.next;
        let scratch_size = dispatch.scratch_per_wave() * slots;
        // Whole cache lines: compilers may load a little more than the arguments.
        let kernarg = self.alloc(Bytes(u64::from(dispatch.kernel().kernarg_size).next_multiple_of(64)))?;
        let packet = self.alloc(Bytes(64))?;
        let queue = self.alloc(Bytes(256))?;
        let scratch = self.alloc(Bytes(scratch_size))?;
        let places = Places {
            image: program.image.base,
            kernarg,
            packet,
            queue,
            scratch,
            scratch_size,
            apertures: Apertures { hidden_private_base: scratch, ..Apertures::default() },
            ..Places::default()
        };
        self.memory.write(kernarg, &dispatch.kernarg(&places))?;
        self.memory.write(packet, &dispatch.packet(&places))?;
        self.memory.write(queue, &dispatch.queue(&places))?;
        self.next = saved;
        Ok(Parts { places, mapped: [kernarg, packet, queue, scratch] })
    }
}

struct Parts {
    places: Places,
    mapped: [VirtAddr; 4],
}

/// One launch, shared by the threads that run it.
struct Launch<'a> {
    dispatch: &'a Dispatch,
    places: Places,
    code: &'a Code,
    memory: &'a Memory,
    groups: u64,
    waves: u32,
    /// How many workgroups a thread may have under way.
    resident: u32,
    alone: bool,
    limit: u64,
    /// The next workgroup to deal.
    next: AtomicU64,
    /// The first workgroup that failed; later ones need not run.
    failed: AtomicU64,
    error: Mutex<Option<(u64, LaunchError)>>,
}

/// A workgroup under way.
struct Resident {
    index: u64,
    slot: u32,
    group: Box<Workgroup>,
}

impl Launch<'_> {
    fn run_all(&self, threads: usize) -> Run {
        if threads == 1 {
            return self.work(0);
        }
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads as u32).map(|n| scope.spawn(move || self.work(n))).collect();
            workers.into_iter().fold(Run::default(), |total, worker| {
                let run = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                Run {
                    instructions: total.instructions + run.instructions,
                    wavefronts: total.wavefronts + run.wavefronts,
                }
            })
        })
    }

    /// Runs workgroups until none is left.
    fn work(&self, thread: u32) -> Run {
        let mut run = Run::default();
        let mut parked: VecDeque<Resident> = VecDeque::new();
        let mut spare: Vec<Resident> = Vec::new();
        let mut made = 0;
        loop {
            let room = parked.len() < self.resident as usize;
            let dealt = room.then(|| self.next.fetch_add(1, Ordering::Relaxed));
            // Nothing is dealt behind a workgroup that failed, be there ever so many.
            let wanted = |index: &u64| *index < self.groups && *index <= self.failed.load(Ordering::Relaxed);
            let mut resident = match dealt.filter(wanted) {
                Some(index) => {
                    let mut resident = spare.pop().unwrap_or_else(|| {
                        made += 1;
                        let slot = thread.wrapping_mul(self.resident) + (made - 1);
                        Resident { index, slot, group: Box::default() }
                    });
                    resident.index = index;
                    if let Err(error) = self.start(&mut resident) {
                        self.fail(index, error);
                        spare.push(resident);
                        continue;
                    }
                    resident
                }
                None => match parked.pop_front() {
                    Some(resident) => resident,
                    None => return run,
                },
            };
            if resident.index > self.failed.load(Ordering::Relaxed) {
                spare.push(resident);
                continue;
            }
            let around = Surroundings { code: self.code, memory: self.memory, alone: self.alone, limit: self.limit };
            match resident.group.run(around, SLICE) {
                Ok(true) => {
                    run.instructions += resident.group.executed();
                    run.wavefronts += u64::from(self.dispatch.waves(self.group_id(resident.index)));
                    spare.push(resident);
                }
                Ok(false) => parked.push_back(resident),
                Err(stopped) => {
                    let text = match self.code.instruction(stopped.pc) {
                        Some(Ok(inst)) => inst.to_string(),
                        _ => "?".into(),
                    };
                    let entry = self.places.image + Bytes(self.dispatch.kernel().descriptor.entry.0);
                    let error = ExecError {
                        kernel: self.dispatch.kernel().name.clone(),
                        pc: stopped.pc,
                        offset: stopped.pc.wrapping_sub(entry.0),
                        text,
                        workgroup: self.group_id(resident.index),
                        wavefront: stopped.wavefront,
                        fault: stopped.fault,
                    };
                    self.fail(resident.index, Box::new(error).into());
                    spare.push(resident);
                }
            }
        }
    }

    fn start(&self, resident: &mut Resident) -> Result<(), LaunchError> {
        let id = self.group_id(resident.index);
        let waves = self.dispatch.waves(id);
        // What the code reaches, not what its descriptor declares: a register that nobody cleared would show what ran before.
        let vgprs = self.code.vgprs();
        resident.group.start(waves as usize, vgprs, self.dispatch.lds_size());
        for wave in 0..waves {
            let slot = resident.slot.wrapping_mul(self.waves).wrapping_add(wave);
            let init = self.dispatch.wave_init(&self.places, id, wave, slot)?;
            resident.group.init_wave(wave as usize, &init);
        }
        Ok(())
    }

    /// Notes an error; that of the first workgroup counts.
    fn fail(&self, index: u64, error: LaunchError) {
        self.failed.fetch_min(index, Ordering::Relaxed);
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(other, _)| index < *other) {
            *first = Some((index, error));
        }
    }

    fn group_id(&self, index: u64) -> [u32; 3] {
        let [x, y, _] = self.dispatch.groups().map(u64::from);
        [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32]
    }
}
