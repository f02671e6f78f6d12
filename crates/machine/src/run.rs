//! Runs a whole program on a machine: host code on its cores or on a host outside it, with timed kernels.

use crate::{
    build::{self, Agents, Memories},
    energy,
    golden::Kept,
    program::{Finish, ModelGpus},
    session::{Options, run_options},
    spec::Machine,
};
use engine::{Outcome, Run};
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
}

impl Start {
    /// The process; `None` if it can't be started. In that case [`run`] returns the reason and no machine is built.
    pub fn process(self, gpus: &ModelGpus) -> Option<(Process, Rc<RefCell<Usage>>)> {
        match (self.make)(gpus) {
            Ok(process) => Some(process),
            Err(error) => {
                *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                None
            }
        }
    }
}

/// Name of the context that ends with the program.
pub(crate) const PROGRAM: &str = "program";

/// Runs a program on a machine. If all hardware is idle and the program still waits, the program has a deadlock.
pub fn run(
    machine: &Machine,
    options: &Options,
    make: impl FnOnce(&ModelGpus) -> Result<(Process, Rc<RefCell<Usage>>), StartError> + Send + 'static,
) -> Result<(Finish, Run), StartError> {
    let (refused, finish) = (Arc::default(), Arc::default());
    let (make, forward) = (Box::new(make), options.forward);
    let start = Start { make, refused: Arc::clone(&refused), forward, finish: Arc::clone(&finish) };
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
    let taken = |error: &Mutex<Option<StartError>>| error.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(error) = taken(&refused) {
        return Err(error);
    }
    let finish = finish.lock().unwrap_or_else(PoisonError::into_inner).take();
    let mut finish = finish.expect("a process says how it ended when it goes");
    if let Outcome::Deadlock(report) = &run.outcome
        && report.waiting.iter().filter(|waits| waits.held_up).all(|waits| waits.context == format!("cpu.{PROGRAM}"))
    {
        finish.end = End::Deadlock { threads: std::mem::take(&mut finish.threads) };
    }
    Ok((finish, run))
}
