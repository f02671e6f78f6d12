//! A machine whose host only sets up kernels: buffers and arguments lie in the memory of a functional GPU.
//!
//! That memory and the machine's memory are kept in step at kernel boundaries, as for any host outside the machine. The
//! host itself takes no simulated time.

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

/// A machine, and the set-up of its kernels.
pub struct RustHost {
    session: Session,
    /// Maximum wavefronts in flight.
    wavefronts: u64,
}

/// Why a kernel did not complete.
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

    /// Runs a kernel after the one before has ended. It works on the memory of `gpu` and leaves its results there.
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

    pub fn finish(self) -> Run {
        self.session.finish()
    }
}
