//! A comparison as text: a table, and a bar for each machine whose length is its kernel time.

use super::Comparison;
use crate::{
    Summary,
    figures::{bandwidth, percent},
    summary::REASONS,
    text::{Table, wrap},
};
use engine::Time;
use std::fmt;

const BAR: usize = 72;
/// A letter for each reason, in their order.
const LETTERS: [char; 9] = ['I', 'V', 'M', 's', 'l', 'c', 'b', '.', 'K'];

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = std::iter::once(&self.program).chain(&self.arguments).map(String::as_str);
        writeln!(f, "{}", program.collect::<Vec<_>>().join(" "))?;
        let mut table = Table::new(["system", "total", "speedup", "kernels", "speedup", "L1V hit", "L2 hit", "memory"]);
        for (run, summary) in self.summaries() {
            let times = |speedup: Option<f64>| speedup.map_or("-".to_owned(), |times| format!("{times:.2}x"));
            let hit = |level| hit_rate(summary, level).map_or("-".to_owned(), percent);
            let memory = summary.memory.as_ref().map_or("-".to_owned(), |memory| bandwidth(memory.bandwidth));
            table.row([
                run.system.clone(),
                Time(summary.total_fs).to_string(),
                times(run.speedup),
                Time(summary.kernel_fs).to_string(),
                times(run.kernel_speedup),
                hit("l1v"),
                hit("l2"),
                memory,
            ]);
        }
        if !table.is_empty() {
            write!(f, "\n{}", table.render())?;
            self.bars(f)?;
            self.breakdown(f)?;
        }
        for run in &self.runs {
            if let Some(error) = &run.error {
                writeln!(f, "\n  {}: no result: {}", run.system, wrap(error, 96, 4))?;
            }
        }
        Ok(())
    }
}

fn hit_rate(summary: &Summary, level: &str) -> Option<f64> {
    summary.caches.iter().find(|cache| cache.level == level)?.reads.hit_rate()
}

impl Comparison {
    /// Kernel time, made of what units did with it.
    fn bars(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let longest = self.summaries().map(|(_, summary)| summary.kernel_fs).max().unwrap_or(0);
        let name = self.runs.iter().map(|run| run.system.chars().count()).max().unwrap_or(0);
        writeln!(f, "\n  kernel time, and what compute units did meanwhile:")?;
        for (run, summary) in self.summaries() {
            let width = BAR as f64 * summary.kernel_fs as f64 / longest.max(1) as f64;
            writeln!(f, "  {:name$} |{}", run.system, stacked(summary, width))?;
        }
        let legend: Vec<String> =
            LETTERS.iter().zip(REASONS).map(|(letter, (_, told))| format!("{letter} {told}")).collect();
        writeln!(f, "  {}", wrap(&legend.join(", "), 98, 2))
    }

    fn breakdown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let systems = self.summaries().map(|(run, _)| run.system.clone());
        let mut table = Table::new(std::iter::once("cycles of compute units".to_owned()).chain(systems));
        for (reason, told) in REASONS {
            let share =
                |summary: &Summary| summary.units.as_ref().map_or("-".to_owned(), |units| percent(units.share(reason)));
            let shares = self.summaries().map(|(_, summary)| share(summary));
            table.row(std::iter::once(told.to_owned()).chain(shares));
        }
        write!(f, "\n{}", table.render())
    }
}

/// A bar of letters; where a reason ends is rounded, so that the whole bar is as long as it should be.
fn stacked(summary: &Summary, width: f64) -> String {
    let Some(units) = &summary.units else { return "#".repeat(width.round() as usize) };
    let (mut bar, mut until) = (String::new(), 0.0);
    for (letter, share) in LETTERS.iter().zip(&units.breakdown) {
        until += share.share.mean * width;
        while bar.len() < until.round() as usize {
            bar.push(*letter);
        }
    }
    bar
}
