//! The summary as text.

use super::{
    CacheLevel, Cores, GPU_PHASES, GpuTime, MemoryTraffic, Network, Spent, Summary, Units, Wires, caches::Accesses,
    cores::PHASES, units::REASONS,
};
use crate::{
    figures::{bandwidth, count, percent, size},
    text::{Table, bar, wrap},
};
use engine::{Hertz, Time};
use std::fmt;

const WIDTH: usize = 100;
/// Maximum number of kernels and of wire groups that are listed.
const KERNELS: usize = 8;
const WIRES: usize = 4;

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.program)?;
        for argument in &self.arguments {
            write!(f, " {argument}")?;
        }
        writeln!(f, " on {}: {}", self.system, self.outcome)?;
        if let Some(forward) = &self.fast_forward {
            writeln!(f, "  {}", wrap(&format!("fast-forward {forward}"), WIDTH - 2, 4))?;
            if !forward.reached {
                return Ok(());
            }
        }
        if let Some(parts) = &self.drained {
            writeln!(f, "  {}", wrap(&format!("drained {parts}"), WIDTH - 2, 4))?;
        }
        let (kernel, total) = (Time(self.kernel_fs), Time(self.total_fs));
        let (cycles, clock) = (count(self.kernel_cycles), Hertz(self.clock_hz));
        let has_kernels = !self.kernels.is_empty() || self.cores.is_none();
        writeln!(f)?;
        if has_kernels {
            writeln!(f, "  kernel time  {kernel} ({cycles} cycles at {clock})")?;
        }
        writeln!(f, "  total time   {total}")?;
        if let Some(cores) = &self.cores {
            let (instructions, rate, used) = (count(cores.instructions), cores.per_cycle(), cores.used);
            writeln!(f, "  executed     {instructions} instructions on {used} cores, {rate:.2} a cycle of a core")?;
        }
        if has_kernels {
            let executed = if self.cores.is_some() { "" } else { "executed" };
            let (instructions, rate) = (count(self.wave_instructions), self.instructions_per_cycle());
            writeln!(f, "  {executed:12} {instructions} wavefront instructions, {rate:.2} a cycle")?;
        }
        self.kernel_times(f)?;
        if let Some(cores) = &self.cores {
            cores_text(cores, f)?;
        }
        if !self.kernels.is_empty() {
            if let Some(units) = &self.units {
                units_text(units, f)?;
            }
            caches_text(&self.caches, f)?;
        } else if self.cores.is_none() {
            return Ok(());
        }
        if let Some(memory) = &self.memory {
            memory_text(memory, self.span(), f)?;
        }
        if let Some(network) = &self.network {
            network_text(network, f)?;
        }
        gpus_text(&self.gpus, f)?;
        if let Some(pages) = &self.pages {
            writeln!(f, "\n  pages: {}", pages.told().join(", "))?;
        }
        for (what, bytes) in [("bytes moved", &self.moved), ("bytes on the fabric", &self.links)] {
            if !bytes.is_empty() {
                let each: Vec<String> = bytes.iter().map(|(name, bytes)| format!("{name} {}", size(*bytes))).collect();
                writeln!(f, "\n  {}", wrap(&format!("{what}: {}", each.join(", ")), WIDTH - 4, 4))?;
            }
        }
        energy_text(&self.energy, Time(self.simulated_fs), f)?;
        wires_text(&self.wires, f)?;
        self.bottleneck_text(f)
    }
}

impl Summary {
    fn kernel_times(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let least = if self.cores.is_some() { 1 } else { 2 };
        if self.kernels.len() < least {
            return Ok(());
        }
        let mut table = Table::new(["kernel", "launches", "time", "share"]);
        for kernel in self.kernels.iter().take(KERNELS) {
            let share = kernel.time_fs as f64 / self.kernel_fs.max(1) as f64;
            table.row([kernel.name.clone(), count(kernel.launches), Time(kernel.time_fs).to_string(), percent(share)]);
        }
        write!(f, "\n{}", table.render())?;
        match self.kernels.len().saturating_sub(KERNELS) {
            0 => Ok(()),
            more => writeln!(f, "  and {more} more"),
        }
    }

