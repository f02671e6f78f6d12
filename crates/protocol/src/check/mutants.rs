//! Mutation tests of the checker: a table with one cell changed must violate some property.

use super::{
    model::{Check, MOST_VALUES},
    report::{Limits, check},
    system::{Network, System},
    walk::walk,
};
use crate::{Cell, Table};
use std::{
    borrow::Cow,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

/// A table with one cell changed.
#[derive(Clone)]
pub struct Mutant {
    /// `l1: V on Store: Merge dropped`.
    pub name: String,
    pub table: Table,
    /// The index of the changed cell, counted row by row.
    cell: usize,
}

impl Mutant {
    /// The system with the changed table; `None` if it does not have this table.
    pub fn applied_to(&self, system: &System) -> Option<System> {
        let number = system.tables.iter().position(|table| table.name == self.table.name)?;
        let mut changed = system.clone();
        changed.tables[number] = self.table.clone();
        Some(changed)
    }
}

/// All mutants: each cell that is neither `x` nor `z` with another next state, with one action dropped, and as a
/// stall.
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

/// The result of trying all mutants of some tables.
#[derive(Clone, Debug)]
pub struct Trial {
    pub changes: usize,
    /// Mutants with which all properties still hold.
    pub survivors: Vec<Survivor>,
}

/// A mutant that was not noticed.
#[derive(Clone, Debug)]
pub struct Survivor {
    pub name: String,
    /// Whether some walk met the changed cell.
    pub met: bool,
}

impl Trial {
    /// The fraction of mutants that were noticed.
    pub fn noticed(&self) -> f64 {
        1.0 - self.survivors.len() as f64 / self.changes.max(1) as f64
    }
}

/// Maximum number of walks tried for a mutant on a system; only walks that meet the changed cell count. More walks than
/// this are for cells that few of them meet.
const MEETINGS: usize = 50;

/// A system to try mutants on.
pub struct Ground {
    pub system: System,
    pub limits: Limits,
    /// Whether it is small enough to be searched if walks show nothing.
    pub searched: bool,
}

/// By table and cell of a system: whether a search of it has met the cell.
type Met = OnceLock<Vec<Vec<bool>>>;

/// The number of random walks on each system, and the steps of each.
#[derive(Clone, Copy, Debug)]
pub struct Walks {
    pub number: u64,
    pub steps: usize,
}

impl Ground {
    /// A model for walks, with the maximum of stores and at least three synchronisations.
    fn walker(&self, system: System) -> Check {
        Check::new(system, Network::Unordered, MOST_VALUES, self.limits.rounds.max(3))
    }

    /// By walk, then by table and cell: whether it was met.
    fn met(&self, walks: Walks) -> Vec<Vec<Vec<bool>>> {
        let met = |seed| {
            let check = self.walker(self.system.clone());
            let broken = walk(&check, walks.steps, seed);
            assert_eq!(broken, None, "walk {seed}: the tables as they are must hold");
            check.met()
        };
        (0..walks.number).map(met).collect()
    }

    /// The walks that meet the changed cell. Up to there they take the same path with and without the change.
    fn meeting(&self, mutant: &Mutant, met: &[Vec<Vec<bool>>]) -> impl Iterator<Item = u64> {
        let table = self.system.tables.iter().position(|table| table.name == mutant.table.name);
        let meets = move |met: &Vec<Vec<bool>>| table.is_some_and(|table| met[table][mutant.cell]);
        met.iter().zip(0..).filter(move |(met, _)| meets(met)).map(|(_, seed)| seed)
    }

    fn walks_notice(&self, mutant: &Mutant, met: &[Vec<Vec<bool>>], steps: usize) -> bool {
        let Some(changed) = mutant.applied_to(&self.system) else { return false };
        let check = self.walker(changed);
        self.meeting(mutant, met).take(MEETINGS).any(|seed| walk(&check, steps, seed).is_some())
    }

    /// Searches with the changed table, unless a search with the table as it is does not meet the changed cell: then
    /// both searches are one. `reached` keeps what that search has met.
    fn search_notices(&self, mutant: &Mutant, reached: &Met) -> bool {
        let tables = &self.system.tables;
        let Some(table) = tables.iter().position(|table| table.name == mutant.table.name) else { return false };
        let search = |system| check(system, Network::Unordered, self.limits);
        let meets = || reached.get_or_init(|| search(self.system.clone()).met)[table][mutant.cell];
        let changed = mutant.applied_to(&self.system).filter(|_| self.searched && meets());
        changed.is_some_and(|changed| search(changed).counterexample.is_some())
    }
}

/// Tries every mutant of the tables on each system that has its table, on the unordered network, until one notices
/// it: first by walks, then by searches. Each thread takes one mutant at a time; `watch` is called with the number of
/// mutants tried and their total.
pub fn try_mutants(
    tables: &[&Table],
    grounds: &[Ground],
    walks: Walks,
    threads: usize,
    watch: &(dyn Fn(usize, usize) + Sync),
) -> Trial {
    let mutants = mutants(tables);
    let met: Vec<_> = grounds.iter().map(|ground| ground.met(walks)).collect();
    let reached: Vec<Met> = grounds.iter().map(|_| Met::new()).collect();
    let noticed = |mutant: &Mutant| {
        grounds.iter().zip(&met).any(|(ground, met)| ground.walks_notice(mutant, met, walks.steps))
            || grounds.iter().zip(&reached).any(|(ground, reached)| ground.search_notices(mutant, reached))
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
        // If the operating system refuses a thread, the others do its work.
        let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let workers: Vec<_> = (1..threads).map_while(start).collect();
        let mut survivors = work();
        survivors.extend(workers.into_iter().flat_map(|worker| worker.join().expect("a model does not panic")));
        survivors
    });
    survivors.sort_unstable();
    let met =
        |mutant: &Mutant| grounds.iter().zip(&met).any(|(ground, met)| ground.meeting(mutant, met).next().is_some());
    let survivor = |mutant: &Mutant| Survivor { name: mutant.name.clone(), met: met(mutant) };
    Trial {
        changes: mutants.len(),
        survivors: survivors.into_iter().map(|number| survivor(&mutants[number])).collect(),
    }
}
