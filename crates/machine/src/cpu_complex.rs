//! A CPU beside the GPU: the sections `[cpu]` (cores and caches) and `[system]` (what CPU and GPU share) of a machine
//! file (`[giles Fig. 3.2]`).

use crate::{
    caches::{VirtualCaches, WireFile, cache, wire},
    core,
    file::{Because, File, MachineError},
    network,
    spec::{Banks, CacheSpec},
    translation::{self, CoreMmu, GpuFbt, GpuMmu, Iommu},
    units::{Duration, Frequency, Size},
    values::{Choice, Interleaving, Number, OneOf, PASSING, Positive, WIDE},
};
use ::cache::Shape;
use cpu::CoreSpec;
use engine::{Hertz, LinkSpec, Time};
use interconnect::NetworkSpec;
use mem::{LINE, Stride};
use os::process::SystemSpec;
use serde::{Deserialize, Deserializer, de};

/// Cores with their caches, the last-level cache, and the way to memory.
#[derive(Clone, Debug)]
pub struct CpuComplex {
    /// Clock of cores and their caches.
    pub clock: Hertz,
    pub cores: usize,
    pub core: CoreSpec,
    /// Hardware threads of each core.
    pub threads: usize,
    /// Costs of the kernel's services; `slice` is the time slice of a thread while other threads wait for a core.
    pub kernel: SystemSpec,
    pub slice: Time,
    pub l1d: CacheSpec,
    pub l1i: CacheSpec,
    pub l2: CacheSpec,
    /// One slice of the last-level cache. Consecutive lines lie in consecutive slices; if memories are levels,
    /// consecutive blocks.
    pub l3: CacheSpec,
    pub slices: usize,
    pub slice_interleave: Stride,
    /// Clock of the network and the memory controllers.
    pub system_clock: Hertz,
    /// Connects second-level caches, slices, the GPU's hub and the system agent.
    pub network: NetworkSpec,
    /// The link from the GPU's L2 to the hub; `None`: GPUs ask the directories of the host's memory, past the network.
    pub hub: Option<LinkSpec>,
    pub channels: Banks,
    /// Address translation of a core and of a compute unit.
    pub core_mmu: Option<CoreMmu>,
    pub gpu_mmu: Option<GpuMmu>,
    /// The forward-backward table of the GPU, if its caches have virtual tags.
    pub fbt: Option<GpuFbt>,
    pub join: Join,
    /// Whether host and GPU access the same buffers; otherwise buffers are copied.
    pub shared: bool,
    /// The DMA engine that copies buffers; `None`: cores copy.
    pub dma: Option<DmaSpec>,
    /// What is flushed where CPU and GPU are not coherent.
    pub flush: Flush,
    /// Bytes that a copying core moves at a time.
    pub copy_width: u64,
    /// Whether a call that launches a kernel returns only when the kernel has ended.
    pub blocking_launches: bool,
}

/// What is flushed where CPU and GPU are not coherent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// All that GPUs hold, after each kernel.
    Kernels,
    /// A buffer when the host reads, writes or maps it: line by line, by instructions of a core.
    Buffers,
}

impl Choice for Flush {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("kernels", Self::Kernels), ("buffers", Self::Buffers)]
    }
}

/// A DMA engine.
#[derive(Clone, Copy, Debug)]
pub struct DmaSpec {
    /// Maximum requests in flight.
    pub outstanding: usize,
    /// Spec of each of the engine's two caches.
    pub cache: CacheSpec,
}

impl CpuComplex {
    /// Number of private cache stacks above the last-level cache: cores, the IOMMU if it reads page tables, and the DMA
    /// engine, in this order.
    pub fn stacks(&self) -> usize {
        stacks(self.cores, self.iommu(), self.dma)
    }

    /// The element that translates for GPUs.
    pub fn iommu(&self) -> Option<Iommu> {
        iommu(self.gpu_mmu, self.fbt)
    }

    /// How lines are interleaved over the slices of the last-level cache.
    pub fn slices(&self) -> Banks {
        Banks { count: self.slices, interleave: self.slice_interleave }
    }

