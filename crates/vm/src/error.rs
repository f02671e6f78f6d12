//! Errors of translation. Except for the shape, all of these are bugs in the machine or its kernel, found at run
//! time.

use mem::{Asid, Bytes, LineAddr, PhysAddr, VirtAddr};
use thiserror::Error;

/// A request and the page tables disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Mistranslation {
    #[error(
        "address space {} has no page tables: give the root of its tables to `Roots` before the first translation",
        asid.0
    )]
    NoTables { asid: Asid },
    #[error(
        "{virt} of address space {} is not mapped: the entry of level {level} at {at} is {entry:#x}, which is not present; the \
         page must be mapped before it is accessed, and shot down before it is unmapped",
        asid.0
    )]
    NotPresent { asid: Asid, virt: VirtAddr, level: u32, at: PhysAddr, entry: u64 },
    #[error(
        "{virt} of address space {} is in a page larger than 2 MiB: the entry of level {level} at {at} is {entry:#x}; pages \
         have 4 KiB or 2 MiB",
        asid.0
    )]
    TooLarge { asid: Asid, virt: VirtAddr, level: u32, at: PhysAddr, entry: u64 },
    #[error(
        "{virt} of address space {} is {requester} for the requester and {tables} in its page of {size}: the page has been moved \
         without a shootdown, or the tables that were read are stale",
        asid.0
    )]
    Differs { asid: Asid, virt: VirtAddr, requester: PhysAddr, tables: PhysAddr, size: Bytes },
    #[error("a write to {virt} of address space {}, whose page is read-only in the page tables", asid.0)]
    ReadOnly { asid: Asid, virt: VirtAddr },
    #[error(
        "a walk of constant latency reads no page tables, so a request must carry the physical address of {virt} of address space {}: this \
         request has none",
        asid.0
    )]
    Untold { asid: Asid, virt: VirtAddr },
    #[error(
        "{virt} of address space {} and {leading} are names of one page of memory, {frame}, which is written: caches by virtual address can't \
         keep the order of reads and writes under two names; use one name, or physical tags (gpu.l2.tags)",
        asid.0
    )]
    ReadWriteSynonym { asid: Asid, virt: VirtAddr, leading: VirtAddr, frame: PhysAddr },
    #[error(
        "line {line} passes between virtual and physical caches of address space {}, but no request has asked for its page, or it \
         has been shot down: its lines must leave the virtual caches before that",
        asid.0
    )]
    Unknown { asid: Asid, line: LineAddr },
}

/// A TLB that can't be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ShapeError {
    #[error(
        "{entries} entries can't be divided into sets of {ways}: entries must be a multiple of ways, and neither may be 0"
    )]
    Uneven { entries: usize, ways: usize },
    #[error("{entries} entries in sets of {ways} are {sets} sets: that must be a power of two")]
    Sets { entries: usize, ways: usize, sets: usize },
}
