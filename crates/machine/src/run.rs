//! Runs a whole program on a machine: host code on its cores or on a host outside it, with timed kernels.
//!
//! A run may consist of parts, each on a machine of its own ([`crate::checkpoint`]).

use crate::{
    build::{self, Agents, Memories},
    checkpoint::{Checkpoint, CheckpointError, Parts},
    energy,
    golden::Kept,
    program::{Drained, Finish, ModelGpus},
    session::{Options, run_options},
    spec::Machine,
};
use engine::{Outcome, Run, Time};
use mem::{Bytes, Frames, PAGE, PhysAddr, Zone};
use os::{
    Process,
    forward::FastForward,
    opencl::Usage,
    process::{End, StartError},
};
use std::{
    cell::RefCell,
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
};

/// Creates the process with a driver for these GPUs; also returns the record of what the GPUs do.
type Make = Box<dyn FnOnce(&ModelGpus) -> Result<(Process, Rc<RefCell<Usage>>), StartError> + Send>;

/// A program to start once the machine is built.
pub(crate) struct Start {
    make: Make,
    refused: Arc<Mutex<Option<StartError>>>,
    /// Where the timed part begins.
    pub forward: Option<FastForward>,
    pub finish: Arc<Mutex<Option<Finish>>>,
    /// The state from which the process continues, and whether only what follows is counted.
    restored: Option<(Arc<Checkpoint>, bool)>,
    /// The kernel before which this part of the run drains. `drained`: the state that it passes to the next part.
    drains: Option<u64>,
    pub drained: Arc<Mutex<Option<Drained>>>,
}

