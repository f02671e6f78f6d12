//! Kernels and their calls.

use super::{Pod, Shared};
use crate::{
    Runtime,
    accel::{Argument, KernelHandle, KernelSource, Value},
    device::{Device, Flight, Launch, Mode, lock},
    error::{Error, Result},
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

    /// A call with `grid` groups of `block` threads; arguments follow in the kernel's order.
    pub fn call(&self, grid: impl Into<Dim>, block: impl Into<Dim>) -> Call<'_> {
        let (grid, block) = (grid.into().0, block.into().0);
        Call {
            kernel: self,
            grid,
            block,
            arguments: Vec::new(),
            objects: Vec::new(),
            device: None,
            borrowed: PhantomData,
        }
    }

    pub(crate) fn on(&self, device: &Device) -> Result<KernelHandle> {
        let mut loaded = lock(&self.loaded);
        if let Some(handle) = loaded.get(&device.index) {
            return Ok(handle.clone());
        }
        let handle = device.accel.load(&self.source)?;
        loaded.insert(device.index, handle.clone());
        Ok(handle)
    }

    pub fn name(&self) -> &str {
        &self.source.name
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }
}

/// A call in the making. It borrows what the kernel will use.
#[must_use = "nothing runs before launch()"]
pub struct Call<'a> {
    kernel: &'a Kernel,
    grid: [u32; 3],
    block: [u32; 3],
    arguments: Vec<Argument>,
    objects: Vec<(Arc<Object>, Mode)>,
    device: Option<Result<Arc<Device>>>,
    borrowed: PhantomData<&'a mut ()>,
}

impl<'a> Call<'a> {
    /// The kernel reads it; the CPU may go on reading it too.
    pub fn read<T: Pod>(self, shared: &'a Shared<[T]>) -> Self {
        self.object(shared, Mode::Reads)
    }

    /// The kernel may read and write it.
    pub fn write<T: Pod>(self, shared: &'a mut Shared<[T]>) -> Self {
        self.object(shared, Mode::Writes)
    }

    /// A plain value.
    pub fn value(mut self, value: impl Into<Value>) -> Self {
        self.arguments.push(Argument::Value(value.into()));
        self
    }

    fn object<T: Pod>(mut self, shared: &Shared<[T]>, mode: Mode) -> Self {
        let device = match self.device.take() {
            None => Ok(Arc::clone(shared.device())),
            Some(Ok(device)) if !Arc::ptr_eq(&device, shared.device()) => {
                let (one, other) = (device.accel.name(), shared.device().accel.name());
                Err(Error::TwoDevices { one, other })
            }
            Some(other) => other,
        };
        self.device = Some(device);
        self.arguments.push(Argument::Memory { memory: shared.object().memory, offset: 0 });
        self.objects.push((Arc::clone(shared.object()), mode));
        self
    }

    /// Starts the kernel. Its objects stay borrowed until the call has been synchronised.
    pub fn launch(self) -> Result<InFlight<'a>> {
        let device = match self.device {
            Some(device) => device?,
            // A kernel without objects runs on the first device.
            None => Arc::clone(self.kernel.runtime().device(0)?),
        };
        let handle = self.kernel.on(&device)?;
        let Self { grid, block, arguments, objects, .. } = self;
        let flight = device.call(Launch { kernel: &handle, grid, block, arguments: &arguments, objects })?;
        Ok(InFlight { device, flight, borrowed: PhantomData })
    }
}

/// A call that has not been synchronised. Dropping it waits too, but can't tell of an error.
#[must_use = "an error of the kernel is told by sync()"]
pub struct InFlight<'a> {
    device: Arc<Device>,
    flight: Arc<Flight>,
    borrowed: PhantomData<&'a mut ()>,
}

impl InFlight<'_> {
    /// Waits for the kernel's end and takes its objects back.
    pub fn sync(self) -> Result<()> {
        let result = self.device.sync(&self.flight);
        let mut this = mem::ManuallyDrop::new(self);
        // SAFETY: each field is dropped once; `this` is not used again.
        unsafe {
            std::ptr::drop_in_place(&raw mut this.device);
            std::ptr::drop_in_place(&raw mut this.flight);
        }
        result
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.device.sync(&self.flight) {
            eprintln!("adsm: a call that nobody synchronised failed: {error}");
        }
    }
}
