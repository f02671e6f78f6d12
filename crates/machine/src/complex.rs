//! A CPU beside the GPU, as a machine file says: `[cpu]` with its caches, and `[system]`, what CPU and GPU share
//! (`003_07d33ec44b25be67.txt`, Fig. 3.2).

use crate::{
    file::{File, MachineError},
    network,
    spec::{Banks, CacheSpec, at_least_one, l1, wire},
    units::{Frequency, Size},
};
use engine::{Hertz, LinkSpec};
use interconnect::NetworkSpec;
use mem::LINE;
use serde::Deserialize;

/// Cores with their caches, the last-level cache, and the way to memory.
#[derive(Clone, Copy, Debug)]
pub struct Complex {
    /// Of cores and their caches.
    pub clock: Hertz,
    pub cores: usize,
    pub l1d: CacheSpec,
    pub l1i: CacheSpec,
    pub l2: CacheSpec,
    /// A slice of the last-level cache; lines are dealt over the slices one by one.
    pub l3: CacheSpec,
    pub slices: usize,
    /// Of the network and the memory controllers.
    pub system_clock: Hertz,
    /// Between second-level caches, slices, the GPU's hub and the system agent.
    pub network: NetworkSpec,
    /// From the GPU's L2 to the hub.
    pub hub: LinkSpec,
    pub channels: Banks,
    pub join: Join,
    /// Whether host and GPU use the same bytes; otherwise buffers are copied.
    pub shared: bool,
}

impl Complex {
    /// Whether caches are flushed at the borders of kernels: where CPU and GPU meet only in memory, and where they use
    /// addresses of their own (4.2).
    pub fn flushes(&self) -> bool {
        self.join == Join::Memory || !self.shared
    }
}

/// Where the GPU's requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// To the last-level cache, whose directory knows the GPU as one more core.
    LastLevel,
    /// To memory, past the CPU's caches.
    Memory,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CpuFile {
    clock: Frequency,
    cores: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SystemFile {
    clock: Frequency,
    slices: usize,
    channels: usize,
    interleave: Size,
    join: String,
    memory: String,
}

/// The complex, if the file has one.
pub fn complex(file: &mut File) -> Result<Option<Complex>, MachineError> {
    if !file.has("cpu") {
        return Ok(None);
    }
    let cpu: CpuFile = file.section("cpu")?;
    let system: SystemFile = file.section("system")?;
    at_least_one(file, "cpu", "cores", cpu.cores)?;
    at_least_one(file, "system", "slices", system.slices)?;
    at_least_one(file, "system", "channels", system.channels)?;
    let interleave = system.interleave.0.0;
    if !interleave.is_power_of_two() || interleave < LINE as u64 {
        let reason = format!("must be a power of two, and a line of {LINE} B at least");
        return Err(file.wrong("system", Some("interleave"), reason));
    }
    let join = match system.join.as_str() {
        "l3" => Join::LastLevel,
        "memory" => Join::Memory,
        other => return Err(file.no_choice("system", "join", other, &["l3", "memory"])),
    };
    let shared = match system.memory.as_str() {
        "shared" => true,
        "copied" => false,
        other => return Err(file.no_choice("system", "memory", other, &["shared", "copied"])),
    };
    let mut l3 = l1(file, "cpu.l3")?;
    l3.shape = l3.shape.of_banks(system.slices, LINE as u64);
    let stations = 2 * cpu.cores.max(system.slices) + 2;
    let Some(network) = network::network(file, "system.network", stations)? else {
        return Err(file.wrong("system.network", Some("kind"), "must be a network: ring, crossbar, mesh or bus"));
    };
    Ok(Some(Complex {
        clock: cpu.clock.0,
        cores: cpu.cores,
        l1d: l1(file, "cpu.l1d")?,
        l1i: l1(file, "cpu.l1i")?,
        l2: l1(file, "cpu.l2")?,
        l3,
        slices: system.slices,
        system_clock: system.clock.0,
        network,
        hub: wire(file, "system.hub")?,
        channels: Banks { count: system.channels, interleave },
        join,
        shared,
    }))
}
