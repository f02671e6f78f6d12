//! Memory in machine files. `[memory]` names its kind; `[memory.fixed]` and `[memory.dram]` hold the parameters of each
//! kind. `[gpu.memory]` has the same structure, for GPU memories that are levels above the main memory.

use crate::{
    file::{Because, File, MachineError, join},
    spec::Banks,
    values::{Choice, Interleaving, Number, OneOf, Positive, WIDE},
};
use dram::{BadMapping, DramSpec, FixedSpec, MOST_BANKS, Mapping, Order, Page, RoomSpec, Standard, Timing, standards};
use mem::LINE;
use protocol::{catalogue::Choice as Protocol, roles::Role};
use serde::{Deserialize, Deserializer, de};
use toml::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryFile {
    kind: OneOf<Kind>,
    time_bits: Option<Number>,
    read_lease: Option<Positive>,
    write_lease: Option<Positive>,
    acquires: Option<OneOf<Acquires>>,
    shared_with_host: Option<bool>,
    #[serde(rename = "behind")]
    _behind: Option<OneOf<Behind>>,
    stacks: Option<Stacks>,
    channels: Option<Positive<WIDE>>,
    interleave: Option<Interleaving>,
}

pub struct Described {
    pub timing: Timing,
    pub time_bits: Option<usize>,
    pub leases: Leases,
    pub acquires: Acquires,
    pub layout: Layout,
    /// Whether a host outside the machine keeps its programs in this memory.
    pub shared_with_host: bool,
}

/// What an acquire (a fence or the start of a kernel) does in protocols with logical time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquires {
    /// The acquire asks memory for its latest time and advances the caches' clocks to it.
    Raise,
    /// Caches invalidate their lines.
    Forget,
}

impl Choice for Acquires {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("raise", Self::Raise), ("forget", Self::Forget)]
    }
}

/// Lease durations in logical time, for lines after a read and after a write; `None`: the protocol's default.
#[derive(Clone, Copy)]
pub struct Leases {
    pub read: Option<usize>,
    pub write: Option<usize>,
}

/// Arrangement of the channels of a memory on a fabric; `None`: the default.
#[derive(Clone, Copy)]
pub struct Layout {
    pub stacks: Option<Stacks>,
    pub channels: Option<Positive<WIDE>>,
    pub interleave: Option<Interleaving>,
}

/// The place at which `[memory]` is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// Behind the L2 banks of the GPUs.
    L2,
    /// On a fabric, in stacks.
    Fabric,
    /// At the host's end of a fabric.
    Host,
    /// Behind the system agent of a CPU.
    Agent,
}

impl Choice for Behind {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("l2", Self::L2), ("fabric", Self::Fabric), ("host", Self::Host), ("agent", Self::Agent)]
    }
}

/// A number of stacks, or "gpus": one stack per GPU.
#[derive(Clone, Copy)]
pub struct Stacks(Option<usize>);

impl Stacks {
    pub fn count(self, gpus: usize) -> usize {
        self.0.unwrap_or(gpus)
    }
}

impl<'de> Deserialize<'de> for Stacks {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::String(word) if word == "gpus" => Ok(Self(None)),
            Value::Integer(number) if (1..=32).contains(&number) => Ok(Self(Some(number as usize))),
            _ => Err(de::Error::custom("must be a number from 1 to 32, or \"gpus\": a stack for each")),
        }
    }
}