    fn bottleneck_text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.bottlenecks.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nWhat held it up most:")?;
        for (number, bottleneck) in self.bottlenecks.iter().enumerate() {
            let text = match bottleneck.evidence.as_str() {
                "" => format!("{}.", bottleneck.what),
                evidence => format!("{}: {evidence}.", bottleneck.what),
            };
            writeln!(f, "  {}. {}", number + 1, wrap(&text, WIDTH - 5, 5))?;
        }
        Ok(())
    }
}

/// A column per GPU; if there are many, only the first and the last few.
fn gpus_text(gpus: &[GpuTime], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if gpus.is_empty() {
        return Ok(());
    }
    let shown: Vec<&GpuTime> = match gpus.len() {
        ..=8 => gpus.iter().collect(),
        len => gpus[..4].iter().chain(&gpus[len - 4..]).collect(),
    };
    let names = shown.iter().map(|gpu| gpu.name.clone());
    let mut table = Table::new(std::iter::once("time of each GPU, of the run".to_owned()).chain(names));
    for (at, (_, told)) in GPU_PHASES.iter().enumerate() {
        table.row(std::iter::once((*told).to_owned()).chain(shown.iter().map(|gpu| percent(gpu.shares[at].1))));
    }
    let remote = shown.iter().map(|gpu| percent(gpu.remote_reads));
    table.row(std::iter::once("lines from elsewhere outstanding".to_owned()).chain(remote));
    write!(f, "\n{}", table.render())
}

fn cores_text(cores: &Cores, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let all: u64 = cores.phases.iter().map(|(_, cycles)| cycles).sum();
    let with_thread = cores.cycles.max(1);
    let mut table = Table::new([&format!("cycles of {} cores", cores.count), "of all", "with a thread", ""]);
    for ((name, told), (_, cycles)) in PHASES.iter().zip(&cores.phases) {
        let share = *cycles as f64 / all.max(1) as f64;
        let own = match *name {
            "idle" => "-".to_owned(),
            _ => percent(*cycles as f64 / with_thread as f64),
        };
        table.row([(*told).to_owned(), percent(share), own, format!("{:40}", bar(share, 1.0, 40))]);
    }
    write!(f, "\n{}", table.render())?;
    let missed = cores.mispredictions as f64 / cores.branches.max(1) as f64;
    writeln!(
        f,
        "  micro-operations: {}; branches: {}, {} of them mispredicted",
        count(cores.micro_ops),
        count(cores.branches),
        percent(missed)
    )?;
    let each: Vec<String> =
        cores.each.iter().filter(|core| core.cycles > 0).map(|core| format!("{:.2}", core.per_cycle())).collect();
    writeln!(f, "  instructions per cycle of each core that had a thread: {}", wrap(&each.join(" "), WIDTH - 55, 4))?;
    caches_text(&cores.caches, f)
}

fn units_text(units: &Units, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut table = Table::new([&format!("cycles of {} compute units", units.count), "mean", "min", "max", ""]);
    for ((_, told), share) in REASONS.iter().zip(&units.breakdown) {
        let s = share.share;
        let bar = format!("{:40}", bar(s.mean, 1.0, 40));
        table.row([(*told).to_owned(), percent(s.mean), percent(s.min), percent(s.max), bar]);
    }
    write!(f, "\n{}", table.render())?;
    let waves = units.waves;
    writeln!(
        f,
        "  wavefronts: {}, on {} of {} units; {:.1} of {} slots filled on average ({:.1} to {:.1})",
        count(units.wavefronts),
        units.used,
        units.count,
        waves.mean,
        units.wave_slots,
        waves.min,
        waves.max
    )
}

