//! Bottlenecks in words, each with its evidence.
//!
//! Each rule looks at one resource and gives the share of kernel time that the resource explains (of the run, on a
//! machine with a CPU): the share of cycles that compute units or cores lost to it, or in which it was busy. The three
//! largest are reported, if they exceed a threshold.

use super::{CacheLevel, Cores, Summary, Units};
use crate::figures::{bandwidth, count, percent, ratio};
use serde::{Deserialize, Serialize};

/// Something that kept the program from running faster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bottleneck {
    /// One sentence, with the number that shows it.
    pub what: String,
    /// Further evidence.
    pub evidence: String,
    /// The share of that time that it explains, from 0 to 1.
    pub weight: f64,
}

/// Bottlenecks that explain less are not reported.
const LEAST: f64 = 0.05;
/// A resource that is busy for less than this share is not a bottleneck.
const CROWDED: f64 = 0.5;
const TOLD: usize = 3;

pub(super) fn worst(of: &Summary) -> Vec<Bottleneck> {
    let mut found = Vec::new();
    if of.kernel_fs > 0 {
        crowded_caches(of, &mut found);
        if let Some(units) = &of.units {
            vector_memory(of, units, &mut found);
            compute(units, &mut found);
            waits(of, units, &mut found);
            empty(units, &mut found);
        }
    }
    if let Some(of_cores) = &of.cores {
        // Weights so far are shares of kernel time; scale them to the run.
        let kernels = ratio(of.kernel_fs as f64, of.total_fs as f64).min(1.0);
        found.iter_mut().for_each(|bottleneck| bottleneck.weight *= kernels);
        cores(of_cores, &mut found);
    }
    memory_channels(of, &mut found);
    wires(of, &mut found);
    found.retain(|bottleneck| bottleneck.weight >= LEAST);
    found.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    found.truncate(TOLD);
    found
}

fn level<'a>(of: &'a Summary, name: &str) -> Option<&'a CacheLevel> {
    of.caches.iter().find(|cache| cache.level == name)
}

fn memory_channels(of: &Summary, found: &mut Vec<Bottleneck>) {
    let Some(memory) = of.memory.as_ref().filter(|memory| memory.busy.max >= CROWDED) else { return };
    let uneven = memory.busy.max > 1.5 * memory.busy.mean;
    let busy = if uneven { memory.busy.max } else { memory.busy.mean };
    let which = if uneven { "the busiest memory channel is" } else { "memory channels are" };
    found.push(Bottleneck {
        what: format!(
            "{which} busy {} of {} (peak {}, used {})",
            percent(busy),
            of.span(),
            bandwidth(memory.peak_bandwidth),
            bandwidth(memory.bandwidth)
        ),
        evidence: format!(
            "{} lines read and {} written over {} channels, each busy {} to {}{}",
            count(memory.reads),
            count(memory.writes),
            memory.channels,
            percent(memory.busy.min),
            percent(memory.busy.max),
            memory.rows.map_or(String::new(), |rows| format!("; {} found their row open", percent(rows.hit_rate())))
        ),
        weight: busy,
    });
}

fn crowded_caches(of: &Summary, found: &mut Vec<Bottleneck>) {
    for cache in of.caches.iter().filter(|cache| cache.busy.max >= CROWDED) {
        let (level, accesses) = (cache.level.to_uppercase(), cache.reads.total() + cache.writes.total());
        found.push(Bottleneck {
            what: format!(
                "the look-ups of {level} take {} of kernel time on average, {} in the busiest of {}",
                percent(cache.busy.mean),
                percent(cache.busy.max),
                cache.count
            ),
            evidence: format!("{} accesses, one a cycle in each", count(accesses)),
            weight: cache.busy.mean,
        });
    }
}

fn vector_memory(of: &Summary, units: &Units, found: &mut Vec<Bottleneck>) {
    let share = units.share("vector_memory");
    let mut evidence = Vec::new();
    if let Some(cache) = level(of, "l1v") {
        if cache.load_cycles > 0.0 {
            evidence.push(format!("a load takes {:.0} cycles in the vector cache and below", cache.load_cycles));
        }
        if let Some(rate) = cache.reads.miss_rate() {
            evidence.push(format!("L1V misses {} of its reads", percent(rate)));
        }
        if cache.mshr_full > 0 {
            evidence.push(format!("its miss registers were full {} times", count(cache.mshr_full)));
        }
    }
    if let Some(rate) = level(of, "l2").and_then(|cache| cache.reads.miss_rate()) {
        evidence.push(format!("L2 misses {}", percent(rate)));
    }
    if units.line_slots_full >= LEAST {
        evidence.push(format!("no slot for a line was free in {} of cycles", percent(units.line_slots_full)));
    }
    evidence.push(format!("{:.1} of {} wavefront slots are filled", units.waves.mean, units.wave_slots));
    found.push(Bottleneck {
        what: format!("units wait {} of their cycles for vector memory", percent(share)),
        evidence: evidence.join("; "),
        weight: share,
    });
}

