//! A machine as its file describes it, with every number checked.

use crate::{
    bounds,
    caches::{WireFile, wire},
    cpu_complex::{self, CpuComplex},
    device::{self, Device},
    driver::DriverSpec,
    energy::{self, EnergySpec},
    fabric::{self, Fabric, Remote},
    file::{Because, File, Idle, MachineError},
    levels::{self, Levels},
    memory::{self, Acquires, Leases},
    organisation::{Around, Organisation, organisation},
    translation::{self, GpuFbt, GpuMmu, Iommu},
    units::{Duration, Rate},
    values::{Choice, Number, OneOf, Positive},
    zones::{MemoryZone, Place},
};
use cache::Shape;
use dram::{RoomSpec, Timing};
use engine::{Cycles, Hertz, LinkSpec};
use gpu::{ComputeUnitSpec, DispatcherSpec};
use interconnect::NetworkSpec;
use mem::{Interleave, Share, Stride};
use os::opencl::{Costs, gpu::Synchronisation};
use protocol::{
    Stamp,
    catalogue::Choice as Protocol,
    roles::{Atomics, Parameters, Role, Sees},
};
use serde::Deserialize;
use vm::TlbSpec;

/// A machine, ready to be wired.
#[derive(Clone)]
pub struct Machine {
    pub name: String,
    pub about: String,
    /// The whole machine file, with the files that it extends and all changes.
    pub resolved: String,
    pub clock: Hertz,
    pub protocol: Protocol,
    /// Number of GPUs; all are alike.
    pub gpus: usize,
    /// The parts of each GPU.
    pub arrays: usize,
    pub units_per_array: usize,
    pub dispatcher: DispatcherSpec,
    pub compute_unit: ComputeUnitSpec,
    /// The vector cache of each compute unit; the scalar cache and the instruction cache of each array; a bank of the
    /// L2.
    pub l1v: CacheSpec,
    pub l1s: CacheSpec,
    pub l1i: CacheSpec,
    pub l2: CacheSpec,
    pub banks: Banks,
    /// The network between the arrays of a GPU and the banks of its L2; `None`: a wire for each pair.
    pub network: Option<NetworkSpec>,
    /// The timing of each channel of the first memory.
    pub memory: Timing,
    /// Every memory with its channels; the host's, or the only one, comes first.
    pub zones: Vec<MemoryZone>,
    /// The fabric between GPUs, stacks of memory and the host, if there is one.
    pub fabric: Option<Fabric>,
    /// The caches that request lines of another GPU's memory, if GPUs have memories of their own.
    pub remote: Option<Remote>,
    pub wires: Wires,
    pub partitions: Partitions,
    /// The time that calls and transfers cost the host.
    pub host: Costs,
    /// The settings of the GPUs' driver.
    pub driver: DriverSpec,
    /// The energy of events, and leakage.
    pub energy: Option<EnergySpec>,
    /// The CPU and what it shares with the GPU; `None`: the host is outside the machine.
    pub cpu: Option<CpuComplex>,
    /// The translation of the compute units' addresses, if it takes time.
    pub gpu_mmu: Option<GpuMmu>,
    /// The forward-backward table below a second-level cache with virtual tags.
    pub fbt: Option<GpuFbt>,
    /// The table below each vector cache, if these alone have virtual tags: it detects synonyms, and the unit's TLB is
    /// below it.
    pub names: Option<TlbSpec>,
    /// Whether it is measured how long GPUs use lines, and how long translations stay in their TLBs.
    pub lifetimes: bool,
    /// The capacity in lines of each channel's time-stamp unit, if the protocol has one; `None`: all lines.
    pub tsu: Option<RoomSpec>,
    /// Whether an acquire makes caches invalidate their lines although the protocol could raise logical time instead.
    pub forgetting_acquires: bool,
    /// The memories of GPUs that are levels above the host's, if the protocol has such.
    pub levels: Option<Levels>,
    /// For tests of the golden image: the path of the first-level cache that answers one load with a wrong byte. No
    /// machine file can set it.
    pub broken: Option<String>,
}

