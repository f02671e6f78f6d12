//! Trying the checker itself: which changes to the tables it notices.

use super::{Check, Chosen};
use crate::ui::Ui;
use miette::miette;
use protocol::check::{Mutant, Network, check, mutants};
use serde::Serialize;

/// The share of changes that must be noticed.
const ENOUGH: f64 = 0.95;

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

impl Check {
    pub(super) fn try_mutants(&self, chosen: &[Chosen], ui: &Ui) -> miette::Result<()> {
        let mut tried = Vec::new();
        for Chosen { protocol, systems } in chosen {
            let caches = self.caches.unwrap_or(2);
            let systems: Vec<_> =
                systems.iter().map(|setup| (setup, (setup.build)(caches.into(), self.lines.into()))).collect();
            // Of a protocol with several variants, the systems asked for may use only some of the tables.
            let used =
                |name: &str| systems.iter().any(|(_, system)| system.tables.iter().any(|table| table.name == name));
            let tables: Vec<_> = protocol.tables.iter().copied().filter(|table| used(table.name)).collect();
            let noticed = |mutant: &Mutant| {
                systems.iter().any(|(setup, system)| {
                    let changed = mutant.applied_to(system);
                    changed.is_some_and(|changed| {
                        check(changed, Network::Unordered, self.limits(setup)).counterexample.is_some()
                    })
                })
            };
            let mutants = mutants(&tables);
            let changed = mutants.len();
            let mut survivors = Vec::new();
            for (number, mutant) in mutants.into_iter().enumerate() {
                ui.progress(&format!("{}: change {} of {changed} ...", protocol.name, number + 1));
                if !noticed(&mutant) {
                    survivors.push(mutant.name);
                }
            }
            ui.progress_done();
            let result = Tried { protocol: protocol.name, changed, killed: changed - survivors.len(), survivors };
            ui.print(&result.text())?;
            tried.push(result);
        }
        let poor: Vec<_> = tried.iter().filter(|tried| tried.share() < ENOUGH).map(|tried| tried.protocol).collect();
        let poor = poor.join(", ");
        ui.report(&Mutants { mutants: tried })?;
        if poor.is_empty() {
            Ok(())
        } else {
            Err(miette!("fewer than {:.0}% of the changes were noticed in {poor}", 100.0 * ENOUGH))
        }
    }
}

impl Tried {
    fn share(&self) -> f64 {
        self.killed as f64 / self.changed.max(1) as f64
    }

    fn text(&self) -> String {
        let Tried { protocol, changed, killed, survivors } = self;
        let survivors: String = survivors.iter().map(|survivor| format!("  not noticed: {survivor}\n")).collect();
        format!("{protocol:13} {killed} of {changed} changes noticed ({:.1}%)\n{survivors}", 100.0 * self.share())
    }
}
