//! A trace as a message-sequence chart: a lifeline for each member, an arrow for each message that arrives.

use super::{
    model::{Check, Move},
    system::{BYTES, CORES},
    world::{Trouble, World},
};
use crate::{Msg, Node};
use std::fmt::Write;

const COLUMN: usize = 9;

/// Draws a trace from the start of a system.
pub fn chart(check: &Check, trace: &[(Move, World)]) -> String {
    let members = &check.system.members;
    let mut out = String::from("  ");
    for member in members {
        let _ = write!(out, "{:^COLUMN$}", member.name);
    }
    out.push('\n');
    let mut before = World::new(&check.system);
    for (action, after) in trace {
        let (lane, label) = match action {
            Move::Deliver(msg) => (arrow(members.len(), Some(msg.from), msg.to), label(check, msg, &before, after)),
            Move::Ask(msg) => {
                let label = format!("{}: {}", check.system.name(msg.from), label(check, msg, &before, after));
                (arrow(members.len(), None, msg.to), label)
            }
            Move::Advance => (arrow(members.len(), None, Node(CORES)), "the next stage begins".to_owned()),
        };
        let _ = writeln!(out, "  {lane}  {label}");
        if let Some(Trouble::Impossible(what) | Trouble::Value(what)) = &after.trouble {
            let _ = writeln!(out, "  {what}");
        }
        before = after.clone();
    }
    out
}

/// `Write 0x0 [1 .]  (I -> P)`: the message and what it did to the line.
fn label(check: &Check, msg: &Msg<BYTES>, before: &World, after: &World) -> String {
    let member = &check.system.members[msg.to.0 as usize];
    let place = msg.line.0 as usize / BYTES * check.system.members.len() + msg.to.0 as usize;
    let name = |world: &World| check.system.tables[member.table].states[world.lines[place].state as usize];
    format!("{msg}  ({} {} -> {})", member.name, name(before), name(after))
}

/// The lifelines, with an arrow from one to another, or a star where a core or the driver asks.
fn arrow(members: usize, from: Option<Node>, to: Node) -> String {
    let middle = |node: Node| node.0 as usize * COLUMN + COLUMN / 2;
    let mut row: Vec<char> =
        (0..members * COLUMN).map(|at| if at % COLUMN == COLUMN / 2 { '|' } else { ' ' }).collect();
    match from.map(middle) {
        Some(from) => {
            let to = middle(to);
            (from.min(to)..from.max(to)).skip(1).for_each(|at| row[at] = '-');
            row[if from < to { to - 1 } else { to + 1 }] = if from < to { '>' } else { '<' };
        }
        None if middle(to) < row.len() => row[middle(to)] = '*',
        None => {}
    }
    row.into_iter().collect()
}
