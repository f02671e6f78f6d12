//! Whether the checker would notice: a table with one cell changed must violate something.

use super::system::System;
use crate::Cell;
use std::borrow::Cow;

/// A system with one cell changed.
#[derive(Clone)]
pub struct Mutant {
    /// `l1: V on Store: Merge dropped`.
    pub name: String,
    pub system: System,
}

/// Every cell that does something changed in turn: to another next state, to each action but one, to a stall.
pub fn mutants(system: &System) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for (number, table) in system.tables.iter().enumerate() {
        for (state, event, cell) in table.cells() {
            let Cell::Go(next, actions) = cell else { continue };
            let place = format!("{}: {} on {}", table.name, table.states[state as usize], table.events[event as usize]);
            let mut add = |what: String, cell: Cell| {
                let mut changed = system.clone();
                changed.tables[number] = table.with(state, event, cell);
                mutants.push(Mutant { name: format!("{place}: {what}"), system: changed });
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
