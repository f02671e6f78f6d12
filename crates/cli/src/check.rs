//! `cohesim check PROTOCOL|all`: searches every interleaving of a small system for a state that must not be.

use std::time::Instant;

use miette::miette;
use protocol::{
    catalogue::{self, Protocol},
    check::{Limits, Network, Property, Report, check, mutants},
};
use serde::Serialize;

use crate::ui::Ui;

/// Check a coherence protocol: every interleaving of messages on a small system.
#[derive(clap::Args)]
pub struct Check {
    /// Its name (see `cohesim list protocols`), or `all`.
    protocol: String,
    /// How many caches take part (for ADSM: accelerators).
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=6))]
    caches: u8,
    /// How many lines (for ADSM at least one for each accelerator).
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4))]
    lines: u8,
    /// How many stores, each of a value of its own.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=7))]
    values: u8,
    /// Give up beyond this many states.
    #[arg(long, default_value_t = 50_000_000)]
    max_states: usize,
    /// Change every cell of the tables in turn, and say which changes the checker does not notice.
    #[arg(long)]
    mutants: bool,
}

#[derive(Serialize)]
struct Results {
    results: Vec<Checked>,
}

#[derive(Serialize)]
struct Checked {
    protocol: &'static str,
    network: &'static str,
    caches: u8,
    lines: u8,
    values: u8,
    states: usize,
    depth: usize,
    seconds: f64,
    properties: Vec<Property>,
    /// The shortest way to a violation.
    counterexample: Option<String>,
    /// Cells that are not `x` and were never met.
    unreached: Vec<String>,
}

#[derive(Serialize)]
struct Mutants {
    mutants: Vec<Tried>,
}

#[derive(Serialize)]
struct Tried {
    protocol: &'static str,
    changed: usize,
    killed: usize,
    survivors: Vec<String>,
}

const NETWORKS: [(&str, Network); 2] = [("unordered", Network::Unordered), ("ordered", Network::Ordered { depth: 2 })];

impl Check {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let chosen: Vec<&Protocol> = match self.protocol.as_str() {
            "all" => catalogue::ALL.iter().collect(),
            name => vec![catalogue::find(name).ok_or_else(|| {
                miette!("there is no protocol '{name}': `cohesim list protocols` names them all, 'all' takes every one")
            })?],
        };
        if self.mutants { self.try_mutants(&chosen, ui) } else { self.check(&chosen, ui) }
    }

    fn check(&self, chosen: &[&'static Protocol], ui: &Ui) -> miette::Result<()> {
        let mut results = Vec::new();
        for protocol in chosen {
            for (network_name, network) in NETWORKS {
                ui.progress(&format!("{} on the {network_name} network ...", protocol.name));
                let start = Instant::now();
                let system = (protocol.system)(self.caches.into(), self.lines.into());
                let report = check(system.clone(), network, self.limits(protocol));
                ui.progress_done();
                let unreached = report.unreached(&system);
                let Report { states, depth, properties, counterexample, .. } = report;
                let checked = Checked {
                    protocol: protocol.name,
                    network: network_name,
                    caches: self.caches,
                    lines: self.lines,
                    values: self.values,
                    states,
                    depth,
                    seconds: start.elapsed().as_secs_f64(),
                    properties,
                    counterexample,
                    unreached,
                };
                ui.print(&checked.text())?;
                results.push(checked);
            }
        }
        let doubtful = results.iter().filter(|checked| !checked.holds()).count();
        ui.report(&Results { results })?;
        if doubtful == 0 {
            Ok(())
        } else {
            Err(miette!("{doubtful} of the searches did not show that all properties hold"))
        }
    }

    fn try_mutants(&self, chosen: &[&'static Protocol], ui: &Ui) -> miette::Result<()> {
        let mut tried = Vec::new();
        for protocol in chosen {
            let mutants = mutants(&(protocol.system)(self.caches.into(), self.lines.into()));
            let changed = mutants.len();
            let mut survivors = Vec::new();
            for (number, mutant) in mutants.into_iter().enumerate() {
                ui.progress(&format!("{}: change {} of {changed} ...", protocol.name, number + 1));
                if check(mutant.system, Network::Unordered, self.limits(protocol)).counterexample.is_none() {
                    survivors.push(mutant.name);
                }
            }
            ui.progress_done();
            let result = Tried { protocol: protocol.name, changed, killed: changed - survivors.len(), survivors };
            ui.print(&result.text())?;
            tried.push(result);
        }
        ui.report(&Mutants { mutants: tried })
    }

    fn limits(&self, protocol: &Protocol) -> Limits {
        Limits { values: self.values, rounds: protocol.rounds, states: self.max_states }
    }
}

impl Checked {
    fn holds(&self) -> bool {
        self.properties.iter().all(|property| property.holds == Some(true))
    }

    fn text(&self) -> String {
        let Checked { protocol, network, caches, states, depth, seconds, .. } = self;
        let verdict = if self.holds() { "holds" } else { "DOES NOT HOLD" };
        let mut text = format!(
            "{protocol:13} {network:9} {caches} caches  {states:>9} states  depth {depth:>3}  {seconds:>6.1} s  {verdict}\n"
        );
        for property in self.properties.iter().filter(|property| property.holds != Some(true)) {
            let verdict = if property.holds == Some(false) { "violated" } else { "not decided" };
            text += &format!("  {}: {verdict}\n", property.name);
        }
        if let Some(chart) = &self.counterexample {
            text += &format!("  The shortest way there:\n{chart}");
        }
        if !self.unreached.is_empty() && self.holds() {
            text += &format!("  never reached: {}\n", self.unreached.join("; "));
        }
        text
    }
}

impl Tried {
    fn text(&self) -> String {
        let Tried { protocol, changed, killed, survivors } = self;
        let share = 100.0 * *killed as f64 / (*changed).max(1) as f64;
        let survivors: String = survivors.iter().map(|survivor| format!("  not noticed: {survivor}\n")).collect();
        format!("{protocol:13} {killed} of {changed} changes noticed ({share:.1}%)\n{survivors}")
    }
}
