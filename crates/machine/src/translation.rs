//! What translation takes, as a machine file says: `[cpu.mmu]` of each core, `[gpu.mmu]` of each compute unit, and `[system.iommu]`,
//! whom compute units ask (`[giles 3.2.4 and 3.2.7]`).

use crate::{
    file::{File, MachineError},
    spec::{CacheSpec, at_least_one, l1},
    units::Duration,
};
use engine::{Cycles, LinkSpec, Time};
use serde::Deserialize;
use vm::{MmuSpec, SharedTlbSpec, TlbSpec, WalkersSpec};

/// How pages are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Walkers read the tables, with a cache of upper levels.
    Tables { page_walk_cache: Option<TlbSpec> },
    /// It takes so long.
    Flat(Cycles),
}

/// Of a core. Without one, translation takes no time.
#[derive(Clone, Copy, Debug)]
pub struct CoreMmu {
    pub tlb: TlbSpec,
    pub mmu: MmuSpec,
    pub walkers: WalkersSpec,
    pub pages: Pages,
}

/// Of all compute units, and whom they ask. Without one, translation takes no time.
#[derive(Clone, Copy, Debug)]
pub struct GpuMmu {
    pub tlb: TlbSpec,
    pub mmu: MmuSpec,
    pub iommu: Iommu,
}

/// At the hub, for all GPUs.
#[derive(Clone, Copy, Debug)]
pub struct Iommu {
    /// From each compute unit, and back.
    pub wire: LinkSpec,
    /// Its own TLB, if it has one.
    pub tlb: Option<SharedTlbSpec>,
    pub walkers: WalkersSpec,
    pub pages: Pages,
    /// Through which its walkers read the tables.
    pub cache: CacheSpec,
}

impl Iommu {
    /// Whether it reads memory, as a core does.
    pub fn reads(&self) -> bool {
        matches!(self.pages, Pages::Tables { .. })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CpuFile {
    kind: String,
    entries: usize,
    ways: usize,
    lookups: usize,
    misses: usize,
    waiting: usize,
    walkers: usize,
    page_walk_cache: usize,
    flat: u64,
    shootdown: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GpuFile {
    kind: String,
    entries: usize,
    ways: usize,
    lookups: usize,
    misses: usize,
    waiting: usize,
    shootdown: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IommuFile {
    kind: String,
    latency: Duration,
    capacity: usize,
    entries: usize,
    ways: usize,
    lookups: usize,
    misses: usize,
    walkers: usize,
    page_walk_cache: usize,
    flat: u64,
    shootdown: u64,
}

/// Of cores; `None` if the file says that it takes no time.
pub fn of_cores(file: &mut File) -> Result<Option<CoreMmu>, MachineError> {
    let path = "cpu.mmu";
    let of: CpuFile = file.section(path)?;
    let mmu = mmu(file, path, (of.lookups, of.misses, of.waiting, of.shootdown))?;
    let tlb = tlb(file, path, (of.entries, of.ways))?;
    let walkers = walkers(file, path, of.walkers, of.shootdown)?;
    let pages = pages(file, path, (&of.kind, of.page_walk_cache, of.flat), &["tables", "flat", "none"])?;
    Ok(pages.map(|pages| CoreMmu { tlb, mmu, walkers, pages }))
}

/// Of compute units; `None` if the file says that it takes no time.
pub fn of_gpus(file: &mut File) -> Result<Option<GpuMmu>, MachineError> {
    let path = "gpu.mmu";
    let of: GpuFile = file.section(path)?;
    let mmu = mmu(file, path, (of.lookups, of.misses, of.waiting, of.shootdown))?;
    let tlb = tlb(file, path, (of.entries, of.ways))?;
    let iommu = iommu(file)?;
    match of.kind.as_str() {
        "iommu" => Ok(Some(GpuMmu { tlb, mmu, iommu })),
        "none" => Ok(None),
        other => Err(file.no_choice(path, "kind", other, &["iommu", "none"])),
    }
}

fn iommu(file: &mut File) -> Result<Iommu, MachineError> {
    let path = "system.iommu";
    let of: IommuFile = file.section(path)?;
    for (key, value) in [("capacity", of.capacity), ("lookups", of.lookups), ("misses", of.misses)] {
        at_least_one(file, path, key, value)?;
    }
    if of.latency.0 == Time::ZERO {
        return Err(file.wrong(path, Some("latency"), "a wire along which a machine can be cut takes time"));
    }
    let own = (of.entries > 0).then(|| tlb(file, path, (of.entries, of.ways))).transpose()?;
    let shared =
        |tlb| SharedTlbSpec { tlb, lookups: Some(of.lookups), misses: of.misses, shootdown: Cycles(of.shootdown) };
    let pages = pages(file, path, (&of.kind, of.page_walk_cache, of.flat), &["tables", "flat"])?;
    Ok(Iommu {
        wire: LinkSpec { latency: of.latency.0, capacity: of.capacity, bytes_per_cycle: None },
        tlb: own.map(shared),
        walkers: walkers(file, path, of.walkers, of.shootdown)?,
        pages: pages.expect("it is one of the two"),
        cache: l1(file, "system.iommu.cache")?,
    })
}

fn mmu(
    file: &File,
    path: &str,
    (lookups, misses, waiting, shootdown): (usize, usize, usize, u64),
) -> Result<MmuSpec, MachineError> {
    for (key, value) in [("lookups", lookups), ("misses", misses), ("waiting", waiting)] {
        at_least_one(file, path, key, value)?;
    }
    Ok(MmuSpec { lookups, misses, waiting, shootdown: Cycles(shootdown) })
}

fn tlb(file: &File, path: &str, (entries, ways): (usize, usize)) -> Result<TlbSpec, MachineError> {
    TlbSpec::new(entries, ways).map_err(|error| file.wrong(path, Some("entries"), error.to_string()))
}

/// So many, and as many pages that wait for one.
fn walkers(file: &File, path: &str, walkers: usize, shootdown: u64) -> Result<WalkersSpec, MachineError> {
    at_least_one(file, path, "walkers", walkers)?;
    Ok(WalkersSpec { walkers, queue: walkers, shootdown: Cycles(shootdown) })
}

fn pages(
    file: &File,
    path: &str,
    (kind, page_walk_cache, flat): (&str, usize, u64),
    kinds: &[&str],
) -> Result<Option<Pages>, MachineError> {
    // Of all ways, as upper levels are few.
    let cache = (page_walk_cache > 0).then(|| TlbSpec::new(page_walk_cache, page_walk_cache)).transpose();
    let page_walk_cache = cache.map_err(|error| file.wrong(path, Some("page_walk_cache"), error.to_string()))?;
    match kind {
        "tables" => Ok(Some(Pages::Tables { page_walk_cache })),
        "flat" => Ok(Some(Pages::Flat(Cycles(flat)))),
        "none" if kinds.contains(&kind) => Ok(None),
        other => Err(file.no_choice(path, "kind", other, kinds)),
    }
}
