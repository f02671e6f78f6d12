//! The result of checking a system.

use super::{
    chart::chart,
    explore::Explore,
    model::Check,
    search::{DRAINS, MOVES, Progress, Run, search},
    system::{Network, System},
};
use crate::{Cell, Table};
use serde::Serialize;

/// Limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Stores in total, each with a value of its own.
    pub values: u8,
    /// Synchronisations before the last work stage.
    pub rounds: u8,
    /// The search ends beyond this many states.
    pub states: usize,
    /// Threads of the search. The report does not depend on their number.
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { values: 2, rounds: 1, states: 50_000_000, threads: 1 }
    }
}

/// Whether a property holds in every state; `None` if the search ended before that was known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Property {
    pub name: &'static str,
    pub holds: Option<bool>,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Report {
    pub states: usize,
    pub depth: usize,
    pub properties: Vec<Property>,
    /// The shortest trace to a violation, as a message-sequence chart.
    pub counterexample: Option<String>,
    /// By table of the system, then by cell, row by row: whether it was met.
    pub met: Vec<Vec<bool>>,
}

impl Report {
    pub fn holds(&self) -> bool {
        self.properties.iter().all(|property| property.holds == Some(true))
    }
}

/// Which cells several searches have met in total.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    tables: Vec<(Table, Vec<bool>)>,
}

impl Coverage {
    /// Adds the cells that a search of this system has met.
    pub fn add(&mut self, system: &System, report: &Report) {
        for (table, met) in system.tables.iter().zip(&report.met) {
            match self.tables.iter_mut().find(|(known, _)| known.name == table.name) {
                Some((_, known)) => known.iter_mut().zip(met).for_each(|(known, met)| *known |= met),
                None => self.tables.push((table.clone(), met.clone())),
            }
        }
    }

    /// The cells that are not `x` and were never met, as `table: state on event`.
    pub fn unreached(&self) -> Vec<String> {
        let mut unreached = Vec::new();
        for (table, met) in &self.tables {
            for ((state, event, cell), met) in table.cells().zip(met) {
                if *cell != Cell::Never && !met {
                    let (state, event) = (table.states[state as usize], table.events[event as usize]);
                    unreached.push(format!("{}: {state} on {event}", table.name));
                }
            }
        }
        unreached
    }
}

/// Searches every interleaving of a system.
pub fn check(system: System, network: Network, limits: Limits) -> Report {
    check_watched(system, network, limits, &|_| {})
}

/// Variant of [`check`] that reports progress to `watch`.
pub fn check_watched(system: System, network: Network, limits: Limits, watch: &dyn Fn(Progress)) -> Report {
    let check = Check::new(system, network, limits.values, limits.rounds);
    let found = search(&check, &Run { limit: limits.states, threads: limits.threads, watch });
    let violated = found.violation.as_ref().map(|violation| violation.property);
    let holds = |name| match violated {
        Some(violated) => (violated == name).then_some(false),
        None => found.complete.then_some(true),
    };
    let names = check.invariants().iter().map(|invariant| invariant.name).chain([MOVES, DRAINS]);
    Report {
        states: found.states,
        depth: found.depth,
        properties: names.map(|name| Property { name, holds: holds(name) }).collect(),
        counterexample: found.violation.map(|violation| chart(&check, &violation.trace)),
        met: check.met(),
    }
}
