//! Memories: channels that serve the GPUs, or levels of one hierarchy.
//!
//! ```text
//! gpu0.l2_0 === gpu0.memory0 ===.
//!                    ||         +=== memory0
//! gpu1.l2_0 === gpu1.memory0 ==='
//! ```
//! On a fabric: channels of each GPU's own memory, in stacks, and channels of the host's memory.

use super::{
    ExtentPlan, Freight, Id, LevelPlan, MemoryPlan, Path, What, Wire,
    lower::{HISTORY, Lowering, Population},
};
use crate::{
    fabric::Remote,
    golden::Side,
    zones::{self, MemoryZone, Place},
};
use dram::{LevelSpec, MemorySpec, RoomSpec, Timing};
use mem::Share;
use protocol::{
    Node, Roster, Sharers,
    roles::{Role, Sees},
};
use std::sync::Arc;

/// Memories that are levels of one hierarchy.
pub(super) struct Levels {
    /// GPU memories, by L2 bank and by GPU.
    pub gpus: Vec<Vec<Id>>,
    /// Channels of the host's memory; L2 banks are distributed over them.
    pub hosts: Vec<Id>,
}

/// Channels of memories on a fabric.
pub(super) struct Homes {
    /// By zone; empty for zones that are not on the fabric.
    pub of_zones: Vec<Vec<Id>>,
    /// By GPU and bank of its L2.
    local: Vec<Vec<Id>>,
}

impl Homes {
    /// The channel of a GPU's own memory behind a bank of its L2.
    pub(super) fn local(&self, gpu: usize, bank: usize) -> Option<Id> {
        self.local.get(gpu).map(|channels| channels[bank])
    }
}