    /// Whether caches are flushed at kernel boundaries: where CPU and GPU join only in memory, or use separate buffers
    /// (`[giles 4.2]`).
    pub fn flushes(&self) -> bool {
        match self.join {
            Join::LastLevel => !self.shared,
            Join::Memory => true,
            Join::Directories => false,
        }
    }

    /// Whether cores flush buffers that the host uses.
    pub fn flushes_buffers(&self) -> bool {
        self.flushes() && self.flush == Flush::Buffers
    }
}

fn iommu(gpu_mmu: Option<GpuMmu>, fbt: Option<GpuFbt>) -> Option<Iommu> {
    gpu_mmu.map(|mmu| mmu.iommu).or(fbt.map(|fbt| fbt.iommu))
}

fn stacks(cores: usize, iommu: Option<Iommu>, dma: Option<DmaSpec>) -> usize {
    let iommu = iommu.is_some_and(|iommu| iommu.reads());
    cores + usize::from(iommu) + usize::from(dma.is_some())
}

/// The level at which the GPU joins the CPU's memory system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// GPU requests go to the last-level cache, whose directory treats the GPU as one more core.
    LastLevel,
    /// GPU requests go to memory, past the CPU's caches.
    Memory,
    /// As [`Memory`](Self::Memory); memories of GPUs are levels above it, and its directories keep the last-level cache
    /// coherent with them.
    Directories,
}

impl Choice for Join {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("l3", Self::LastLevel), ("memory", Self::Memory)]
    }
}

/// Whether host and GPU access the same buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Buffers {
    Shared,
    Copied,
}

impl Choice for Buffers {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("shared", Self::Shared), ("copied", Self::Copied)]
    }
}

/// What executes copies between host buffers and GPU buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copies {
    Core,
    Dma,
}

impl Choice for Copies {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("core", Self::Core), ("dma", Self::Dma)]
    }
}

/// Bytes that a copying core moves at a time: words of the library's memory copy, or half of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CopyWidth(u64);