/// A cache, or a bank of one.
#[derive(Clone, Copy, Debug)]
pub struct CacheSpec {
    pub shape: Shape,
    pub mshrs: usize,
    pub waiting: usize,
    pub join_queue: usize,
    pub write_back_queue: usize,
    /// From the arrival of a request to its look-up.
    pub latency: Cycles,
    /// Messages that it can handle per cycle.
    pub ports: usize,
}

/// How addresses are interleaved over the banks of the L2 and the channels of memory.
#[derive(Clone, Copy, Debug)]
pub struct Banks {
    pub count: usize,
    pub interleave: Stride,
}

impl Banks {
    /// The owner of each address; `owner` is given the number of each bank.
    pub fn deal<T>(&self, owner: impl Fn(usize) -> T) -> Interleave<T> {
        Interleave::deal(self.interleave, (0..self.count).map(owner))
    }

    /// The addresses of one bank.
    pub fn share(&self, number: usize) -> Share {
        Share::of(self.interleave, number as u64, self.count as u64)
    }
}

/// The wires at which the machine can be cut.
#[derive(Clone, Copy, Debug)]
pub struct Wires {
    pub dispatcher: LinkSpec,
    pub l1_l2: LinkSpec,
    pub l2_memory: LinkSpec,
}

/// Number of partitions for arrays, and for banks with their channels, besides the dispatcher's; 0: they are in the
/// dispatcher's. If GPUs are joined by a fabric, these are the numbers for each GPU; 0: the whole GPU is one partition.
#[derive(Clone, Copy, Debug)]
pub struct Partitions {
    pub arrays: usize,
    pub l2: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Root {
    about: String,
    /// The coherence protocol.
    protocol: OneOf<Protocol>,
    gpus: Positive<{ crate::plan::MOST as u64 }>,
}

impl Choice for Protocol {
    fn words() -> Vec<(&'static str, Self)> {
        Self::all().map(|choice| (choice.name, choice)).collect()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartitionsFile {
    arrays: Number,
    l2: Number,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostFile {
    call: Duration,
    copy_bandwidth: Option<Rate>,
    copy_engine: Option<Rate>,
}

/// A section that only contains other sections.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl Machine {
    /// Loads the shipped machine, or the file, called `name`, with `changes` such as `gpu.l2.size=4MiB`. A key without
    /// effect is an error.
    pub fn load(name: &str, changes: &[String]) -> Result<Self, MachineError> {
        let (machine, idle) = Self::examine(name, changes)?;
        idle.into_iter().next().map_or(Ok(machine), |idle| Err(idle.error))
    }

    /// Variant of [`load`](Self::load) that also returns the changes without effect, for lists of changes that are
    /// applied to several machines or tried one after another.
    pub fn examine(name: &str, changes: &[String]) -> Result<(Self, Vec<Idle>), MachineError> {
        let mut file = File::load(name, changes)?;
        let machine = Self::read(&mut file)?;
        let idle = file.without_effect();
        match idle.iter().find(|idle| !idle.change) {
            Some(idle) => Err(idle.error.clone()),
            None => Ok((machine, idle)),
        }
    }

    /// The machine, cut finely enough for this number of threads to have equal work: GPUs without a fabric get up to two
    /// partitions of arrays, and two of banks, for each thread. For one thread, they are not cut at all, since windows of
    /// several partitions take time. Results do not depend on the cut.
    pub(crate) fn cut_for(&self, threads: usize) -> Self {
        let mut machine = self.clone();
        let Partitions { arrays, l2 } = &mut machine.partitions;
        // Beside a CPU, whose complex is one partition, finer cuts of GPUs gain little.
        if threads == 1 && self.fabric.is_none() {
            (*arrays, *l2) = (0, 0);
        } else if self.fabric.is_none() && self.cpu.is_none() && *arrays > 0 && *l2 > 0 {
            *arrays = (2 * threads).min(self.gpus * self.arrays).max(*arrays);
            *l2 = (2 * threads).min(self.gpus * self.banks.count).max(*l2);
        }
        machine
    }

    /// Reads the machine that a file describes. Afterwards the file knows which of its keys have no effect.
    pub fn read(file: &mut File) -> Result<Self, MachineError> {
        let root: Root = file.section("")?;
        let (OneOf(protocol), gpus) = (root.protocol, root.gpus.count());
        let gpu = device::device(file)?;
        if gpus == 1 {
            file.idle("gpu.dispatcher.deal", &Because::new("gpus", "gpus is 1; set gpus to 2 or more"));
        }
        let partitions: PartitionsFile = file.section("partitions")?;
        let block = levels::block(file, protocol)?;
        let complex = cpu_complex::complex(file, gpu.virtual_caches, gpu.clock, block)?;
        let gpu_mmu = match &complex {
            Some(complex) => complex.gpu_mmu,
            None => translation::without_cpu(file, gpu.virtual_caches)?,
        };
        let fbt = match &complex {
            Some(complex) => complex.fbt,
            None => translation::fbt(file, gpu.virtual_caches, gpu.clock, false)?,
        };
        let names = translation::names(file, gpu.virtual_caches)?;
        let fabric = fabric::fabric(file)?;
        if block.is_some() && complex.is_some() && fabric.is_none() {
            let name = protocol.name;
            let reason = format!(
                "beside a CPU ([cpu]) {name} needs a fabric between the memories of GPUs and the host's: add one (fabric.part)"
            );
            return Err(file.wrong("", Some("protocol"), reason));
        }
        let host = host(file, complex.is_some(), fabric.is_some())?;
        let around = Around { protocol, gpus, banks: gpu.banks, cpu: complex.as_ref(), fabric: fabric.as_ref() };
        let Organisation { timing: memory, time_bits, leases, acquires, zones, remote } = organisation(file, &around)?;
        let apart = zones.iter().any(|zone| !matches!(zone.place, Place::Agent));
        if apart && complex.as_ref().is_some_and(|complex| complex.dma.is_none()) {
            let reason = "cores do not reach the memories of GPUs, so an engine has to copy: it must be \"dma\"";
            return Err(file.wrong("system", Some("copies"), reason));
        }
        let tsu = memory::tsu(file, protocol, gpu.banks)?;
        let levels = levels::levels(file, protocol, gpus, gpu.banks, fabric.is_some())?;
        let wires = wires(file, complex.as_ref().filter(|_| fabric.is_none()))?;
        let mut protocol = timed(file, protocol, time_bits, gpu.banks)?;
        give_leases(file, &mut protocol, leases)?;
        protocol.parameters.peers = gpus > 1;
        protocol.parameters.claims = fbt.is_some();
        if !protocol.has(Role::L2) {
            let reason = format!(
                "virtual: {} has no second-level cache for a forward-backward table; it must be physical",
                protocol.name
            );
            return Err(file.wrong("gpu.l2", Some("tags"), reason));
        }
        // One wire for each pair of a cache and a bank.
        protocol.parameters.in_order = gpus == 1 && fabric.is_none() && gpu.network.is_none() && fbt.is_none();
        // Caches of several GPUs that hold the same line meet in memory.
        if gpus > 1 && protocol.protocol.boundary.stale_between_gpus {
            let alone = remote == Some(Remote::L1);
            protocol.parameters.atomics = if alone { Atomics::BelowForHost } else { Atomics::Below };
        }
        protocol.parameters.recalls = complex.as_ref().is_some_and(CpuComplex::flushes);
        if let Some(levels) = &levels {
            protocol.parameters.lines = 1 << levels.lines_log2();
            protocol.parameters.peer_transfer = levels.peer_transfer;
            protocol.parameters.grain = levels.mask;
            // With dynamic synchronisation the host takes the blocks that it needs from the GPUs, with all released
            // bytes.
            protocol.parameters.releases_home = fabric.is_none() || levels.synchronise != Synchronisation::Dynamic;
        }
        let driver = DriverSpec::load(file)?;
        let energy = energy::energy(file)?;
        file.finish()?;
        let Device { clock, arrays, units_per_array, dispatcher, compute_unit, .. } = gpu;
        let machine = Self {
            name: file.name.clone(),
            about: root.about,
            resolved: file.resolved(),
            clock,
            protocol,
            gpus,
            arrays,
            units_per_array,
            dispatcher,
            compute_unit,
            l1v: gpu.l1v,
            l1s: gpu.l1s,
            l1i: gpu.l1i,
            l2: gpu.l2,
            banks: gpu.banks,
            network: gpu.network,
            memory,
            zones,
            fabric,
            remote,
            wires,
            partitions: Partitions { arrays: partitions.arrays.count(), l2: partitions.l2.count() },
            host,
            driver,
            energy,
            cpu: complex,
            gpu_mmu,
            fbt,
            names,
            lifetimes: gpu.lifetimes,
            tsu,
            forgetting_acquires: acquires == Acquires::Forget,
            levels,
            broken: None,
        };
        bounds::check(&machine, file)?;
        Ok(machine)
    }

    /// Maximum number of wavefronts in flight on all GPUs together.
    pub fn wavefronts(&self) -> u64 {
        (self.gpus * self.compute_units() * self.compute_unit.wavefronts()) as u64
    }

    /// Peak bandwidth of all channels of memory together, in bytes per second.
    pub fn memory_peak(&self) -> f64 {
        self.zones.iter().map(|zone| zone.timing.peak(self.clock) * zone.count() as f64).sum()
    }

    /// The latency of a read in an idle memory, in cycles of the compute units; for DRAM, of a read that conflicts with
    /// an open row.
    pub fn memory_latency(&self) -> f64 {
        match self.memory {
            Timing::Fixed(fixed) => fixed.latency.0 as f64,
            Timing::Dram(dram) => {
                let times = &dram.standard.timings;
                let burst = dram.standard.burst_length.div_ceil(dram.standard.beats_per_cycle);
                let cycles = times.rp + times.rcd_read + times.cl + burst + dram.latency.0;
                cycles as f64 / dram.standard.clock.0 as f64 * self.clock.0 as f64
            }
        }
    }

    /// The IOMMU that GPUs ask for translations, if there is one.
    pub fn iommu(&self) -> Option<Iommu> {
        self.gpu_mmu.map(|mmu| mmu.iommu).or(self.fbt.map(|fbt| fbt.iommu))
    }

    /// Whether the TLBs of each GPU's compute units ask an IOMMU that no other GPU uses.
    pub fn has_lone_iommu(&self) -> bool {
        self.gpu_mmu.is_some() && self.cpu.is_none() && self.fabric.is_none()
    }

    /// Number of channels of all memories.
    pub fn channels(&self) -> usize {
        self.zones.iter().map(MemoryZone::count).sum()
    }

    /// Whether a host written in Rust, outside the model, can write the data that kernels read. It can not if GPUs keep
    /// copies of the host's memory, because only the driver of a program takes these back.
    pub fn serves_rust_hosts(&self) -> bool {
        self.levels.is_none() || self.fabric.is_none()
    }

    /// Number of compute units of each GPU.
    pub fn compute_units(&self) -> usize {
        self.arrays * self.units_per_array
    }
}

/// The costs of a host outside the machine. Without a section for it, such a host takes no time besides its
/// instructions.
fn host(file: &mut File, cores: bool, fabric: bool) -> Result<Costs, MachineError> {
    if cores {
        let why =
            Because::new("cpu", "the program runs on the machine's own cores ([cpu]), and calls take what they take");
        file.idle_section::<HostFile>("host", &why)?;
    }
    if cores || !file.has("host") {
        return Ok(Costs::default());
    }
    if fabric {
        let why = Because::new("fabric", "a DMA engine copies over the fabric ([fabric]), whose bandwidth counts");
        ["copy_bandwidth", "copy_engine"].iter().for_each(|key| file.idle(&format!("host.{key}"), &why));
    }
    let HostFile { call, copy_bandwidth, copy_engine } = file.section("host")?;
    if copy_bandwidth.is_none() && !fabric {
        let reason = "without a fabric ([fabric]) it is needed, as the bandwidth of copies between host and GPUs: write it like \"12 GB/s\"";
        return Err(file.wrong("host", Some("copy_bandwidth"), reason));
    }
    let rate = |rate: Option<Rate>| rate.map(|rate| rate.0);
    Ok(Costs { call: call.0, bandwidth: rate(copy_bandwidth), copy_engine: rate(copy_engine), ..Costs::default() })
}

/// Reads `[wires]`. On a machine with a CPU, the L2's requests go to the hub, so the hub's wire replaces the wire to
/// memory.
fn wires(file: &mut File, complex: Option<&CpuComplex>) -> Result<Wires, MachineError> {
    file.section::<Nothing>("wires")?;
    let path = "wires.l2_memory";
    let l2_memory = match complex {
        None => wire(file, path)?,
        Some(complex) => {
            let why = "beside a CPU ([cpu]) the GPU's L2 is wired to the hub; set system.hub instead";
            file.idle_section::<WireFile>(path, &Because::new("cpu", why))?;
            complex.hub.expect("without a fabric, GPUs are wired to a hub")
        }
    };
    Ok(Wires { dispatcher: wire(file, "wires.dispatcher")?, l1_l2: wire(file, "wires.l1_l2")?, l2_memory })
}

/// Sets the leases that a file gives, if the protocol has leases; `gtsc` has a single one for reads and writes.
fn give_leases(file: &mut File, protocol: &mut Protocol, leases: Leases) -> Result<(), MachineError> {
    let name = protocol.protocol.name;
    let all =
        [("read_lease", &["halcone", "gtsc"][..]), ("write_lease", &["halcone"]), ("acquires", &["halcone", "gtsc"])];
    for (key, has) in all {
        if !has.contains(&name) {
            file.idle(&format!("memory.{key}"), &Because::value("protocol", protocol.name, has));
        }
    }
    let last = protocol.parameters.last_time() as usize;
    for (key, lease, least) in [("read_lease", leases.read, 1), ("write_lease", leases.write, 2)] {
        if lease.is_some_and(|lease| lease < least || lease >= last) {
            let bits = protocol.parameters.time_bits;
            let reason = format!("must be from {least} to {}: times have {bits} bits", last - 1);
            return Err(file.wrong("memory", Some(key), reason));
        }
    }
    let parameters = &mut protocol.parameters;
    parameters.read_lease = leases.read.map_or(parameters.read_lease, |lease| lease as Stamp);
    parameters.write_lease = leases.write.map_or(parameters.write_lease, |lease| lease as Stamp);
    Ok(())
}

/// Enough bits for a lease.
const LEAST_TIME_BITS: usize = Parameters::LEAST_TIME_BITS as usize;

/// The protocol with logical times of this many bits, if it has logical times.
fn timed(file: &mut File, mut protocol: Protocol, bits: Option<usize>, banks: Banks) -> Result<Protocol, MachineError> {
    let by_time = |choice: &Protocol| choice.protocol.sees == Sees::ByTime;
    if !by_time(&protocol) {
        let known = Protocol::all().filter(by_time).map(|choice| choice.name);
        let others: Vec<&str> = known.collect();
        file.idle("memory.time_bits", &Because::value("protocol", protocol.name, &others));
        return Ok(protocol);
    }
    match bits {
        None => Ok(protocol),
        Some(bits) if !(LEAST_TIME_BITS..=32).contains(&bits) => {
            let reason = format!("logical times have {LEAST_TIME_BITS} to 32 bits: a lease must fit");
            Err(file.wrong("memory", Some("time_bits"), reason))
        }
        Some(bits) if bits < 32 && protocol.protocol.name == "gtsc" && banks.count > 1 => {
            let reason = "with several banks gtsc needs 32: each bank restarts its logical time by itself, and a compute unit has one time for all banks";
            Err(file.wrong("memory", Some("time_bits"), reason))
        }
        Some(bits) => {
            protocol.parameters.time_bits = bits as u32;
            Ok(protocol)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(name: &str, threads: usize) -> (usize, usize) {
        let Partitions { arrays, l2 } = Machine::load(name, &[]).unwrap().cut_for(threads).partitions;
        (arrays, l2)
    }

    #[test]
    fn gpus_are_cut_as_finely_as_their_threads_need() {
        assert_eq!([1, 2, 4, 64].map(|threads| cut("r9nano", threads)), [(0, 0), (4, 4), (8, 8), (16, 16)]);
        // With one partition for arrays there is still one, and the cuts of machines with a CPU or a fabric do not
        // change.
        assert_eq!(["skeleton", "apu-c-l3", "multi-pcie"].map(|name| cut(name, 8)), [(0, 1), (1, 1), (2, 2)]);
    }
}
