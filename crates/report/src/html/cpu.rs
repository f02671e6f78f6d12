//! Tables of a machine with a CPU: cores, cache levels, kernels by name, and the network.

use super::escaped;
use crate::{
    CacheLevel, Summary,
    figures::{count, percent},
    summary::{Cores, Network, PHASES},
};
use engine::Time;

/// A table with heads and rows. All columns except the first hold numbers.
fn table(heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let class = |at: usize| if at == 0 { "" } else { " class=number" };
    let line = |tag: &str, cells: Vec<String>| -> String {
        let cells = cells.iter().enumerate().map(|(at, cell)| format!("<{tag}{}>{}</{tag}>", class(at), escaped(cell)));
        format!("<tr>{}</tr>", cells.collect::<String>())
    };
    let head = line("th", heads.iter().map(|head| (*head).to_owned()).collect());
    let rows: String = rows.map(|row| line("td", row)).collect();
    format!("<div class=wide><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>")
}

pub(super) fn cores(cores: &Cores) -> String {
    let mut heads = vec!["core", "instructions", "cycles with a thread", "instructions a cycle"];
    heads.extend(PHASES.map(|(_, told)| told));
    let rows = cores.each.iter().map(|core| {
        let mut row = vec![core.name.clone(), count(core.instructions), count(core.cycles)];
        row.push(if core.cycles > 0 { format!("{:.2}", core.per_cycle()) } else { "-".to_owned() });
        row.extend(core.shares.iter().map(|share| percent(*share)));
        row
    });
    table(&heads, rows)
}

pub(super) fn caches(caches: &[CacheLevel]) -> String {
    let heads = ["cache", "reads", "hit", "merged", "miss", "writes", "evicted", "cycles of a load", "busy"];
    let rows = caches.iter().map(|cache| {
        let reads = cache.reads;
        let share = |n: u64| if reads.total() > 0 { percent(n as f64 / reads.total() as f64) } else { "-".to_owned() };
        vec![
            format!("{} x {}", cache.level, cache.count),
            count(reads.total()),
            share(reads.hits),
            share(reads.merged),
            share(reads.misses),
            count(cache.writes.total()),
            count(cache.evictions),
            if cache.load_cycles > 0.0 { format!("{:.1}", cache.load_cycles) } else { "-".to_owned() },
            percent(cache.busy.mean),
        ]
    });
    if caches.is_empty() { String::new() } else { table(&heads, rows) }
}

pub(super) fn kernels(summary: &Summary) -> String {
    let rows = summary.kernels.iter().map(|kernel| {
        let share = kernel.time_fs as f64 / summary.kernel_fs.max(1) as f64;
        vec![kernel.name.clone(), count(kernel.launches), Time(kernel.time_fs).to_string(), percent(share)]
    });
    if summary.kernels.is_empty() {
        return String::new();
    }
    table(&["kernel", "launches", "time", "of kernel time"], rows)
}

pub(super) fn network(network: &Network) -> String {
    let row = vec![
        format!("{} switches", network.switches),
        count(network.packets),
        format!("{:.3}", network.rate.mean),
        format!("{:.3}", network.rate.max),
        percent(network.blocked.mean),
        percent(network.blocked.max),
    ];
    let heads = ["", "packets", "a cycle of a switch", "of the busiest", "blocked", "the one most blocked"];
    table(&heads, std::iter::once(row))
}
