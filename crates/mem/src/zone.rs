//! Separate physical memories: the host's, and each GPU's own. A physical address determines the memory it lies in.

use crate::PhysAddr;

/// The size of the address range of one memory. The zones of a host and 16 GPUs fit in the 52 physical address bits of
/// x86-64.
pub const ZONE: u64 = 1 << 47;

/// A memory with addresses of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Zone {
    Host,
    /// The memory of a GPU. Memory shared by all GPUs but not by the host counts as that of the first GPU.
    Gpu(usize),
}

impl Zone {
    /// The memory in which an address lies.
    pub const fn of(address: PhysAddr) -> Self {
        match address.0 / ZONE {
            0 => Self::Host,
            number => Self::Gpu(number as usize - 1),
        }
    }

    /// The GPU to which this memory belongs.
    pub const fn gpu(self) -> Option<usize> {
        match self {
            Self::Host => None,
            Self::Gpu(number) => Some(number),
        }
    }

    /// The first address of this memory.
    pub const fn base(self) -> PhysAddr {
        match self {
            Self::Host => PhysAddr(0),
            Self::Gpu(number) => PhysAddr((number as u64 + 1) * ZONE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_in_which_memory_it_lies() {
        for zone in [Zone::Host, Zone::Gpu(0), Zone::Gpu(15)] {
            let base = zone.base().0;
            assert_eq!([base, base + ZONE - 1].map(|at| Zone::of(PhysAddr(at))), [zone; 2]);
        }
        assert!(Zone::Gpu(15).base().0 + ZONE <= 1 << 52);
    }
}