impl Lowering<'_> {
    /// The channels of memories on a fabric.
    pub(super) fn homes(&mut self) -> Homes {
        let mut homes = Homes { of_zones: Vec::new(), local: Vec::new() };
        let shares = zones::shares(&self.machine.zones);
        for zone in &self.machine.zones {
            let elsewhere = zone.place == Place::Agent || self.machine.levels.is_some();
            let channels = 0..if elsewhere { 0 } else { zone.count() };
            let ids: Vec<Id> = channels.map(|channel| self.home(zone, channel, shares[zone.first + channel])).collect();
            if matches!(zone.place, Place::Gpu(_)) {
                homes.local.push(ids.clone());
            }
            homes.of_zones.push(ids);
        }
        homes
    }

    /// A channel of a memory on a fabric.
    fn home(&mut self, zone: &MemoryZone, channel: usize, share: Share) -> Id {
        let (machine, numbers) = (self.machine, self.numbers);
        let me = numbers.memory(zone.first + channel);
        let l2s: Vec<Node> = match zone.place {
            Place::Gpu(owner) if machine.remote != Some(Remote::L2) || self.has_peers() => {
                vec![numbers.l2(owner, channel)]
            }
            Place::Gpu(_) => (0..machine.gpus).map(|gpu| numbers.l2(gpu, channel)).collect(),
            _ => numbers.gpu_l2s(),
        };
        let spec = MemorySpec {
            controller: machine.protocol.seat(Role::Home),
            me,
            above: Arc::new(Roster::new(l2s.iter().copied())),
            beside: None,
            watch_first: false,
            share,
            timing: zone.timing,
            room: machine.tsu.map(|room| RoomSpec { share, ..room }),
            history: HISTORY,
        };
        let (path, part, section) = match zone.place {
            Place::Gpu(gpu) => {
                (Path::to_one("gpu", gpu).and_one("memory", channel), self.bank_part(gpu, channel), "gpu.memory")
            }
            Place::Stacks => {
                let (stack, channel) = (channel / zone.channels, channel % zone.channels);
                let section = if zone.first == 0 { "memory" } else { "gpu.memory" };
                (Path::to_one("stack", stack).and_one("memory", channel), self.stack_part(stack), section)
            }
            _ => (Path::to_one("memory", channel), 0, "memory"),
        };
        let timed = machine.protocol.protocol.sees == Sees::ByTime;
        let of_process = zone.of_host && zone.place != Place::Agent && self.population == Population::Program;
        let speaks_to = Some(l2s.into_iter().chain(numbers.engines()).collect());
        let plan =
            MemoryPlan { spec, channel: zone.first + channel, timed, watched: false, section, speaks_to, of_process };
        let clock = zone.timing.clock().map_or(self.gpu_clock, |clock| self.clock_of(clock));
        let name = path.to_string();
        let id = self.plan.add(path, (clock, part), Some(me), What::Memory(Box::new(plan)));
        self.plan.report(id, name, self.meets_another_protocol().then_some(Side::Gpu));
        id
    }

    /// The channels of memory, one for each bank of a second-level cache.
    pub(super) fn memories(&mut self, clock: usize) -> Vec<Id> {
        (0..self.machine.banks.count).map(|channel| self.memory(channel, clock)).collect()
    }

    fn memory(&mut self, channel: usize, clock: usize) -> Id {
        let machine = self.machine;
        let me = self.numbers.memory(channel);
        let spec = MemorySpec {
            controller: machine.protocol.seat(Role::Home),
            me,
            above: Arc::new(Roster::row(self.numbers.l2(0, channel), machine.gpus)),
            beside: None,
            watch_first: false,
            share: machine.banks.share(channel),
            timing: machine.memory,
            room: machine.tsu,
            history: HISTORY,
        };
        let timed = machine.protocol.protocol.sees == Sees::ByTime;
        let plan =
            MemoryPlan { spec, channel, timed, watched: false, section: "memory", speaks_to: None, of_process: false };
        let place = (clock, self.bank_part(0, channel));
        let id = self.plan.add(Path::to_one("memory", channel), place, Some(me), What::Memory(Box::new(plan)));
        self.plan.report(id, format!("memory{channel}"), None);
        id
    }

    /// Memories that are levels of one hierarchy, below each L2 bank; `None` if the machine has none.
    pub(super) fn levels(&mut self) -> Option<Levels> {
        self.machine.levels?;
        let (mut gpus, mut hosts) = (Vec::new(), Vec::new());
        for bank in 0..self.machine.banks.count {
            gpus.push(self.levels_below(bank));
            if bank < self.host_channels() {
                hosts.push(self.host_level(bank));
            }
        }
        Some(Levels { gpus, hosts })
    }

    /// Number of channels of the host's memory below GPU memories.
    fn host_channels(&self) -> usize {
        self.machine.zones[0].count()
    }

    /// On a fabric, equal clock rates share one clock.
    fn level_clock(&mut self, timing: &Timing) -> usize {
        match (timing.clock(), self.machine.fabric) {
            (None, _) => self.gpu_clock,
            (Some(clock), Some(_)) => self.clock_of(clock),
            (Some(clock), None) => self.clock(clock),
        }
    }

    /// The memories of all GPUs below the L2 banks of this number.
    fn levels_below(&mut self, bank: usize) -> Vec<Id> {
        let (machine, numbers) = (self.machine, self.numbers);
        let (levels, protocol) = (machine.levels.expect("such a machine has them"), machine.protocol);
        let (clock, below) = (self.level_clock(&levels.timing), numbers.host_memory(bank % self.host_channels()));
        let gpus = (0..machine.gpus).map(|gpu| {
            let me = numbers.gpu_memory(gpu, bank);
            let above = Arc::new(Roster::new([numbers.l2(gpu, bank)]));
            let (directory, store) = (protocol.seat(Role::GpuMemory), protocol.seat(Role::Store));
            let spec = LevelSpec { directory, store, me, below, above, timing: levels.timing, history: HISTORY };
            let level = LevelPlan { spec, extent: ExtentPlan::Cache(levels.room), of_process: false, watched: None };
            let path = Path::to_one("gpu", gpu).and_one("memory", bank);
            self.plan.add(path, (clock, self.bank_part(gpu, bank)), Some(me), What::Level(Box::new(level)))
        });
        gpus.collect()
    }

    /// A channel of the host's memory below GPU memories.
    fn host_level(&mut self, channel: usize) -> Id {
        let (machine, numbers, mut protocol) = (self.machine, self.numbers, self.machine.protocol);
        let me = numbers.host_memory(channel);
        let banks = (channel..machine.banks.count).step_by(self.host_channels());
        let smds = banks.flat_map(|bank| (0..machine.gpus).map(move |gpu| numbers.gpu_memory(gpu, bank)));
        let smds: Vec<Node> = smds.collect();
        let slices = (0..machine.cpu.as_ref().map_or(0, |cpu| cpu.slices)).map(|slice| numbers.l3(slice));
        let above = Arc::new(Roster::new(smds.iter().copied().chain(slices.clone())));
        let all = |nodes: &mut dyn Iterator<Item = Node>| {
            nodes.map(|node| above.sharer(node)).fold(Sharers::NONE, Sharers::or)
        };
        protocol.parameters.singles = all(&mut slices.clone());
        let watched = machine.cpu.is_some().then(|| all(&mut smds.iter().copied()));
        let (directory, store) = (protocol.seat(Role::HostMemory), protocol.seat(Role::Store));
        let spec = LevelSpec { directory, store, me, below: me, above, timing: machine.memory, history: HISTORY };
        let share = zones::shares(&machine.zones)[channel];
        let of_process = machine.fabric.is_some() && machine.cpu.is_none() && self.population == Population::Program;
        let level = LevelPlan { spec, extent: ExtentPlan::All(share, channel), of_process, watched };
        let clock = self.level_clock(&machine.memory);
        let part = if machine.fabric.is_some() { 0 } else { self.bank_part(0, channel) };
        let host =
            self.plan.add(Path::to_one("memory", channel), (clock, part), Some(me), What::Level(Box::new(level)));
        self.plan.report(host, format!("memory{channel}"), None);
        host
    }

    /// The wires between levels if no fabric connects them.
    pub(super) fn connect_levels(&mut self, levels: &Levels) {
        let Some((spec, wire)) = self.machine.levels.and_then(|spec| Some((spec, spec.wire?))) else { return };
        let wire = Wire::Link(wire);
        for (bank, gpus) in levels.gpus.iter().enumerate() {
            for (gpu, own) in gpus.iter().enumerate() {
                let name = format!("gpu{gpu}_memory{bank}_host");
                self.plan.connect(name, *own, levels.hosts[bank], wire.clone(), Freight::Messages);
                for (other, peer) in gpus[..gpu].iter().enumerate().filter(|_| spec.peer_transfer) {
                    let name = format!("gpu{gpu}_gpu{other}_memory{bank}");
                    self.plan.connect(name, *own, *peer, wire.clone(), Freight::Messages);
                }
            }
        }
    }
}
