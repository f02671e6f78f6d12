//! Microbenchmarks: the performance of a machine's parts, measured by kernels.
//!
//! Each probe runs a kernel of `probes.cl` with different counts, so that launch and start-up times cancel. The
//! difference is compared with the figure that the machine file implies. It includes the probe's own overhead (the
//! instructions of its loop).

mod single;

use crate::{Arg, Gpu, GpuError, NdRange, Rng, Timed};
use machine::{Machine, Options};
use mem::{Bytes, LINE};

const OBJECT: &[u8] = include_bytes!("probes.hsaco");

/// One measurement.
pub struct Probe {
    pub what: &'static str,
    pub unit: &'static str,
    /// The figure that the parameters imply.
    pub implied: f64,
    pub measured: f64,
}

/// Measures a machine's GPUs. Launches are distributed over all of them, so bandwidths are those of all GPUs together;
/// latencies are those of the first GPU. With `single`, only single instructions are measured, which takes seconds.
pub fn probe(machine: &Machine, single: bool) -> Result<Vec<Probe>, GpuError> {
    if single {
        return single::probe(machine);
    }
    let mut probes = Vec::new();
    let unit = &machine.compute_unit;
    let cycles = |time: engine::Time| time.0 as f64 * machine.clock.0 as f64 / 1e15;
    let (wire, below) = (2.0 * cycles(machine.wires.l1_l2.latency), 2.0 * cycles(machine.wires.l2_memory.latency));
    // From issue over coalescing to the cache's look-up, and back.
    let l1 = (unit.decode.0 + unit.coalesce.0 + machine.l1v.latency.0 + 1) as f64;
    let mut add = |what, unit, implied, measured| probes.push(Probe { what, unit, implied, measured });

    let [first, next] = launches(machine)?;
    let dispatcher = &machine.dispatcher;
    let whole = |launch: engine::Cycles| (launch.0 + dispatcher.finish.0) as f64;
    add("first launch of an empty kernel", "cycles", whole(dispatcher.first_launch), first);
    add("next launch of an empty kernel", "cycles", whole(dispatcher.launch), next);
    add("load that hits the vector cache", "cycles", l1, chase(machine, 8 << 10)?);
    add("load that hits the L2", "cycles", l1 + wire, chase(machine, 512 << 10)?);
    let memory = l1 + wire + below + machine.memory_latency();
    add("load from memory", "cycles", memory, chase(machine, 16 << 20)?);
    let line = machine.gpus as f64 * LINE as f64 * machine.clock.0 as f64 / 1e9;
    let l2 = line * (machine.banks.count * machine.l2.ports) as f64;
    // More than the first-level caches hold, less than the L2.
    add("reading what the L2 holds", "GB/s", l2, stream(machine, 3 << 19, true)?);
    // The lower of memory's peak and what the L2's misses in flight allow.
    let under_way = line * (machine.banks.count * machine.l2.mshrs) as f64 / (below + machine.memory_latency());
    let memory = under_way.min(machine.memory_peak() / 1e9);
    add("reading from memory", "GB/s", memory, stream(machine, 16 << 20, false)?);
    let arithmetic = unit.simds as f64 / unit.vector[0].0 as f64;
    add("vector instructions of a unit", "a cycle", arithmetic, vector(machine)?);
    let local = (unit.decode.0 + unit.local.0) as f64;
    let conflicts = |stride: u32| {
        let words = f64::from((64 * stride / unit.local_banks.max(1)).clamp(1, 64)) * unit.local_word.0 as f64;
        words.max(unit.local_interval.0 as f64) - 1.0
    };
    add("local load, neighbouring words", "cycles", local + conflicts(1), local_chase(machine, 1)?);
    add(
        "local load, all in one bank",
        "cycles",
        local + conflicts(unit.local_banks),
        local_chase(machine, unit.local_banks)?,
    );
    probes.extend(single::probe(machine)?);
    Ok(probes)
}

/// The compute units of all GPUs.
fn units(machine: &Machine) -> usize {
    machine.gpus * machine.compute_units()
}

/// A machine with the probes' code object.
fn gpu(machine: &Machine) -> Result<Timed, GpuError> {
    Timed::new(OBJECT, machine, &Options::default())
}

/// The cycles that the last kernel took.
fn took(gpu: &Timed, machine: &Machine) -> f64 {
    let ended = gpu.last().expect("a kernel has been launched");
    (ended.end.0 - ended.start.0) as f64 * machine.clock.0 as f64 / 1e15
}

