//! The functional GPU of `gcn3` as a [`Gpu`]: it gives right results, and no times.

use std::{
    num::NonZero,
    time::{Duration, Instant},
};

use gcn3::{
    dispatch::{ArgumentValue, Dispatch},
    functional::{self, Options, Program},
    object::CodeObject,
};
use mem::{Bytes, VirtAddr};

use crate::gpu::{Arg, Buffer, Gpu, GpuError, NdRange};

/// A functional GPU that holds one code object.
pub struct Functional {
    pub(crate) gpu: functional::Gpu,
    object: CodeObject,
    pub(crate) program: Program,
    options: Options,
    buffers: Vec<(VirtAddr, Bytes)>,
    wave_instructions: u64,
    time: Duration,
}

impl Functional {
    /// A GPU whose memory holds only `object`, and whose workgroups run on `threads` threads.
    pub fn new(object: &[u8], threads: NonZero<usize>) -> Result<Self, GpuError> {
        let object = CodeObject::parse(object)?;
        let mut gpu = functional::Gpu::new();
        let program = gpu.load(&object)?;
        let options = Options { threads: threads.get(), ..Options::default() };
        Ok(Self { gpu, object, program, options, buffers: Vec::new(), wave_instructions: 0, time: Duration::ZERO })
    }

    /// Limits the instructions of each wavefront; a launch that exceeds the limit ends with an error.
    pub fn with_limit(mut self, instructions: u64) -> Self {
        self.options.limit = Some(instructions);
        self
    }

    /// Instructions that wavefronts have executed so far.
    pub fn wave_instructions(&self) -> u64 {
        self.wave_instructions
    }

    /// Wall time of the launches.
    pub fn time(&self) -> Duration {
        self.time
    }

    /// The address of a buffer, if it has at least `size` bytes.
    pub(crate) fn place(&self, buffer: Buffer, size: usize) -> Result<VirtAddr, GpuError> {
        match self.buffers.get(buffer.0) {
            Some((place, room)) if size as u64 <= room.0 => Ok(*place),
            Some((_, room)) => Err(format!("{size} bytes do not fit buffer {} of {room}", buffer.0).into()),
            None => Err(format!("there is no buffer {}", buffer.0).into()),
        }
    }

    /// A kernel with its grid and arguments.
    pub(crate) fn dispatch(&self, kernel: &str, range: NdRange, args: &[Arg]) -> Result<Dispatch, GpuError> {
        let mut dispatch = Dispatch::new(self.object.kernel(kernel)?, range.grid, range.group, [0; 3])?;
        let values = args.iter().map(|arg| self.argument(arg)).collect::<Result<Vec<_>, _>>()?;
        dispatch.set_arguments(&values)?;
        Ok(dispatch)
    }

    fn argument(&self, arg: &Arg) -> Result<ArgumentValue, GpuError> {
        Ok(match *arg {
            Arg::Buffer(buffer) => ArgumentValue::Pointer(self.place(buffer, 0)?),
            Arg::Local(size) => ArgumentValue::Local(u32::try_from(size.0)?),
            Arg::I32(value) => ArgumentValue::Bytes(value.to_le_bytes().to_vec()),
            Arg::U32(value) => ArgumentValue::Bytes(value.to_le_bytes().to_vec()),
            Arg::F32(value) => ArgumentValue::Bytes(value.to_le_bytes().to_vec()),
        })
    }
}

impl Gpu for Functional {
    fn alloc(&mut self, size: Bytes) -> Result<Buffer, GpuError> {
        self.buffers.push((self.gpu.alloc(size)?, size));
        Ok(Buffer(self.buffers.len() - 1))
    }

    fn write(&mut self, buffer: Buffer, bytes: &[u8]) -> Result<(), GpuError> {
        let place = self.place(buffer, bytes.len())?;
        Ok(self.gpu.memory.write(place, bytes)?)
    }

    fn read(&mut self, buffer: Buffer, bytes: &mut [u8]) -> Result<(), GpuError> {
        let place = self.place(buffer, bytes.len())?;
        Ok(self.gpu.memory.read(place, bytes)?)
    }

    fn launch(&mut self, kernel: &str, range: NdRange, args: &[Arg]) -> Result<(), GpuError> {
        let dispatch = self.dispatch(kernel, range, args)?;
        let start = Instant::now();
        let run = self.gpu.launch(&self.program, &dispatch, self.options)?;
        self.time += start.elapsed();
        self.wave_instructions += run.instructions;
        Ok(())
    }
}
