//! Translation in time (`[giles 3.2.7; `[vcache]`, 2 and 3]`).
//!
//! What an address means is known before a request is made: a requester's `Request` carries the virtual and the physical address.
//! What is modelled here is what it takes hardware to find that out, and that it finds the same.
//!
//! Three elements speak `Translate` and `Translated` on wires, so they can be put together at will:
//!
//! - an [`Mmu`] stands between requesters and their caches, has a first-level [`Tlb`] for each, and asks below on a miss;
//! - a [`SharedTlb`] answers many: the second level of a core, or the TLB of an IOMMU with its limited bandwidth;
//! - [`walkers`] read the page tables, which lie in simulated memory, through whatever cache they are wired to, or look into
//!   [tables of a driver](DriverTables), where a page that is not there is a fault.
//!
//! An [`iommu`] is the last two behind one door. How long
//! a look-up or a way takes is in the latency of the wires. [`Shootdowns`] make all of them forget a page and wait until all have.
#![forbid(unsafe_code)]

mod driver_tables;
mod entry;
mod error;
mod fbt;
mod iommu;
mod message;
mod misses;
mod mmu;
mod page;
mod roots;
mod shared_tlb;
mod shootdown;
mod tlb;
mod walker;

pub use driver_tables::{DriverTables, Fault};
pub use error::{Mistranslation, ShapeError};
pub use fbt::{Fbt, FbtPlace, FbtSpec, FbtTables};
pub use iommu::{IommuSpec, iommu};
pub use message::{Translate, Translated, TranslationId};
pub use mmu::{Mmu, MmuPort, MmuSpec};
pub use page::{PageSize, Rights, Translation};
pub use roots::Roots;
pub use shared_tlb::{SecondLevel, SharedTlb, SharedTlbSpec};
pub use shootdown::{Control, Forgotten, MOST_PAGES, Shootdown, Shootdowns};
pub use tlb::{Tlb, TlbSpec};
pub use walker::{Walk, WalkersSpec, walkers};
