//! Tests the checker itself: which changes of the tables it detects.

use super::{Check, Chosen, threads};
use crate::ui::Ui;
use miette::miette;
use protocol::{
    catalogue::Setup,
    check::{Ground, Walks, try_mutants},
};
use serde::Serialize;

/// The share of changes that must be detected.
const ENOUGH: f64 = 0.95;
/// The length of a random walk: enough for a few synchronisations.
const STEPS: usize = 300;

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
            let larger = if systems.len() == protocol.systems.len() { protocol.larger } else { &[] };
            let ground = |setup: &Setup, searched| Ground {
                system: (setup.build)(self.caches.unwrap_or(2).into(), self.lines.into()),
                limits: self.limits(setup),
                searched,
            };
            let grounds = systems.iter().map(|setup| ground(setup, true));
            let grounds: Vec<_> = grounds.chain(larger.iter().map(|setup| ground(setup, false))).collect();
            // If a protocol has several variants, the selected systems may use only some of the tables.
            let used = |name: &str| grounds.iter().any(|ground| ground.system.tables.iter().any(|t| t.name == name));
            let tables: Vec<_> = protocol.tables.iter().copied().filter(|table| used(table.name)).collect();
            let watch = |done, all| ui.progress(&format!("{}: {done} of {all} changes tried ...", protocol.name));
            let walks = Walks { number: self.walks.into(), steps: STEPS };
            let trial = protocol.own(try_mutants(&tables, &grounds, walks, threads(), &watch));
            ui.progress_done();
            let result = Tried {
                protocol: protocol.name,
                changed: trial.changes,
                killed: trial.changes - trial.survivors.len(),
                share: trial.noticed(),
                survivors: trial.survivors.into_iter().map(|survivor| survivor.name).collect(),
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
            Err(miette!("fewer than {:.0}% of the changes were detected in {poor}", 100.0 * ENOUGH))
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
