//! A GPU as described by section `[gpu]` of a machine file: its compute units with their caches, the L2, and the
//! network between them.

use crate::{
    caches::{Tags, VirtualCaches, cache, shape, tags},
    file::{File, MachineError},
    network,
    plan::MOST,
    spec::{Banks, CacheSpec},
    units::{Frequency, Size},
    values::{Choice, Interleaving, Number, OneOf, PASSING, Positive, USUAL, WIDE},
};
use ::cache::Replacement;
use engine::{Cycles, Hertz};
use gpu::{Coalescer, ComputeUnitSpec, DispatcherSpec, Placement, WriteBack};
use interconnect::NetworkSpec;
use mem::{Bytes, LINE};
use serde::{Deserialize, Deserializer, de};

/// How many of an element a machine can have.
const MOST_ELEMENTS: u64 = MOST as u64;

/// Each GPU of a machine.
pub struct Device {
    pub clock: Hertz,
    pub arrays: usize,
    pub units_per_array: usize,
    pub dispatcher: DispatcherSpec,
    pub compute_unit: ComputeUnitSpec,
    pub l1v: CacheSpec,
    pub l1s: CacheSpec,
    pub l1i: CacheSpec,
    pub l2: CacheSpec,
    pub banks: Banks,
    pub virtual_caches: VirtualCaches,
    /// Whether the times for which lines are used and translations stay in TLBs are measured.
    pub lifetimes: bool,
    pub network: Option<NetworkSpec>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GpuFile {
    clock: Frequency,
    arrays: Positive<MOST_ELEMENTS>,
    units_per_array: Positive<MOST_ELEMENTS>,
    lifetimes: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DispatcherFile {
    first_launch: Number<PASSING>,
    launch: Number<PASSING>,
    interval: Number,
    burst: Option<Positive<WIDE>>,
    finish: Option<Number<PASSING>>,
    write_back: Option<OneOf<WriteBack>>,
    invalidate: bool,
    kernels: Positive<64>,
    placement: OneOf<Placement>,
    deal: Option<Positive<65536>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ComputeUnitFile {
    simds: Positive<16>,
    waves_per_simd: Positive<64>,
    vgprs: Number,
    sgprs: Number,
    lds: Size,
    decode: Number,
    vector: Positive<65536>,
    transcendental: Option<Positive<65536>>,
    multiply: Option<Positive<65536>>,
    double: Option<Positive<65536>>,
    scalar: Number,
    branch: Number,
    local: Number,
    local_banks: Positive<64>,
    local_interval: Option<Positive>,
    local_word: Option<Positive>,
    branch_refetches: Option<bool>,
    coalesce: Number,
    coalescer: OneOf<Coalescer>,
    memory_pipeline: Number,
    line_slots: Positive,
    instruction_buffer: InstructionBuffer,
}

/// Whole lines, and two of them at least.
struct InstructionBuffer(u64);

impl<'de> Deserialize<'de> for InstructionBuffer {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let size = Size::deserialize(from)?.0.0;
        let reason = match size {
            size if size > USUAL => format!("can be {USUAL} at most"),
            size if !size.is_multiple_of(LINE as u64) => format!("must be whole lines of {LINE} B"),
            size if size < 2 * LINE as u64 => {
                format!("must be at least {} B: an instruction may lie in two lines of {LINE} B", 2 * LINE)
            }
            size => return Ok(Self(size)),
        };
        Err(de::Error::custom(reason))
    }
}

impl Choice for Placement {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("free", Self::Free), ("bound", Self::Bound)]
    }
}

impl Choice for WriteBack {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("within", Self::Within), ("after", Self::After)]
    }
}

impl Choice for Coalescer {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("unit", Self::Unit), ("cache", Self::Cache)]
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct L2File {
    size: Size,
    ways: Positive<WIDE>,
    banks: Positive<MOST_ELEMENTS>,
    interleave: Interleaving,
    mshrs: Positive,
    waiting: Positive,
    join_queue: Option<Positive>,
    write_back_queue: Option<Positive>,
    line: Option<Size>,
    replacement: Option<OneOf<Replacement>>,
    ports: Option<Positive<64>>,
    tags: Option<OneOf<Tags>>,
}

