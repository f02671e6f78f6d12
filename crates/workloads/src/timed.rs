//! A machine of `machine` as a [`Gpu`]: right results, and how long they took.

use crate::{
    functional::Functional,
    gpu::{Arg, Buffer, Gpu, GpuError, NdRange},
};
use engine::{Outcome, Run};
use machine::{Machine, Options, Staged};
use mem::Bytes;
use rustix::time::{ClockId, clock_gettime};
use std::{num::NonZero, time::Duration};

/// A machine with one code object. Caches keep what they hold from one launch to the next.
pub struct Timed {
    staging: Functional,
    machine: Staged,
    cpu_time: Duration,
}

/// Processor time of this process so far.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

impl Timed {
    /// A machine with empty memory but for `object`.
    pub fn new(object: &[u8], machine: &Machine, options: &Options) -> Result<Self, GpuError> {
        let staging = Functional::new(object, NonZero::<usize>::MIN)?;
        Ok(Self { staging, machine: Staged::new(machine, options), cpu_time: Duration::ZERO })
    }

    /// Processor time that the simulation of the launches so far has taken on this computer.
    pub fn cpu_time(&self) -> Duration {
        self.cpu_time
    }

    /// Ends the run: what all launches have brought.
    pub fn finish(self) -> Result<Run, GpuError> {
        let run = self.machine.finish();
        if run.outcome == Outcome::Finished { Ok(run) } else { Err(run.outcome.to_string().into()) }
    }
}

impl Gpu for Timed {
    fn alloc(&mut self, size: Bytes) -> Result<Buffer, GpuError> {
        self.staging.alloc(size)
    }

    fn write(&mut self, buffer: Buffer, bytes: &[u8]) -> Result<(), GpuError> {
        self.staging.write(buffer, bytes)
    }

    fn read(&mut self, buffer: Buffer, bytes: &mut [u8]) -> Result<(), GpuError> {
        self.staging.read(buffer, bytes)
    }

    fn launch(&mut self, kernel: &str, range: NdRange, args: &[Arg]) -> Result<(), GpuError> {
        let dispatch = self.staging.dispatch(kernel, range, args)?;
        let Functional { gpu, program, .. } = &mut self.staging;
        let start = cpu_time();
        let ended = self.machine.launch(gpu, program, dispatch);
        self.cpu_time += cpu_time() - start;
        ended?;
        Ok(())
    }
}
