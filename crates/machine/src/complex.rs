//! A CPU beside the GPU, as a machine file says: `[cpu]` with its caches, and `[system]`, what CPU and GPU share
//! (`[giles Fig. 3.2]`).

use crate::{
    file::{File, MachineError},
    network,
    spec::{Banks, CacheSpec, at_least_one, l1, stride, wire},
    translation::{self, CoreMmu, GpuMmu},
    units::{Duration, Frequency, Size},
};
use cache::Shape;
use cpu::{CoreSpec, Direction, Jitter, PredictorSpec, Registers};
use engine::{Cycles, Hertz, LinkSpec, Time};
use interconnect::NetworkSpec;
use mem::{LINE, Stride};
use os::process::SystemSpec;
use serde::Deserialize;

/// Cores with their caches, the last-level cache, and the way to memory.
#[derive(Clone, Debug)]
pub struct Complex {
    /// Of cores and their caches.
    pub clock: Hertz,
    pub cores: usize,
    pub core: CoreSpec,
    /// Hardware threads of each core.
    pub threads: usize,
    /// What the kernel takes, and how long a thread runs while others wait for a core.
    pub kernel: SystemSpec,
    pub slice: Time,
    pub l1d: CacheSpec,
    pub l1i: CacheSpec,
    pub l2: CacheSpec,
    /// A slice of the last-level cache; lines are dealt over the slices one by one.
    pub l3: CacheSpec,
    pub slices: usize,
    /// Of the network and the memory controllers.
    pub system_clock: Hertz,
    /// Between second-level caches, slices, the GPU's hub and the system agent.
    pub network: NetworkSpec,
    /// From the GPU's L2 to the hub.
    pub hub: LinkSpec,
    pub channels: Banks,
    /// What translation takes a core, and a compute unit.
    pub core_mmu: Option<CoreMmu>,
    pub gpu_mmu: Option<GpuMmu>,
    pub join: Join,
    /// Whether host and GPU use the same bytes; otherwise buffers are copied.
    pub shared: bool,
    /// The engine that copies, if cores do not.
    pub dma: Option<DmaSpec>,
}

/// A DMA engine.
#[derive(Clone, Copy, Debug)]
pub struct DmaSpec {
    /// Requests that can be under way.
    pub outstanding: usize,
    /// Each of the two caches through which it asks.
    pub cache: CacheSpec,
}

impl Complex {
    /// Who has private caches over the last-level cache: cores, an IOMMU that reads page tables, and a DMA engine as the last.
    pub fn stacks(&self) -> usize {
        stacks(self.cores, self.gpu_mmu, self.dma)
    }

    /// How lines are dealt over the slices of the last-level cache.
    pub fn slices(&self) -> Banks {
        Banks { count: self.slices, interleave: Stride::of(LINE as u64) }
    }

    /// Whether caches are flushed at the borders of kernels: where CPU and GPU meet only in memory, and where they use
    /// addresses of their own (4.2).
    pub fn flushes(&self) -> bool {
        self.join == Join::Memory || !self.shared
    }
}

fn stacks(cores: usize, gpu_mmu: Option<GpuMmu>, dma: Option<DmaSpec>) -> usize {
    let iommu = gpu_mmu.is_some_and(|mmu| mmu.iommu.reads());
    cores + usize::from(iommu) + usize::from(dma.is_some())
}

