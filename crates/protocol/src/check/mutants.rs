//! Whether the checker would notice: a table with one cell changed must violate something.

use super::system::System;
use crate::{Cell, Table};
use std::borrow::Cow;

/// A table with one cell changed.
#[derive(Clone)]
pub struct Mutant {
    /// `l1: V on Store: Merge dropped`.
    pub name: String,
    pub table: Table,
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
                mutants.push(Mutant { name: format!("{place}: {what}"), table: table.with(state, event, cell) });
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