fn caches_text(caches: &[CacheLevel], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if caches.is_empty() {
        return Ok(());
    }
    let head = ["cache", "reads", "hit", "merged", "miss", "writes", "MSHR full", "no way", "evicted", "load", "busy"];
    let mut table = Table::new(head);
    for cache in caches {
        let share = |part: u64, of: &Accesses| match of.total() {
            0 => "-".to_owned(),
            total => percent(part as f64 / total as f64),
        };
        let load = if cache.load_cycles > 0.0 { format!("{:.0} cy", cache.load_cycles) } else { "-".to_owned() };
        table.row([
            format!("{} x {}", cache.level, cache.count),
            count(cache.reads.total()),
            share(cache.reads.hits, &cache.reads),
            share(cache.reads.merged, &cache.reads),
            share(cache.reads.misses, &cache.reads),
            count(cache.writes.total()),
            count(cache.mshr_full),
            count(cache.no_way),
            count(cache.evictions),
            load,
            percent(cache.busy.mean),
        ]);
    }
    write!(f, "\n{}", table.render())
}

fn memory_text(memory: &MemoryTraffic, span: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(
        f,
        "\n  memory: {} lines read, {} written ({}) over {} channels",
        count(memory.reads),
        count(memory.writes),
        size(memory.bytes),
        memory.channels
    )?;
    writeln!(
        f,
        "  bandwidth: {} of {} ({}); channels busy {} of {span} ({} to {})",
        bandwidth(memory.bandwidth),
        bandwidth(memory.peak_bandwidth),
        percent(memory.used()),
        percent(memory.busy.mean),
        percent(memory.busy.min),
        percent(memory.busy.max)
    )?;
    match &memory.rows {
        Some(rows) => writeln!(
            f,
            "  rows: {} of accesses found theirs open; {} found none, {} another",
            percent(rows.hit_rate()),
            count(rows.closed),
            count(rows.conflicts)
        ),
        None => Ok(()),
    }
}

fn network_text(network: &Network, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Network { switches, packets, rate, blocked } = network;
    let text = format!(
        "network: {} packets through {switches} {}, {:.3} a cycle each ({:.3} to {:.3}); blocked in {} of cycles ({} to {})",
        count(*packets),
        if *switches == 1 { "switch" } else { "switches" },
        rate.mean,
        rate.min,
        rate.max,
        percent(blocked.mean),
        percent(blocked.min),
        percent(blocked.max)
    );
    writeln!(f, "\n  {}", wrap(&text, WIDTH - 4, 4))
}

fn wires_text(wires: &[Wires], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut table = Table::new(["wires", "number", "messages", "a cycle", "held up", "waiting", "at most"]);
    for group in wires.iter().take(WIRES) {
        table.row([
            group.name.clone(),
            count(group.count as u64),
            count(group.messages),
            format!("{:.3}", group.rate),
            percent(group.held_up),
            format!("{:.2}", group.waiting),
            count(group.most_waiting),
        ]);
    }
    if table.is_empty() { Ok(()) } else { write!(f, "\n{}", table.render()) }
}

/// Energy by kind of element, with the share that leaked.
fn energy_text(energy: &[Spent], simulated: Time, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if energy.is_empty() {
        return Ok(());
    }
    let microjoules = |femtojoules: u64| femtojoules as f64 / 1e9;
    let all = energy.iter().fold(0, |sum: u64, spent| sum.saturating_add(spent.total()));
    writeln!(f, "\n  energy {:.3} uJ in {simulated} of simulated time", microjoules(all))?;
    let mut table = Table::new(["element", "uJ", "share", "leaked"]);
    for spent in energy {
        let (total, leaked) = (spent.total(), spent.passive_fj);
        table.row([
            spent.element.clone(),
            format!("{:.3}", microjoules(total)),
            percent(total as f64 / all as f64),
            percent(leaked as f64 / total as f64),
        ]);
    }
    write!(f, "{}", table.render())
}
