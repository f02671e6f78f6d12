//! Kernels: their code for each kind of device, and their arguments.

use super::DeviceMemory;
use std::{borrow::Cow, sync::Arc};

/// A kernel written as a Rust closure, for the simulated device.
pub type NativeCode = Arc<dyn Fn(&mut Native<'_>) + Send + Sync>;

/// A kernel's name and its code for one or more kinds of devices.
#[derive(Clone, Default)]
pub struct KernelSource {
    pub name: String,
    pub ptx: Option<Cow<'static, str>>,
    pub opencl: Option<Cow<'static, str>>,
    pub native: Option<NativeCode>,
}

impl KernelSource {
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Code for CUDA devices, as PTX text.
    #[must_use]
    pub fn ptx(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.ptx = Some(text.into());
        self
    }

    /// Code for OpenCL devices, as OpenCL C.
    #[must_use]
    pub fn opencl(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.opencl = Some(text.into());
        self
    }

    /// Code for the simulated device.
    #[must_use]
    pub fn native(mut self, code: impl Fn(&mut Native<'_>) + Send + Sync + 'static) -> Self {
        self.native = Some(Arc::new(code));
        self
    }
}

/// A kernel that a device has loaded.
#[derive(Clone)]
pub enum KernelHandle {
    /// A number assigned by the device.
    Loaded(u64),
    Native(NativeCode),
}

/// A plain value as a kernel's argument: at most 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    bytes: [u8; 16],
    len: usize,
}

impl Value {
    /// A value from its bytes; `None` if there are more than 16.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut kept = [0; 16];
        kept.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self { bytes: kept, len: bytes.len() })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

macro_rules! value_from {
    ($($kind:ty)*) => {$(
        impl From<$kind> for Value {
            fn from(value: $kind) -> Self {
                Self::from_bytes(&value.to_ne_bytes()).expect("no number has more than 16 bytes")
            }
        }
    )*};
}
value_from!(u8 i8 u16 i16 u32 i32 u64 i64 usize isize f32 f64);

/// An argument of a launch.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// A pointer into device memory.
    Memory {
        memory: DeviceMemory,
        offset: usize,
    },
    Value(Value),
}

/// The parameters of a native kernel.
pub struct Native<'a> {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// For each memory argument, in order, the device's bytes from the argument's offset on.
    pub memory: Vec<&'a mut [u8]>,
    /// The other arguments, in order.
    pub values: Vec<Value>,
}

impl Native<'_> {
    /// Number of threads of the launch.
    pub fn threads(&self) -> usize {
        self.grid.iter().chain(&self.block).map(|&n| n as usize).product()
    }

    /// The bytes of a plain argument.
    ///
    /// # Panics
    /// If there is no such argument or it has another size: a bug in the kernel.
    pub fn value<const N: usize>(&self, index: usize) -> [u8; N] {
        self.values[index].bytes().try_into().expect("the kernel and its caller agree on the size of an argument")
    }
}
