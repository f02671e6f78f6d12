//! The GPUs' driver, section `[driver]` of a machine file: where buffers lie, when bytes move, and which devices
//! programs see. Every key is optional, and command-line options take precedence.

use crate::{
    cpu_complex::CpuComplex,
    file::{File, MachineError},
    spec::Machine,
    units::{Duration, Size},
    values::{Choice, OneOf, Positive},
};
use engine::Time;
use mem::Bytes;
use os::opencl::{Blocks, Costs, PolicyKind, Settings, Spread};
use serde::{Deserialize, Deserializer, de};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriverSpec {
    pub policy: Option<PolicyKind>,
    pub spread: Option<Spread>,
    /// One OpenCL device per GPU, instead of one device whose workgroups are distributed over all GPUs.
    pub device_per_gpu: bool,
    pub blocks: Blocks,
    /// Time the driver takes to serve a host access to a guarded page; `search` is the time of each step of its block
    /// search.
    pub fault: Option<Time>,
    pub search: Option<Time>,
}

/// Defaults chosen here. `FAULT`: the native runtime's time from a fault until the signal has arrived and the block is
/// open. `SEARCH`: one miss in the host's caches.
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

/// The facts of a machine that a program's driver needs.
#[derive(Clone, Copy, Debug)]
pub struct DriverFacts {
    gpus: u32,
    compute_units: u32,
    costs: Costs,
    flushes_buffers: bool,
    copy_width: u64,
    blocking_launches: bool,
    /// The policy of the machine file, or else the machine's default.
    pub policy: PolicyKind,
    pub spec: DriverSpec,
}

impl From<&Machine> for DriverFacts {
    fn from(machine: &Machine) -> Self {
        let shared = machine.cpu.as_ref().is_some_and(|complex| complex.shared && machine.fabric.is_none());
        let usual = if shared { PolicyKind::Shared } else { PolicyKind::Memcpy };
        // With a CPU, cores execute the driver's library and DMA engines move the bytes, so the model already times the
        // call.
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
            flushes_buffers: machine.cpu.as_ref().is_some_and(CpuComplex::flushes_buffers),
            copy_width: machine.cpu.as_ref().map_or(8, |cpu| cpu.copy_width),
            blocking_launches: machine.cpu.as_ref().is_some_and(|cpu| cpu.blocking_launches),
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
            flushes_buffers: self.flushes_buffers,
            copy_width: self.copy_width,
            blocking_launches: self.blocking_launches,
            ..Settings::default()
        }
    }
}