fn compute(units: &Units, found: &mut Vec<Bottleneck>) {
    let (issue, vector) = (units.share("issue"), units.share("vector"));
    let instructions: u64 = units.instructions.iter().map(|(_, n)| n).sum();
    let of_vector = units.instructions.iter().find(|(kind, _)| kind == "vector").map_or(0, |(_, n)| *n);
    let vector_share = of_vector as f64 / instructions.max(1) as f64;
    found.push(Bottleneck {
        what: format!("units compute in {} of their cycles", percent(issue + vector)),
        evidence: format!(
            "{} of cycles issue an instruction, in {} the vector ALUs are still busy with one; {} of {} instructions are \
             vector arithmetic",
            percent(issue),
            percent(vector),
            percent(vector_share),
            count(instructions)
        ),
        weight: issue + vector,
    });
}

fn waits(of: &Summary, units: &Units, found: &mut Vec<Bottleneck>) {
    let hit_rate = |name: &str| {
        let rate = level(of, name).and_then(|cache| cache.reads.hit_rate());
        rate.map_or(String::new(), |rate| {
            format!("{} answers {} of its reads at once", name.to_uppercase(), percent(rate))
        })
    };
    let conflicts = format!("bank conflicts take {} of cycles", percent(units.lds_conflicts));
    let launches: u64 = of.kernels.iter().map(|kernel| kernel.launches).sum();
    let launched = match launches {
        0 => String::new(),
        1 => format!("one launch, a kernel of {} cycles", count(of.kernel_cycles)),
        n => format!("{} launches, kernels of {} cycles on average", count(n), count(of.kernel_cycles / n)),
    };
    let rows = [
        ("scalar", "units wait {} of their cycles for scalar data or results", hit_rate("l1s")),
        ("code", "units wait {} of their cycles for instructions", hit_rate("l1i")),
        ("local", "units wait {} of their cycles for the local data share", conflicts),
        ("barrier", "units wait {} of their cycles at barriers", String::new()),
        ("launch", "launching kernels takes {} of kernel time", launched),
    ];
    for (reason, what, evidence) in rows {
        let share = units.share(reason);
        found.push(Bottleneck { what: what.replace("{}", &percent(share)), evidence, weight: share });
    }
}

fn empty(units: &Units, found: &mut Vec<Bottleneck>) {
    let Some(empty) = units.breakdown.iter().find(|share| share.reason == "no_wave") else { return };
    let evidence = if units.used < units.count {
        format!("only {} of {} units got a workgroup", units.used, units.count)
    } else {
        format!("from {} in one unit to {} in another", percent(empty.share.min), percent(empty.share.max))
    };
    let what = format!("units have no wavefront in {} of their cycles", percent(empty.share.mean));
    found.push(Bottleneck { what, evidence, weight: empty.share.mean });
}

/// Bottlenecks of cores, from their cycles with a thread.
fn cores(cores: &Cores, found: &mut Vec<Bottleneck>) {
    let misses = |names: &[&str]| -> String {
        let told = names.iter().filter_map(|name| {
            let rate = cores.level(name)?.reads.miss_rate()?;
            Some(format!("{} misses {}", name.to_uppercase(), percent(rate)))
        });
        told.collect::<Vec<_>>().join(", ")
    };
    let mispredicted = ratio(cores.mispredictions as f64, cores.branches as f64);
    let load = cores.level("l1d").map_or(0.0, |cache| cache.load_cycles);
    let rows = [
        (
            "busy",
            "cores execute in {} of their cycles with a thread",
            format!("{:.2} instructions a cycle", cores.per_cycle()),
        ),
        (
            "read_stall",
            "cores wait {} of their cycles for loads",
            format!("{} of reads; a load takes {load:.1} cycles", misses(&["l1d", "l2", "l3"])),
        ),
        ("write_stall", "cores wait {} of their cycles for stores", misses(&["l2", "l3"])),
        (
            "fetch_stall",
            "cores have nothing fetched in {} of their cycles",
            format!("{} of fetches; {} of branches are mispredicted", misses(&["l1i"]), percent(mispredicted)),
        ),
        ("system", "cores are in the kernel for {} of their cycles", String::new()),
    ];
    for (phase, what, evidence) in rows {
        let share = cores.share(phase);
        found.push(Bottleneck { what: what.replace("{}", &percent(share)), evidence, weight: share });
    }
}

fn wires(of: &Summary, found: &mut Vec<Bottleneck>) {
    let Some(worst) = of.wires.first() else { return };
    found.push(Bottleneck {
        what: format!("senders wait {} of {} for room on {}", percent(worst.held_up), of.span(), worst.name),
        evidence: format!("{} messages on {} wires", count(worst.messages), worst.count),
        weight: worst.held_up,
    });
}
