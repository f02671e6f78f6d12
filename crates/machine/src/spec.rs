//! A machine as its file says, with every number checked.

use crate::{
    bounds,
    complex::{self, Complex, Join},
    file::{File, MachineError},
    levels::{self, Levels},
    memory, network,
    plan::{MOST, Numbers},
    translation::GpuMmu,
    units::{Duration, Frequency, Rate, Size},
};
use cache::Shape;
use dram::{RoomSpec, Timing};
use engine::{Cycles, Hertz, LinkSpec};
use gpu::{Coalescer, ComputeUnitSpec, DispatcherSpec};
use interconnect::{NetworkSpec, Topology};
use mem::{Interleave, LINE, Share, Stride};
use os::opencl::Costs;
use protocol::{
    Sharers,
    catalogue::Choice,
    roles::{BesideCpu, Parameters, Role},
};
use serde::Deserialize;

/// Caches that a directory can tell apart.
const DIRECTORY: usize = Sharers::MOST;

/// A machine, ready to be wired.
pub struct Machine {
    pub name: String,
    pub about: String,
    /// The whole file, with what it extends and every change.
    pub resolved: String,
    pub clock: Hertz,
    pub protocol: Choice,
    /// How many GPUs there are, all alike, over one memory.
    pub gpus: usize,
    /// Of each GPU.
    pub arrays: usize,
    pub units_per_array: usize,
    pub dispatcher: DispatcherSpec,
    pub compute_unit: ComputeUnitSpec,
    /// Vector caches, one for each compute unit; scalar caches and caches of code, one for each array.
    pub l1v: CacheSpec,
    pub l1s: CacheSpec,
    pub l1i: CacheSpec,
    pub l2: CacheSpec,
    pub banks: Banks,
    /// Between the arrays of a GPU and the banks of its L2; none: a wire for each pair.
    pub network: Option<NetworkSpec>,
    /// Of each channel; there are as many as banks of the L2.
    pub memory: Timing,
    pub wires: Wires,
    pub partitions: Partitions,
    /// What the host takes for calls and transfers.
    pub host: Costs,
    /// The CPU and what it shares with the GPU; none: the host is outside the machine.
    pub complex: Option<Complex>,
    /// Of the time-stamp unit of each channel, where the protocol has such: how many lines it knows. None: all.
    pub tsu: Option<RoomSpec>,
    /// Memories of GPUs that are levels above the host's, where the protocol makes them so.
    pub levels: Option<Levels>,
    /// To try whether a check notices it: the first-level cache that answers one load with a wrong byte. No file says so.
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
    /// From a request on its way to its look-up.
    pub latency: Cycles,
    /// Messages it can take in a cycle.
    pub ports: usize,
}

/// How addresses are dealt over the banks of the L2 and the channels of memory.
#[derive(Clone, Copy, Debug)]
pub struct Banks {
    pub count: usize,
    pub interleave: Stride,
}

impl Banks {
    /// Who owns which addresses, given each of them by its number.
    pub fn deal<T>(&self, owner: impl Fn(usize) -> T) -> Interleave<T> {
        Interleave::deal(self.interleave, (0..self.count).map(owner))
    }

    /// The addresses of one of them.
    pub fn share(&self, number: usize) -> Share {
        Share::of(self.interleave, number as u64, self.count as u64)
    }
}

/// The wires along which the machine can be cut.
#[derive(Clone, Copy, Debug)]
pub struct Wires {
    pub dispatcher: LinkSpec,
    pub l1_l2: LinkSpec,
    pub l2_memory: LinkSpec,
}

