//! Memory as a machine file says: `[memory]` names its kind, `[memory.fixed]` and `[memory.dram]` have the parameters of each; so does
//! `[gpu.memory]`, where GPUs have memories that are levels above it.

use crate::{
    file::{File, MachineError},
    spec::Banks,
};
use dram::{BadMapping, DramSpec, FixedSpec, MOST_BANKS, Mapping, Order, Page, RoomSpec, Standard, Timing, standards};
use engine::Cycles;
use mem::LINE;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryFile {
    kind: String,
    time_bits: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FixedFile {
    latency: u64,
    interval: u64,
    outstanding: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DramFile {
    channels: usize,
    ranks: usize,
    mapping: String,
    order: String,
    page: String,
    read_queue: usize,
    write_queue: usize,
    drain_from: usize,
    drain_to: usize,
    patience: u64,
    latency: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TsuFile {
    entries: usize,
    ways: usize,
}

/// The time-stamp unit behind each bank of an L2, in `[memory.tsu]`; none: one that knows every line.
pub fn tsu(file: &mut File, banks: Banks) -> Result<Option<RoomSpec>, MachineError> {
    let path = "memory.tsu";
    if !file.has(path) {
        return Ok(None);
    }
    let TsuFile { entries, ways } = file.section(path)?;
    within(file, path, "ways", ways, 1 << 10)?;
    let sets = entries / ways;
    if !sets.is_power_of_two() || sets * ways != entries {
        let reason = format!("{entries} in {ways} ways must make sets whose number is a power of two");
        return Err(file.wrong(path, Some("entries"), reason));
    }
    Ok(Some(RoomSpec { sets, ways, block: LINE as u64, share: banks.share(0) }))
}

/// Reads and checks all sections, whichever is used: a kind can be chosen by changing one key. And how many bits logical times have, if that is
/// said.
pub fn timing(file: &mut File) -> Result<(Timing, Option<u32>), MachineError> {
    let MemoryFile { kind, time_bits } = file.section("memory")?;
    Ok((of_kind(file, "memory", &kind)?, time_bits))
}

/// The same for the memory of another section, whose kind is known.
pub fn of_kind(file: &mut File, path: &str, kind: &str) -> Result<Timing, MachineError> {
    let fixed = fixed(file, &format!("{path}.fixed"))?;
    let dram_path = format!("{path}.dram");
    let dram: DramFile = file.section(&dram_path)?;
    if kind == "fixed" {
        // Checked for a standard all of whose limits the others share.
        dram_spec(file, &dram_path, dram, &standards::DDR3_1600)?;
        return Ok(Timing::Fixed(fixed));
    }
    let Some(standard) = Standard::find(kind) else {
        let known: Vec<&str> =
            ["fixed"].into_iter().chain(standards::ALL.iter().map(|standard| standard.name)).collect();
        return Err(file.no_choice(path, "kind", kind, &known));
    };
    dram_spec(file, &dram_path, dram, standard).map(Timing::Dram)
}

fn fixed(file: &mut File, path: &str) -> Result<FixedSpec, MachineError> {
    let fixed: FixedFile = file.section(path)?;
    within(file, path, "interval", fixed.interval as usize, 1 << 20)?;
    within(file, path, "outstanding", fixed.outstanding, 1 << 20)?;
    Ok(FixedSpec { latency: Cycles(fixed.latency), interval: Cycles(fixed.interval), outstanding: fixed.outstanding })
}

fn dram_spec(file: &File, path: &str, dram: DramFile, standard: &'static Standard) -> Result<DramSpec, MachineError> {
    within(file, path, "channels", dram.channels, 64)?;
    within(file, path, "ranks", dram.ranks, MOST_BANKS / (standard.groups * standard.banks))?;
    within(file, path, "read_queue", dram.read_queue, 1 << 10)?;
    within(file, path, "write_queue", dram.write_queue, 1 << 10)?;
    within(file, path, "drain_from", dram.drain_from, dram.write_queue)?;
    if dram.drain_to >= dram.drain_from {
        return Err(file.wrong(path, Some("drain_to"), "must be less than drain_from"));
    }
    let mapping: Mapping =
        dram.mapping.parse().map_err(|bad: BadMapping| file.wrong(path, Some("mapping"), bad.to_string()))?;
    let order = match dram.order.as_str() {
        "fr-fcfs" => Order::FrFcfs,
        "fcfs" => Order::Fcfs,
        other => return Err(file.no_choice(path, "order", other, &["fr-fcfs", "fcfs"])),
    };
    let page = match dram.page.as_str() {
        "open" => Page::Open,
        "closed" => Page::Closed,
        other => return Err(file.no_choice(path, "page", other, &["open", "closed"])),
    };
    Ok(DramSpec {
        standard,
        channels: dram.channels,
        ranks: dram.ranks,
        mapping,
        order,
        page,
        read_queue: dram.read_queue,
        write_queue: dram.write_queue,
        drain_from: dram.drain_from,
        drain_to: dram.drain_to,
        patience: Cycles(dram.patience),
        latency: Cycles(dram.latency),
    })
}

fn within(file: &File, path: &str, key: &str, value: usize, most: usize) -> Result<(), MachineError> {
    match value {
        0 => Err(file.wrong(path, Some(key), "must be at least 1")),
        value if value > most => Err(file.wrong(path, Some(key), format!("can be {most} at most"))),
        _ => Ok(()),
    }
}
