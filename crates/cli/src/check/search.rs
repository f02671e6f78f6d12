//! Searches the systems of protocols, on both networks.

use super::{Check, Chosen, threads};
use crate::ui::Ui;
use miette::miette;
use protocol::check::{Coverage, Limits, Network, Progress, Property, Report, check_watched};
use serde::Serialize;
use std::time::Instant;

#[derive(Serialize)]
struct Results {
    results: Vec<Checked>,
    /// Cells not marked `x` that no search of their protocol reached.
    unreached: Vec<Unreached>,
}

/// The result of a search.
#[derive(Serialize)]
struct Checked {
    protocol: &'static str,
    system: &'static str,
    network: &'static str,
    caches: u8,
    lines: u8,
    values: u8,
    states: usize,
    depth: usize,
    seconds: f64,
    properties: Vec<Property>,
    /// The shortest path to a violation.
    #[serde(skip_serializing_if = "Option::is_none")]
    counterexample: Option<String>,
}

#[derive(Serialize)]
struct Unreached {
    protocol: &'static str,
    cell: String,
}

impl Check {
    pub(super) fn check(&self, chosen: &[Chosen], ui: &Ui) -> miette::Result<()> {
        let (mut results, mut unreached) = (Vec::new(), Vec::new());
        for Chosen { protocol, systems } in chosen {
            let mut coverage = Coverage::default();
            for setup in *systems {
                let caches = self.caches.unwrap_or(protocol.caches);
                let system = (setup.build)(caches.into(), self.lines.into());
                for &network in system.networks() {
                    let network_name = match network {
                        Network::Unordered => "unordered",
                        Network::Ordered { .. } => "ordered",
                        Network::Rows => "unordered, waiting in rows",
                    };
                    let name = format!("{}:{}", protocol.name, setup.name);
                    let start = Instant::now();
                    let watch = |Progress { states, depth }| {
                        ui.progress(&format!(
                            "{name} on the {network_name} network: {states} states, depth {depth} ..."
                        ));
                    };
                    let limits = Limits { threads: threads(), ..self.limits(setup) };
                    let report = check_watched(system.clone(), network, limits, &watch);
                    ui.progress_done();
                    coverage.add(&system, &report);
                    let Report { states, depth, properties, counterexample, .. } = report;
                    let checked = Checked {
                        protocol: protocol.name,
                        system: setup.name,
                        network: network_name,
                        caches,
                        lines: self.lines,
                        values: self.values,
                        states,
                        depth,
                        seconds: start.elapsed().as_secs_f64(),
                        properties,
                        counterexample,
                    };
                    ui.print(&checked.text())?;
                    results.push(checked);
                }
            }
            let cells = coverage.unreached();
            if !cells.is_empty() {
                ui.print(&format!("  never reached: {}\n", cells.join("; ")))?;
            }
            unreached.extend(cells.into_iter().map(|cell| Unreached { protocol: protocol.name, cell }));
        }
        let doubtful = results.iter().filter(|checked| !checked.holds()).count();
        ui.report(&Results { results, unreached })?;
        if doubtful == 0 {
            Ok(())
        } else {
            Err(miette!("{doubtful} of the searches could not show that all properties hold"))
        }
    }
}

impl Checked {
    fn holds(&self) -> bool {
        self.properties.iter().all(|property| property.holds == Some(true))
    }

    fn text(&self) -> String {
        let Checked { protocol, system, network, caches, states, depth, seconds, .. } = self;
        let (name, verdict) = (format!("{protocol}:{system}"), if self.holds() { "holds" } else { "DOES NOT HOLD" });
        let mut text = format!(
            "{name:13} {network:9} {caches} caches  {states:>9} states  depth {depth:>3}  {seconds:>6.1} s  {verdict}\n"
        );
        for property in self.properties.iter().filter(|property| property.holds != Some(true)) {
            let verdict = if property.holds == Some(false) { "violated" } else { "not decided" };
            text += &format!("  {}: {verdict}\n", property.name);
        }
        if let Some(chart) = &self.counterexample {
            text += &format!("  The shortest way there:\n{chart}");
        }
        text
    }
}
