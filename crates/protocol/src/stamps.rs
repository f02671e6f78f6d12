//! Logical times, for protocols that order accesses by timestamps instead of invalidating copies.

use std::{
    fmt,
    hash::{Hash, Hasher},
};

/// A logical time. Hardware has 16 bits; a home detects the overflow ([`Tsu::last`](crate::halcone::Tsu)).
pub type Stamp = u32;

/// The initial time of a compute unit's clock (G-TSC): 0 is before every access.
pub const FIRST: Stamp = 1;

/// The logical times of a line or of a message; all zero in protocols without them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamps {
    /// When the line's bytes were written, as far as is known.
    pub wts: Stamp,
    /// The end of the lease: until when the line may be read.
    pub rts: Stamp,
    /// The current time of the whole controller. The component that runs it keeps it equal in all lines (see
    /// [`Stamps::now`]).
    pub cts: Stamp,
}

impl Stamps {
    pub const ZERO: Self = Self { wts: 0, rts: 0, cts: 0 };

    /// Only a current time, without a lease.
    pub const fn now(cts: Stamp) -> Self {
        Self { wts: 0, rts: 0, cts }
    }

    /// Whether the lease has not ended.
    pub const fn is_live(self) -> bool {
        self.cts <= self.rts
    }
}

impl Hash for Stamps {
    /// Hashes only a flag if all times are zero.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (*self != Self::ZERO).hash(hasher);
        if *self != Self::ZERO {
            (self.cts, self.rts, self.wts).hash(hasher);
        }
    }
}

impl fmt::Display for Stamps {
    /// `8..12 @8`: the lease and the current time.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{} @{}", self.wts, self.rts, self.cts)
    }
}
