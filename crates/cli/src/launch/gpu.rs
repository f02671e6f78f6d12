//! The GPU a kernel is launched on: the functional one, with a code object in its memory.

use gcn3::{
    dispatch::Dispatch,
    functional::{self, Options, Program},
    object::CodeObject,
};
use mem::{Bytes, VirtAddr};
use miette::{IntoDiagnostic, WrapErr};

/// Bytes that `printf` may write in one run.
const PRINTF_BYTES: u64 = 1 << 20;

/// A functional GPU with one program.
pub struct Gpu {
    gpu: functional::Gpu,
    program: Program,
    printf: Option<Buffer>,
}

/// A piece of global memory.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    pub address: VirtAddr,
    size: usize,
}

impl Gpu {
    pub fn new(object: &CodeObject) -> miette::Result<Gpu> {
        let mut gpu = functional::Gpu::new();
        let program = gpu.load(object).into_diagnostic()?;
        let mut gpu = Gpu { gpu, program, printf: None };
        // The library's printf takes its room from here.
        if object.functions().iter().any(|function| function.name == "__printf_alloc") {
            let mut contents = vec![0; PRINTF_BYTES as usize];
            contents[4..8].copy_from_slice(&(PRINTF_BYTES as u32 - 8).to_le_bytes());
            gpu.printf = Some(gpu.allocate(&contents)?);
        }
        Ok(gpu)
    }

    /// Whether some code of the program prints.
    pub fn prints(&self) -> bool {
        self.printf.is_some()
    }

    /// Puts a buffer into memory.
    pub fn allocate(&mut self, contents: &[u8]) -> miette::Result<Buffer> {
        let address = self.gpu.alloc(Bytes(contents.len() as u64)).into_diagnostic()?;
        self.gpu.memory.write(address, contents).into_diagnostic()?;
        Ok(Buffer { address, size: contents.len() })
    }

    /// What a buffer holds now.
    pub fn read(&self, buffer: Buffer) -> miette::Result<Vec<u8>> {
        let mut bytes = vec![0; buffer.size];
        self.gpu.memory.read(buffer.address, &mut bytes).into_diagnostic()?;
        Ok(bytes)
    }

    /// Runs a kernel to its end; answers with the wavefront instructions it took.
    pub fn launch(&mut self, dispatch: &Dispatch, threads: usize) -> miette::Result<u64> {
        let dispatch = match self.printf {
            Some(buffer) => dispatch.clone().with_printf_buffer(buffer.address),
            None => dispatch.clone(),
        };
        let options = Options { threads, ..Options::default() };
        let run = self.gpu.launch(&self.program, &dispatch, options).into_diagnostic();
        Ok(run.wrap_err("the launch failed")?.instructions)
    }

    /// The formats of what was printed, in the order in which it was. Their arguments the compiler has not kept.
    pub fn printed(&self) -> miette::Result<String> {
        let Some(buffer) = self.printf else { return Ok(String::new()) };
        let bytes = self.read(buffer)?;
        let used = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
        let records = bytes.get(8..8 + used).unwrap_or_default().chunks_exact(8);
        let mut text = String::new();
        for record in records {
            let format = u64::from_le_bytes(record.try_into().expect("a chunk of eight bytes has eight"));
            text.push_str(&self.text_at(VirtAddr(format)));
        }
        Ok(text)
    }

    /// The text that ends with the next zero byte.
    fn text_at(&self, address: VirtAddr) -> String {
        let mut bytes = Vec::new();
        let mut byte = [0];
        while bytes.len() < 4096 {
            let place = address + Bytes(bytes.len() as u64);
            match self.gpu.memory.read(place, &mut byte) {
                Ok(()) if byte[0] != 0 => bytes.push(byte[0]),
                _ => break,
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
