//! A guest's memory as a core sees it.
//!
//! Addresses are virtual, and values are little-endian. An access that can't be done now *stops*: nothing has changed,
//! and the instruction can be repeated when the fault has been handled or the line has arrived.

/// The size of an access, up to that of a general register.
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

    /// A mask of the bits of this size.
    #[inline(always)]
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    Execute,
}

/// Why an access was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The page is not present (`present` is false) or does not allow the access.
    PageFault { address: u64, access: Access, present: bool },
    /// The line is in flight: try again later.
    Wait,
    /// A store would change bytes that were fetched as code. [`Memory::code_version`] has changed. The store succeeds
    /// if it is repeated before anything else is fetched; code decoded earlier is then invalid.
    CodeWrite,
}

/// A guest's memory. Accesses may be unaligned and may cross lines and pages; each is done completely or not at all.
pub trait Memory {
    /// Loads a value, zero-extended.
    fn load(&mut self, address: u64, size: Size) -> Result<u64, Stop>;

    /// Stores the low `size` bytes of `value`.
    fn store(&mut self, address: u64, size: Size, value: u64) -> Result<(), Stop>;

    fn load128(&mut self, address: u64) -> Result<u128, Stop>;

    fn store128(&mut self, address: u64, value: u128) -> Result<(), Stop>;

    /// Writes the line of an address back to memory and drops it from all caches. Faults like a load of a byte.
    fn flush_line(&mut self, address: u64) -> Result<(), Stop> {
        self.load(address, Size::B1).map(drop)
    }

    /// Checks that `bytes` bytes could be stored now, before the first of several stores that belong together.
    fn probe_write(&mut self, address: u64, bytes: u64) -> Result<(), Stop>;

    /// Copies executable bytes, and returns how many: fewer than requested only if the bytes after them can't be
    /// executed. Stops if not even the first byte can be executed.
    fn fetch(&mut self, address: u64, bytes: &mut [u8]) -> Result<usize, Stop>;

    /// A number that changes whenever bytes that may be executed are written, remapped or unmapped.
    fn code_version(&self) -> u64;
}
