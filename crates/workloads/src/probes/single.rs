//! Probes of single instructions: what one wavefront sees of each, and how many a unit or a bank takes.

use super::{Probe, difference, gpu, took};
use crate::{Arg, Gpu, GpuError, NdRange, Timed};
use gpu::Rate;
use machine::Machine;
use mem::{Bytes, LINE};

/// Instructions of each kind in a round of the kernels.
const EACH: f64 = 32.0;
const ROUNDS: u32 = 32;
/// The wait for an answer: an instruction of its own.
const WAIT: f64 = 1.0;

pub fn probe(machine: &Machine) -> Result<Vec<Probe>, GpuError> {
    let mut probes = Vec::new();
    let mut add = |what, unit, implied, measured| probes.push(Probe { what, unit, implied, measured });
    let unit = &machine.compute_unit;
    let decode = unit.decode.0 as f64;
    // A request's way to a first-level cache and back, and the turn of the unit that sends it.
    let way = |latency: u64| latency as f64 + 1.0 + WAIT;
    let hit = decode + unit.coalesce.0 as f64 + way(machine.l1v.latency.0);
    add("one wavefront: load, hits", "cycles", hit, one(machine, "load_hits")?);
    add(
        "one wavefront: scalar load, hits",
        "cycles",
        way(machine.l1s.latency.0) + 1.0,
        one(machine, "scalar_load_hits")?,
    );
    let branch = decode + unit.branch.0 as f64;
    // First the line that was requested before the branch arrives, then the line of the branch's target.
    let again = 2.0 * (machine.l1i.latency.0 as f64 + 2.0);
    let branch = if unit.refetch { branch.max(again) } else { branch };
    add("one wavefront: branch", "cycles", branch, one(machine, "branches")?);
    for (what, kernel, rate) in [
        ("one wavefront: sum", "sums", Rate::Full),
        ("one wavefront: fp64 fma", "doubles", Rate::Double),
        ("one wavefront: reciprocal", "reciprocals", Rate::Transcendental),
        ("one wavefront: 32-bit product", "products", Rate::Multiply),
    ] {
        let cycles = unit.vector[rate as usize].0 as f64;
        add(what, "cycles", decode + cycles, one(machine, kernel)?);
    }
    let interval = unit.local_interval.0 as f64;
    let occupied = |words: u32| interval.max(f64::from(words) * unit.local_word.0 as f64);
    let local = |words| decode + unit.local.0 as f64 + occupied(words) - 1.0 + WAIT;
    let banks = unit.local_banks;
    // Neighbouring words of the lanes lie in different banks.
    let spread = (64 / banks).max(1);
    add("one wavefront: local load", "cycles", local(spread), locally(machine, "local_loads", 1, 1)?);
    add("16 wavefronts: local loads", "cycles", occupied(spread), locally(machine, "local_loads", 1, 16)?);
    add("local atomics, one word a lane", "cycles", local(spread), locally(machine, "local_atomics", 1, 1)?);
    add("local atomics, one bank", "cycles", local(64), locally(machine, "local_atomics", banks, 1)?);
    add("local atomics, one word", "cycles", local(64), locally(machine, "local_atomics", 0, 1)?);
    add("load of 4 lines", "cycles", 4.0, loads(machine)?);
    add("stores, each line", "cycles", 1.0, stores(machine, false)?);
    add("stores to one line, each", "cycles", 1.0, stores(machine, true)?);
    let ports = machine.l2.ports as f64;
    add("requests of a bank of the L2", "a cycle", ports.min(machine.compute_units() as f64), one_bank(machine)?);
    let dispatcher = &machine.dispatcher;
    let each = dispatcher.interval.0 as f64 / dispatcher.burst as f64 / machine.gpus as f64;
    add("dispatch of a workgroup", "cycles", each, dispatch(machine)?);
    if let Some(mmu) = &machine.gpu_mmu {
        let cycles = |time: engine::Time| time.0 as f64 * machine.clock.0 as f64 / 1e15;
        let walk = match mmu.iommu.pages {
            machine::translation::Pages::Flat(cycles) | machine::translation::Pages::Driver(cycles) => cycles.0 as f64,
            machine::translation::Pages::Tables { .. } => 0.0,
        };
        let shared = mmu.shared.map_or(0.0, |shared| 2.0 * cycles(shared.wire.latency));
        let implied = 2.0 * cycles(mmu.iommu.wire.latency) + walk + shared;
        add("page that no TLB has", "cycles", implied, walks(machine)?);
    }
    Ok(probes)
}

/// Cycles of each instruction of a kernel with one wavefront.
fn one(machine: &Machine, kernel: &str) -> Result<f64, GpuError> {
    let mut gpu = gpu(machine)?;
    let at = gpu.alloc(Bytes(4096))?;
    gpu.launch("point_to_itself", NdRange::line(1, 1), &[Arg::Buffer(at)])?;
    let args = |rounds| vec![Arg::Buffer(at), Arg::U32(rounds * ROUNDS)];
    Ok(difference(&mut gpu, machine, kernel, NdRange::line(64, 64), args)? / EACH / f64::from(ROUNDS))
}

/// Cycles between accesses to local memory of a workgroup with this number of wavefronts.
fn locally(machine: &Machine, kernel: &str, stride: u32, waves: usize) -> Result<f64, GpuError> {
    let mut gpu = gpu(machine)?;
    let out = gpu.alloc(Bytes(4))?;
    let args = |rounds| vec![Arg::Buffer(out), Arg::U32(stride), Arg::U32(rounds * ROUNDS)];
    let range = NdRange::line(64 * waves, 64 * waves as u32);
    Ok(difference(&mut gpu, machine, kernel, range, args)? / EACH / f64::from(ROUNDS) / waves as f64)
}

