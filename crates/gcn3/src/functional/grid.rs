//! The workgroups of a launch on their way: dealt in order, run in slices, over any memory that answers at once.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use mem::{Bytes, VirtAddr};

use super::{
    immediate::Immediate,
    launch::{LaunchError, Options, Program, Run},
    races::Races,
    workgroup::{Surroundings, Workgroup},
};
use crate::{
    code::Code,
    dispatch::{Apertures, Dispatch, Places},
    error::{ExecError, Place},
};

/// Wavefront instructions after which a workgroup lets others run.
const SLICE: u64 = 1 << 17;
/// Workgroups that may be under way per thread, where each needs scratch memory of its own.
const RESIDENT: u32 = 64;
/// Scratch memory for all of them, as long as that lets one be under way per thread.
const SCRATCH_BYTES: u64 = 256 << 20;

/// How a launch is cut into workgroups, and how many of them may be under way.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    groups: u64,
    waves: u32,
    /// How many workgroups a thread may have under way.
    resident: u32,
    scratch_size: u64,
    limit: u64,
}

impl Plan {
    pub fn new(dispatch: &Dispatch, options: Options) -> Self {
        let threads = options.threads.max(1) as u64;
        let waves = dispatch.waves([0, 0, 0]);
        // More workgroups than can be counted are more than can be run: the last ones never get their turn.
        let groups = dispatch.groups().iter().fold(1, |all: u64, n| all.saturating_mul(u64::from(*n)));
        let resident = match dispatch.scratch_per_wave() * u64::from(waves) {
            0 => 16 * RESIDENT,
            group => (SCRATCH_BYTES / threads / group).clamp(1, RESIDENT.into()) as u32,
        };
        let slots = u64::from(resident) * threads * u64::from(waves);
        let scratch_size = dispatch.scratch_per_wave() * slots;
        Self { groups, waves, resident, scratch_size, limit: options.limit.unwrap_or(u64::MAX) }
    }

    /// For a launch that has so many wavefronts under way at most.
    pub fn for_waves(dispatch: &Dispatch, waves: u64) -> Self {
        let scratch_size = dispatch.scratch_per_wave() * waves;
        Self { scratch_size, ..Self::new(dispatch, Options::default()) }
    }

    /// The bytes that arguments, packet, queue and scratch of a launch take up in memory.
    pub fn part_sizes(&self, dispatch: &Dispatch) -> [Bytes; 4] {
        // Whole cache lines: compilers may load a little more than the arguments.
        let kernarg = u64::from(dispatch.kernel().kernarg_size).next_multiple_of(64).max(64);
        [kernarg, 64, 256, self.scratch_size].map(Bytes)
    }

    /// Where everything lies, once the parts have places.
    pub fn places(&self, image: VirtAddr, [kernarg, packet, queue, scratch]: [VirtAddr; 4]) -> Places {
        Places {
            image,
            kernarg,
            packet,
            queue,
            scratch,
            scratch_size: self.scratch_size,
            apertures: Apertures { hidden_private_base: scratch, ..Apertures::default() },
            ..Places::default()
        }
    }
}

/// What the workers of a launch need to know.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub plan: &'a Plan,
    pub dispatch: &'a Dispatch,
    pub places: &'a Places,
    pub code: &'a Code,
}

/// How far a launch has been dealt out.
#[derive(Debug)]
pub struct Deal {
    /// The next workgroup to deal.
    next: AtomicU64,
    /// The first workgroup that failed; later ones need not run.
    failed: AtomicU64,
    error: Mutex<Option<(u64, LaunchError)>>,
}

impl Default for Deal {
    fn default() -> Self {
        Self { next: AtomicU64::new(0), failed: AtomicU64::new(u64::MAX), error: Mutex::new(None) }
    }
}

impl Deal {
    /// Notes an error; that of the first workgroup counts.
    fn fail(&self, index: u64, error: LaunchError) {
        self.failed.fetch_min(index, Ordering::Relaxed);
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(other, _)| index < *other) {
            *first = Some((index, error));
        }
    }

    pub fn into_error(self) -> Option<LaunchError> {
        let error = self.error.into_inner().unwrap_or_else(PoisonError::into_inner);
        error.map(|(_, error)| error)
    }
}

/// A workgroup under way.
#[derive(Debug)]
struct Resident {
    index: u64,
    slot: u32,
    group: Box<Workgroup>,
}

/// Who runs workgroups: one per thread.
#[derive(Debug, Default)]
pub struct Worker {
    thread: u32,
    parked: VecDeque<Resident>,
    spare: Vec<Resident>,
    made: u32,
    pub run: Run,
    /// Looks for data races.
    races: Option<Box<Races>>,
}

impl Worker {
    pub fn new(thread: u32) -> Self {
        Self { thread, ..Self::default() }
    }

