//! A guest's memory as a core sees it.
//!
//! Addresses are virtual and everything is little endian. An access that can't be done now *stops*: nothing has changed,
//! and the instruction can be run again when the fault is repaired or the line has come.

/// How many bytes an access moves, up to a general register's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Size {
    B1 = 1,
    B2 = 2,
    B4 = 4,
    B8 = 8,
}

impl Size {
    #[inline(always)]
    pub const fn bytes(self) -> u64 {
        self as u64
    }

    #[inline(always)]
    pub const fn bits(self) -> u32 {
        self as u32 * 8
    }

    /// All ones in the bits that an access of this size moves.
    #[inline(always)]
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }
}

/// What an access wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    Execute,
}

/// Why an access was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The page is not there (`present` is false) or does not allow this.
    PageFault { address: u64, access: Access, present: bool },
    /// The line is on its way: try again later.
    Wait,
    /// A store would change bytes that were fetched as code. [`Memory::code_version`] has changed, and the store is done if it
    /// is made again before anything else is fetched; what was decoded before is then no longer true.
    CodeWrite,
}

/// A guest's memory. Accesses may be unaligned and may cross lines and pages; each is done whole or not at all.
pub trait Memory {
    /// The value at an address; the bits above `size` are zero.
    fn load(&mut self, address: u64, size: Size) -> Result<u64, Stop>;

    /// Stores the low `size` bytes of `value`; what lies above is ignored.
    fn store(&mut self, address: u64, size: Size, value: u64) -> Result<(), Stop>;

    fn load128(&mut self, address: u64) -> Result<u128, Stop>;

    fn store128(&mut self, address: u64, value: u128) -> Result<(), Stop>;

    /// Whether all of `bytes` bytes could be stored now: asked before the first of several stores that belong together.
    fn probe_write(&mut self, address: u64, bytes: u64) -> Result<(), Stop>;

    /// Copies code, checked for the right to be executed, and says how many bytes of `bytes` it got: fewer than asked
    /// only if what follows can't be executed. It stops if not even the first byte can.
    fn fetch(&mut self, address: u64, bytes: &mut [u8]) -> Result<usize, Stop>;

    /// A number that changes whenever bytes that may be executed are written, remapped or unmapped.
    fn code_version(&self) -> u64;
}
