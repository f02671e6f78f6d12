//! Tests of timed translation, over a memory with a fixed latency.

mod cut;
mod faults;
mod fbt;
mod iommu;
mod member;
mod mmu;
mod random;
mod reports;
mod shootdown;
mod tables;
mod tlb;
mod walkers;
mod world;