fn launches(machine: &Machine) -> Result<[f64; 2], GpuError> {
    let mut gpu = gpu(machine)?;
    let out = gpu.alloc(Bytes(4))?;
    let mut times = [0.0; 2];
    for time in &mut times {
        gpu.launch("nothing", NdRange::line(1, 1), &[Arg::Buffer(out)])?;
        *time = took(&gpu, machine);
    }
    Ok(times)
}

/// Cycles from one load to the next dependent load, over `bytes` bytes in random order.
fn chase(machine: &Machine, bytes: usize) -> Result<f64, GpuError> {
    const STEPS: u32 = 16_384;
    let (lines, words) = (bytes / LINE, LINE / 4);
    let mut order: Vec<usize> = (1..lines).collect();
    let mut random = Rng::new(1);
    for n in (1..order.len()).rev() {
        order.swap(n, random.below(n as u32 + 1) as usize);
    }
    let mut next = vec![0; lines * words];
    let mut place = 0;
    for line in order.into_iter().chain([0]) {
        next[place * words] = (line * words) as u32;
        place = line;
    }
    let mut gpu = gpu(machine)?;
    let (table, out) = (gpu.alloc(Bytes(bytes as u64))?, gpu.alloc(Bytes(4))?);
    gpu.write(table, &next.iter().flat_map(|word: &u32| word.to_le_bytes()).collect::<Vec<_>>())?;
    let args = |rounds| vec![Arg::Buffer(table), Arg::Buffer(out), Arg::U32(rounds * STEPS)];
    Ok(difference(&mut gpu, machine, "chase", NdRange::line(1, 1), args)? / f64::from(STEPS))
}

/// GB/s of all compute units together: over more rounds on `bytes` bytes (`again`), or over twice as many bytes.
fn stream(machine: &Machine, bytes: u32, again: bool) -> Result<f64, GpuError> {
    const ROUNDS: u32 = 8;
    let mut gpu = gpu(machine)?;
    let (data, out) = (gpu.alloc(Bytes(2 * u64::from(bytes)))?, gpu.alloc(Bytes(4))?);
    let args = |parts| {
        let (count, rounds) = if again { (bytes / 16, parts * ROUNDS) } else { (bytes / 16 * parts, 1) };
        vec![Arg::Buffer(data), Arg::Buffer(out), Arg::U32(count), Arg::U32(rounds)]
    };
    let range = NdRange::line(units(machine) * 1024, 256);
    let cycles = difference(&mut gpu, machine, "stream", range, args)?;
    let moved = f64::from(bytes) * if again { f64::from(ROUNDS) } else { 1.0 };
    Ok(moved / cycles * machine.clock.0 as f64 / 1e9)
}

/// Vector instructions per cycle of a compute unit with full SIMDs.
fn vector(machine: &Machine) -> Result<f64, GpuError> {
    const ROUNDS: u32 = 200;
    let mut gpu = gpu(machine)?;
    let out = gpu.alloc(Bytes(4))?;
    let waves = units(machine) * machine.compute_unit.wavefronts();
    let args = |rounds| vec![Arg::Buffer(out), Arg::F32(0.5), Arg::U32(rounds * ROUNDS)];
    let cycles = difference(&mut gpu, machine, "arithmetic", NdRange::line(waves * 64, 64), args)?;
    Ok(8.0 * f64::from(ROUNDS) * waves as f64 / cycles / units(machine) as f64)
}

/// Cycles from one local load to the next dependent one.
fn local_chase(machine: &Machine, stride: u32) -> Result<f64, GpuError> {
    const ROUNDS: u32 = 1024;
    let mut gpu = gpu(machine)?;
    let out = gpu.alloc(Bytes(4))?;
    let args = |rounds| vec![Arg::Buffer(out), Arg::U32(stride), Arg::U32(rounds * ROUNDS)];
    Ok(difference(&mut gpu, machine, "local_chase", NdRange::line(64, 64), args)? / f64::from(ROUNDS))
}

/// Additional cycles of a kernel with two rounds over one, after one warm-up round.
fn difference(
    gpu: &mut Timed,
    machine: &Machine,
    kernel: &str,
    range: NdRange,
    args: impl Fn(u32) -> Vec<Arg>,
) -> Result<f64, GpuError> {
    let mut times = Vec::new();
    for rounds in [1, 1, 2] {
        gpu.launch(kernel, range, &args(rounds))?;
        times.push(took(gpu, machine));
    }
    Ok(times[2] - times[1])
}
