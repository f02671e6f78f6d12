//! What a machine is given to do, and how it comes from and goes back to a GPU without time.
//!
//! A host that does not run on the machine itself sets its buffers and arguments up in the memory of a functional GPU. What
//! lies there is what the machine's memory holds when it starts, and is replaced by what it holds in the end.

use crate::{
    session::{Launch, Options, Session},
    spec::Machine,
};
use engine::{Run, Time};
use gcn3::{
    dispatch::Dispatch,
    functional::{Gpu, LaunchError, Program},
};
use gpu::{AddressMap, Kernel};
use mem::{Frames, PhysAddr};
use std::sync::Arc;

/// Kernels and memory.
pub struct Work {
    /// One after another.
    pub kernels: Vec<Kernel>,
    /// What they may touch.
    pub map: AddressMap,
    /// What memory holds when they start.
    pub memory: Frames,
}

impl Work {
    /// A kernel, `repeat` times, on what lies in the memory of `gpu`.
    pub fn stage(
        gpu: &mut Gpu,
        program: &Program,
        dispatch: Dispatch,
        repeat: usize,
        machine: &Machine,
    ) -> Result<Self, LaunchError> {
        let waves = machine.compute_units() * machine.compute_unit.wavefronts();
        let places = gpu.stage(program, &dispatch, waves as u64)?;
        let code = Arc::clone(program.code_of(dispatch.kernel())?);
        let mut memory = Frames::new();
        for (base, size, _) in gpu.memory.regions() {
            let mut bytes = vec![0; size.0 as usize];
            gpu.memory.read(base, &mut bytes)?;
            memory.write(PhysAddr(base.0), &bytes);
        }
        let map = AddressMap::new(gpu.memory.regions());
        Ok(Self { kernels: vec![Kernel { dispatch, places, code }; repeat], map, memory })
    }
}

/// What came of a run.
pub struct Finished {
    pub run: Run,
    /// What memory holds now.
    pub memory: Frames,
}

/// Runs kernels on a machine, each as soon as the one before has ended.
pub fn run(machine: &Machine, work: Work, options: &Options) -> Finished {
    let mut session = Session::start(machine, options);
    for (address, bytes) in work.memory.pieces(PIECE) {
        session.write(address, bytes);
    }
    let map = Arc::new(work.map);
    for kernel in work.kernels {
        // What went wrong is in the run's outcome.
        if session.launch(Launch { kernel, map: Arc::clone(&map), gpu: None, at: Time::ZERO }).is_err() {
            break;
        }
    }
    let memory = session.memory();
    Finished { run: session.finish(), memory }
}

/// Bytes that are copied at a time.
const PIECE: u64 = 4096;

/// Puts what a machine left in its memory into that of `gpu`.
pub fn take_back(gpu: &mut Gpu, memory: &Frames) -> Result<(), LaunchError> {
    let regions: Vec<_> = gpu.memory.regions().collect();
    for (base, size, _) in regions {
        let mut bytes = vec![0; size.0 as usize];
        memory.read(PhysAddr(base.0), &mut bytes);
        gpu.memory.write(base, &bytes)?;
    }
    Ok(())
}
