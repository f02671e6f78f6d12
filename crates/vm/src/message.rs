//! What those who translate say to each other.

use crate::Translation;
use interconnect::HEADER;
use mem::{Asid, PhysAddr, VirtAddr};

/// The number under which the asker knows a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TranslationId(pub u32);

/// Where is this page?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translate {
    pub id: TranslationId,
    pub asid: Asid,
    pub virt: VirtAddr,
    /// Where it is, if the asker knows: what a walk of flat latency answers.
    pub phys: Option<PhysAddr>,
    /// To be written: a page that was read-only when last seen is looked up anew.
    pub write: bool,
}

impl Translate {
    /// What it puts on a wire.
    pub const BYTES: u64 = HEADER;
}

/// There.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translated {
    pub id: TranslationId,
    /// None if the page went away while it was looked up.
    pub found: Option<Translation>,
}

impl Translated {
    /// What it puts on a wire: a header and an entry.
    pub const BYTES: u64 = HEADER + 8;
}
