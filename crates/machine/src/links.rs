//! Measures a fabric's latency and bandwidth: testers read lines from near and far memories, and each result is shown
//! beside the value that the machine file implies.

use crate::{
    build::{self, Agents, Memories},
    fabric::{Fabric, Kind, Remote},
    session::{Options, run_options},
    spec::Machine,
    stress::{Lines, Stream},
    zones::{self, Place},
};
use dram::{FixedSpec, Timing};
use engine::{Cycles, Outcome, Time};
use interconnect::HEADER;
use mem::LINE;
use std::sync::{Arc, Mutex, PoisonError};

/// One measurement.
#[derive(Clone, Debug)]
pub struct LinkProbe {
    pub what: &'static str,
    pub unit: &'static str,
    pub implied: f64,
    pub measured: f64,
}

/// Lines that each tester reads in a short stream. A long stream has twice as many; the difference of both cancels the
/// start-up time.
const LATENCY: u64 = 64;
const BANDWIDTH: u64 = 256;
/// Lines that a compute unit has in flight.
const OUTSTANDING: usize = 64;

/// A memory that is never the bottleneck, so that the wires are measured.
pub(crate) const AT_ONCE: Timing =
    Timing::Fixed(FixedSpec { latency: Cycles(100), interval: Cycles(1), outstanding: 4096 });

/// Measures the fabric of a machine. The machine must have a fabric, no CPU, and a protocol without logical time. Wires
/// are measured with memories that are never the bottleneck, and without translation.
pub fn links(machine: &Machine) -> Result<Vec<LinkProbe>, Box<Outcome>> {
    let Some(fabric) = &machine.fabric else { return Ok(Vec::new()) };
    let mut wires = machine.clone();
    wires.zones.iter_mut().for_each(|zone| zone.timing = AT_ONCE);
    wires.gpu_mmu = None;
    let mut streams = Streams { machine: &wires, next: 0, all: Vec::new() };
    let local = machine.zones.iter().position(|zone| zone.place == Place::Gpu(0));
    let memory = local.unwrap_or(machine.zones.len() - 1);
    let others = 1..machine.gpus;
    // A GPU's own engine reads the GPU's memory without using the fabric.
    let near = local.map(|zone| streams.of_engine(1, zone));
    let far = streams.of_engine(0, memory);
    let alone = streams.of_gpus(
        if local.is_some() && !others.is_empty() { 1..2 } else { 0..1 },
        if others.is_empty() { 0 } else { memory },
    );
    let shared = (!others.is_empty())
        .then(|| streams.of_gpus(if local.is_some() { others.clone() } else { 0..machine.gpus }, memory));
    let took = streams.run()?;
    let nanoseconds = |at: usize| took[at] / LATENCY as f64;
    let (link, misses) = (payload(fabric), misses(machine, nanoseconds(far)));
    let mut probes = Vec::new();
    let mut add = |what, unit, implied, measured| probes.push(LinkProbe { what, unit, implied, measured });
    if let Some(near) = near {
        add("over the fabric and back", "ns", there_and_back(fabric), nanoseconds(far) - nanoseconds(near));
    }
    add("lines over a wire", "GB/s", link.min(misses), gigabytes(machine, 1, took[alone]));
    if let Some(shared) = shared {
        let readers = if local.is_some() { others.len() } else { machine.gpus };
        // GPUs that read one GPU's memory share its link, except in a point-to-point fabric. Each stack has a link of
        // its own.
        let wires = match (fabric.kind, local) {
            (Kind::Tree { shared: true }, _) => 1,
            (Kind::PointToPoint, _) | (_, None) => readers,
            _ => 1,
        };
        let total = match fabric.kind {
            // The total limits both directions together, as on a bus, so requests count as well.
            Kind::Switch { total: Some(total) } => {
                payload(&Fabric { bandwidth: total, kind: Kind::Tree { shared: true }, ..*fabric })
            }
            _ => f64::INFINITY,
        };
        let implied = (link * wires as f64).min(misses * readers as f64).min(total);
        add("lines over wires that GPUs share", "GB/s", implied, gigabytes(machine, readers, took[shared]));
    }
    of_memories(machine, link, nanoseconds(far), &mut add)?;
    Ok(probes)
}

/// Measures what GPUs read from the memories as the machine file describes them.
fn of_memories(
    machine: &Machine,
    link: f64,
    far: f64,
    add: &mut impl FnMut(&'static str, &'static str, f64, f64),
) -> Result<(), Box<Outcome>> {
    let mut streams = Streams { machine, next: 0, all: Vec::new() };
    let local = machine.zones.iter().position(|zone| zone.place == Place::Gpu(0));
    let own = local.map(|zone| (streams.of_gpus(0..1, zone), zone));
    let peer = local.filter(|_| machine.gpus > 1).map(|zone| (streams.of_gpus(1..2, zone), zone));
    let host = (machine.zones.len() > 1 || local.is_none()).then(|| (streams.of_gpus(0..1, 0), 0));
    let took = streams.run()?;
    let peak = |zone: usize| {
        let zone = &machine.zones[zone];
        zone.timing.peak(machine.clock) * zone.count() as f64 / 1e9
    };
    let limit = link.min(misses(machine, far));
    if let Some((at, zone)) = own {
        add("reading a GPU's own memory", "GB/s", peak(zone), gigabytes(machine, 1, took[at]));
    }
    if let Some((at, zone)) = peer {
        add("reading another GPU's memory", "GB/s", limit.min(peak(zone)), gigabytes(machine, 1, took[at]));
    }
    if let Some((at, zone)) = host {
        let what = if local.is_some() { "reading the host's memory" } else { "reading memory on the fabric" };
        add(what, "GB/s", limit.min(peak(zone)), gigabytes(machine, 1, took[at]));
    }
    Ok(())
}