impl Choice for CopyWidth {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("4 B", Self(4)), ("8 B", Self(8))]
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CpuFile {
    clock: Frequency,
    cores: Positive,
    threads: Positive,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KernelFile {
    trap: Number<PASSING>,
    soft_fault: Number<PASSING>,
    hard_fault: Number<PASSING>,
    copy_per_kib: Number<PASSING>,
    huge_pages: Option<bool>,
    slice: Slice,
}

/// Time slice of a thread while other threads wait for a core.
struct Slice(Time);

impl<'de> Deserialize<'de> for Slice {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Duration::deserialize(from)?.0 {
            Time::ZERO => Err(de::Error::custom("must be longer than 0")),
            time => Ok(Self(time)),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SystemFile {
    clock: Frequency,
    slices: Positive,
    channels: Positive,
    interleave: Interleaving,
    join: OneOf<Join>,
    memory: OneOf<Buffers>,
    copies: OneOf<Copies>,
    flush: Option<OneOf<Flush>>,
    copy_width: Option<OneOf<CopyWidth>>,
    blocking_launches: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DmaFile {
    outstanding: Positive,
    size: Size,
    ways: Positive<WIDE>,
    latency: Number,
}

/// Reads the CPU complex if the file has one; otherwise marks its sections as having no effect. `block`: bytes of a
/// block if memories of GPUs are levels above the host's.
pub fn complex(
    file: &mut File,
    virtual_caches: VirtualCaches,
    gpu_clock: Hertz,
    block: Option<u64>,
) -> Result<Option<CpuComplex>, MachineError> {
    if !file.founded("cpu") {
        let why = Because::new("cpu", "the machine has no CPU; a part gives it one (cpu.part)");
        file.idle("cpu", &why);
        if !file.founded("gpu.mmu") && !file.founded("gpu.fbt") {
            file.idle("system", &why);
            file.idle("gpu.mmu", &why);
        }
        return Ok(None);
    }
    let cpu: CpuFile = file.section("cpu")?;
    let system: SystemFile = file.section("system")?;
    let core = core::core(file)?;
    core.check(cpu.threads.count()).map_err(|error| file.wrong("cpu.core", None, error.to_string()))?;
    let kernel: KernelFile = file.section("cpu.kernel")?;
    // A block has one directory, which then deals with one slice.
    let slices = Banks { count: system.slices.count(), interleave: Stride::of(block.unwrap_or(LINE as u64)) };
    let mut l3 = cache(file, "cpu.l3")?;
    l3.shape = l3.shape.of_share(slices.share(0));
    let dma = dma(file, system.copies.0)?;
    let (core_mmu, gpu_mmu) = (translation::of_cores(file)?, translation::of_gpus(file, virtual_caches, true)?);
    let fbt = translation::fbt(file, virtual_caches, gpu_clock, true)?;
    let hub = match block {
        None => Some(wire(file, "system.hub")?),
        Some(_) => {
            let why = "GPUs reach the directories of the host's memory over the fabric, past the CPU's network; set fabric.bandwidth";
            file.idle_section::<WireFile>("system.hub", &Because::new("protocol", why))?;
            None
        }
    };
    // More stations: the hub, if there is one, and the system agent.
    let stations = stacks(cpu.cores.count(), iommu(gpu_mmu, fbt), dma) + slices.count + usize::from(hub.is_some()) + 1;
    // Wires between caches and to memory take their capacity and width from the network.
    let used = ["capacity", "bytes_per_cycle", "cut_through"];
    let Some(network) = network::network(file, "system.network", &used, stations)? else {
        return Err(file.wrong("system.network", Some("kind"), "must be a network: ring, crossbar, mesh or bus"));
    };
    Ok(Some(CpuComplex {
        clock: cpu.clock.0,
        cores: cpu.cores.count(),
        core,
        threads: cpu.threads.count(),
        kernel: SystemSpec {
            trap: kernel.trap.get(),
            soft_fault: kernel.soft_fault.get(),
            hard_fault: kernel.hard_fault.get(),
            copy_per_kib: kernel.copy_per_kib.get(),
            huge_pages: kernel.huge_pages.unwrap_or(false),
        },
        slice: kernel.slice.0,
        l1d: cache(file, "cpu.l1d")?,
        l1i: cache(file, "cpu.l1i")?,
        l2: cache(file, "cpu.l2")?,
        l3,
        slices: slices.count,
        slice_interleave: slices.interleave,
        system_clock: system.clock.0,
        network,
        hub,
        channels: Banks { count: system.channels.count(), interleave: system.interleave.0 },
        core_mmu,
        gpu_mmu,
        fbt,
        join: match system.join.0 {
            Join::Memory if block.is_some() => Join::Directories,
            other => other,
        },
        shared: system.memory.0 == Buffers::Shared,
        dma,
        flush: system.flush.map_or(Flush::Kernels, |flush| flush.0),
        copy_width: system.copy_width.map_or(8, |width| width.0.0),
        blocking_launches: system.blocking_launches.unwrap_or(false),
    }))
}

/// Reads the DMA engine if it executes copies.
fn dma(file: &mut File, copies: Copies) -> Result<Option<DmaSpec>, MachineError> {
    let path = "system.dma";
    if copies == Copies::Core {
        file.idle_section::<DmaFile>(path, &Because::value("system.copies", "core", &["dma"]))?;
        return Ok(None);
    }
    let DmaFile { outstanding, size, ways, latency } = file.section(path)?;
    let shape = Shape::new(size.0, ways.count()).map_err(|reason| file.wrong(path, Some("size"), reason))?;
    let outstanding = outstanding.count();
    let cache = CacheSpec {
        shape,
        mshrs: outstanding,
        waiting: outstanding,
        join_queue: outstanding,
        write_back_queue: outstanding,
        latency: latency.cycles(),
        ports: 1,
    };
    Ok(Some(DmaSpec { outstanding, cache }))
}