/// Cycles that each load of four lines takes a compute unit with 16 wavefronts.
fn loads(machine: &Machine) -> Result<f64, GpuError> {
    let mut gpu = gpu(machine)?;
    let data = gpu.alloc(Bytes(8192))?;
    let args = |rounds| vec![Arg::Buffer(data), Arg::U32(rounds * ROUNDS)];
    let cycles = difference(&mut gpu, machine, "coalesced_loads", NdRange::line(1024, 1024), args)?;
    Ok(cycles / 8.0 / 16.0 / f64::from(ROUNDS))
}

/// Cycles of each line of stores of 16 wavefronts, or as many as a compute unit has registers for: to one line after another, or all
/// to one.
fn stores(machine: &Machine, to_one_line: bool) -> Result<f64, GpuError> {
    // The kernel has 64 vector registers.
    let unit = &machine.compute_unit;
    let items = 64 * (unit.simds * (unit.vgprs / 64).min(unit.waves_per_simd)).min(16);
    let (step, lines) = if to_one_line { (0, items / 64) } else { (items * 4, items * 4 / LINE) };
    let mut gpu = gpu(machine)?;
    let data = gpu.alloc(Bytes((items * 4 + 32 * step) as u64))?;
    let args = |rounds| vec![Arg::Buffer(data), Arg::U32(step as u32), Arg::U32(rounds * ROUNDS)];
    let cycles = difference(&mut gpu, machine, "stores", NdRange::line(items, items as u32), args)?;
    Ok(cycles / EACH / lines as f64 / f64::from(ROUNDS))
}

/// Requests per cycle that one bank of the L2 serves, with requests from all compute units.
fn one_bank(machine: &Machine) -> Result<f64, GpuError> {
    let mut gpu = gpu(machine)?;
    let waves = 8 * machine.compute_units();
    // One line of each interleaved piece of the bank, up to half of the lines that it holds.
    let step = machine.banks.interleave.bytes() * machine.banks.count as u64;
    let lines = (machine.l2.shape.size().0 / 2 / LINE as u64).min(8 * waves as u64);
    let data = gpu.alloc(Bytes(step * lines))?;
    let args =
        |rounds| vec![Arg::Buffer(data), Arg::U32(step as u32), Arg::U32(lines as u32), Arg::U32(rounds * ROUNDS)];
    let cycles = difference(&mut gpu, machine, "one_bank", NdRange::line(64 * waves, 256), args)?;
    Ok(8.0 * waves as f64 * f64::from(ROUNDS) / cycles)
}

/// Cycles from one workgroup to the next, of a kernel that does nothing.
fn dispatch(machine: &Machine) -> Result<f64, GpuError> {
    let groups = 16 * machine.compute_units();
    let mut gpu = gpu(machine)?;
    let out = gpu.alloc(Bytes(4))?;
    let mut times = Vec::new();
    for count in [1, 1, 3] {
        gpu.launch("nothing", NdRange::line(count * groups * 64, 64), &[Arg::Buffer(out)])?;
        times.push(took(&gpu, machine));
    }
    Ok((times[2] - times[1]) / 2.0 / groups as f64)
}

/// The additional latency of a load from a page that no TLB has, compared with a page that the TLB has; both loads go
/// to memory.
fn walks(machine: &Machine) -> Result<f64, GpuError> {
    const PAGES: usize = 32;
    let mut gpu: Timed = gpu(machine)?;
    let (table, out) = (gpu.alloc(Bytes(PAGES as u64 * mem::PAGE))?, gpu.alloc(Bytes(4))?);
    // Twice through all pages, from line to line: no line is met again.
    let words = mem::PAGE as usize / 4;
    let mut next = vec![0_u32; PAGES * words];
    for turn in 0..2 {
        for page in 0..PAGES {
            let place = page * words + turn * LINE / 4;
            next[place] = if page + 1 < PAGES { place + words } else { LINE / 4 } as u32;
        }
    }
    gpu.write(table, &next.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>())?;
    let mut times = Vec::new();
    for pages in [0, PAGES, 2 * PAGES] {
        let args = [Arg::Buffer(table), Arg::Buffer(out), Arg::U32(pages as u32)];
        gpu.launch("chase", NdRange::line(1, 1), &args)?;
        times.push(took(&gpu, machine));
    }
    // The second launch goes through pages without a translation; the third through the same lines, now in the L2, and
    // then through as many in memory, of pages with a translation. The lines again in the L2 are taken as a fourth
    // launch.
    let args = [Arg::Buffer(table), Arg::Buffer(out), Arg::U32(PAGES as u32)];
    gpu.launch("chase", NdRange::line(1, 1), &args)?;
    let held = took(&gpu, machine) - times[0];
    let (cold, warm) = (times[1] - times[0], times[2] - times[0] - held);
    Ok((cold - warm) / PAGES as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_accesses_take_longer_where_a_bank_serves_a_word_for_longer() {
        for (changes, cycles) in [(&[][..], 2.0), (&["gpu.compute_unit.local_word=2"], 4.0)] {
            let changes: Vec<String> = changes.iter().map(|change: &&str| (*change).to_owned()).collect();
            let machine = Machine::load("skeleton", &changes).unwrap();
            let each = locally(&machine, "local_loads", 1, 16).unwrap();
            assert!((each - cycles).abs() < 0.2, "{each} cycles with {changes:?}");
        }
    }
}
