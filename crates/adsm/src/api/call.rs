//! Kernels and their calls.

use super::{Pod, Shared};
use crate::{
    Runtime,
    accel::{KernelHandle, KernelSource, Value},
    error::{Error, Result},
    host::{Flight, Given, Host, Launch, Mode, lock},
    memory::Object,
};
use std::{
    collections::BTreeMap,
    marker::PhantomData,
    mem,
    sync::{Arc, Mutex},
};

/// A size in up to three dimensions: `64`, `(8, 8)`, `[4, 4, 4]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim(pub [u32; 3]);

impl From<u32> for Dim {
    fn from(x: u32) -> Self {
        Self([x, 1, 1])
    }
}

impl From<(u32, u32)> for Dim {
    fn from((x, y): (u32, u32)) -> Self {
        Self([x, y, 1])
    }
}

impl From<[u32; 3]> for Dim {
    fn from(all: [u32; 3]) -> Self {
        Self(all)
    }
}

/// A kernel of a runtime.
pub struct Kernel {
    runtime: Runtime,
    source: KernelSource,
    loaded: Mutex<BTreeMap<usize, KernelHandle>>,
}

impl Kernel {
    pub(crate) fn new(runtime: Runtime, source: KernelSource) -> Self {
        Self { runtime, source, loaded: Mutex::default() }
    }

    /// Builds a call with `grid` groups of `block` threads; arguments follow in the kernel's order.
    pub fn call(&self, grid: impl Into<Dim>, block: impl Into<Dim>) -> Call<'_> {
        let (grid, block) = (grid.into().0, block.into().0);
        Call {
            kernel: self,
            grid,
            block,
            arguments: Vec::new(),
            objects: Vec::new(),
            device: None,
            foreign: None,
            borrowed: PhantomData,
        }
    }

    pub(crate) fn on(&self, device: usize) -> Result<KernelHandle> {
        let mut loaded = lock(&self.loaded);
        if let Some(handle) = loaded.get(&device) {
            return Ok(handle.clone());
        }
        let handle = self.runtime.host().accels[device].load(&self.source)?;
        loaded.insert(device, handle.clone());
        Ok(handle)
    }

    pub fn name(&self) -> &str {
        &self.source.name
    }
}

/// A call being built. It borrows the objects that the kernel will use.
#[must_use = "nothing runs before launch()"]
pub struct Call<'a> {
    kernel: &'a Kernel,
    grid: [u32; 3],
    block: [u32; 3],
    arguments: Vec<Given>,
    objects: Vec<(Arc<Object>, Mode)>,
    device: Option<usize>,
    /// The address of an object of another runtime, which this one can't use.
    foreign: Option<usize>,
    borrowed: PhantomData<&'a mut ()>,
}

impl<'a> Call<'a> {
    /// Adds an object that the kernel reads; the CPU may still read it too.
    pub fn read<T: Pod>(self, shared: &'a Shared<[T]>) -> Self {
        self.object(shared, Mode::Reads)
    }

    /// Adds an object that the kernel may read and write.
    pub fn write<T: Pod>(self, shared: &'a mut Shared<[T]>) -> Self {
        self.object(shared, Mode::Writes)
    }

    /// Adds a plain value.
    pub fn value(mut self, value: impl Into<Value>) -> Self {
        self.arguments.push(Given::Value(value.into()));
        self
    }

    /// Runs the kernel on this device instead of the policy's choice.
    pub fn on(mut self, device: usize) -> Self {
        self.device = Some(device);
        self
    }

    fn object<T: Pod>(mut self, shared: &Shared<[T]>, mode: Mode) -> Self {
        if !Arc::ptr_eq(shared.host(), self.kernel.runtime.host()) {
            self.foreign = Some(shared.object().base());
        }
        self.arguments.push(Given::Shared(Arc::clone(shared.object()), 0));
        self.objects.push((Arc::clone(shared.object()), mode));
        self
    }

    /// Starts the kernel. Its objects stay borrowed until the call has been synchronised.
    pub fn launch(self) -> Result<InFlight<'a>> {
        let Self { kernel, grid, block, arguments, objects, device, foreign, .. } = self;
        if let Some(address) = foreign {
            return Err(Error::Foreign { address, freed: false });
        }
        let host = Arc::clone(kernel.runtime.host());
        let device = host.choose(&objects, device)?;
        let handle = kernel.on(device)?;
        let flight = host.call(device, Launch { kernel: &handle, grid, block, arguments: &arguments, objects })?;
        Ok(InFlight { host, flight, borrowed: PhantomData })
    }
}

/// A call that has not been synchronised. Dropping it waits too, but can't report an error.
#[must_use = "sync() reports errors of the kernel"]
pub struct InFlight<'a> {
    host: Arc<Host>,
    flight: Arc<Flight>,
    borrowed: PhantomData<&'a mut ()>,
}

impl InFlight<'_> {
    /// The device on which it runs.
    pub fn device(&self) -> usize {
        self.flight.device
    }

    /// Waits for the kernel's end and acquires its objects.
    pub fn sync(self) -> Result<()> {
        let result = self.host.sync(&self.flight);
        let mut this = mem::ManuallyDrop::new(self);
        // SAFETY: each field is dropped once; `this` is not used again.
        unsafe {
            std::ptr::drop_in_place(&raw mut this.host);
            std::ptr::drop_in_place(&raw mut this.flight);
        }
        result
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.host.sync(&self.flight) {
            eprintln!("adsm: a call that was never synchronised failed: {error}");
        }
    }
}
