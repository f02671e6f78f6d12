//! The organisation of memory, derived from `[memory]`, `[gpu.memory]`, `[fabric]` and `[remote]` together.

use crate::{
    cpu_complex::CpuComplex,
    fabric::{Fabric, MOST_ENDS, Remote, RemoteFile},
    file::{Because, File, MachineError},
    levels::{self, GpuMemoryRole},
    memory::{self, Acquires, Behind, Described, Layout, Leases},
    spec::Banks,
    values::{Choice, OneOf, Positive},
    zones::{MemoryZone, Place},
};
use dram::Timing;
use mem::{Bytes, Stride};
use protocol::{
    catalogue::Choice as Protocol,
    roles::{BesideCpu, Role, Sees},
};

pub(crate) struct Organisation {
    /// Timing of `[memory]`.
    pub timing: Timing,
    pub time_bits: Option<usize>,
    pub leases: Leases,
    pub acquires: Acquires,
    pub zones: Vec<MemoryZone>,
    pub remote: Option<Remote>,
}

/// The parts of a machine that its memories depend on.
pub(crate) struct Around<'a> {
    pub protocol: Protocol,
    pub gpus: usize,
    /// Banks of each GPU's L2.
    pub banks: Banks,
    pub cpu: Option<&'a CpuComplex>,
    pub fabric: Option<&'a Fabric>,
}

/// Default interleaving of memory: by page.
const PAGES: Stride = Stride::of(4096);

/// Reads the sections about memory.
pub(crate) fn organisation(file: &mut File, around: &Around<'_>) -> Result<Organisation, MachineError> {
    let role = levels::role(file)?;
    if role == Some(GpuMemoryRole::Level) && !around.protocol.has(Role::GpuMemory) {
        let name = around.protocol.name;
        let reason = format!(
            "memories of GPUs are no levels above the host's in {name}: it must be local or shared, or protocol nmoesi or nmoesi_wb"
        );
        return Err(file.wrong("gpu.memory", Some("role"), reason));
    }
    let role = role.filter(|role| *role != GpuMemoryRole::Level);
    fits(file, around, role)?;
    let on_levels = around.protocol.has(Role::GpuMemory);
    let behind = behind(file, around, role)?;
    let Described { timing, time_bits, leases, acquires, layout, shared_with_host } =
        memory::described(file, behind, around.cpu.is_some())?;
    let Around { protocol, gpus, banks, .. } = *around;
    let place = match behind {
        Behind::L2 if protocol.has(Role::GpuMemory) => Place::Levels,
        Behind::L2 => Place::L2,
        Behind::Fabric => Place::Stacks,
        Behind::Host => Place::Host,
        Behind::Agent => Place::Agent,
    };
    let of_host = |place| match place {
        Place::Host | Place::Agent => true,
        Place::Stacks => shared_with_host && role.is_none(),
        _ => false,
    };
    let one = |place, timing, banks: Banks, first, size| MemoryZone {
        of_host: of_host(place),
        place,
        timing,
        stacks: 1,
        channels: banks.count,
        interleave: banks.interleave,
        first,
        size,
    };
    let dealt = |place, timing, layout: Layout, first, size| MemoryZone {
        of_host: of_host(place),
        place,
        timing,
        stacks: layout.stacks.map_or(1, |stacks| stacks.count(gpus)),
        channels: layout.channels.map_or(1, Positive::count),
        interleave: layout.interleave.map_or(PAGES, |interleave| interleave.0),
        first,
        size,
    };
    let mut zones = vec![match (behind, around.cpu) {
        (Behind::L2, _) | (Behind::Agent, None) => one(place, timing, banks, 0, None),
        (Behind::Agent, Some(complex)) if on_levels => {
            one(place, timing, agent_channels(file, complex.channels, banks)?, 0, None)
        }
        (Behind::Agent, Some(complex)) => one(place, timing, complex.channels, 0, None),
        // A block must lie behind one bank and one channel, so both use the same interleaving.
        (Behind::Host, _) if on_levels => {
            let channels = host_channels(file, layout, banks)?;
            one(place, timing, Banks { count: channels, ..banks }, 0, None)
        }
        (Behind::Fabric | Behind::Host, _) => dealt(place, timing, layout, 0, None),
    }];
    let mut first = zones[0].count();
    if let Some(role) = role {
        let own = levels::own_memory(file, role)?;
        if role == GpuMemoryRole::Shared {
            zones.push(dealt(Place::Stacks, own.timing, own.layout, first, Some(own.size)));
        }
        for gpu in (0..gpus).filter(|_| role == GpuMemoryRole::Local) {
            zones.push(one(Place::Gpu(gpu), own.timing, banks, first, Some(Bytes(own.size.0))));
            first += banks.count;
        }
    }
    let stacks: usize = zones.iter().filter(|zone| zone.place == Place::Stacks).map(|zone| zone.stacks).sum();
    if around.fabric.is_some() && gpus + stacks + 1 > MOST_ENDS {
        let reason = format!("a fabric joins {MOST_ENDS} ends at most: GPUs, stacks of memory and the host");
        return Err(file.wrong("", Some("gpus"), reason));
    }
    let remote = remote(file, around, role)?;
    Ok(Organisation { timing, time_bits, leases, acquires, zones, remote })
}

