//! Address translation in machine files: `[cpu.mmu]` of each core, `[gpu.mmu]` of each compute unit, `[gpu.l2_tlb]` of
//! each GPU, and `[system.iommu]`, which serves the GPUs (`[giles 3.2.4 and 3.2.7]`).

use crate::{
    caches::{self, CacheFile, VirtualCaches},
    file::{Because, File, MachineError, join},
    spec::CacheSpec,
    values::{Choice, Crossing, Limit, Number, OneOf, Positive, PowerOfTwo, SHORT, WIDE},
};
use cache::Shape;
use engine::{Cycles, Hertz, LinkSpec, Time};
use mem::{Bytes, LINE};
use serde::Deserialize;
use vm::{FbtSpec, MmuSpec, PageWalkCache, SharedTlbSpec, TlbSpec, WalkersSpec};

/// How page walks are modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Walkers read the page tables from memory, with an optional cache. `host`: the latency of that memory, if the
    /// tables are those of a host outside the machine.
    Tables { page_walk_cache: Option<PageWalkCache>, host: Option<Cycles> },
    /// Each walk takes this fixed time.
    Flat(Cycles),
    /// Each walk takes this fixed time and looks into tables that the GPUs' driver keeps, one per GPU. A missing page
    /// is a fault, which the driver serves.
    Driver(Cycles),
}

/// Translation of a core. Without it, translation takes no time.
#[derive(Clone, Copy, Debug)]
pub struct CoreMmu {
    pub tlb: TlbSpec,
    /// A second-level TLB, for data and instructions, between the MMU and the walkers.
    pub second: Option<SharedTlbSpec>,
    pub mmu: MmuSpec,
    pub walkers: WalkersSpec,
    pub pages: Pages,
}

/// Translation of all compute units, and the IOMMU that serves them. Without it, translation takes no time.
#[derive(Clone, Copy, Debug)]
pub struct GpuMmu {
    pub tlb: TlbSpec,
    pub mmu: MmuSpec,
    /// A second-level TLB that the compute units of a GPU share.
    pub shared: Option<GpuTlb>,
    pub iommu: Iommu,
}

/// The second-level TLB of a GPU, between its compute units and the IOMMU.
#[derive(Clone, Copy, Debug)]
pub struct GpuTlb {
    /// The link to each compute unit.
    pub wire: LinkSpec,
    pub tlb: SharedTlbSpec,
}

/// The IOMMU at the hub, for all GPUs.
#[derive(Clone, Copy, Debug)]
pub struct Iommu {
    /// The link to each compute unit, or to the second-level TLB of each GPU.
    pub wire: LinkSpec,
    /// The IOMMU's own TLB, if it has one.
    pub tlb: Option<SharedTlbSpec>,
    pub walkers: WalkersSpec,
    pub pages: Pages,
    /// The cache through which its walkers read the tables, if they do.
    pub cache: CacheSpec,
}

impl Iommu {
    /// Whether a missing page is a fault that the driver serves.
    pub fn faults(&self) -> bool {
        matches!(self.pages, Pages::Driver(_))
    }

    /// Whether its walkers read page tables from memory.
    pub fn reads(&self) -> bool {
        matches!(self.pages, Pages::Tables { .. })
    }
}

/// The unused one-line cache of an IOMMU that reads no memory.
fn no_cache() -> CacheSpec {
    let shape = Shape::new(Bytes(LINE as u64), 1).expect("a line makes a set of one way");
    let (mshrs, waiting, join_queue, write_back_queue) = (1, 1, 1, 1);
    CacheSpec { shape, mshrs, waiting, join_queue, write_back_queue, latency: Cycles(0), ports: 1 }
}

/// The words for `kind` in `[cpu.mmu]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tables,
    Flat,
    None,
}

impl Choice for Kind {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("tables", Self::Tables), ("flat", Self::Flat), ("none", Self::None)]
    }
}

/// The words for `kind` in `[system.iommu]`, which always translates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IommuKind {
    Tables,
    Flat,
    Driver,
}

impl IommuKind {
    fn word(self) -> &'static str {
        Self::words().into_iter().find(|(_, kind)| *kind == self).expect("every kind has a word").0
    }
}

