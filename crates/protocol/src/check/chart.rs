//! A trace as a message-sequence chart: a lifeline for each member, an arrow for each message that arrives.

use super::{
    model::{Check, Move},
    system::{BYTES, CORES, Stage},
    world::{Trouble, World},
};
use crate::{Msg, Node};
use std::fmt::Write;

/// Draws a trace from the start of a system. Messages still in flight at its end are listed below.
pub fn chart(check: &Check, trace: &[(Move, World)]) -> String {
    let members = &check.system.members;
    let column = members.iter().map(|member| member.name.len() + 2).max().unwrap_or(0).max(9);
    let lifelines = Lifelines { members: members.len(), column };
    let mut out = String::from("  ");
    for member in members {
        let _ = write!(out, "{:^column$}", member.name);
    }
    out = out.trim_end().to_owned() + "\n";
    let mut before = World::new(&check.system);
    for (action, after) in trace {
        let (lane, label) = match action {
            Move::Deliver(msg) if msg.from.0 >= CORES => {
                let label = format!("{}: {}", check.system.name(msg.from), label(check, msg, &before, after));
                (lifelines.star(msg.to), label)
            }
            Move::Deliver(msg) => (lifelines.arrow(msg.from, msg.to), label(check, msg, &before, after)),
            Move::Retry(msg) => {
                (lifelines.star(msg.to), format!("no longer waits: {}", label(check, msg, &before, after)))
            }
            Move::Ask(msg) => {
                let label = format!("{}: {}", check.system.name(msg.from), label(check, msg, &before, after));
                (lifelines.star(msg.to), label)
            }
            Move::Advance => (lifelines.row(), format!("-- {}", stage(check, after))),
            Move::Restart => (lifelines.row(), "logical time restarts".to_owned()),
            Move::Tick(core) => (lifelines.row(), format!("core{core} advances to time {}", after.times[*core])),
        };
        let _ = writeln!(out, "  {lane}  {label}");
        if let Some(Trouble::Impossible(what) | Trouble::Value(what) | Trouble::Order(what)) = &after.trouble {
            let _ = writeln!(out, "  {what}");
        }
        before = after.clone();
    }
    if before.trouble.is_none() {
        out += &left(check, &before);
    }
    out
}

/// Lists what is in flight or waits at the end.
fn left(check: &Check, world: &World) -> String {
    let name = |node| check.system.name(node);
    let mut out = String::new();
    for msg in &world.network {
        let _ = writeln!(out, "  still under way: {msg} from {} to {}", name(msg.from), name(msg.to));
    }
    for msg in &world.waiting {
        let _ = writeln!(out, "  still waits at {}: {msg} from {}", name(msg.to), name(msg.from));
    }
    for (place, _) in world.loading.iter().enumerate().filter(|(_, loading)| **loading) {
        let _ =
            writeln!(out, "  core{} still waits for line {}", place % check.system.cores, place / check.system.cores);
    }
    out
}

/// Describes the stage that starts.
fn stage(check: &Check, world: &World) -> String {
    match &check.system.stages[world.stage] {
        Stage::Work { .. } | Stage::Free { .. } => "work begins".to_owned(),
        Stage::Claim { .. } => "work on claimed lines begins".to_owned(),
        Stage::Meet => "cores meet".to_owned(),
        Stage::Order { kind, scope, cores } => {
            let names: Vec<_> = cores.iter().map(|core| format!("core{core}")).collect();
            format!("{kind:?} of the {scope:?} by {}", names.join(", "))
        }
        Stage::Tell { kind, members } => {
            let names: Vec<_> = members.iter().map(|&member| check.system.name(member)).collect();
            format!("{kind:?} begins, of {}", names.join(", "))
        }
    }
}

/// `Write 0x0 [1 .]  (l1.0 I -> P)`: the message and its effect on the line.
fn label(check: &Check, msg: &Msg<BYTES>, before: &World, after: &World) -> String {
    let member = &check.system.members[msg.to.0 as usize];
    let (slot, table) = (check.slot(msg), check.table_of(msg));
    let name = |world: &World| check.system.tables[table].states[world.line(slot).state as usize];
    match (name(before), name(after)) {
        (old, new) if old == new => format!("{msg}  ({} {old})", member.name),
        (old, new) => format!("{msg}  ({} {old} -> {new})", member.name),
    }
}

/// The lifelines of the members, side by side.
struct Lifelines {
    members: usize,
    column: usize,
}

impl Lifelines {
    fn middle(&self, node: Node) -> usize {
        node.0 as usize * self.column + self.column / 2
    }

    fn blank(&self) -> Vec<char> {
        let middle = |at: usize| at % self.column == self.column / 2;
        (0..self.members * self.column).map(|at| if middle(at) { '|' } else { ' ' }).collect()
    }

    fn row(&self) -> String {
        self.blank().into_iter().collect()
    }

    /// A row with an arrow from one member to another.
    fn arrow(&self, from: Node, to: Node) -> String {
        debug_assert!(from.0 < CORES && to.0 < CORES, "messages of cores are asked, not delivered");
        let (mut row, from, to) = (self.blank(), self.middle(from), self.middle(to));
        (from.min(to)..from.max(to)).skip(1).for_each(|at| row[at] = '-');
        row[if from < to { to - 1 } else { to + 1 }] = if from < to { '>' } else { '<' };
        row.into_iter().collect()
    }

    /// A row with a star at the member that a core or the driver sends a message.
    fn star(&self, to: Node) -> String {
        let mut row = self.blank();
        row[self.middle(to)] = '*';
        row.into_iter().collect()
    }
}