/// Checks that there is a fabric if GPU memories need one, and that the protocol permits a fabric.
fn fits(file: &File, around: &Around<'_>, role: Option<GpuMemoryRole>) -> Result<(), MachineError> {
    let name = around.protocol.name;
    if around.fabric.is_none() {
        return match role {
            None => Ok(()),
            Some(_) => {
                let reason = "GPUs reach memory of their own and each other over a fabric: add one (fabric.part), or leave out the key";
                Err(file.wrong("gpu.memory", Some("role"), reason))
            }
        };
    }
    if around.protocol.protocol.needs.cpu != BesideCpu::MustBeMember {
        return Ok(());
    }
    let reason =
        format!("{name} joins GPUs and CPU on one chip: leave out the section [fabric], or choose another protocol");
    Err(file.wrong("", Some("protocol"), reason))
}

/// Number of channels of the host's memory below GPU memories. Each channel has its own directory.
fn host_channels(file: &File, layout: Layout, banks: Banks) -> Result<usize, MachineError> {
    let channels = layout.channels.map_or(1, Positive::count);
    if !banks.count.is_multiple_of(channels) {
        let reason =
            format!("of {} banks of an L2, each has its blocks in one channel: it must divide them", banks.count);
        return Err(file.wrong("memory", Some("channels"), reason));
    }
    if layout.interleave.is_some_and(|interleave| interleave.0 != banks.interleave) {
        let reason = "must be that of the L2 (gpu.l2.interleave): a block lies behind one bank and in one channel";
        return Err(file.wrong("memory", Some("interleave"), reason));
    }
    Ok(channels)
}

/// The channels behind a system agent below GPU memories. Each channel has its own directory.
fn agent_channels(file: &File, channels: Banks, banks: Banks) -> Result<Banks, MachineError> {
    if !banks.count.is_multiple_of(channels.count) {
        let reason =
            format!("of {} banks of an L2, each has its blocks in one channel: it must divide them", banks.count);
        return Err(file.wrong("system", Some("channels"), reason));
    }
    if channels.interleave != banks.interleave {
        let reason = format!(
            "must be that of the L2 (gpu.l2.interleave, {}): a block lies behind one bank and in one channel",
            Bytes(banks.interleave.bytes())
        );
        return Err(file.wrong("system", Some("interleave"), reason));
    }
    Ok(channels)
}

/// The place at which `[memory]` is attached.
fn behind(file: &File, around: &Around<'_>, role: Option<GpuMemoryRole>) -> Result<Behind, MachineError> {
    let on_fabric = around.fabric.is_some();
    let usual = match role {
        _ if around.cpu.is_some() => Behind::Agent,
        _ if !on_fabric => Behind::L2,
        _ if around.protocol.has(Role::GpuMemory) => Behind::Host,
        Some(_) => Behind::Host,
        None => Behind::Fabric,
    };
    if !file.says("memory", "behind") {
        return Ok(usual);
    }
    let said = file.key::<OneOf<Behind>>("memory", "behind")?.0;
    let reason = match said {
        _ if said == usual => return Ok(said),
        Behind::Host if on_fabric && role.is_none() && around.cpu.is_none() => return Ok(said),
        _ if around.cpu.is_some() => "beside a CPU this memory lies behind its system agent",
        Behind::Agent => "there is no system agent without a CPU: add one (cpu.part)",
        _ if !on_fabric => "there is no fabric: add one (fabric.part)",
        Behind::L2 => "over a fabric memory of GPUs lies behind it, or is their own ([gpu.memory])",
        _ => "GPUs have memory beside this one ([gpu.memory]): it is the host's",
    };
    let word = Behind::words().into_iter().find(|(_, other)| *other == usual).map_or("", |(word, _)| word);
    Err(file.wrong("memory", Some("behind"), format!("{reason}; set it to \"{word}\", or leave it out")))
}

/// Which cache requests lines in another GPU's memory; `None` if GPUs have no memories of their own.
fn remote(file: &mut File, around: &Around<'_>, role: Option<GpuMemoryRole>) -> Result<Option<Remote>, MachineError> {
    let path = "remote";
    let why = match role {
        Some(GpuMemoryRole::Local) if around.gpus > 1 => {
            let OneOf(from) = file.section::<RemoteFile>(path)?.from;
            let of = around.protocol.protocol;
            if from == Remote::L1 && (of.needs.peers || of.sees != Sees::UntilSynchronised) {
                let name = around.protocol.name;
                let reason = format!("under {name} second-level caches ask for lines of other GPUs: set it to \"l2\"");
                return Err(file.wrong(path, Some("from"), reason));
            }
            return Ok(Some(from));
        }
        Some(GpuMemoryRole::Local) => Because::new("gpus", "gpus is 1; set gpus to 2 or more"),
        _ => Because::new("gpu.memory", "GPUs have no memory of their own; set gpu.memory.role to local"),
    };
    file.idle_section::<RemoteFile>(path, &why)?;
    Ok(None)
}