impl Choice for IommuKind {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("tables", Self::Tables), ("flat", Self::Flat), ("driver", Self::Driver)]
    }
}

/// A section that has only subsections, no keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// The words for `kind` in `[gpu.mmu]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GpuKind {
    Iommu,
    None,
}

impl Choice for GpuKind {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("iommu", Self::Iommu), ("none", Self::None)]
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CpuFile {
    kind: OneOf<Kind>,
    entries: Positive<SHORT>,
    ways: Positive<WIDE>,
    l2_entries: Option<Number<SHORT>>,
    l2_ways: Option<Positive<WIDE>>,
    lookups: Positive<WIDE>,
    misses: Positive<SHORT>,
    waiting: Positive<SHORT>,
    walkers: Positive<WIDE>,
    page_walk_cache: Number<WIDE>,
    flat: Number,
    shootdown: Number,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GpuFile {
    kind: OneOf<GpuKind>,
    entries: Limit<SHORT>,
    ways: Positive<WIDE>,
    lookups: Positive<WIDE>,
    misses: Positive<SHORT>,
    waiting: Positive<SHORT>,
    shootdown: Number,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GpuTlbFile {
    latency: Crossing,
    capacity: Positive,
    entries: Positive<SHORT>,
    ways: Positive<WIDE>,
    lookups: Positive<WIDE>,
    misses: Positive<SHORT>,
    shootdown: Number,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IommuFile {
    kind: OneOf<IommuKind>,
    latency: Crossing,
    capacity: Positive,
    entries: Limit<SHORT>,
    ways: Positive<WIDE>,
    lookups: Limit<WIDE>,
    banks: Option<PowerOfTwo<64>>,
    misses: Positive<SHORT>,
    walkers: Positive<WIDE>,
    page_walk_cache: Number<WIDE>,
    page_walk_lines: Option<Number<WIDE>>,
    host_memory: Option<Number>,
    flat: Number,
    shootdown: Number,
}

/// Reads the translation of cores; `None` if, by the file, translation takes no time.
pub fn of_cores(file: &mut File) -> Result<Option<CoreMmu>, MachineError> {
    let path = "cpu.mmu";
    if file.has(path) {
        match file.key::<OneOf<Kind>>(path, "kind")?.0 {
            Kind::None => {
                file.idle_but(path, &["kind"], &Because::value("cpu.mmu.kind", "none", &["tables", "flat"]));
            }
            kind => {
                idle_pages(file, path, kind == Kind::Flat);
                if file.says(path, "l2_entries") && file.key::<Number<SHORT>>(path, "l2_entries")?.get() == 0 {
                    let none = "cpu.mmu.l2_entries is 0; set it to the number of entries of a second-level TLB";
                    file.idle("cpu.mmu.l2_ways", &Because::new("cpu.mmu.l2_entries", none));
                }
            }
        }
    }
    let of: CpuFile = file.section(path)?;
    let pages = match of.kind.0 {
        Kind::None => return Ok(None),
        Kind::Flat => Pages::Flat(of.flat.cycles()),
        Kind::Tables => Pages::Tables { page_walk_cache: levels(file, path, of.page_walk_cache.count())?, host: None },
    };
    let (entries, ways) = (of.l2_entries.map_or(0, Number::count), of.l2_ways.map_or(1, Positive::count));
    let second = (entries > 0).then(|| tlb(file, path, (entries, ways))).transpose()?;
    let (lookups, misses, shootdown) = (Some(1), of.misses.count(), of.shootdown.cycles());
    Ok(Some(CoreMmu {
        tlb: tlb(file, path, (of.entries.count(), of.ways.count()))?,
        second: second.map(|tlb| SharedTlbSpec { tlb, lookups, banks: 1, misses, shootdown }),
        mmu: MmuSpec {
            lookups: of.lookups.count(),
            misses: of.misses.count(),
            waiting: of.waiting.count(),
            shootdown: of.shootdown.cycles(),
            lifetimes: false,
        },
        walkers: walkers(of.walkers.count(), of.shootdown.cycles()),
        pages,
    }))
}

/// Reads the translation of compute units; `None` if the file says that it takes no time, or if all caches of the GPU
/// have virtual tags.
pub fn of_gpus(file: &mut File, virtual_caches: VirtualCaches, cpu: bool) -> Result<Option<GpuMmu>, MachineError> {
    let path = "gpu.mmu";
    if virtual_caches == VirtualCaches::All {
        let none = "compute units have no TLBs, because all caches of the GPU have virtual tags (gpu.l2.tags)";
        let why = Because::new("gpu.l2.tags", none);
        file.idle_section::<GpuFile>(path, &why)?;
        file.idle_section::<GpuTlbFile>("gpu.l2_tlb", &why)?;
        return Ok(None);
    }
    if file.has(path) && file.key::<OneOf<GpuKind>>(path, "kind")?.0 == GpuKind::None {
        let why = Because::value("gpu.mmu.kind", "none", &["iommu"]);
        file.idle_but(path, &["kind"], &why);
        file.idle_section::<CacheFile>("system.iommu.cache", &why)?;
        file.idle_section::<IommuFile>("system.iommu", &why)?;
        file.idle_section::<GpuTlbFile>("gpu.l2_tlb", &why)?;
    }
    if file.has(path) && file.says(path, "entries") && file.key::<Limit<SHORT>>(path, "entries")?.count().is_none() {
        idle_ways(file, path);
    }
    let of: GpuFile = file.section(path)?;
    if of.kind.0 == GpuKind::None {
        return Ok(None);
    }
    let mmu = MmuSpec {
        lookups: of.lookups.count(),
        misses: of.misses.count(),
        waiting: of.waiting.count(),
        shootdown: of.shootdown.cycles(),
        lifetimes: false,
    };
    let tlb = limited(file, path, (of.entries.count(), of.ways.count()))?;
    Ok(Some(GpuMmu { tlb, mmu, shared: second_level(file)?, iommu: iommu(file, cpu)? }))
}

/// Reads the second-level TLB of each GPU, if the file has one.
fn second_level(file: &mut File) -> Result<Option<GpuTlb>, MachineError> {
    let path = "gpu.l2_tlb";
    if !file.has(path) {
        return Ok(None);
    }
    let of: GpuTlbFile = file.section(path)?;
    let tlb = tlb(file, path, (of.entries.count(), of.ways.count()))?;
    let (lookups, misses, shootdown) = (Some(of.lookups.count()), of.misses.count(), of.shootdown.cycles());
    Ok(Some(GpuTlb {
        wire: LinkSpec { latency: of.latency.0, capacity: of.capacity.count(), bytes_per_cycle: None },
        tlb: SharedTlbSpec { tlb, lookups, banks: 1, misses, shootdown },
    }))
}

/// A forward-backward table, and the IOMMU that serves its misses.
#[derive(Clone, Copy, Debug)]
pub struct GpuFbt {
    pub spec: FbtSpec,
    /// The link from an L2 bank to the table, and from the table to first-level caches.
    pub wire: LinkSpec,
    pub iommu: Iommu,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FbtFile {
    entries: Positive<SHORT>,
    ways: Positive<WIDE>,
    wire: Positive<WIDE>,
    latency: Positive<WIDE>,
    capacity: Positive,
    second_level: bool,
    remaps: Option<Number<WIDE>>,
}

/// Reads the forward-backward table of a GPU whose L2 has virtual tags. Without virtual tags the section has no effect.
pub fn fbt(
    file: &mut File,
    virtual_caches: VirtualCaches,
    clock: Hertz,
    cpu: bool,
) -> Result<Option<GpuFbt>, MachineError> {
    let path = "gpu.fbt";
    if virtual_caches != VirtualCaches::All {
        file.idle_section::<FbtFile>(path, &Because::value("gpu.l2.tags", "physical", &["virtual"]))?;
        return Ok(None);
    }
    if cpu && file.founded("fabric") {
        let reason = "virtual: a forward-backward table stands between a GPU and the hub of its CPU; over a fabric it must be physical";
        return Err(file.wrong("gpu.l2", Some("tags"), reason));
    }
    if cpu {
        let why = "beside a CPU a page has one name at a time, so first-level caches learn no others";
        file.idle("gpu.fbt.remaps", &Because::new("cpu", why));
    }
    let of: FbtFile = file.section(path)?;
    let table = tlb(file, path, (of.entries.count(), of.ways.count()))?;
    let time = |cycles: u64| Time(cycles * 1_000_000_000_000_000 / clock.0);
    let latency = time(of.wire.get());
    let iommu = iommu(file, cpu)?;
    if cpu && iommu.faults() {
        let reason = "beside a CPU page tables are those of its kernel: it must be tables or flat";
        return Err(file.wrong("system.iommu", Some("kind"), reason));
    }
    if iommu.tlb.is_none() {
        let reason = "a forward-backward table asks the TLB of the IOMMU: it must be at least 1";
        return Err(file.wrong("system.iommu", Some("entries"), reason));
    }
    if file.has("system") && !cpu {
        file.section::<Nothing>("system")?;
    }
    Ok(Some(GpuFbt {
        spec: FbtSpec {
            table,
            second_level: of.second_level,
            latency: of.latency.cycles(),
            remaps: of.remaps.map_or(0, Number::count),
        },
        wire: LinkSpec { latency, capacity: of.capacity.count(), bytes_per_cycle: None },
        iommu,
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamesFile {
    entries: Positive<SHORT>,
    ways: Positive<WIDE>,
}

/// Reads the table below each vector cache, if these alone have virtual tags.
pub fn names(file: &mut File, virtual_caches: VirtualCaches) -> Result<Option<TlbSpec>, MachineError> {
    let path = "gpu.names";
    if virtual_caches != VirtualCaches::FirstLevel {
        let why = Because::new("gpu.l1v.tags", "it is for virtual tags in first-level caches alone (gpu.l1v.tags)");
        file.idle_section::<NamesFile>(path, &why)?;
        return Ok(None);
    }
    let of: NamesFile = file.section(path)?;
    tlb(file, path, (of.entries.count(), of.ways.count())).map(Some)
}

/// Reads the translation of compute units in a machine without a CPU, whose page tables lie in the memory of its host.
pub fn without_cpu(file: &mut File, virtual_caches: VirtualCaches) -> Result<Option<GpuMmu>, MachineError> {
    if !file.founded("gpu.mmu") && virtual_caches != VirtualCaches::All {
        return Ok(None);
    }
    let mmu = of_gpus(file, virtual_caches, false)?;
    if mmu.is_some() && file.has("system") {
        file.section::<Nothing>("system")?;
    }
    Ok(mmu)
}

/// Reads the IOMMU. Without a `cpu` its walkers read tables in the memory of the host outside.
fn iommu(file: &mut File, cpu: bool) -> Result<Iommu, MachineError> {
    let (path, cache_path) = ("system.iommu", "system.iommu.cache");
    if file.has(path) {
        let kind = file.key::<OneOf<IommuKind>>(path, "kind")?.0;
        idle_pages(file, path, kind != IommuKind::Tables);
        if kind != IommuKind::Tables {
            let why = Because::value("system.iommu.kind", kind.word(), &["tables"]);
            ["page_walk_lines", "host_memory"].iter().for_each(|key| file.idle(&join(path, key), &why));
        } else if cpu {
            let why = Because::new("cpu", "page tables are those of the CPU's kernel, in the machine's own memory");
            file.idle(&join(path, "host_memory"), &why);
        }
        match file.key::<Limit<SHORT>>(path, "entries")?.count() {
            Some(0) => {
                let why = Because::new("system.iommu.entries", "system.iommu.entries is 0: it has no TLB of its own");
                for key in ["ways", "lookups", "banks", "misses"] {
                    file.idle(&join(path, key), &why);
                }
            }
            None => idle_ways(file, path),
            Some(_) => {}
        }
    }
    let of: IommuFile = file.section(path)?;
    let pages = match of.kind.0 {
        IommuKind::Flat => Pages::Flat(of.flat.cycles()),
        IommuKind::Driver => Pages::Driver(of.flat.cycles()),
        IommuKind::Tables => tables(file, &of, cpu)?,
    };
    let cache = match of.kind.0 {
        IommuKind::Tables if cpu => caches::cache(file, cache_path)?,
        IommuKind::Tables => {
            let why =
                Because::new("system.iommu.kind", "without a CPU walkers keep what they have read (page_walk_lines)");
            file.idle_section::<CacheFile>(cache_path, &why)?;
            no_cache()
        }
        kind => {
            let why = Because::value("system.iommu.kind", kind.word(), &["tables"]);
            file.idle_section::<CacheFile>(cache_path, &why)?;
            no_cache()
        }
    };
    let (entries, shootdown) = (of.entries.count(), of.shootdown.cycles());
    let tlb = (entries != Some(0)).then(|| limited(file, path, (entries, of.ways.count()))).transpose()?;
    let (lookups, misses) = (of.lookups.count(), of.misses.count());
    if lookups == Some(0) {
        return Err(file.wrong(path, Some("lookups"), "must be at least 1, or \"infinite\""));
    }
    let banks = of.banks.map_or(1, PowerOfTwo::count);
    Ok(Iommu {
        wire: LinkSpec { latency: of.latency.0, capacity: of.capacity.count(), bytes_per_cycle: None },
        tlb: tlb.map(|tlb| SharedTlbSpec { tlb, lookups, banks, misses, shootdown }),
        walkers: walkers(of.walkers.count(), shootdown),
        pages,
        cache,
    })
}

/// Marks the key of the other kind of page walk as having no effect.
fn idle_pages(file: &mut File, path: &str, flat: bool) {
    let (key, kind, other) = if flat { ("page_walk_cache", "flat", "tables") } else { ("flat", "tables", "flat") };
    file.idle(&join(path, key), &Because::value(&join(path, "kind"), kind, &[other]));
}

/// Marks the ways of an unlimited TLB as having no effect.
fn idle_ways(file: &mut File, path: &str) {
    let entries = join(path, "entries");
    file.idle(&join(path, "ways"), &Because::new(&entries, format!("{entries} is infinite")));
}

/// A TLB whose number of entries may be unlimited.
fn limited(file: &File, path: &str, (entries, ways): (Option<usize>, usize)) -> Result<TlbSpec, MachineError> {
    entries.map_or(Ok(TlbSpec::UNLIMITED), |entries| tlb(file, path, (entries, ways)))
}

fn tlb(file: &File, path: &str, (entries, ways): (usize, usize)) -> Result<TlbSpec, MachineError> {
    TlbSpec::new(entries, ways).map_err(|error| file.wrong(path, Some("entries"), error.to_string()))
}

/// The queue has as many entries as there are walkers.
fn walkers(walkers: usize, shootdown: Cycles) -> WalkersSpec {
    WalkersSpec { walkers, queue: walkers, shootdown }
}

/// The tables that an IOMMU's walkers read: those of a CPU's kernel, or those in the memory of the host outside.
fn tables(file: &File, of: &IommuFile, cpu: bool) -> Result<Pages, MachineError> {
    let path = "system.iommu";
    let lines = of.page_walk_lines.map_or(0, Number::count);
    let page_walk_cache = match (levels(file, path, of.page_walk_cache.count())?, lines) {
        (levels, 0) => levels,
        (None, lines) => {
            let spec = TlbSpec::new(lines, lines);
            let lines = spec.map_err(|error| file.wrong(path, Some("page_walk_lines"), error.to_string()))?;
            Some(PageWalkCache::Lines(lines))
        }
        (Some(_), _) => {
            let reason =
                "walkers keep lines of the tables, or entries of upper levels (page_walk_cache): one of them must be 0";
            return Err(file.wrong(path, Some("page_walk_lines"), reason));
        }
    };
    let host = match (cpu, of.host_memory) {
        (true, _) => None,
        (false, Some(latency)) => Some(latency.cycles()),
        (false, None) => {
            let reason =
                "without a CPU page tables lie in the memory of the host: say how many cycles a read of it takes";
            return Err(file.wrong(path, Some("host_memory"), reason));
        }
    };
    Ok(Pages::Tables { page_walk_cache, host })
}

/// A fully associative cache of entries of upper levels; 0 entries: none.
fn levels(file: &File, path: &str, entries: usize) -> Result<Option<PageWalkCache>, MachineError> {
    let cache = (entries > 0).then(|| TlbSpec::new(entries, entries)).transpose();
    let cache = cache.map_err(|error| file.wrong(path, Some("page_walk_cache"), error.to_string()))?;
    Ok(cache.map(PageWalkCache::Levels))
}
