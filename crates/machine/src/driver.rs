//! The GPUs' driver, as a machine file says in `[driver]`: where buffers lie, when bytes move, and what devices programs see. All of it can be left
//! out, and options of the command go before it.

use crate::{
    file::{File, MachineError},
    spec::Machine,
    units::{Duration, Size},
    values::{Choice, OneOf, Positive},
};
use engine::Time;
use mem::Bytes;
use os::opencl::{Blocks, Costs, PolicyKind, Settings, Spread};
use serde::{Deserialize, Deserializer, de};

/// How the driver is set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriverSpec {
    pub policy: Option<PolicyKind>,
    pub spread: Option<Spread>,
    /// One device for each GPU, instead of one whose workgroups are dealt to all of them.
    pub device_per_gpu: bool,
    pub blocks: Blocks,
    /// What the driver takes to answer an access of the host to a page that it guards, and for each step of the search for it.
    pub fault: Option<Time>,
    pub search: Option<Time>,
}

/// Chosen here: what the native runtime takes until a signal has arrived and a block is open; and a miss in the host's caches.
const FAULT: Time = Time::micros(4);
const SEARCH: Time = Time::nanos(100);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DriverFile {
    policy: Option<OneOf<PolicyKind>>,
    spread: Option<SpreadText>,
    devices: Option<OneOf<Devices>>,
    block: Option<Size>,
    rolling: Option<Positive>,
    fault: Option<Duration>,
    search: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Devices {
    Gang,
    Each,
}

impl Choice for Devices {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("gang", Self::Gang), ("each", Self::Each)]
    }
}

impl Choice for PolicyKind {
    fn words() -> Vec<(&'static str, Self)> {
        Self::ALL.into_iter().map(|policy| (policy.name(), policy)).collect()
    }
}

struct SpreadText(Spread);

impl<'de> Deserialize<'de> for SpreadText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map(Self).map_err(de::Error::custom)
    }
}

impl DriverSpec {
    pub fn load(file: &mut File) -> Result<Self, MachineError> {
        if !file.has("driver") {
            return Ok(Self::default());
        }
        let DriverFile { policy, spread, devices, block, rolling, fault, search } = file.section("driver")?;
        let usual = Blocks::default();
        let size = block.map_or(usual.size, |size| size.0);
        if size.0 < mem::PAGE || !size.0.is_multiple_of(mem::PAGE) {
            let reason = format!("a block is made of pages of {}", Bytes(mem::PAGE));
            return Err(file.wrong("driver", Some("block"), reason));
        }
        Ok(Self {
            policy: policy.map(|policy| policy.0),
            spread: spread.map(|spread| spread.0),
            device_per_gpu: devices.is_some_and(|devices| devices.0 == Devices::Each),
            blocks: Blocks { size, rolling: rolling.map(|rolling| rolling.count() as u64) },
            fault: fault.map(|fault| fault.0),
            search: search.map(|search| search.0),
        })
    }
}

/// What the driver of a program on a machine has to know of it.
#[derive(Clone, Copy, Debug)]
pub struct DriverFacts {
    gpus: u32,
    compute_units: u32,
    costs: Costs,
    /// The policy that is usual there.
    pub policy: PolicyKind,
    pub spec: DriverSpec,
}

impl From<&Machine> for DriverFacts {
    fn from(machine: &Machine) -> Self {
        let shared = machine.cpu.as_ref().is_some_and(|complex| complex.shared && machine.fabric.is_none());
        let usual = if shared { PolicyKind::Shared } else { PolicyKind::Memcpy };
        // Cores execute the driver's library, and engines move bytes: what that takes is the machine's.
        let call = if machine.cpu.is_some() { Time::ZERO } else { machine.host.call };
        Self {
            gpus: machine.gpus as u32,
            compute_units: machine.compute_units() as u32,
            costs: Costs {
                call,
                fault: machine.driver.fault.unwrap_or(FAULT),
                search: machine.driver.search.unwrap_or(SEARCH),
                ..Costs::default()
            },
            policy: machine.driver.policy.unwrap_or(usual),
            spec: machine.driver,
        }
    }
}

impl DriverFacts {
    pub fn settings(&self) -> Settings {
        Settings {
            gpus: self.gpus,
            compute_units: self.compute_units,
            device_per_gpu: self.spec.device_per_gpu,
            policy: self.policy,
            spread: self.spec.spread,
            blocks: self.spec.blocks,
            costs: self.costs,
            ..Settings::default()
        }
    }
}
