//! Messages between TLBs and walkers.

use crate::Translation;
use interconnect::HEADER;
use mem::{Asid, PhysAddr, VirtAddr};

/// The number by which the requester identifies a pending translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TranslationId(pub u32);

/// Asks for the translation of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translate {
    pub id: TranslationId,
    pub asid: Asid,
    pub virt: VirtAddr,
    /// The physical address, if the requester knows it; a walk of constant latency answers with it.
    pub phys: Option<PhysAddr>,
    /// Whether the page will be written: a cached read-only translation is then looked up again.
    pub write: bool,
}

impl Translate {
    /// Size on a wire.
    pub const BYTES: u64 = HEADER;
}

/// The answer to [`Translate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translated {
    pub id: TranslationId,
    /// `None` if the page was unmapped during the look-up.
    pub found: Option<Translation>,
}

impl Translated {
    /// Size on a wire: a header and an entry.
    pub const BYTES: u64 = HEADER + 8;
}