/// Throughput in GB/s when all compute units of `gpus` GPUs finish their streams in `nanoseconds`.
fn gigabytes(machine: &Machine, gpus: usize, nanoseconds: f64) -> f64 {
    (gpus * machine.compute_units()) as f64 * BANDWIDTH as f64 * LINE as f64 / nanoseconds
}

/// Throughput in GB/s that a GPU's MSHRs allow at a given latency in nanoseconds.
fn misses(machine: &Machine, latency: f64) -> f64 {
    // If first-level caches send the remote requests, their MSHRs are the limit.
    let lines = match machine.remote {
        Some(Remote::L1) => machine.compute_units() * machine.l1v.mshrs.min(OUTSTANDING),
        _ => machine.banks.count * machine.l2.mshrs,
    };
    (lines * LINE) as f64 / latency
}

/// Nanoseconds that a request and its line spend on the fabric.
pub(crate) fn there_and_back(fabric: &Fabric) -> f64 {
    // Number of channels that serialise each message, one after the other.
    let channels = match fabric.kind {
        Kind::Tree { shared: true } | Kind::PointToPoint => 1.0,
        Kind::Tree { shared: false } | Kind::Switch { total: None } => 2.0,
        Kind::Switch { total: Some(_) } => 3.0,
    };
    let bytes = (2 * (HEADER + fabric.header) + LINE as u64) as f64;
    2.0 * fabric.latency.0 as f64 / 1e6 + channels * bytes / fabric.bandwidth as f64 * 1e9
}

/// GB/s of line data that a channel carries; on a bus the requests use bandwidth as well.
fn payload(fabric: &Fabric) -> f64 {
    let (line, header) = (LINE as f64, (HEADER + fabric.header) as f64);
    let headers = if fabric.kind == (Kind::Tree { shared: true }) { 2.0 * header } else { header };
    fabric.bandwidth as f64 / 1e9 * line / (line + headers)
}

/// Streams to run one after the other.
struct Streams<'a> {
    machine: &'a Machine,
    /// The first line, in every zone, that no stream reads.
    next: u64,
    all: Vec<[Stream; 2]>,
}

impl Streams<'_> {
    /// A stream of dependent reads by this DMA engine. Returns the stream's index.
    fn of_engine(&mut self, engine: usize, zone: usize) -> usize {
        let tester = (self.machine.gpus, engine);
        self.add(&[tester], zone, LATENCY, 1)
    }

    /// A stream of reads by all compute units of these GPUs. Returns the stream's index.
    fn of_gpus(&mut self, gpus: std::ops::Range<usize>, zone: usize) -> usize {
        let units = self.machine.compute_units();
        let testers: Vec<_> = gpus.flat_map(|gpu| (0..units).map(move |unit| (gpu, unit))).collect();
        self.add(&testers, zone, BANDWIDTH, self.machine.l1v.mshrs.min(OUTSTANDING))
    }

    fn add(&mut self, testers: &[(usize, usize)], zone: usize, count: u64, outstanding: usize) -> usize {
        let base = zones::bases(&self.machine.zones)[zone];
        let stream = |count: u64| {
            // Each tester reads consecutive lines and starts at a different bank.
            let (first, pitch) = (self.next, count + self.machine.banks.interleave.bytes() / LINE as u64);
            self.next += (pitch * testers.len() as u64).next_multiple_of(64 * 1024 / LINE as u64);
            let lines = |at: u64| Lines { first: base + (first + at * pitch) * LINE as u64, count, outstanding };
            testers.iter().zip(0..).map(|(tester, at)| (*tester, lines(at))).collect()
        };
        self.all.push([count, 2 * count].map(stream));
        self.all.len() - 1
    }

    /// The time of each long stream minus that of the short one, in nanoseconds.
    fn run(self) -> Result<Vec<f64>, Box<Outcome>> {
        let took: Arc<Mutex<Vec<Time>>> = Arc::default();
        let streams = self.all.into_iter().flatten().collect();
        let agents = Agents::Streams(streams, Arc::clone(&took));
        let model = build::build(self.machine, &Memories::new(self.machine), None, agents);
        match model.run(&run_options(&Options::default())).outcome {
            Outcome::Finished => {}
            other => return Err(Box::new(other)),
        }
        let took = took.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(took.chunks(2).map(|pair| (pair[1].0 as f64 - pair[0].0 as f64) / 1e6).collect())
    }
}
