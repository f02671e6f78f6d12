//! A machine of `machine` as a [`Gpu`]: it gives right results, and their times.

use crate::{
    functional::Functional,
    gpu::{Arg, Buffer, Gpu, GpuError, NdRange},
};
use engine::{Outcome, Run, Time};
use gpu::{AddressMap, Kernel};
use machine::{Ended, Launch, Machine, Options, Session};
use mem::{Bytes, PhysAddr};
use rustix::time::{ClockId, clock_gettime};
use std::{
    collections::BTreeSet,
    num::NonZero,
    sync::Arc,
    time::{Duration, Instant},
};

/// A machine with one code object, which lives from the first launch to the last.
pub struct Timed {
    /// Assigns addresses, and holds code and arguments; the contents of buffers are only in the machine's memory.
    staging: Functional,
    session: Session,
    /// Maximum number of resident wavefronts.
    waves: u64,
    /// The regions of `staging` that have been copied to the machine's memory.
    placed: BTreeSet<u64>,
    cpu_time: Duration,
    wall_time: Duration,
    last: Option<Ended>,
}

/// Processor time of this process.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

impl Timed {
    /// A machine whose memory holds only `object`.
    pub fn new(object: &[u8], machine: &Machine, options: &Options) -> Result<Self, GpuError> {
        let staging = Functional::new(object, NonZero::<usize>::MIN)?;
        let start = cpu_time();
        let session = Session::start(machine, options);
        let (waves, placed, cpu_time) = (machine.wavefronts(), BTreeSet::new(), cpu_time() - start);
        Ok(Self { staging, session, waves, placed, cpu_time, wall_time: Duration::ZERO, last: None })
    }

    /// Wall time of the kernels.
    pub fn wall_time(&self) -> Duration {
        self.wall_time
    }

    /// Processor time of the simulation.
    pub fn cpu_time(&self) -> Duration {
        self.cpu_time
    }

    /// When the last kernel started and ended.
    pub fn last(&self) -> Option<Ended> {
        self.last
    }

    /// Ends the run; returns the results of all launches.
    pub fn finish(self) -> Result<Run, GpuError> {
        let run = self.session.finish();
        if run.outcome == Outcome::Finished { Ok(run) } else { Err(run.outcome.to_string().into()) }
    }

    /// Copies what a launch needs besides its buffers into the machine's memory: code, arguments, packet.
    fn place(&mut self) -> Result<(), GpuError> {
        let memory = &self.staging.gpu.memory;
        for (base, size, _) in memory.regions().filter(|(base, ..)| self.placed.insert(base.0)) {
            let mut bytes = vec![0; size.0 as usize];
            memory.read(base, &mut bytes)?;
            self.session.write(PhysAddr(base.0), &bytes);
        }
        Ok(())
    }
}

impl Gpu for Timed {
    fn alloc(&mut self, size: Bytes) -> Result<Buffer, GpuError> {
        let buffer = self.staging.alloc(size)?;
        self.placed.insert(self.staging.place(buffer, 0)?.0);
        Ok(buffer)
    }

    fn write(&mut self, buffer: Buffer, bytes: &[u8]) -> Result<(), GpuError> {
        let place = self.staging.place(buffer, bytes.len())?;
        self.session.write(PhysAddr(place.0), bytes);
        Ok(())
    }

    fn read(&mut self, buffer: Buffer, bytes: &mut [u8]) -> Result<(), GpuError> {
        let place = self.staging.place(buffer, bytes.len())?;
        self.session.read(PhysAddr(place.0), bytes);
        Ok(())
    }

    fn launch(&mut self, kernel: &str, range: NdRange, args: &[Arg]) -> Result<(), GpuError> {
        let dispatch = self.staging.dispatch(kernel, range, args)?;
        let Functional { gpu, program, .. } = &mut self.staging;
        let places = gpu.stage(program, &dispatch, self.waves)?;
        let code = Arc::clone(program.code_of(dispatch.kernel())?);
        let map = Arc::new(AddressMap::new(gpu.memory.regions()));
        self.place()?;
        let (start, begun) = (cpu_time(), Instant::now());
        let launch = Launch { kernel: Kernel { dispatch, places, code }, map, at: Time::ZERO };
        self.last = Some(self.session.launch(launch)?);
        self.cpu_time += cpu_time() - start;
        self.wall_time += begun.elapsed();
        Ok(())
    }
}
