//! Execution of a launch's workgroups: they start in order and run in slices, over any memory that answers at once.

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

/// The number of wavefront instructions after which a workgroup lets others run.
const SLICE: u64 = 1 << 17;
/// The maximum number of workgroups in flight per thread, if each needs scratch memory of its own.
const RESIDENT: u32 = 64;
/// The scratch memory for all of them, as long as it suffices for one workgroup per thread.
const SCRATCH_BYTES: u64 = 256 << 20;

/// How a launch is split into workgroups, and how many of them may be in flight.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    groups: u64,
    waves: u32,
    /// The maximum number of workgroups in flight per thread.
    resident: u32,
    scratch_size: u64,
    limit: u64,
}

impl Plan {
    pub fn new(dispatch: &Dispatch, options: Options) -> Self {
        let threads = options.threads.max(1) as u64;
        let waves = dispatch.waves([0, 0, 0]);
        // A number of workgroups that overflows could never be run completely, so saturation is harmless.
        let groups = dispatch.groups().iter().fold(1, |all: u64, n| all.saturating_mul(u64::from(*n)));
        let resident = match dispatch.scratch_per_wave() * u64::from(waves) {
            0 => 16 * RESIDENT,
            group => (SCRATCH_BYTES / threads / group).clamp(1, RESIDENT.into()) as u32,
        };
        let slots = u64::from(resident) * threads * u64::from(waves);
        let scratch_size = dispatch.scratch_per_wave() * slots;
        Self { groups, waves, resident, scratch_size, limit: options.limit.unwrap_or(u64::MAX) }
    }

    /// A plan for a launch with at most `waves` wavefronts in flight.
    pub fn for_waves(dispatch: &Dispatch, waves: u64) -> Self {
        let scratch_size = dispatch.scratch_per_wave() * waves;
        Self { scratch_size, ..Self::new(dispatch, Options::default()) }
    }

    /// The sizes of a launch's arguments, packet, queue and scratch in memory.
    pub fn part_sizes(&self, dispatch: &Dispatch) -> [Bytes; 4] {
        // Whole cache lines, since compilers may load slightly more than the arguments.
        let kernarg = u64::from(dispatch.kernel().kernarg_size).next_multiple_of(64).max(64);
        [kernarg, 64, 256, self.scratch_size].map(Bytes)
    }

    /// The addresses of a launch, given those of its parts.
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

/// The inputs of the workers of a launch.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub plan: &'a Plan,
    pub dispatch: &'a Dispatch,
    pub places: &'a Places,
    pub code: &'a Code,
}

/// The progress of distributing a launch's workgroups.
#[derive(Debug)]
pub struct Deal {
    /// The next workgroup to start.
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
    /// Records an error; the one of the first workgroup counts.
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

/// A workgroup in flight.
#[derive(Debug)]
struct Resident {
    index: u64,
    slot: u32,
    group: Box<Workgroup>,
}

/// Runs workgroups; one per thread.
#[derive(Debug, Default)]
pub struct Worker {
    thread: u32,
    parked: VecDeque<Resident>,
    spare: Vec<Resident>,
    made: u32,
    pub run: Run,
    /// The data-race detector.
    races: Option<Box<Races>>,
}

impl Worker {
    pub fn new(thread: u32) -> Self {
        Self { thread, ..Self::default() }
    }

    /// Gives one workgroup its turn; returns whether any is left.
    pub fn turn(&mut self, job: Job<'_>, deal: &Deal, memory: &mut impl Immediate) -> bool {
        let room = self.parked.len() < job.plan.resident as usize;
        let dealt = room.then(|| deal.next.fetch_add(1, Ordering::Relaxed));
        // No workgroup is started after one that failed.
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
        // The registers that the code reaches, not those that its descriptor declares: an uncleared register would
        // expose old values.
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

/// A launch that runs in slices, on one thread, over memory that its owner lends for each slice.
#[derive(Debug)]
pub struct Execution {
    program: std::sync::Arc<Program>,
    dispatch: Dispatch,
    plan: Plan,
    places: Places,
    deal: Deal,
    worker: Worker,
}

/// The progress of an [`Execution`].
#[derive(Debug)]
pub enum Progress {
    UnderWay,
    Ended(Run),
}

impl Execution {
    /// A launch whose parts are at `places`, which [`Plan::places`] created.
    pub fn new(program: std::sync::Arc<Program>, dispatch: Dispatch, plan: Plan, places: Places) -> Self {
        Self { program, dispatch, plan, places, deal: Deal::default(), worker: Worker::new(0) }
    }

    /// Enables the detection of data races; does nothing if the kernel has no code.
    pub fn look_for_races(&mut self) {
        let kernel = self.dispatch.kernel();
        let entry = self.places.image.0.wrapping_add(kernel.descriptor.entry.0);
        let races = self.program.code_of(kernel).map(|code| Box::new(Races::new(&self.dispatch, code, entry)));
        self.worker.races = races.ok();
    }

    /// The first few data races, and the total number.
    pub fn races(&self) -> (&[String], u64) {
        self.worker.races.as_ref().map_or((&[], 0), |races| races.found())
    }

    /// Wavefront instructions executed so far.
    pub fn instructions(&self) -> u64 {
        self.worker.run.instructions
    }

    /// Runs about `budget` more wavefront instructions; fewer if all workgroups wait for pages
    /// ([`Fault::Away`](crate::error::Fault::Away)).
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
