//! The functional GPU that a kernel is launched on, with a code object in its memory.

use gcn3::{
    dispatch::Dispatch,
    functional::{self, Options, Program},
    object::{CodeObject, Function},
};
use machine::{Ended, RustHost, RustHostError};
use mem::{Bytes, VirtAddr};
use miette::{IntoDiagnostic, WrapErr};

/// A functional GPU with one program.
pub struct Gpu {
    gpu: functional::Gpu,
    program: Program,
    printf: Option<Buffer>,
}

/// A buffer in global memory.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    pub address: VirtAddr,
    pub size: usize,
}

impl Gpu {
    pub fn new(object: &CodeObject) -> miette::Result<Gpu> {
        let mut gpu = functional::Gpu::new();
        let program = gpu.load(object).into_diagnostic()?;
        let mut gpu = Gpu { gpu, program, printf: None };
        // The library's printf finds a full buffer and continues.
        let calls = |function: &Function| function.name == "__printf_alloc";
        if !object.printf_formats().is_empty() || object.functions().iter().any(calls) {
            gpu.printf = Some(gpu.allocate(&[0; 8])?);
        }
        Ok(gpu)
    }

    /// Whether some code of the program calls `printf`.
    pub fn prints(&self) -> bool {
        self.printf.is_some()
    }

    /// Allocates a buffer with these contents.
    pub fn allocate(&mut self, contents: &[u8]) -> miette::Result<Buffer> {
        let address = self.gpu.alloc(Bytes(contents.len() as u64)).into_diagnostic()?;
        self.gpu.memory.write(address, contents).into_diagnostic()?;
        Ok(Buffer { address, size: contents.len() })
    }

    /// The current contents of a buffer.
    pub fn read(&self, buffer: Buffer) -> miette::Result<Vec<u8>> {
        let mut bytes = vec![0; buffer.size];
        self.gpu.memory.read(buffer.address, &mut bytes).into_diagnostic()?;
        Ok(bytes)
    }

    /// Runs a kernel to its end on a machine, timed.
    pub fn launch_on(&mut self, machine: &mut RustHost, dispatch: &Dispatch) -> Result<Ended, RustHostError> {
        let dispatch = self.with_printf(dispatch);
        machine.launch(&mut self.gpu, &self.program, dispatch)
    }

    fn with_printf(&self, dispatch: &Dispatch) -> Dispatch {
        match self.printf {
            Some(buffer) => dispatch.clone().with_printf_buffer(buffer.address),
            None => dispatch.clone(),
        }
    }

    /// Runs a kernel to its end; returns the number of wavefront instructions.
    pub fn launch(&mut self, dispatch: &Dispatch, options: Options) -> miette::Result<u64> {
        let dispatch = self.with_printf(dispatch);
        let run = self.gpu.launch(&self.program, &dispatch, options).into_diagnostic();
        Ok(run.wrap_err("the launch failed")?.instructions)
    }
}
