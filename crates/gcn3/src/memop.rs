//! What an instruction asks of memory.
//!
//! Executing a memory instruction only works out *what* is to be moved: the addresses of the active lanes, how
//! much each moves, what is stored, and where the answer goes. The result is a [`MemOp`] (vector accesses) or a
//! [`ScalarOp`] (scalar loads and stores). Whoever drives the wavefront performs it, at once or many cycles later
//! and in any order, puts what was read into `data`, and hands the operation back to
//! [`Wavefront::complete`](crate::wave::Wavefront::complete), which writes the registers.

use crate::exec::{image::Sampled, simd::Row};
pub use mem::AtomicOp;

/// How an access treats what it finds in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Load,
    Store,
    /// Read, modify, write as one indivisible step. `returns`: the old value goes to a register.
    Atomic {
        op: AtomicOp,
        returns: bool,
    },
}

/// Which path through the memory system an access takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Buffers and everything else that all work-items see.
    Global,
    /// Private memory of work-items, in its interleaved place in global memory.
    Scratch,
    /// Texels.
    Image,
}

/// What the cache-policy bits of the instruction ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Globally coherent: the access is performed at (or the line is fetched anew from) the shared L2.
    pub glc: bool,
    /// System level coherent: streams past the L2.
    pub slc: bool,
}

/// What happens to the data of a load on its way to the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// Words go to consecutive registers; narrower elements are zero-extended.
    Zero,
    /// An element of one byte is sign-extended.
    SignByte,
    /// An element of two bytes is sign-extended.
    SignShort,
}

/// Where the data of a load or of a returning atomic goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Destination {
    /// Nowhere: stores and atomics without return.
    None,
    /// Consecutive vector registers from the given one on.
    Vgprs { first: u8, extension: Extension },
    /// Vector registers, after conversion from the buffer's or image's format and filtering.
    Texels { first: u8, sampled: Box<Sampled> },
}

/// A vector access: up to 64 lanes, each moving `elements` elements of `element_bytes` bytes.
#[derive(Clone, Debug)]
pub struct MemOp {
    pub kind: Kind,
    pub space: Space,
    pub scope: Scope,
    /// The lanes that take part.
    pub mask: u64,
    /// Where the first element of each participating lane lies; others are arbitrary.
    pub addresses: Box<[u64; 64]>,
    /// 1, 2, 4 or 8 (the latter for 64-bit atomics only: loads and stores move words).
    pub element_bytes: u8,
    pub elements: u8,
    /// Distance from one element of a lane to its next: the size of an element, except in interleaved scratch.
    pub stride: u32,
    /// For filtered image reads: addresses of the further texels of each lane, each of `elements` elements.
    pub more: Vec<Box<[u64; 64]>>,
    /// Stores and atomics: what to write. Loads and returning atomics: what was read, filled in by whoever performs
    /// the operation. One row per 32-bit word of a lane's data; elements narrower than a word are zero-extended.
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

    /// Bytes that one lane moves at one place.
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
    /// The words stored, or the words read, filled in by whoever performs the operation.
    pub data: [u32; 16],
    /// The first scalar register of a load.
    pub destination: u8,
    /// A bit for each word that lies outside its buffer: it reads as zero and memory is not asked.
    pub out_of_range: u16,
}