impl Start {
    /// The process; `None` if it can't be started. In that case [`run`] returns the reason and no machine is built.
    pub fn process(self, gpus: &ModelGpus) -> Option<(Process, Rc<RefCell<Usage>>)> {
        let made = (self.make)(gpus).and_then(|(mut process, usage)| {
            if let Some((restored, cold)) = &self.restored {
                let loaded = process.load(&restored.state, restored.frames.clone());
                loaded.map_err(|error| StartError::Checkpoint(format!("the checkpoint can't be restored: {error}")))?;
                if *cold {
                    process.measure();
                    let mut usage = usage.borrow_mut();
                    *usage = Usage { groups: vec![0; usage.groups.len()], ..Usage::default() };
                }
            }
            if let Some(kernel) = self.drains {
                process.drain_before(kernel);
            }
            Ok((process, usage))
        });
        match made {
            Ok(process) => Some(process),
            Err(error) => {
                *lock(&self.refused) = Some(error);
                None
            }
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Name of the context that ends with the program.
pub(crate) const PROGRAM: &str = "program";

/// Runs a program on a machine. If all hardware is idle and the program still waits, the program has a deadlock.
pub fn run(
    machine: &Machine,
    options: &Options,
    make: impl FnOnce(&ModelGpus) -> Result<(Process, Rc<RefCell<Usage>>), StartError> + Send + 'static,
) -> Result<(Finish, Run), StartError> {
    let part = Part { restored: None, drains: None };
    let (finish, run, _) = run_part(machine, options, Box::new(make), part)?;
    Ok((finish, run))
}

/// Runs a program on a machine, in parts: it drains before some kernels and writes checkpoints there, and may begin with
/// one. `make` is called for each part. Returns which kernels it drained before, too; a program may end before others.
pub fn run_in_parts(
    machine: &Machine,
    options: &Options,
    make: impl FnMut(&ModelGpus) -> Result<(Process, Rc<RefCell<Usage>>), StartError> + Send + 'static,
) -> Result<(Finish, Run, Parts), StartError> {
    let checkpoints = &options.checkpoints;
    let refused = |error: CheckpointError| StartError::Checkpoint(error.to_string());
    checkpoints.check(machine).map_err(refused)?;
    let make = Arc::new(Mutex::new(make));
    let mut restored = checkpoints.restored.clone();
    let (mut run, mut parts, mut kernel_time, mut cold) = (None, Parts::default(), Time::ZERO, false);
    if let Some(checkpoint) = &restored {
        parts = checkpoint.parts.clone();
        match checkpoint.is_of(machine) {
            true => (run, kernel_time) = (checkpoint.run.clone(), checkpoint.kernel_time),
            false => {
                cold = true;
                parts.made_on = Some(checkpoint.machine.clone());
            }
        }
    }
    let mut ahead = checkpoints.before.iter();
    loop {
        let drains = ahead.next();
        let make = Arc::clone(&make);
        let make: Make = Box::new(move |gpus| (lock(&make))(gpus));
        let part = Part {
            restored: restored.take().map(|restored| (restored, cold)),
            drains: drains.map(|(kernel, _)| *kernel),
        };
        let begun = run.as_ref().map_or(Time::ZERO, |run: &Run| run.end);
        let until = options.until.map(|until| Time(until.0.saturating_sub(begun.0)));
        let (mut finish, next, drained) = run_part(machine, &Options { until, ..options.clone() }, make, part)?;
        let whole = joined(run.take(), next);
        let (Some(drained), Some((kernel, path))) = (drained, drains) else {
            finish.kernel_time = finish.kernel_time + kernel_time;
            return Ok((finish, whole, parts));
        };
        cold = false;
        parts.drained.push(*kernel);
        kernel_time = kernel_time + drained.kernel_time;
        let no_state = |why| StartError::Checkpoint(format!("no checkpoint can be made before kernel {kernel}: {why}"));
        let checkpoint = Checkpoint {
            machine: machine.name.clone(),
            resolved: machine.resolved.clone(),
            program: checkpoints.program.clone(),
            parts: parts.clone(),
            run: Some(whole.clone()),
            kernel_time,
            state: drained.state.map_err(no_state)?,
            frames: drained.frames,
        };
        checkpoint.write(path, &checkpoints.build).map_err(refused)?;
        // The next part starts from the file, exactly as when the checkpoint is restored.
        restored = Some(Arc::new(Checkpoint::read(path, &checkpoints.build).map_err(refused)?));
        run = Some(whole);
    }
}

/// The state of one part of a run.
struct Part {
    restored: Option<(Arc<Checkpoint>, bool)>,
    drains: Option<u64>,
}

fn run_part(
    machine: &Machine,
    options: &Options,
    make: Make,
    part: Part,
) -> Result<(Finish, Run, Option<Drained>), StartError> {
    let (refused, finish, drained) = (Arc::default(), Arc::default(), Arc::default());
    let Part { restored, drains } = part;
    let start = Start {
        make,
        refused: Arc::clone(&refused),
        forward: options.forward,
        finish: Arc::clone(&finish),
        restored,
        drains,
        drained: Arc::clone(&drained),
    };
    let machine = &options.cut(machine);
    let memories = Memories::new(machine);
    let kept = options.check.then(Kept::default);
    let mut run = build::build(machine, &memories, kept.clone(), Agents::Program(start)).run(&run_options(options));
    energy::charge(machine, &mut run);
    // If only devices use memory, every write has reached memory at the end of the run.
    let of_devices = machine.cpu.is_none() && machine.fabric.is_none();
    if run.outcome == Outcome::Finished
        && let Some(Err(message)) = kept.filter(|_| of_devices).map(|kept| kept.compare(&memories.all()))
    {
        run.outcome = Outcome::Failed { time: run.end, context: "check".to_owned(), message };
    }
    if let Some(error) = lock(&refused).take() {
        return Err(error);
    }
    let finish = lock(&finish).take();
    let mut finish = finish.expect("a process says how it ended when it goes");
    if let Outcome::Deadlock(report) = &run.outcome
        && report.waiting.iter().filter(|waits| waits.held_up).all(|waits| waits.context == format!("cpu.{PROGRAM}"))
    {
        finish.end = End::Deadlock { threads: std::mem::take(&mut finish.threads) };
    }
    let drained: Option<Drained> = lock(&drained).take();
    let drained = drained.filter(|_| run.outcome == Outcome::Finished).map(|mut drained| {
        drained.frames = with_devices(&drained, &memories.all());
        drained
    });
    Ok((finish, run, drained))
}

/// The memory of the host as the process has it, and the memories of GPUs as the machine has them.
fn with_devices(drained: &Drained, machine: &Frames) -> Frames {
    let mut all = Frames::new();
    let is_host = |at: PhysAddr| Zone::of(at) == Zone::Host;
    for (at, bytes) in drained.frames.pieces(PAGE).filter(|(at, _)| is_host(*at)) {
        all.write(at, bytes);
    }
    for (at, bytes) in machine.pieces(PAGE) {
        let at = if drained.apart { Zone::Gpu(0).base() + Bytes(at.0) } else { at };
        if !is_host(at) {
            all.write(at, bytes);
        }
    }
    all
}

/// The results of two parts of a run, the second of which began when the first had ended.
fn joined(first: Option<Run>, second: Run) -> Run {
    let Some(mut run) = first else { return second };
    let begun = run.end;
    run.regions.extend(second.regions.into_iter().map(|mut region| {
        (region.start, region.end) = (begun + region.start, begun + region.end);
        region
    }));
    run.outcome = second.outcome;
    run.end = begun + second.end;
    run.events += second.events;
    run.pressure.extend(second.pressure);
    run
}
