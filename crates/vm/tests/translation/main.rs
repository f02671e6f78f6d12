//! Translation in time, over a memory that answers after a fixed time.

mod cut;
mod faults;
mod fbt;
mod iommu;
mod mmu;
mod random;
mod reports;
mod shootdown;
mod tables;
mod tlb;
mod walkers;
mod world;