/// Where the GPU's requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// To the last-level cache, whose directory knows the GPU as one more core.
    LastLevel,
    /// To memory, past the CPU's caches.
    Memory,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CpuFile {
    clock: Frequency,
    cores: usize,
    threads: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CoreFile {
    fetch_width: usize,
    decode_width: usize,
    dispatch_width: usize,
    issue_width: usize,
    commit_width: usize,
    fetch_queue: usize,
    micro_op_queue: usize,
    rob: usize,
    issue_queue: usize,
    load_queue: usize,
    store_queue: usize,
    integer_registers: usize,
    x87_registers: usize,
    xmm_registers: usize,
    predictor: String,
    counters: usize,
    history: u32,
    btb_sets: usize,
    btb_ways: usize,
    return_stack: usize,
    penalty: u64,
    line_buffers: usize,
    next_line: bool,
    wait_for_addresses: bool,
    store_prefetch: bool,
    jitter: u64,
    jitter_seed: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KernelFile {
    trap: u64,
    soft_fault: u64,
    hard_fault: u64,
    copy_per_kib: u64,
    slice: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SystemFile {
    clock: Frequency,
    slices: usize,
    channels: usize,
    interleave: Size,
    join: String,
    memory: String,
    copies: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DmaFile {
    outstanding: usize,
    size: Size,
    ways: usize,
    latency: u64,
}

/// The complex, if the file has one.
pub fn complex(file: &mut File) -> Result<Option<Complex>, MachineError> {
    if !file.has("cpu") {
        return Ok(None);
    }
    let cpu: CpuFile = file.section("cpu")?;
    let system: SystemFile = file.section("system")?;
    at_least_one(file, "cpu", "cores", cpu.cores)?;
    let core = core(file)?;
    core.check(cpu.threads).map_err(|error| file.wrong("cpu.core", None, error.to_string()))?;
    let kernel: KernelFile = file.section("cpu.kernel")?;
    if kernel.slice.0 == Time::ZERO {
        return Err(file.wrong("cpu.kernel", Some("slice"), "must be longer than nothing"));
    }
    at_least_one(file, "system", "slices", system.slices)?;
    at_least_one(file, "system", "channels", system.channels)?;
    let interleave = stride(file, "system", system.interleave)?;
    let join = match system.join.as_str() {
        "l3" => Join::LastLevel,
        "memory" => Join::Memory,
        other => return Err(file.no_choice("system", "join", other, &["l3", "memory"])),
    };
    let shared = match system.memory.as_str() {
        "shared" => true,
        "copied" => false,
        other => return Err(file.no_choice("system", "memory", other, &["shared", "copied"])),
    };
    let mut l3 = l1(file, "cpu.l3")?;
    l3.shape = l3.shape.of_share(Banks { count: system.slices, interleave: Stride::of(LINE as u64) }.share(0));
    let engine = dma(file)?;
    let dma = match system.copies.as_str() {
        "core" => None,
        "dma" => Some(engine),
        other => return Err(file.no_choice("system", "copies", other, &["core", "dma"])),
    };
    let (core_mmu, gpu_mmu) = (translation::of_cores(file)?, translation::of_gpus(file)?);
    // The hub and the system agent are two more.
    let stations = stacks(cpu.cores, gpu_mmu, dma) + system.slices + 2;
    let Some(network) = network::network(file, "system.network", stations)? else {
        return Err(file.wrong("system.network", Some("kind"), "must be a network: ring, crossbar, mesh or bus"));
    };
    Ok(Some(Complex {
        clock: cpu.clock.0,
        cores: cpu.cores,
        core,
        threads: cpu.threads,
        kernel: SystemSpec {
            trap: kernel.trap,
            soft_fault: kernel.soft_fault,
            hard_fault: kernel.hard_fault,
            copy_per_kib: kernel.copy_per_kib,
        },
        slice: kernel.slice.0,
        l1d: l1(file, "cpu.l1d")?,
        l1i: l1(file, "cpu.l1i")?,
        l2: l1(file, "cpu.l2")?,
        l3,
        slices: system.slices,
        system_clock: system.clock.0,
        network,
        hub: wire(file, "system.hub")?,
        channels: Banks { count: system.channels, interleave },
        core_mmu,
        gpu_mmu,
        join,
        shared,
        dma,
    }))
}

fn dma(file: &mut File) -> Result<DmaSpec, MachineError> {
    let path = "system.dma";
    let DmaFile { outstanding, size, ways, latency } = file.section(path)?;
    at_least_one(file, path, "outstanding", outstanding)?;
    let shape = Shape::new(size.0, ways).map_err(|reason| file.wrong(path, Some("size"), reason))?;
    let (mshrs, waiting, latency) = (outstanding, outstanding, Cycles(latency));
    let (join_queue, write_back_queue) = (waiting, mshrs);
    let cache = CacheSpec { shape, mshrs, waiting, join_queue, write_back_queue, latency, ports: 1 };
    Ok(DmaSpec { outstanding, cache })
}

/// What a core has of everything; its functional units are those of [`CoreSpec::default`].
fn core(file: &mut File) -> Result<CoreSpec, MachineError> {
    let path = "cpu.core";
    let core: CoreFile = file.section(path)?;
    let (counters, bits) = (core.counters, core.history);
    let direction = match core.predictor.as_str() {
        "never" => Direction::Never,
        "perfect" => Direction::Perfect,
        "bimodal" => Direction::Bimodal { counters },
        "two-level" => Direction::TwoLevel { histories: 1, bits, counters },
        "combined" => Direction::Combined { bimodal: counters, histories: 1, bits, counters, choices: counters },
        other => {
            let known = ["never", "perfect", "bimodal", "two-level", "combined"];
            return Err(file.no_choice(path, "predictor", other, &known));
        }
    };
    Ok(CoreSpec {
        fetch_width: core.fetch_width,
        decode_width: core.decode_width,
        dispatch_width: core.dispatch_width,
        issue_width: core.issue_width,
        commit_width: core.commit_width,
        fetch_queue: core.fetch_queue,
        micro_op_queue: core.micro_op_queue,
        rob: core.rob,
        issue_queue: core.issue_queue,
        load_queue: core.load_queue,
        store_queue: core.store_queue,
        registers: Registers { integer: core.integer_registers, x87: core.x87_registers, xmm: core.xmm_registers },
        predictor: PredictorSpec {
            direction,
            btb_sets: core.btb_sets,
            btb_ways: core.btb_ways,
            return_stack: core.return_stack,
            penalty: Cycles(core.penalty),
        },
        line_buffers: core.line_buffers,
        next_line: core.next_line,
        wait_for_addresses: core.wait_for_addresses,
        store_prefetch: core.store_prefetch,
        jitter: (core.jitter > 0).then_some(Jitter { seed: core.jitter_seed, most: Cycles(core.jitter) }),
        ..CoreSpec::default()
    })
}
