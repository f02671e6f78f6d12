//! A machine of `machine` as a [`Gpu`]: right results, and how long they took.

use crate::{
    functional::Functional,
    gpu::{Arg, Buffer, Gpu, GpuError, NdRange},
};
use engine::{Outcome, Run};
use machine::{
    Machine, Options, Work,
    work::{self, take_back},
};
use mem::Bytes;
use rustix::time::{ClockId, clock_gettime};
use std::{num::NonZero, time::Duration};

/// A machine with one code object. Each launch is a run of the machine that starts with cold caches.
pub struct Timed {
    staging: Functional,
    machine: Machine,
    options: Options,
    runs: Vec<Run>,
    cpu_time: Duration,
}

/// Processor time of this process so far.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

impl Timed {
    /// A machine with empty memory but for `object`.
    pub fn new(object: &[u8], machine: Machine, options: Options) -> Result<Self, GpuError> {
        let staging = Functional::new(object, NonZero::<usize>::MIN)?;
        Ok(Self { staging, machine, options, runs: Vec::new(), cpu_time: Duration::ZERO })
    }

    /// Processor time that the simulation of the launches so far has taken on this computer.
    pub fn cpu_time(&self) -> Duration {
        self.cpu_time
    }

    /// What each launch so far has brought.
    pub fn runs(&self) -> &[Run] {
        &self.runs
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
        let staged = Work::stage(gpu, program, dispatch, 1, &self.machine)?;
        let start = cpu_time();
        let finished = work::run(&self.machine, staged, &self.options);
        self.cpu_time += cpu_time() - start;
        if finished.run.outcome != Outcome::Finished {
            return Err(finished.run.outcome.to_string().into());
        }
        take_back(gpu, &finished.memory)?;
        self.runs.push(finished.run);
        Ok(())
    }
}