/// How many partitions there are for arrays, and for banks with their channels, beside the one of the dispatcher. None: they
/// are in that one.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partitions {
    pub arrays: usize,
    pub l2: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Root {
    about: String,
    /// The protocol that keeps memory together.
    protocol: String,
    gpus: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostFile {
    call: Duration,
    copy_bandwidth: Rate,
    copy_engine: Option<Rate>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GpuFile {
    clock: Frequency,
    arrays: usize,
    units_per_array: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DispatcherFile {
    first_launch: u64,
    launch: u64,
    interval: u64,
    invalidate: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ComputeUnitFile {
    simds: usize,
    waves_per_simd: usize,
    vgprs: usize,
    sgprs: usize,
    lds: Size,
    decode: u64,
    vector: u64,
    scalar: u64,
    branch: u64,
    local: u64,
    local_banks: u32,
    coalesce: u64,
    coalescer: String,
    memory_pipeline: u64,
    line_slots: usize,
    instruction_buffer: Size,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct L1File {
    size: Size,
    ways: usize,
    mshrs: usize,
    waiting: usize,
    join_queue: Option<usize>,
    write_back_queue: Option<usize>,
    latency: u64,
    line: Option<Size>,
    replacement: Option<String>,
    ports: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct L2File {
    size: Size,
    ways: usize,
    banks: usize,
    interleave: Size,
    mshrs: usize,
    waiting: usize,
    join_queue: Option<usize>,
    write_back_queue: Option<usize>,
    line: Option<Size>,
    replacement: Option<String>,
    ports: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireFile {
    latency: Duration,
    capacity: usize,
    bytes_per_cycle: Option<u64>,
}

/// A section that has sections only.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// The banks of the L2.
fn banks(file: &File, l2: &L2File) -> Result<Banks, MachineError> {
    if !(1..=MOST).contains(&l2.banks) {
        return Err(file.wrong("gpu.l2", Some("banks"), format!("must be 1 to {MOST}")));
    }
    Ok(Banks { count: l2.banks, interleave: stride(file, "gpu.l2", l2.interleave)? })
}

/// Whether a protocol can keep GPUs coherent beside a CPU, or without one.
fn joins(file: &File, protocol: Choice, complex: Option<&Complex>, invalidate: bool) -> Result<(), MachineError> {
    let (name, wrong) = (protocol.name, |key: &str, reason: String| Err(file.wrong("", Some(key), reason)));
    let is_mesi = protocol.protocol.needs.cpu == BesideCpu::MustBeMember;
    match complex {
        None if is_mesi => wrong(
            "protocol",
            "mesi keeps GPUs coherent with a CPU, which this machine does not have: add a section [cpu], or choose another protocol".to_owned(),
        ),
        Some(_) if protocol.has(Role::GpuMemory) => wrong(
            "protocol",
            format!("{name} can't stand beside a CPU yet: leave out the section [cpu], or choose another protocol"),
        ),
        Some(complex) if complex.join == Join::LastLevel && !is_mesi => {
            let reason = format!(
                "the directory of the last-level cache speaks mesi, the GPUs {name}: join them in \"memory\", or set protocol to mesi"
            );
            Err(file.wrong("system", Some("join"), reason))
        }
        Some(_) if !is_mesi && !invalidate => {
            let reason = format!("GPUs that {name} keeps apart from the CPU must forget what they hold before a kernel: set it to true");
            Err(file.wrong("gpu.dispatcher", Some("invalidate"), reason))
        }
        _ => Ok(()),
    }
}

/// The key `interleave` of a section.
pub(crate) fn stride(file: &File, path: &str, interleave: Size) -> Result<Stride, MachineError> {
    let bytes = interleave.0.0;
    if !bytes.is_power_of_two() || bytes < LINE as u64 {
        let reason = format!("must be a power of two, and a line of {LINE} B at least");
        return Err(file.wrong(path, Some("interleave"), reason));
    }
    Ok(Stride::of(bytes))
}

impl Machine {
    /// The machine of that name or in that file, with `changes` such as `gpu.l2.size=4MiB`.
    pub fn load(name: &str, changes: &[String]) -> Result<Self, MachineError> {
        let mut file = File::load(name, changes)?;
        let root: Root = file.section("")?;
        let gpu: GpuFile = file.section("gpu")?;
        let dispatcher: DispatcherFile = file.section("gpu.dispatcher")?;
        let unit: ComputeUnitFile = file.section("gpu.compute_unit")?;
        let l2: L2File = file.section("gpu.l2")?;
        let (memory, time_bits) = memory::timing(&mut file)?;
        let network = network::network(&mut file, "gpu.network", gpu.arrays + l2.banks)?;
        let partitions: Partitions = file.section("partitions")?;
        // A machine that says nothing about its host has one that takes no time beside its instructions.
        let host = match file.has("host") {
            false => Costs::default(),
            true => {
                let HostFile { call, copy_bandwidth, copy_engine } = file.section("host")?;
                Costs { call: call.0, bandwidth: Some(copy_bandwidth.0), copy_engine: copy_engine.map(|rate| rate.0) }
            }
        };
        let complex = complex::complex(&mut file)?;
        file.section::<Nothing>("wires")?;
        let banks = banks(&file, &l2)?;
        let tsu = memory::tsu(&mut file, banks)?;
        let levels = levels::levels(&mut file, banks)?;
        let (l1s, l1i) = (l1(&mut file, "gpu.l1s")?, l1(&mut file, "gpu.l1i")?);
        // The pipeline before the vector cache is a stretch of wire on the way to it.
        let mut l1v = l1(&mut file, "gpu.l1v")?;
        l1v.latency.0 += unit.memory_pipeline;
        let wires = Wires {
            dispatcher: wire(&mut file, "wires.dispatcher")?,
            l1_l2: wire(&mut file, "wires.l1_l2")?,
            l2_memory: wire(&mut file, "wires.l2_memory")?,
        };
        file.finish()?;
        let within = |path: &str, key: &str, value: usize, most: usize| match value {
            0 => Err(file.wrong(path, Some(key), "must be at least 1")),
            value if value > most => Err(file.wrong(path, Some(key), format!("can be {most} at most"))),
            _ => Ok(()),
        };
        let Some(mut protocol) = Choice::named(&root.protocol) else {
            let known: Vec<&str> = Choice::all().map(|choice| choice.name).collect();
            return Err(file.no_choice("", "protocol", &root.protocol, &known));
        };
        joins(&file, protocol, complex.as_ref(), dispatcher.invalidate)?;
        match time_bits {
            None => {}
            Some(bits) if !(Parameters::LEAST_TIME_BITS..=32).contains(&bits) => {
                let least = Parameters::LEAST_TIME_BITS;
                let reason = format!("logical times have {least} to 32 bits: a lease must fit");
                return Err(file.wrong("memory", Some("time_bits"), reason));
            }
            Some(bits) if bits < 32 && protocol.protocol.name == "gtsc" && l2.banks > 1 => {
                let reason = "with several banks gtsc needs 32: each starts anew by itself, and a compute unit has one time for all";
                return Err(file.wrong("memory", Some("time_bits"), reason));
            }
            Some(bits) => protocol.parameters.time_bits = bits,
        }
        let has_levels = protocol.has(Role::GpuMemory);
        if let Some(levels) = &levels {
            protocol.parameters.lines = 1 << levels.lines_log2();
            protocol.parameters.peer_transfer = levels.peer_transfer;
        }
        within("", "gpus", root.gpus, MOST)?;
        within("gpu", "arrays", gpu.arrays, MOST)?;
        within("gpu", "units_per_array", gpu.units_per_array, MOST)?;
        within("gpu.compute_unit", "simds", unit.simds, 16)?;
        within("gpu.compute_unit", "waves_per_simd", unit.waves_per_simd, 64)?;
        within("gpu.compute_unit", "vector", unit.vector as usize, 1 << 16)?;
        within("gpu.compute_unit", "local_banks", unit.local_banks as usize, 64)?;
        let coalescer = match unit.coalescer.as_str() {
            "unit" => Coalescer::Unit,
            "cache" => Coalescer::Cache,
            other => return Err(file.no_choice("gpu.compute_unit", "coalescer", other, &["unit", "cache"])),
        };
        within("gpu.compute_unit", "line_slots", unit.line_slots, 1 << 20)?;
        within("gpu.compute_unit", "instruction_buffer", unit.instruction_buffer.0.0 as usize, 1 << 20)?;
        if !unit.instruction_buffer.0.0.is_multiple_of(LINE as u64) {
            let reason = format!("must be whole lines of {LINE} B");
            return Err(file.wrong("gpu.compute_unit", Some("instruction_buffer"), reason));
        }
        if unit.instruction_buffer.0.0 < 2 * LINE as u64 {
            let reason = format!("must be at least {} B: an instruction may lie in two lines of {LINE} B", 2 * LINE);
            return Err(file.wrong("gpu.compute_unit", Some("instruction_buffer"), reason));
        }
        within("gpu.dispatcher", "interval", dispatcher.interval as usize, 1 << 20)?;
        within("gpu.l2", "mshrs", l2.mshrs, 1 << 20)?;
        within("gpu.l2", "waiting", l2.waiting, 1 << 20)?;
        within("gpu.l2", "join_queue", l2.join_queue.unwrap_or(l2.waiting), 1 << 20)?;
        let l2_write_back_queue = l2.write_back_queue.unwrap_or(l2.mshrs.max(2));
        within("gpu.l2", "write_back_queue", l2_write_back_queue, 1 << 20)?;
        let peers = protocol.protocol.needs.peers && root.gpus > 1;
        let kept_back = [
            ("write_back_queue", l2_write_back_queue, root.gpus > 1),
            ("mshrs", l2.mshrs, peers),
            ("ways", l2.ways, peers),
        ];
        if let Some((key, ..)) = kept_back.into_iter().find(|(_, value, kept_back)| *kept_back && *value < 2) {
            let reason = "must be at least 2 with several GPUs: lines of others never take the last place";
            return Err(file.wrong("gpu.l2", Some(key), reason));
        }
        let bank_size = mem::Bytes(l2.size.0.0 / l2.banks as u64);
        let l2_shape = shape(&file, "gpu.l2", (bank_size, l2.ways), &l2.line, &l2.replacement)?;
        within("gpu.l2", "ports", l2.ports.unwrap_or(1), 64)?;
        if l2.line.is_some_and(|line| line.0.0 > banks.interleave.bytes()) {
            return Err(file.wrong(
                "gpu.l2",
                Some("line"),
                "a line lies in one bank: it can't be longer than `interleave`",
            ));
        }
        let machine = Self {
            name: file.name.clone(),
            about: root.about,
            protocol,
            gpus: root.gpus,
            resolved: file.resolved(),
            clock: gpu.clock.0,
            arrays: gpu.arrays,
            units_per_array: gpu.units_per_array,
            dispatcher: DispatcherSpec {
                first_launch: Cycles(dispatcher.first_launch),
                launch: Cycles(dispatcher.launch),
                interval: Cycles(dispatcher.interval),
                invalidate: dispatcher.invalidate,
            },
            compute_unit: ComputeUnitSpec {
                simds: unit.simds,
                waves_per_simd: unit.waves_per_simd,
                vgprs: unit.vgprs,
                sgprs: unit.sgprs,
                lds: unit.lds.0.0,
                decode: Cycles(unit.decode),
                vector: Cycles(unit.vector),
                scalar: Cycles(unit.scalar),
                branch: Cycles(unit.branch),
                local: Cycles(unit.local),
                local_banks: unit.local_banks,
                coalesce: Cycles(unit.coalesce),
                coalescer,
                line_slots: unit.line_slots,
                instruction_buffer: unit.instruction_buffer.0.0,
                limit: None,
            },
            l1v,
            l1s,
            l1i,
            l2: CacheSpec {
                shape: l2_shape.of_share(banks.share(0)),
                mshrs: l2.mshrs,
                waiting: l2.waiting,
                join_queue: l2.join_queue.unwrap_or(l2.waiting),
                write_back_queue: l2_write_back_queue,
                latency: Cycles(0),
                ports: l2.ports.unwrap_or(1),
            },
            banks,
            network,
            memory,
            wires,
            partitions,
            host,
            complex,
            tsu: tsu.filter(|_| protocol.has(Role::Home) && protocol.seat(Role::Home).table().capabilities().forgets),
            levels: levels.filter(|_| has_levels),
            broken: None,
        };
        bounds::check(&machine, &file)?;
        if has_levels {
            machine.check_levels(&file)?;
        }
        if Numbers::new(&machine).count() > MOST {
            let reason = format!(
                "compute units, cores, caches and channels can be {MOST} together (gpus, gpu.arrays, gpu.units_per_array, \
                 gpu.l2.banks, cpu.cores)"
            );
            return Err(file.wrong("gpu", Some("units_per_array"), reason));
        }
        let l2_is_directory = machine.complex.is_some() || machine.levels.is_some();
        if l2_is_directory && machine.compute_units() + 2 * machine.arrays > DIRECTORY {
            let reason = format!("the directory of the GPU's L2 knows {DIRECTORY} first-level caches at most");
            return Err(file.wrong("gpu", Some("units_per_array"), reason));
        }
        if protocol.protocol.needs.peers && machine.gpus * machine.banks.count > DIRECTORY {
            let reason = format!(
                "a home knows {DIRECTORY} banks of second-level caches at most, those of all GPUs together (gpus)"
            );
            return Err(file.wrong("gpu.l2", Some("banks"), reason));
        }
        if let Some(complex) = &machine.complex {
            let hub = NetworkSpec { topology: Topology::Crossbar, ..complex.network };
            let banks = machine.gpus * machine.banks.count;
            let reason = |error| format!("the hub joins the {banks} banks of all GPUs' L2 with the network: {error}");
            hub.fits(banks + 1).map_err(|error| file.wrong("", Some("gpus"), reason(error)))?;
        }
        if let Some(complex) = &machine.complex
            && complex.stacks() + machine.gpus * machine.banks.count > DIRECTORY
        {
            let reason = format!(
                "the directory knows {DIRECTORY} second-level caches at most, those of GPUs (gpus, gpu.l2.banks) included"
            );
            return Err(file.wrong("cpu", Some("cores"), reason));
        }
        Ok(machine)
    }

    /// Wavefronts that can be under way at a time, on all GPUs together.
    pub fn wavefronts(&self) -> u64 {
        (self.gpus * self.compute_units() * self.compute_unit.wavefronts()) as u64
    }

    /// Bytes that all channels of memory can move in a second at most.
    pub fn memory_peak(&self) -> f64 {
        self.memory.peak(self.clock) * self.channels().count as f64
    }

    /// The cycles, of compute units, that a read takes in a memory with nothing else to do; of DRAM, one of a row that another
    /// has to make room for.
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

    /// How addresses are dealt over the channels of memory: with the banks of the L2, unless a CPU is there too.
    pub fn channels(&self) -> Banks {
        self.complex.as_ref().map_or(self.banks, |complex| complex.channels)
    }

    /// What a protocol of several levels needs: a memory of each GPU's own, and few enough of everybody for directories to know.
    fn check_levels(&self, file: &File) -> Result<(), MachineError> {
        let reason = match () {
            () if self.levels.is_none() => {
                "makes memories of GPUs levels above the host's: a section [gpu.memory] must say how"
            }
            () if self.gpus > 32 => "can tell 32 GPUs apart (gpus)",
            () if self.compute_units() + 2 * self.arrays > 64 => {
                "can tell 64 first-level caches of a GPU apart (gpu.arrays, gpu.units_per_array)"
            }
            () => return Ok(()),
        };
        Err(file.wrong("", Some("protocol"), format!("{} {reason}", self.protocol.name)))
    }

    /// What translation takes compute units, if it takes anything.
    pub fn gpu_mmu(&self) -> Option<GpuMmu> {
        self.complex.as_ref().and_then(|complex| complex.gpu_mmu)
    }

    /// Of each GPU.
    pub fn compute_units(&self) -> usize {
        self.arrays * self.units_per_array
    }
}

pub(crate) fn l1(file: &mut File, path: &str) -> Result<CacheSpec, MachineError> {
    let cache: L1File = file.section(path)?;
    let shape = shape(file, path, (cache.size.0, cache.ways), &cache.line, &cache.replacement)?;
    let ports = cache.ports.unwrap_or(1);
    let L1File { mshrs, waiting, .. } = cache;
    let (join_queue, write_back_queue) = (cache.join_queue.unwrap_or(waiting), cache.write_back_queue.unwrap_or(mshrs));
    let queues = [("waiting", waiting), ("join_queue", join_queue), ("write_back_queue", write_back_queue)];
    for (key, value) in [("mshrs", mshrs), ("ports", ports)].into_iter().chain(queues) {
        at_least_one(file, path, key, value)?;
    }
    Ok(CacheSpec { shape, mshrs, waiting, join_queue, write_back_queue, latency: Cycles(cache.latency), ports })
}

/// Of a cache, or of each bank of one.
fn shape(
    file: &File,
    path: &str,
    (size, ways): (mem::Bytes, usize),
    line: &Option<Size>,
    replacement: &Option<String>,
) -> Result<Shape, MachineError> {
    let line = line.as_ref().map_or(mem::Bytes(LINE as u64), |line| line.0);
    let shape = Shape::of_lines(size, ways, line).map_err(|reason| file.wrong(path, Some("size"), reason))?;
    let policy = replacement.as_deref().unwrap_or("lru").parse();
    policy.and_then(|policy| shape.replacing(policy)).map_err(|reason| file.wrong(path, Some("replacement"), reason))
}

pub(crate) fn at_least_one(file: &File, path: &str, key: &str, value: usize) -> Result<(), MachineError> {
    if value == 0 { Err(file.wrong(path, Some(key), "must be at least 1")) } else { Ok(()) }
}

pub(crate) fn wire(file: &mut File, path: &str) -> Result<LinkSpec, MachineError> {
    let wire: WireFile = file.section(path)?;
    at_least_one(file, path, "capacity", wire.capacity)?;
    if wire.bytes_per_cycle == Some(0) {
        return Err(file.wrong(path, Some("bytes_per_cycle"), "must be at least 1; without it, any number"));
    }
    if wire.latency.0.0 == 0 {
        return Err(file.wrong(path, Some("latency"), "a wire along which a machine can be cut takes time"));
    }
    Ok(LinkSpec { latency: wire.latency.0, capacity: wire.capacity, bytes_per_cycle: wire.bytes_per_cycle })
}