/// Reads `[gpu]` and its subsections.
pub fn device(file: &mut File) -> Result<Device, MachineError> {
    let gpu: GpuFile = file.section("gpu")?;
    let dispatcher: DispatcherFile = file.section("gpu.dispatcher")?;
    let (compute_unit, pipeline) = compute_unit(file)?;
    let (l2, banks, virtual_caches) = l2(file)?;
    // The pipeline before the vector cache is part of the wire to it.
    let mut l1v = cache(file, "gpu.l1v")?;
    l1v.latency.0 += pipeline.0;
    let arrays = gpu.arrays.count();
    Ok(Device {
        clock: gpu.clock.0,
        arrays,
        units_per_array: gpu.units_per_array.count(),
        dispatcher: DispatcherSpec {
            first_launch: dispatcher.first_launch.cycles(),
            launch: dispatcher.launch.cycles(),
            interval: dispatcher.interval.cycles(),
            burst: dispatcher.burst.map_or(1, Positive::get),
            finish: dispatcher.finish.map_or(Cycles(0), Number::cycles),
            write_back: dispatcher.write_back.map_or(WriteBack::Within, |when| when.0),
            invalidate: dispatcher.invalidate,
            kernels: dispatcher.kernels.count(),
            placement: dispatcher.placement.0,
            deal: dispatcher.deal.map_or(1, |deal| deal.count() as u64),
        },
        compute_unit,
        l1v,
        l1s: cache(file, "gpu.l1s")?,
        l1i: cache(file, "gpu.l1i")?,
        l2,
        banks,
        virtual_caches,
        lifetimes: gpu.lifetimes.unwrap_or(false),
        network: network::network(file, "gpu.network", &[], arrays + banks.count)?,
    })
}

/// A compute unit, and how long its pipeline to the vector cache is.
fn compute_unit(file: &mut File) -> Result<(ComputeUnitSpec, Cycles), MachineError> {
    let of: ComputeUnitFile = file.section("gpu.compute_unit")?;
    let vector = of.vector.cycles();
    let class = |cycles: Option<Positive<65536>>| cycles.map_or(vector, Positive::cycles);
    let spec = ComputeUnitSpec {
        simds: of.simds.count(),
        waves_per_simd: of.waves_per_simd.count(),
        vgprs: of.vgprs.count(),
        sgprs: of.sgprs.count(),
        lds: of.lds.0.0,
        decode: of.decode.cycles(),
        vector: [vector, class(of.transcendental), class(of.multiply), class(of.double)],
        scalar: of.scalar.cycles(),
        branch: of.branch.cycles(),
        local: of.local.cycles(),
        local_banks: of.local_banks.get() as u32,
        local_interval: of.local_interval.map_or(Cycles(1), Positive::cycles),
        local_word: of.local_word.map_or(Cycles(1), Positive::cycles),
        refetch: of.branch_refetches.unwrap_or(false),
        coalesce: of.coalesce.cycles(),
        coalescer: of.coalescer.0,
        line_slots: of.line_slots.count(),
        instruction_buffer: of.instruction_buffer.0,
        limit: None,
    };
    Ok((spec, of.memory_pipeline.cycles()))
}

/// A bank of the L2, and how addresses are dealt over all.
fn l2(file: &mut File) -> Result<(CacheSpec, Banks, VirtualCaches), MachineError> {
    let path = "gpu.l2";
    let of: L2File = file.section(path)?;
    let tags = tags(file)?;
    let is_virtual = of.tags.is_some_and(|tags| tags.0 == Tags::Virtual);
    debug_assert_eq!(is_virtual, tags == VirtualCaches::All, "a virtual L2 is below virtual first-level caches");
    let banks = Banks { count: of.banks.count(), interleave: of.interleave.0 };
    if of.line.is_some_and(|line| line.0.0 > banks.interleave.bytes()) {
        let reason = "a line lies in one bank: it can't be longer than `interleave`";
        return Err(file.wrong(path, Some("line"), reason));
    }
    let size = Bytes(of.size.0.0 / banks.count as u64);
    let shape = shape(file, path, (size, of.ways.count()), of.line, of.replacement)?;
    let (mshrs, waiting) = (of.mshrs.count(), of.waiting.count());
    let cache = CacheSpec {
        shape: shape.of_share(banks.share(0)),
        mshrs,
        waiting,
        join_queue: of.join_queue.map_or(waiting, Positive::count),
        write_back_queue: of.write_back_queue.map_or(mshrs.max(2), Positive::count),
        latency: Cycles(0),
        ports: of.ports.map_or(1, Positive::count),
    };
    Ok((cache, banks, tags))
}
