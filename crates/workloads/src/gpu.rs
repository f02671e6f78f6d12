//! The interface between a workload and a GPU: buffers, copies and launches, independent of the implementation.

use std::error::Error;

use mem::Bytes;

/// A GPU that holds one program (the workload's kernels).
/// Launches are performed in order, each after all earlier operations are visible; `read` returns what the launches so
/// far have written. This corresponds to an in-order OpenCL queue with blocking transfers.
pub trait Gpu {
    /// Allocates `size` bytes of the GPU's memory. Their initial contents are undefined.
    fn alloc(&mut self, size: Bytes) -> Result<Buffer, GpuError>;

    /// Copies `bytes` to the start of `buffer`.
    fn write(&mut self, buffer: Buffer, bytes: &[u8]) -> Result<(), GpuError>;

    /// Copies the first bytes of `buffer` into `bytes`.
    fn read(&mut self, buffer: Buffer, bytes: &mut [u8]) -> Result<(), GpuError>;

    /// Runs a kernel over `range` to its end.
    fn launch(&mut self, kernel: &str, range: NdRange, args: &[Arg]) -> Result<(), GpuError>;
}

/// Why a GPU could not execute a request; the text comes from the implementation.
pub type GpuError = Box<dyn Error + Send + Sync>;

/// A buffer in a GPU's memory: the n-th allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Buffer(pub usize);

/// The work-items of a launch and how they are grouped. Each grid dimension is a multiple of the group's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NdRange {
    /// Work-items in each dimension.
    pub grid: [u32; 3],
    /// Work-items of one workgroup in each dimension.
    pub group: [u32; 3],
}

impl NdRange {
    /// A line of at least `items` work-items: rounded up to whole groups.
    pub fn line(items: usize, group: u32) -> Self {
        Self { grid: [round_up(items, group), 1, 1], group: [group, 1, 1] }
    }

    /// A plane of at least `width * height` work-items: rounded up to whole groups.
    pub fn plane(width: usize, height: usize, group: [u32; 2]) -> Self {
        Self::space([width, height, 1], [group[0], group[1], 1])
    }

    /// A space of at least these many work-items in each dimension: rounded up to whole groups.
    pub fn space(items: [usize; 3], group: [u32; 3]) -> Self {
        Self { grid: std::array::from_fn(|d| round_up(items[d], group[d])), group }
    }
}

fn round_up(items: usize, group: u32) -> u32 {
    u32::try_from(items).expect("a workload's grid fits 32 bits").next_multiple_of(group)
}

/// One argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arg {
    /// A pointer to a buffer.
    Buffer(Buffer),
    /// A pointer to this much local memory of the workgroup.
    Local(Bytes),
    /// A 32-bit signed integer.
    I32(i32),
    /// A 32-bit unsigned integer.
    U32(u32),
    /// A 32-bit float.
    F32(f32),
}

impl Arg {
    /// The bytes of an argument passed by value; `None` for pointers, whose values the GPU chooses.
    pub fn value(self) -> Option<[u8; 4]> {
        match self {
            Arg::Buffer(_) | Arg::Local(_) => None,
            Arg::I32(v) => Some(v.to_le_bytes()),
            Arg::U32(v) => Some(v.to_le_bytes()),
            Arg::F32(v) => Some(v.to_le_bytes()),
        }
    }
}

macro_rules! argument {
    ($($from:ty => $variant:ident),* $(,)?) => {
        $(impl From<$from> for Arg {
            fn from(value: $from) -> Self {
                Arg::$variant(value)
            }
        })*
    };
}
argument!(Buffer => Buffer, i32 => I32, u32 => U32, f32 => F32);

impl From<usize> for Arg {
    /// Counts and sizes are `uint` in every kernel here.
    fn from(value: usize) -> Self {
        Arg::U32(u32::try_from(value).expect("a workload's sizes fit 32 bits"))
    }
}

/// A number type stored in buffers, little-endian.
pub trait Element: Copy {
    /// The bytes of `values`, one after another.
    fn to_bytes(values: &[Self]) -> Vec<u8>;
    /// The values that lie in `bytes`, one after another.
    fn from_bytes(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! element {
    ($($number:ty),*) => {
        $(impl Element for $number {
            fn to_bytes(values: &[Self]) -> Vec<u8> {
                values.iter().flat_map(|v| v.to_le_bytes()).collect()
            }
            fn from_bytes(bytes: &[u8]) -> Vec<Self> {
                let (numbers, _) = bytes.as_chunks::<{ size_of::<$number>() }>();
                numbers.iter().map(|b| <$number>::from_le_bytes(*b)).collect()
            }
        })*
    };
}
element!(u8, i32, u32, u64, f32);

/// Typed transfers, for every [`Gpu`].
impl dyn Gpu + '_ {
    /// A new buffer that holds `values`.
    pub fn upload<T: Element>(&mut self, values: &[T]) -> Result<Buffer, GpuError> {
        let buffer = self.alloc_of::<T>(values.len())?;
        self.write(buffer, &T::to_bytes(values))?;
        Ok(buffer)
    }

    /// A new buffer for `count` values.
    pub fn alloc_of<T: Element>(&mut self, count: usize) -> Result<Buffer, GpuError> {
        self.alloc(Bytes((count * size_of::<T>()) as u64))
    }

    /// The first `count` values of `buffer`.
    pub fn download<T: Element>(&mut self, buffer: Buffer, count: usize) -> Result<Vec<T>, GpuError> {
        let mut bytes = vec![0; count * size_of::<T>()];
        self.read(buffer, &mut bytes)?;
        Ok(T::from_bytes(&bytes))
    }
}

/// Builds the arguments of a launch from plain values: `args![buffer, 3u32, 1.5f32]`.
macro_rules! args {
    ($($value:expr),* $(,)?) => { &[$($crate::gpu::Arg::from($value)),*] };
}
pub(crate) use args;
