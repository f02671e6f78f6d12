//! Logical times, for protocols that order accesses by them instead of invalidating copies.

use std::{
    fmt,
    hash::{Hash, Hasher},
};

/// A logical time. The hardware's are 16 bits wide, and a home says when they run over ([`Tsu::last`](crate::halcone::Tsu)).
pub type Stamp = u32;

/// The first time of a compute unit's clock (G-TSC): 0 is before everything.
pub const FIRST: Stamp = 1;

/// The logical times of a line, or those that a message carries; all zero in protocols without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamps {
    /// When what the line holds was written, as far as is known.
    pub wts: Stamp,
    /// Until when it may be read: the end of its lease.
    pub rts: Stamp,
    /// The present of the whole controller. Whoever drives one keeps it the same in all of its lines (see [`Stamps::now`]).
    pub cts: Stamp,
}

impl Stamps {
    pub const ZERO: Self = Self { wts: 0, rts: 0, cts: 0 };

    /// No lease at all, at a present.
    pub const fn now(cts: Stamp) -> Self {
        Self { wts: 0, rts: 0, cts }
    }

    /// The lease has not ended.
    pub const fn is_live(self) -> bool {
        self.cts <= self.rts
    }
}

impl Hash for Stamps {
    /// Nothing but a zero where there are none.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (*self != Self::ZERO).hash(hasher);
        if *self != Self::ZERO {
            (self.cts, self.rts, self.wts).hash(hasher);
        }
    }
}

impl fmt::Display for Stamps {
    /// `8..12 @8`: the lease, and the present.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{} @{}", self.wts, self.rts, self.cts)
    }
}
