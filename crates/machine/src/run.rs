//! A whole program on a machine with a CPU: host code in time, kernels in time, one memory.

use crate::{
    golden::Kept,
    program::{Finish, Inside},
    session::{Options, run_options},
    spec::Machine,
    system::{self, Agents, Memories},
};
use engine::Run;
use os::{Process, forward::FastForward, opencl::Usage, process::StartError};
use std::{
    cell::RefCell,
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
};

/// Makes the process, whose driver is given the GPUs, and says where that counts what they do.
type Make = Box<dyn FnOnce(&Inside) -> Result<(Process, Rc<RefCell<Usage>>), StartError> + Send>;

/// A program that is to be started once the machine is built.
pub(crate) struct Start {
    make: Make,
    refused: Arc<Mutex<Option<StartError>>>,
    /// Where its part in time begins.
    pub forward: Option<FastForward>,
    pub finish: Arc<Mutex<Option<Finish>>>,
}

impl Start {
    /// The process; none if it can't be started, and then whoever runs the machine is told why.
    pub fn process(self, gpus: &Inside) -> Option<(Process, Rc<RefCell<Usage>>)> {
        match (self.make)(gpus) {
            Ok(process) => Some(process),
            Err(error) => {
                *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                None
            }
        }
    }
}

/// Runs a program on a machine.
pub fn run(
    machine: &Machine,
    options: &Options,
    make: impl FnOnce(&Inside) -> Result<(Process, Rc<RefCell<Usage>>), StartError> + Send + 'static,
) -> Result<(Finish, Run), StartError> {
    let (refused, finish) = (Arc::default(), Arc::default());
    let (make, forward) = (Box::new(make), options.forward);
    let start = Start { make, refused: Arc::clone(&refused), forward, finish: Arc::clone(&finish) };
    let memories = Memories::new(machine);
    let kept = options.check.then(Kept::default);
    let run = system::build(machine, &memories, kept, Agents::Program(start)).run(&run_options(options));
    let taken = |error: &Mutex<Option<StartError>>| error.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(error) = taken(&refused) {
        return Err(error);
    }
    let finish = finish.lock().unwrap_or_else(PoisonError::into_inner).take();
    Ok((finish.expect("a process says how it ended when it goes"), run))
}
