//! Whether the checker would notice: a table with one cell changed must violate something.

use super::{
    report::{Limits, check},
    system::{Network, System},
};
use crate::{Cell, Table};
use std::{
    borrow::Cow,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};

/// A table with one cell changed.
#[derive(Clone)]
pub struct Mutant {
    /// `l1: V on Store: Merge dropped`.
    pub name: String,
    pub table: Table,
    /// Where the changed cell stands when the rows are written one after another.
    cell: usize,
}

impl Mutant {
    /// The system with the changed table in place of the right one; `None` if it has no such table.
    pub fn applied_to(&self, system: &System) -> Option<System> {
        let number = system.tables.iter().position(|table| table.name == self.table.name)?;
        let mut changed = system.clone();
        changed.tables[number] = self.table.clone();
        Some(changed)
    }
}

/// Every cell that does something changed in turn: to another next state, to each action but one, to a stall.
pub fn mutants(tables: &[&Table]) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for table in tables {
        for (state, event, cell) in table.cells() {
            let Cell::Go(next, actions) = cell else { continue };
            let place = format!("{}: {} on {}", table.name, table.states[state as usize], table.events[event as usize]);
            let mut add = |what: String, cell: Cell| {
                let (name, at) = (format!("{place}: {what}"), table.index(state, event));
                mutants.push(Mutant { name, table: table.with(state, event, cell), cell: at });
            };
            let other = (next + 1) % table.states.len() as u8;
            if other != *next {
                add(format!("next state {}", table.states[other as usize]), Cell::Go(other, actions.clone()));
            }
            for (dropped, &action) in actions.iter().enumerate() {
                let mut fewer = actions.to_vec();
                fewer.remove(dropped);
                add(format!("{} dropped", table.actions[action as usize]), Cell::Go(*next, Cow::Owned(fewer)));
            }
            add("stall".to_owned(), Cell::Stall);
        }
    }
    mutants
}

/// What came of changing every cell of some tables in turn.
#[derive(Clone, Debug)]
pub struct Trial {
    pub changes: usize,
    /// Changes with which all properties still hold, by name.
    pub survivors: Vec<String>,
}

impl Trial {
    /// The share of changes that were noticed, from 0 to 1.
    pub fn noticed(&self) -> f64 {
        1.0 - self.survivors.len() as f64 / self.changes.max(1) as f64
    }
}

/// Tries every mutant of the tables on each of the systems that has its table, on the unordered network, until one notices it.
/// Threads take a mutant at a time; `watch` is told how many have been tried, of how many.
pub fn try_mutants(
    tables: &[&Table],
    systems: &[(System, Limits)],
    threads: usize,
    watch: &(dyn Fn(usize, usize) + Sync),
) -> Trial {
    let mutants = mutants(tables);
    let met: Vec<_> =
        systems.iter().map(|(system, limits)| check(system.clone(), Network::Unordered, *limits).met).collect();
    let noticed = |mutant: &Mutant| {
        systems.iter().zip(&met).any(|((system, limits), met)| {
            // A system that never meets the cell can't tell.
            let table = system.tables.iter().position(|table| table.name == mutant.table.name);
            let changed = table.filter(|&table| met[table][mutant.cell]).and_then(|_| mutant.applied_to(system));
            changed.is_some_and(|changed| check(changed, Network::Unordered, *limits).counterexample.is_some())
        })
    };
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut survivors = Vec::new();
        while let Some((number, mutant)) = mutants.iter().enumerate().nth(next.fetch_add(1, Relaxed)) {
            if !noticed(mutant) {
                survivors.push(number);
            }
            watch(1 + done.fetch_add(1, Relaxed), mutants.len());
        }
        survivors
    };
    let mut survivors: Vec<usize> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a model does not panic")).collect()
    });
    survivors.sort_unstable();
    Trial {
        changes: mutants.len(),
        survivors: survivors.into_iter().map(|number| mutants[number].name.clone()).collect(),
    }
}
