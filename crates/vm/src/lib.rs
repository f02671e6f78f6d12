//! Timed address translation (`[giles 3.2.7]`, `[vcache 2]`, `[vcache 3]`).
//!
//! A requester usually knows the result in advance: its `Request` carries the virtual and the physical address. This
//! crate models the time that hardware needs to find the translation, and checks that the hardware's result is equal.
//!
//! Three elements exchange `Translate` and `Translated` messages over wires, so they can be combined freely:
//!
//! - an [`Mmu`] sits between requesters and their caches, has a first-level [`Tlb`] for each, and asks below on a miss;
//! - a [`SharedTlb`] serves many: the second level of a core, or the TLB of an IOMMU with its limited bandwidth;
//! - [`walkers`] read page tables in simulated memory through the cache they are wired to, or [those of a host
//!   outside](PageTables), or look into [tables of a driver](DriverTables), where a page that is not there is a fault.
//!
//! An [`iommu`] combines a shared TLB and walkers. The latency of look-ups and of the paths between elements is in the
//! wires. [`Shootdowns`] make all elements drop a page and wait until all have.
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
mod page_tables;
mod roots;
mod shared_tlb;
mod shootdown;
mod tlb;
mod walker;

pub use driver_tables::{DriverTables, Fault};
pub use error::{Mistranslation, ShapeError};
pub use fbt::{Above, Fbt, FbtPlace, FbtSpec, FbtTables, Membership};
pub use iommu::{IommuSpec, iommu};
pub use message::{Translate, Translated, TranslationId};
pub use mmu::{Mmu, MmuPort, MmuSpec};
pub use page::{PageSize, Rights, Translation};
pub use page_tables::PageTables;
pub use roots::Roots;
pub use shared_tlb::{SecondLevel, SharedTlb, SharedTlbSpec};
pub use shootdown::{Control, Forgotten, MOST_PAGES, Shootdown, Shootdowns};
pub use tlb::{Tlb, TlbSpec};
pub use walker::{PageWalkCache, Walk, WalkersSpec, walkers};
