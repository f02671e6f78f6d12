//! Memories apart from each other: the host's, and each GPU's own. A physical address says by itself in which of them it lies.

use crate::PhysAddr;

/// Where the addresses of one memory end and those of the next begin. Zones of a host and 16 GPUs fit in the 52 bits that x86-64 has for
/// physical addresses.
pub const ZONE: u64 = 1 << 47;

/// A memory with addresses of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Zone {
    Host,
    /// Memory of a GPU, or memory that all GPUs have in common and the host does not, which is the first one's.
    Gpu(usize),
}

impl Zone {
    /// The memory that an address lies in.
    pub const fn of(address: PhysAddr) -> Self {
        match address.0 / ZONE {
            0 => Self::Host,
            number => Self::Gpu(number as usize - 1),
        }
    }

    /// The GPU whose memory it is.
    pub const fn gpu(self) -> Option<usize> {
        match self {
            Self::Host => None,
            Self::Gpu(number) => Some(number),
        }
    }

    /// Its first address.
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
