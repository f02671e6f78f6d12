//! A comparison as text: a table, and a bar per machine whose length is its kernel time or, with cores, its total time.

use super::{Compared, Comparison};
use crate::{
    CacheLevel, GpuTime, Summary,
    figures::{bandwidth, count, energy, percent, size},
    summary::{GPU_PHASES, PHASES, REASONS},
    text::{Table, wrap},
};
use engine::Time;
use std::{collections::BTreeSet, fmt};

const BAR: usize = 72;
/// The most machines that have a column each in a table; further ones get a table of their own.
const ABREAST: usize = 6;
/// One letter per reason, in the order of the reasons.
const LETTERS: [char; 9] = ['I', 'V', 'M', 's', 'l', 'c', 'b', '.', 'K'];
/// One letter per phase of a core that has a thread.
const CORE_LETTERS: [char; 5] = ['X', 'L', 'S', 'f', 'k'];

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = std::iter::once(&self.program).chain(&self.arguments).map(String::as_str);
        writeln!(f, "{}", program.collect::<Vec<_>>().join(" "))?;
        for (run, forward) in self.summaries().filter_map(|(run, of)| Some((run, of.fast_forward.as_ref()?))) {
            let text = format!("{}: fast-forward {forward}", run.system);
            writeln!(f, "  {}", wrap(&text, 98, 4))?;
        }
        let has_kernels = self.summaries().any(|(_, summary)| summary.kernel_fs > 0);
        let has_cores = self.summaries().any(|(_, summary)| summary.cores.is_some());
        let of_gpu = has_kernels || !has_cores;
        let mut heads = vec!["system", "total", "speedup"];
        if of_gpu {
            heads.extend(if has_cores {
                &["kernels", "L1V", "GPU L2"][..]
            } else {
                &["kernels", "speedup", "L1V hit", "L2 hit"]
            });
        }
        if has_cores {
            heads.extend(["IPC", "L1D hit", "L2 hit", "L3 hit"]);
        }
        heads.push("memory");
        let mut table = Table::new(heads);
        for (run, summary) in self.summaries() {
            let times = |speedup: Option<f64>| speedup.map_or("-".to_owned(), |times| format!("{times:.2}x"));
            let told = |rate: Option<f64>| rate.map_or("-".to_owned(), percent);
            let mut row = vec![run.system.clone(), Time(summary.total_fs).to_string(), times(run.speedup)];
            if of_gpu {
                let hit = |level| told(hit_rate(&summary.caches, level));
                row.push(Time(summary.kernel_fs).to_string());
                row.extend((!has_cores).then(|| times(run.kernel_speedup)));
                row.extend([hit("l1v"), hit("l2")]);
            }
            if has_cores {
                let cores = summary.cores.as_ref();
                row.push(cores.map_or("-".to_owned(), |cores| format!("{:.2}", cores.per_cycle())));
                row.extend(
                    ["l1d", "l2", "l3"].map(|level| told(cores.and_then(|cores| hit_rate(&cores.caches, level)))),
                );
            }
            row.push(summary.memory.as_ref().map_or("-".to_owned(), |memory| bandwidth(memory.bandwidth)));
            table.row(row);
        }
        if !table.is_empty() {
            write!(f, "\n{}", table.render())?;
            if has_cores {
                self.core_bars(f)?;
                self.core_breakdown(f)?;
            }
            if of_gpu {
                self.bars(f)?;
                self.breakdown(f)?;
            }
        }
        self.moved(f)?;
        self.energy(f)?;
        self.gpu_times(f)?;
        for run in &self.runs {
            if let Some(error) = &run.error {
                writeln!(f, "\n  {}: no result: {}", run.system, wrap(error, 96, 4))?;
            }
        }
        Ok(())
    }
}

fn hit_rate(caches: &[CacheLevel], level: &str) -> Option<f64> {
    caches.iter().find(|cache| cache.level == level)?.reads.hit_rate()
}

