//! A machine whose host only sets the stage: buffers and arguments lie in the memory of a functional GPU.
//!
//! That memory and the machine's are kept in step, as those of a program and its machine are; the host itself takes no time.

use crate::{
    memory_sync,
    session::{Broken, Ended, Launch, Options, Session},
    spec::Machine,
};
use engine::{Run, Time};
use gcn3::{
    dispatch::Dispatch,
    functional::{Gpu, LaunchError, Program},
};
use gpu::{AddressMap, Kernel};
use mem::{Bytes, VirtAddr};
use std::sync::Arc;
use thiserror::Error;

/// A machine, and the stage for its kernels.
pub struct RustHost {
    session: Session,
    /// Wavefronts that can be under way at a time.
    wavefronts: u64,
}

/// Why a kernel has not come to its end.
#[derive(Debug, Error)]
pub enum RustHostError {
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error(transparent)]
    Broken(#[from] Broken),
}

impl RustHost {
    pub fn new(machine: &Machine, options: &Options) -> Self {
        Self { session: Session::start(machine, options), wavefronts: machine.wavefronts() }
    }

    /// Runs a kernel as soon as the one before has ended, on what lies in the memory of `gpu`, and leaves its results there.
    pub fn launch(&mut self, gpu: &mut Gpu, program: &Program, dispatch: Dispatch) -> Result<Ended, RustHostError> {
        let places = gpu.stage(program, &dispatch, self.wavefronts)?;
        let code = Arc::clone(program.code_of(dispatch.kernel())?);
        let map = Arc::new(AddressMap::new(gpu.memory.regions()));
        let regions: Vec<(VirtAddr, Bytes)> = gpu.memory.regions().map(|(base, size, _)| (base, size)).collect();
        memory_sync::push(&mut self.session, &regions, |address, bytes| gpu.memory.read(address, bytes).is_ok());
        let kernel = Kernel { dispatch, places, code };
        let ended = self.session.launch(Launch { kernel, map, at: Time::ZERO })?;
        let changes =
            memory_sync::pull(&self.session, &regions, |address, bytes| gpu.memory.read(address, bytes).is_ok());
        for (address, bytes) in changes {
            gpu.memory.write(address, &bytes).map_err(LaunchError::from)?;
        }
        for part in [places.kernarg, places.packet, places.queue, places.scratch] {
            gpu.memory.unmap(part);
        }
        Ok(ended)
    }

    /// Ends the run.
    pub fn finish(self) -> Run {
        self.session.finish()
    }
}
