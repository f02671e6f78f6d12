//! Memory operations that instructions request.
//!
//! Executing a memory instruction only determines *what* to access: the addresses of the active lanes, the size of each
//! lane's access, the stored data, and the destination registers. The result is a [`MemOp`] (vector accesses) or a
//! [`ScalarOp`] (scalar loads and stores). The component that drives the wavefront performs it, at once or many cycles
//! later and in any order, puts what was read into `data`, and passes the operation to
//! [`Wavefront::complete`](crate::wave::Wavefront::complete), which writes the registers.

use crate::exec::{image::Sampled, simd::Row};
pub use mem::AtomicOp;

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Load,
    Store,
    /// An atomic read-modify-write. `returns`: the old value goes to a register.
    Atomic {
        op: AtomicOp,
        returns: bool,
    },
}

/// The path of an access through the memory system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Buffers and other memory that all work-items can access.
    Global,
    /// Private memory of work-items, at its interleaved location in global memory.
    Scratch,
    /// Texels.
    Image,
}

/// The cache policy that the instruction requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Globally coherent: the access is performed at the shared L2, or fetches the line from it again.
    pub glc: bool,
    /// System-level coherent: streams past the L2.
    pub slc: bool,
}

/// How the data of a load is converted for the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// Words go to consecutive registers; narrower elements are zero-extended.
    Zero,
    /// An element of one byte is sign-extended.
    SignByte,
    /// An element of two bytes is sign-extended.
    SignShort,
}

/// The destination of a load's or returning atomic's data.
#[derive(Clone, Debug, PartialEq)]
pub enum Destination {
    /// None: stores and atomics without return.
    None,
    /// Consecutive vector registers, starting at the given one.
    Vgprs { first: u8, extension: Extension },
    /// Vector registers, after conversion from the buffer's or image's format and filtering.
    Texels { first: u8, sampled: Box<Sampled> },
}

/// A vector access: up to 64 lanes, each accessing `elements` elements of `element_bytes` bytes.
#[derive(Clone, Debug)]
pub struct MemOp {
    pub kind: Kind,
    pub space: Space,
    pub scope: Scope,
    /// Participating lanes.
    pub mask: u64,
    /// The address of the first element of each participating lane; other entries are arbitrary.
    pub addresses: Box<[u64; 64]>,
    /// 1, 2, 4 or 8 (8 for 64-bit atomics only: loads and stores access words).
    pub element_bytes: u8,
    pub elements: u8,
    /// The distance between elements of a lane: the size of an element, except in interleaved scratch.
    pub stride: u32,
    /// For filtered image reads: addresses of the further texels of each lane, each of `elements` elements.
    pub more: Vec<Box<[u64; 64]>>,
    /// Stores and atomics: the data to write. Loads and returning atomics: the data read, filled in by the component
    /// that performs the operation. One row per 32-bit word of a lane's data; elements narrower than a word are
    /// zero-extended.
    pub data: Vec<Row>,
    pub destination: Destination,
}

impl MemOp {
    /// An operation without lanes and data, to be filled in.
    pub fn empty() -> Self {
        Self {
            kind: Kind::Load,
            space: Space::Global,
            scope: Scope::default(),
            mask: 0,
            addresses: Box::new([0; 64]),
            element_bytes: 4,
            elements: 1,
            stride: 4,
            more: Vec::new(),
            data: Vec::new(),
            destination: Destination::None,
        }
    }

    /// The number of bytes that one lane accesses at one address.
    pub fn lane_bytes(&self) -> u64 {
        u64::from(self.element_bytes) * u64::from(self.elements)
    }
}

/// A scalar access: consecutive words at one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalarOp {
    pub store: bool,
    pub glc: bool,
    /// Always a multiple of four.
    pub address: u64,
    /// 1, 2, 4, 8 or 16; `data` beyond it is unused.
    pub words: u8,
    /// The words to store, or the words read, filled in by the component that performs the operation.
    pub data: [u32; 16],
    /// The first scalar register of a load.
    pub destination: u8,
    /// A bit for each word outside its buffer: it reads zero, without an access to memory.
    pub out_of_range: u16,
}

impl ScalarOp {
    /// The numbers of the words that are accessed.
    pub fn words_in_range(&self) -> impl Iterator<Item = usize> + use<> {
        let outside = self.out_of_range;
        (0..usize::from(self.words)).filter(move |word| outside >> word & 1 == 0)
    }
}