impl Comparison {
    /// Total time, divided by what cores did while they had a thread.
    fn core_bars(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let longest = self.summaries().map(|(_, summary)| summary.total_fs).max().unwrap_or(0);
        let name = self.runs.iter().map(|run| run.system.chars().count()).max().unwrap_or(0);
        writeln!(f, "\n  total time, and the activity of cores while they had a thread:")?;
        for (run, summary) in self.summaries() {
            let Some(cores) = &summary.cores else { continue };
            let width = BAR as f64 * summary.total_fs as f64 / longest.max(1) as f64;
            let shares = PHASES.iter().map(|(phase, _)| cores.share(phase));
            writeln!(f, "  {:name$} |{}", run.system, stacked(CORE_LETTERS.into_iter().zip(shares), width))?;
        }
        let legend: Vec<String> =
            CORE_LETTERS.iter().zip(PHASES).map(|(letter, (_, told))| format!("{letter} {told}")).collect();
        writeln!(f, "  {}", wrap(&legend.join(", "), 98, 2))
    }

    fn core_breakdown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_cores: Vec<_> =
            self.summaries().filter_map(|(run, summary)| Some((run, summary.cores.as_ref()?))).collect();
        for some in with_cores.chunks(ABREAST) {
            let mut table = beside("cycles of cores with a thread", some.iter().map(|(run, _)| *run));
            for (phase, told) in PHASES.iter().filter(|(phase, _)| *phase != "idle") {
                let shares = some.iter().map(|(_, cores)| percent(cores.share(phase)));
                table.row(std::iter::once((*told).to_owned()).chain(shares));
            }
            write!(f, "\n{}", table.render())?;
        }
        Ok(())
    }

    /// Kernel time, divided by what compute units did meanwhile.
    fn bars(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let longest = self.summaries().map(|(_, summary)| summary.kernel_fs).max().unwrap_or(0);
        let name = self.runs.iter().map(|run| run.system.chars().count()).max().unwrap_or(0);
        writeln!(f, "\n  kernel time, and what compute units did meanwhile:")?;
        for (run, summary) in self.summaries() {
            let width = BAR as f64 * summary.kernel_fs as f64 / longest.max(1) as f64;
            let bar = match &summary.units {
                Some(units) => {
                    stacked(LETTERS.into_iter().zip(units.breakdown.iter().map(|share| share.share.mean)), width)
                }
                None => "#".repeat(width.round() as usize),
            };
            writeln!(f, "  {:name$} |{bar}", run.system)?;
        }
        let legend: Vec<String> =
            LETTERS.iter().zip(REASONS).map(|(letter, (_, told))| format!("{letter} {told}")).collect();
        writeln!(f, "  {}", wrap(&legend.join(", "), 98, 2))
    }

    /// Bytes moved by cause, and the number of the program's calls that moved them.
    fn moved(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let causes: BTreeSet<&String> = self.runs.iter().flat_map(|run| run.moved.keys()).collect();
        if causes.is_empty() {
            return Ok(());
        }
        let causes: Vec<&String> = causes.into_iter().collect();
        let mut table = Table::new(
            ["bytes moved", "in all"].into_iter().chain(causes.iter().map(|cause| cause.as_str())).chain(["calls"]),
        );
        for (run, summary) in self.summaries() {
            let all = size(run.moved.values().sum());
            let each = causes.iter().map(|cause| run.moved.get(*cause).map_or("-".to_owned(), |bytes| size(*bytes)));
            let all = if run.moved.is_empty() { "-".to_owned() } else { all };
            let calls = summary.movement_calls.map_or("-".to_owned(), count);
            table.row([run.system.clone(), all].into_iter().chain(each).chain([calls]));
        }
        write!(f, "\n{}", table.render())?;
        writeln!(f, "  calls: those of the program that copy, fill, map, unmap or migrate memory")
    }

    /// Energy of machines that have `[energy]`, by what it was spent on.
    fn energy(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table =
            Table::new(["energy", "in all", "leaked", "events", "of memories", "of the fabric", "simulated"]);
        let with_energy = self.summaries().filter(|(_, summary)| !summary.energy.is_empty());
        for (run, summary) in with_energy {
            let active = |of: &dyn Fn(&str) -> bool| {
                let spent = summary.energy.iter().filter(|spent| of(spent.element.rsplit('.').next().unwrap_or("")));
                spent.fold(0, |sum: u64, spent| sum.saturating_add(spent.active_fj))
            };
            let leaked = summary.energy.iter().fold(0, |sum: u64, spent| sum.saturating_add(spent.passive_fj));
            let events = active(&|_| true);
            let of_memories = active(&|name| name.starts_with("memory"));
            let of_fabric = active(&|name| name == "port" || name == "fabric");
            let told = [leaked.saturating_add(events), leaked, events, of_memories, of_fabric].map(energy);
            let simulated = Time(summary.simulated_fs).to_string();
            table.row(std::iter::once(run.system.clone()).chain(told).chain([simulated]));
        }
        if table.is_empty() {
            return Ok(());
        }
        write!(f, "\n{}", table.render())?;
        let about = "events: instructions, accesses, lines of memories, bytes on the fabric; leaked: in all simulated time. Not \
                     modelled: a host outside the machine, and wires of copies where there is no fabric";
        writeln!(f, "  {}", wrap(about, 98, 2))
    }

    /// What GPUs spent the run on, averaged over the GPUs of a machine, and page counts.
    fn gpu_times(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_gpus: Vec<_> = self.summaries().filter(|(_, summary)| !summary.gpus.is_empty()).collect();
        let mean = |summary: &Summary, of: &dyn Fn(&GpuTime) -> f64| {
            percent(summary.gpus.iter().map(of).sum::<f64>() / summary.gpus.len() as f64)
        };
        for some in with_gpus.chunks(ABREAST) {
            let mut table = beside("time of GPUs, of the run", some.iter().map(|(run, _)| *run));
            for (at, (_, told)) in GPU_PHASES.iter().enumerate() {
                let shares = some.iter().map(|(_, summary)| mean(summary, &|gpu| gpu.shares[at].1));
                table.row(std::iter::once((*told).to_owned()).chain(shares));
            }
            let remote = some.iter().map(|(_, summary)| mean(summary, &|gpu| gpu.remote_reads));
            table.row(std::iter::once("lines from elsewhere outstanding".to_owned()).chain(remote));
            write!(f, "\n{}", table.render())?;
        }
        for (run, pages) in self.summaries().filter_map(|(run, summary)| Some((run, summary.pages?))) {
            writeln!(f, "\n  {}: pages: {}", run.system, pages.told().join(", "))?;
        }
        Ok(())
    }

    fn breakdown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |summary: &Summary, reason| {
            summary.units.as_ref().map_or("-".to_owned(), |units| percent(units.share(reason)))
        };
        let summaries: Vec<_> = self.summaries().collect();
        for some in summaries.chunks(ABREAST) {
            let mut table = beside("cycles of compute units", some.iter().map(|(run, _)| *run));
            for (reason, told) in REASONS {
                let shares = some.iter().map(|(_, summary)| share(summary, reason));
                table.row(std::iter::once(told.to_owned()).chain(shares));
            }
            write!(f, "\n{}", table.render())?;
        }
        Ok(())
    }
}

/// A table with a column for each of these machines.
fn beside<'a>(what: &str, runs: impl Iterator<Item = &'a Compared>) -> Table {
    Table::new(std::iter::once(what.to_owned()).chain(runs.map(|run| run.system.clone())))
}

/// A bar of letters. The end of each section is rounded, so that the whole bar has the right length.
fn stacked(shares: impl Iterator<Item = (char, f64)>, width: f64) -> String {
    let (mut bar, mut until) = (String::new(), 0.0);
    for (letter, share) in shares {
        until += share * width;
        while bar.len() < until.round() as usize {
            bar.push(letter);
        }
    }
    bar
}