    /// Gives one workgroup its turn; says whether any is left.
    pub fn turn(&mut self, job: Job<'_>, deal: &Deal, memory: &mut impl Immediate) -> bool {
        let room = self.parked.len() < job.plan.resident as usize;
        let dealt = room.then(|| deal.next.fetch_add(1, Ordering::Relaxed));
        // Nothing is dealt behind a workgroup that failed, be there ever so many.
        let wanted = |index: &u64| *index < job.plan.groups && *index <= deal.failed.load(Ordering::Relaxed);
        let mut resident = match dealt.filter(wanted) {
            Some(index) => {
                let mut resident = self.spare.pop().unwrap_or_else(|| {
                    self.made += 1;
                    let slot = self.thread.wrapping_mul(job.plan.resident) + (self.made - 1);
                    Resident { index, slot, group: Box::default() }
                });
                resident.index = index;
                if let Err(error) = job.start(&mut resident, self.races.is_some()) {
                    deal.fail(index, error);
                    self.spare.push(resident);
                    return true;
                }
                resident
            }
            None => match self.parked.pop_front() {
                Some(resident) => resident,
                None => return false,
            },
        };
        if resident.index > deal.failed.load(Ordering::Relaxed) {
            self.spare.push(resident);
            return true;
        }
        let around = Surroundings { code: job.code, limit: job.plan.limit, group: resident.index };
        memory.turn_to(resident.index);
        let before = resident.group.executed();
        let outcome = resident.group.run(around, memory, self.races.as_deref_mut(), SLICE);
        self.run.instructions += resident.group.executed() - before;
        match outcome {
            Ok(true) => {
                self.run.wavefronts += u64::from(job.dispatch.waves(job.group_id(resident.index)));
                self.spare.push(resident);
            }
            Ok(false) => self.parked.push_back(resident),
            Err(stopped) => {
                let (places, workgroup) = (job.places, job.group_id(resident.index));
                let place = Place { places, workgroup, wavefront: stopped.wavefront, pc: stopped.pc };
                let error = ExecError::new(job.dispatch.kernel(), job.code, place, stopped.fault);
                deal.fail(resident.index, Box::new(error).into());
                self.spare.push(resident);
            }
        }
        true
    }
}

impl Job<'_> {
    fn start(&self, resident: &mut Resident, races: bool) -> Result<(), LaunchError> {
        let id = self.group_id(resident.index);
        let waves = self.dispatch.waves(id);
        // What the code reaches, not what its descriptor declares: a register that nobody cleared would show what ran before.
        let vgprs = self.code.vgprs();
        resident.group.start(waves as usize, vgprs, self.dispatch.lds_size(), races);
        for wave in 0..waves {
            let slot = resident.slot.wrapping_mul(self.plan.waves).wrapping_add(wave);
            let init = self.dispatch.wave_init(self.places, id, wave, slot)?;
            resident.group.init_wave(wave as usize, &init);
        }
        Ok(())
    }

    fn group_id(&self, index: u64) -> [u32; 3] {
        let [x, y, _] = self.dispatch.groups().map(u64::from);
        [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32]
    }
}

/// A launch that runs a while at a time, on one thread, over memory that its owner lends it.
#[derive(Debug)]
pub struct Execution {
    program: std::sync::Arc<Program>,
    dispatch: Dispatch,
    plan: Plan,
    places: Places,
    deal: Deal,
    worker: Worker,
}

/// How far an [`Execution`] has come.
#[derive(Debug)]
pub enum Progress {
    UnderWay,
    Ended(Run),
}

impl Execution {
    /// A launch whose parts lie at `places`, which [`Plan::places`] made.
    pub fn new(program: std::sync::Arc<Program>, dispatch: Dispatch, plan: Plan, places: Places) -> Self {
        Self { program, dispatch, plan, places, deal: Deal::default(), worker: Worker::new(0) }
    }

    /// Looks for data races from now on; does nothing if the kernel has no code.
    pub fn look_for_races(&mut self) {
        let kernel = self.dispatch.kernel();
        let entry = self.places.image.0.wrapping_add(kernel.descriptor.entry.0);
        let races = self.program.code_of(kernel).map(|code| Box::new(Races::new(&self.dispatch, code, entry)));
        self.worker.races = races.ok();
    }

    /// The first few data races that were found, and how many there were in all.
    pub fn races(&self) -> (&[String], u64) {
        self.worker.races.as_ref().map_or((&[], 0), |races| races.found())
    }

    /// Wavefront instructions executed so far.
    pub fn instructions(&self) -> u64 {
        self.worker.run.instructions
    }

    /// Runs about `budget` wavefront instructions more; fewer if all workgroups wait for pages ([`Fault::Away`](crate::error::Fault::Away)).
    pub fn advance(&mut self, memory: &mut impl Immediate, budget: u64) -> Result<Progress, LaunchError> {
        let code = self.program.code_of(self.dispatch.kernel())?;
        let job = Job { plan: &self.plan, dispatch: &self.dispatch, places: &self.places, code };
        let end = self.worker.run.instructions.saturating_add(budget);
        let mut idle = 0;
        while self.worker.run.instructions < end && idle <= self.worker.parked.len() {
            let before = self.worker.run.instructions;
            if !self.worker.turn(job, &self.deal, memory) {
                return match std::mem::take(&mut self.deal).into_error() {
                    Some(error) => Err(error),
                    None => Ok(Progress::Ended(self.worker.run)),
                };
            }
            idle = if self.worker.run.instructions == before { idle + 1 } else { 0 };
        }
        Ok(Progress::UnderWay)
    }
}