/// The memory model.
#[derive(Clone, Copy)]
pub enum Kind {
    Fixed,
    Dram(&'static Standard),
}

impl Choice for Kind {
    fn words() -> Vec<(&'static str, Self)> {
        let standards = standards::ALL.iter().map(|standard| (standard.name, Self::Dram(standard)));
        [("fixed", Self::Fixed)].into_iter().chain(standards).collect()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FixedFile {
    latency: Number,
    interval: Positive,
    outstanding: Positive,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DramFile {
    channels: Positive<64>,
    ranks: Positive,
    mapping: String,
    order: OneOf<Order>,
    page: OneOf<Page>,
    read_queue: Positive<WIDE>,
    write_queue: Positive<WIDE>,
    drain_from: Positive,
    drain_to: Number,
    patience: Number,
    latency: Number,
}

impl Choice for Order {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("fr-fcfs", Self::FrFcfs), ("fcfs", Self::Fcfs)]
    }
}

impl Choice for Page {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("open", Self::Open), ("closed", Self::Closed)]
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TsuFile {
    entries: Positive,
    ways: Positive<WIDE>,
}

/// The time-stamp unit behind each L2 bank, section `[memory.tsu]`. `None`: the unit has an entry for every line, or
/// the protocol has no such unit.
pub fn tsu(file: &mut File, protocol: Protocol, banks: Banks) -> Result<Option<RoomSpec>, MachineError> {
    let path = "memory.tsu";
    if !protocol.has(Role::Home) || !protocol.seat(Role::Home).table().capabilities().forgets {
        let why =
            Because::new("protocol", "the memory of this protocol has no time-stamp unit; set protocol to halcone");
        return file.idle_section::<TsuFile>(path, &why).map(|()| None);
    }
    if !file.has(path) {
        return Ok(None);
    }
    let TsuFile { entries, ways } = file.section(path)?;
    let (entries, ways) = (entries.count(), ways.count());
    let sets = entries / ways;
    if !sets.is_power_of_two() || sets * ways != entries {
        let reason = format!("{entries} in {ways} ways must make sets whose number is a power of two");
        return Err(file.wrong(path, Some("entries"), reason));
    }
    Ok(Some(RoomSpec { sets, ways, block: LINE as u64, share: banks.share(0) }))
}

/// Reads `[memory]`; `behind` says where it is attached.
pub fn described(file: &mut File, behind: Behind, cores: bool) -> Result<Described, MachineError> {
    let word = Behind::words().into_iter().find(|(_, other)| *other == behind).map_or("", |(word, _)| word);
    let (not_on_fabric, no_stacks) = (!matches!(behind, Behind::Fabric | Behind::Host), behind != Behind::Fabric);
    for (key, idle, others) in [
        ("stacks", no_stacks, &["fabric"][..]),
        ("channels", not_on_fabric, &["fabric", "host"]),
        ("interleave", not_on_fabric, &["fabric", "host"]),
    ] {
        if idle {
            file.idle(&join("memory", key), &Because::value("memory.behind", word, others));
        }
    }
    if no_stacks || cores {
        let why = match cores {
            true => Because::new("cpu", "the host's programs run on the machine's own cores ([cpu]), in their memory"),
            false => Because::value("memory.behind", word, &["fabric"]),
        };
        file.idle("memory.shared_with_host", &why);
    }
    let MemoryFile {
        kind,
        time_bits,
        read_lease,
        write_lease,
        acquires,
        shared_with_host,
        stacks,
        channels,
        interleave,
        ..
    } = file.section("memory")?;
    let timing = of_kind(file, "memory", kind.0)?;
    Ok(Described {
        timing,
        time_bits: time_bits.map(Number::count),
        leases: Leases { read: read_lease.map(Positive::count), write: write_lease.map(Positive::count) },
        acquires: acquires.map_or(Acquires::Raise, |acquires| acquires.0),
        layout: Layout { stacks, channels, interleave },
        shared_with_host: shared_with_host.unwrap_or(false) && !no_stacks && !cores,
    })
}

/// Reads the parameters of one kind of memory, and marks those of the other kinds as having no effect.
pub fn of_kind(file: &mut File, path: &str, kind: Kind) -> Result<Timing, MachineError> {
    let (fixed, dram, cause) = (join(path, "fixed"), join(path, "dram"), join(path, "kind"));
    match kind {
        Kind::Fixed => {
            let others: Vec<&str> = standards::ALL.iter().map(|standard| standard.name).collect();
            file.idle_section::<DramFile>(&dram, &Because::value(&cause, "fixed", &others))?;
            let of: FixedFile = file.section(&fixed)?;
            let (latency, interval) = (of.latency.cycles(), of.interval.cycles());
            Ok(Timing::Fixed(FixedSpec { latency, interval, outstanding: of.outstanding.count() }))
        }
        Kind::Dram(standard) => {
            file.idle_section::<FixedFile>(&fixed, &Because::value(&cause, standard.name, &["fixed"]))?;
            let of = file.section(&dram)?;
            dram_spec(file, &dram, of, standard).map(Timing::Dram)
        }
    }
}

fn dram_spec(file: &File, path: &str, of: DramFile, standard: &'static Standard) -> Result<DramSpec, MachineError> {
    let within = |key: &str, value: usize, most: usize| match value > most {
        true => Err(file.wrong(path, Some(key), format!("can be {most} at most"))),
        false => Ok(value),
    };
    let write_queue = of.write_queue.count();
    let (drain_from, drain_to) = (within("drain_from", of.drain_from.count(), write_queue)?, of.drain_to.count());
    if drain_to >= drain_from {
        return Err(file.wrong(path, Some("drain_to"), "must be less than drain_from"));
    }
    let mapping: Mapping =
        of.mapping.parse().map_err(|bad: BadMapping| file.wrong(path, Some("mapping"), bad.to_string()))?;
    Ok(DramSpec {
        standard,
        channels: of.channels.count(),
        ranks: within("ranks", of.ranks.count(), MOST_BANKS / (standard.groups * standard.banks))?,
        mapping,
        order: of.order.0,
        page: of.page.0,
        read_queue: of.read_queue.count(),
        write_queue,
        drain_from,
        drain_to,
        patience: of.patience.cycles(),
        latency: of.latency.cycles(),
    })
}
