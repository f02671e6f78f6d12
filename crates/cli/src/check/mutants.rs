//! Trying the checker itself: which changes to the tables it notices.

use super::{Check, Chosen, threads};
use crate::ui::Ui;
use miette::miette;
use protocol::{catalogue::Setup, check::try_mutants};
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
    share: f64,
    survivors: Vec<String>,
}

impl Check {
    pub(super) fn try_mutants(&self, chosen: &[Chosen], ui: &Ui) -> miette::Result<()> {
        let mut tried = Vec::new();
        for Chosen { protocol, systems } in chosen {
            let caches = self.caches.unwrap_or(2);
            let system = |setup: &Setup| ((setup.build)(caches.into(), self.lines.into()), self.limits(setup));
            let systems: Vec<_> = systems.iter().map(system).collect();
            // Of a protocol with several variants, the systems asked for may use only some of the tables.
            let used = |name: &str| systems.iter().any(|(system, _)| system.tables.iter().any(|t| t.name == name));
            let tables: Vec<_> = protocol.tables.iter().copied().filter(|table| used(table.name)).collect();
            let watch = |done, all| ui.progress(&format!("{}: {done} of {all} changes tried ...", protocol.name));
            let trial = try_mutants(&tables, &systems, threads(), &watch);
            ui.progress_done();
            let result = Tried {
                protocol: protocol.name,
                changed: trial.changes,
                killed: trial.changes - trial.survivors.len(),
                share: trial.noticed(),
                survivors: trial.survivors,
            };
            ui.print(&result.text())?;
            tried.push(result);
        }
        let poor: Vec<_> = tried.iter().filter(|tried| tried.share < ENOUGH).map(|tried| tried.protocol).collect();
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
    fn text(&self) -> String {
        let Tried { protocol, changed, killed, share, survivors } = self;
        let survivors: String = survivors.iter().map(|survivor| format!("  not noticed: {survivor}\n")).collect();
        format!("{protocol:13} {killed} of {changed} changes noticed ({:.1}%)\n{survivors}", 100.0 * share)
    }
}
