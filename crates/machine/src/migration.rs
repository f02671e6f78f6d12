//! Measures the parts of a page migration to the GPU that accessed the page, and shows each beside the value that the
//! machine file implies.

use crate::{
    build::{self, Agents, Memories},
    fabric::{Fabric, Kind},
    links::{AT_ONCE, LinkProbe, there_and_back},
    session::{Options, run_options},
    spec::Machine,
    stress::{self, MANY, Migrated},
    translation::{GpuMmu, Pages},
    zones::Place,
};
use engine::{Cycles, Hertz, Outcome, Time, Value};
use interconnect::HEADER;
use mem::{LINE, PAGE};
use std::sync::{Arc, Mutex, PoisonError};

/// Measures each part of a page's migration, on a machine that [moves pages](stress::moves_pages). The page moves from
/// the host's memory, or from a memory that all GPUs share and another GPU has used, to the GPU whose access faults.
/// Memories are never the bottleneck. The driver's own work and its update of the page table take no time: they are
/// software of a host outside the machine.
pub fn migration(machine: &Machine) -> Result<Vec<LinkProbe>, Box<Outcome>> {
    let (Some(fabric), Some(mmu)) = (&machine.fabric, &machine.gpu_mmu) else { return Ok(Vec::new()) };
    if !stress::moves_pages(machine) {
        return Ok(Vec::new());
    }
    let mut quick = machine.clone();
    quick.zones.iter_mut().for_each(|zone| zone.timing = AT_ONCE);
    let migrated: Arc<Mutex<Migrated>> = Arc::default();
    let model = build::build(&quick, &Memories::new(&quick), None, Agents::Migration(Arc::clone(&migrated)));
    let run = model.run(&run_options(&Options::default()));
    if run.outcome != Outcome::Finished {
        return Err(Box::new(run.outcome));
    }
    let total = run.total();
    let shootdown = total.0.iter().find(|(path, _)| path.as_str() == "kernel.shootdown_cycles");
    let shootdown = match shootdown {
        Some((_, Value::Histogram { sum, .. })) => cycles(Cycles(*sum), machine.clock),
        _ => 0.0,
    };
    let of = *migrated.lock().unwrap_or_else(PoisonError::into_inner);
    let wire = nanoseconds(machine.wires.dispatcher.latency);
    let span = |from: Time, to: Time| nanoseconds(Time(to.0 - from.0));
    let recall = span(of.heard, of.recalled) - shootdown;
    let more = nanoseconds(Time(of.many[1].0 - of.many[0].0)) / MANY as f64;
    let row = |what, implied, measured| LinkProbe { what, unit: "ns", implied, measured };
    Ok(vec![
        row("migration: fault to the driver", fault(mmu, machine.clock), span(of.asked, of.heard) - wire),
        row("migration: TLBs forget the page", forget(mmu, machine.clock), shootdown),
        row("migration: caches give it up", give_up(machine), recall),
        row("migration: transfer", first(fabric) + page(fabric), span(of.recalled, of.moved)),
        row("migration: transfer, a page more", page(fabric), more),
        row("migration: access made again", again(machine, fabric, mmu), span(of.moved, of.accessed) - wire),
    ])
}

fn nanoseconds(time: Time) -> f64 {
    time.0 as f64 / 1e6
}

fn cycles(count: Cycles, clock: Hertz) -> f64 {
    count.0 as f64 * 1e9 / clock.0 as f64
}

/// From a compute unit to the IOMMU, or back, in nanoseconds.
fn asks(mmu: &GpuMmu) -> f64 {
    mmu.shared.map_or(0.0, |shared| nanoseconds(shared.wire.latency)) + nanoseconds(mmu.iommu.wire.latency)
}

/// The request travels to the IOMMU, and a walk finds no page.
fn fault(mmu: &GpuMmu, clock: Hertz) -> f64 {
    let walk = match mmu.iommu.pages {
        Pages::Driver(walk) | Pages::Flat(walk) => walk,
        Pages::Tables { .. } => Cycles(0),
    };
    asks(mmu) + cycles(walk, clock)
}

/// Shootdown order: the walkers, the IOMMU's TLB, the GPUs' shared TLBs in parallel, and all MMUs.
fn forget(mmu: &GpuMmu, clock: Hertz) -> f64 {
    let tlb = mmu.iommu.tlb.map_or(Cycles(0), |tlb| tlb.shootdown);
    let shared = mmu.shared.map_or(Cycles(0), |shared| shared.tlb.shootdown);
    let busy = [mmu.iommu.walkers.shootdown, tlb, shared, mmu.mmu.shootdown];
    let stages = if mmu.shared.is_some() { 2.0 } else { 1.0 };
    stages * 2.0 * nanoseconds(mmu.iommu.wire.latency) + busy.map(|part| cycles(part, clock)).iter().sum::<f64>()
}

/// First-level caches are ordered to write back and invalidate; after that the shared caches, by way of one first-level
/// cache.
fn give_up(machine: &Machine) -> f64 {
    let [unit, shared] = [machine.wires.dispatcher, machine.wires.l1_l2].map(|wire| nanoseconds(wire.latency));
    let look_up = cycles(machine.l1v.latency, machine.clock);
    4.0 * (2.0 * unit + look_up) + 2.0 * 2.0 * shared
}

/// A transfer's fixed cost: its first line is read, and its last write is acknowledged over the fabric.
fn first(fabric: &Fabric) -> f64 {
    2.0 * nanoseconds(fabric.latency)
}

/// Time of a page's lines on a channel; a bus carries the acknowledgements as well.
fn page(fabric: &Fabric) -> f64 {
    let (line, header) = (LINE as f64, (HEADER + fabric.header) as f64);
    let headers = if fabric.kind == (Kind::Tree { shared: true }) { 2.0 * header } else { header };
    (PAGE / LINE as u64) as f64 * (line + headers) / fabric.bandwidth as f64 * 1e9
}

/// The IOMMU's answer, and a load from the GPU's own memory behind its shared cache, or from a memory on the fabric.
fn again(machine: &Machine, fabric: &Fabric, mmu: &GpuMmu) -> f64 {
    let [shared, memory] = [machine.wires.l1_l2, machine.wires.l2_memory].map(|wire| nanoseconds(wire.latency));
    let own = machine.zones.iter().any(|zone| zone.place == Place::Gpu(0));
    // Each end of the fabric has a wire like the one between cache and memory.
    let below = if own { 2.0 * memory } else { there_and_back(fabric) + 4.0 * memory };
    let busy = cycles(Cycles(AT_ONCE_LATENCY + machine.l1v.latency.0), machine.clock);
    asks(mmu) + 2.0 * shared + below + busy
}

/// Latency of [`AT_ONCE`] memories, in cycles.
const AT_ONCE_LATENCY: u64 = 100;
