//! Addresses and sizes.

use std::{
    fmt,
    ops::{Add, Sub},
};

/// The size of a small page, the smallest that page tables map.
pub const PAGE: u64 = 4 << 10;

macro_rules! address {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl $name {
            /// The first byte of the naturally aligned block of `size` bytes (a power of two) that holds this address.
            pub const fn align_down(self, size: Bytes) -> Self {
                Self(self.0 & !(size.0 - 1))
            }

            /// The offset of this address within its naturally aligned block of `size` bytes.
            pub const fn offset_in(self, size: Bytes) -> Bytes {
                Bytes(self.0 & (size.0 - 1))
            }
        }

        impl Add<Bytes> for $name {
            type Output = Self;
            fn add(self, distance: Bytes) -> Self {
                Self(self.0.wrapping_add(distance.0))
            }
        }

        impl Sub for $name {
            type Output = Bytes;
            fn sub(self, other: Self) -> Bytes {
                Bytes(self.0.wrapping_sub(other.0))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    };
}

address! {
    /// An address as a program sees it.
    VirtAddr
}
address! {
    /// An address as the memory controllers see it.
    PhysAddr
}

address! {
    /// The first byte of a cache line: the unit of caches, directories and protocols. Whether it is virtual or physical
    /// depends on the cache; a protocol does not distinguish the two.
    LineAddr
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    /// The largest binary unit that divides the size: `64 KiB`, `4 MiB`, `100 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if self.0 != 0 && self.0.is_multiple_of(1 << shift) {
                return write!(f, "{} {unit}", self.0 >> shift);
            }
        }
        write!(f, "{} B", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_knows_its_block_and_its_place_in_it() {
        let address = VirtAddr(0x1234);
        assert_eq!(address.align_down(Bytes(64)), VirtAddr(0x1200));
        assert_eq!(address.offset_in(Bytes(64)), Bytes(0x34));
        assert_eq!(VirtAddr(0x1200) + Bytes(0x34), address);
        assert_eq!(address - VirtAddr(0x1200), Bytes(0x34));
    }

    #[test]
    fn sizes_print_in_the_largest_unit_that_divides_them() {
        assert_eq!(Bytes(4 << 20).to_string(), "4 MiB");
        assert_eq!(Bytes(1536).to_string(), "1536 B");
        assert_eq!(Bytes(64 << 10).to_string(), "64 KiB");
        assert_eq!(Bytes(0).to_string(), "0 B");
    }
}
