//! A protocol's table: a row for each state, a column for each event, and in each cell what happens.
//!
//! The table is data, not code: what a controller does in a state on an event is looked up here and nowhere else. So
//! it can be printed next to the paper's, covered cell by cell, and changed one cell at a time to test whether the
//! checker notices. Labels are small numbers; the macro [`protocol!`](crate::protocol) makes their enums.

use crate::Labels;
use std::{borrow::Cow, fmt::Write};

/// What a controller does in one state on one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// `x`: this can't happen. If it does, the run ends with [`Impossible`](crate::Impossible).
    Never,
    /// `z`: stall. The message waits and is retried.
    Stall,
    /// `[Next action action]`: perform the actions in this order, then enter the next state.
    Go(u8, Cow<'static, [u8]>),
}

/// Some columns of a table, as many as fit side by side.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    events: usize,
    rows: &'static [Cell],
}

impl Part {
    /// The array types ensure a row for each state with a cell for each event.
    pub const fn new<const STATES: usize, const EVENTS: usize>(
        _: &'static [&'static str; EVENTS],
        rows: &'static [[Cell; EVENTS]; STATES],
    ) -> Self {
        Self { events: EVENTS, rows: rows.as_flattened() }
    }
}

/// The table of one controller. Made by [`protocol!`](crate::protocol).
#[derive(Clone, Debug)]
pub struct Table {
    pub name: &'static str,
    pub states: &'static [&'static str],
    pub events: &'static [&'static str],
    pub actions: &'static [&'static str],
    pub(crate) labels: Labels,
    parts: &'static [Part],
    /// Cells that differ from the source: see [`Table::with`].
    changed: Vec<(u8, u8, Cell)>,
}

impl Table {
    pub const fn new(
        name: &'static str,
        labels: Labels,
        states: &'static [&'static str],
        events: &'static [&'static str],
        actions: &'static [&'static str],
        parts: &'static [Part],
    ) -> Self {
        Self { name, states, events, actions, labels, parts, changed: Vec::new() }
    }

    pub fn cell(&self, state: u8, event: u8) -> &Cell {
        let changed = self.changed.iter().find(|&&(s, e, _)| (s, e) == (state, event));
        if let Some((.., cell)) = changed {
            return cell;
        }
        let mut column = event as usize;
        for part in self.parts {
            if column < part.events {
                return &part.rows[state as usize * part.events + column];
            }
            column -= part.events;
        }
        unreachable!("{} has no event {event}", self.name)
    }

    /// The index of a cell, counted row by row.
    pub fn index(&self, state: u8, event: u8) -> usize {
        state as usize * self.events.len() + event as usize
    }

    /// The state of a line that is not held.
    pub fn initial(&self) -> u8 {
        self.labels.invalid.unwrap_or(0)
    }

    /// Whether a line in this state has no transaction in flight: no event stalls. Events that stall in every state
    /// do not count.
    pub fn at_rest(&self, state: u8) -> bool {
        let waits = |state: usize, event: u8| *self.cell(state as u8, event) == Cell::Stall;
        let always_waits = |event| (0..self.states.len()).all(|state| waits(state, event));
        (0..self.events.len() as u8).all(|event| !waits(state.into(), event) || always_waits(event))
    }

    /// Every cell with its state and its event, row by row.
    pub fn cells(&self) -> impl Iterator<Item = (u8, u8, &Cell)> {
        let states = 0..self.states.len() as u8;
        states.flat_map(move |state| {
            (0..self.events.len() as u8).map(move |event| (state, event, self.cell(state, event)))
        })
    }

    /// This table with one cell changed.
    pub fn with(&self, state: u8, event: u8, cell: Cell) -> Self {
        let mut changed = self.clone();
        changed.changed.retain(|&(s, e, _)| (s, e) != (state, event));
        changed.changed.push((state, event, cell));
        changed
    }

    /// A cell as in the source: `x`, `z`, or the next state and the actions.
    pub fn cell_text(&self, cell: &Cell) -> String {
        match cell {
            Cell::Never => "x".to_owned(),
            Cell::Stall => "z".to_owned(),
            Cell::Go(next, actions) => {
                let mut text = self.states[*next as usize].to_owned();
                for action in actions.iter() {
                    text.push(' ');
                    text.push_str(self.actions[*action as usize]);
                }
                text
            }
        }
    }

    /// As text with aligned columns.
    pub fn text(&self) -> String {
        let mut out = format!("{}\n", self.name);
        for (number, grid) in self.grids().enumerate() {
            let width = |column: usize| grid.iter().map(|row| row[column].len()).max().unwrap_or(0);
            let widths: Vec<_> = (0..grid[0].len()).map(width).collect();
            if number > 0 {
                out.push('\n');
            }
            for row in &grid {
                let line: Vec<_> = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
                let _ = writeln!(out, "  {}", line.join("  ").trim_end());
            }
        }
        out
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let mut out = format!("### {}\n", self.name);
        for grid in self.grids() {
            out.push('\n');
            for (number, row) in grid.iter().enumerate() {
                let _ = writeln!(out, "| {} |", row.join(" | "));
                if number == 0 {
                    let _ = writeln!(out, "|{}", " --- |".repeat(row.len()));
                }
            }
        }
        out
    }

    /// As HTML `table` elements, with the name as caption. Labels are identifiers, so nothing needs escaping.
    pub fn html(&self) -> String {
        let mut out = String::new();
        for grid in self.grids() {
            let _ = writeln!(out, "<table>\n<caption>{}</caption>", self.name);
            for (number, row) in grid.iter().enumerate() {
                out.push_str("<tr>");
                for (column, cell) in row.iter().enumerate() {
                    let tag = if number == 0 || column == 0 { "th" } else { "td" };
                    let _ = write!(out, "<{tag}>{cell}</{tag}>");
                }
                out.push_str("</tr>\n");
            }
            out.push_str("</table>\n");
        }
        out
    }

    /// The heading and the rows of each part, as text.
    fn grids(&self) -> impl Iterator<Item = Vec<Vec<String>>> {
        let starts = self.parts.iter().scan(0, |next, part| {
            let start = *next;
            *next += part.events;
            Some(start..*next)
        });
        starts.map(|events| {
            let mut grid = vec![vec![String::new()]];
            grid[0].extend(self.events[events.clone()].iter().map(|event| (*event).to_owned()));
            for (state, name) in self.states.iter().enumerate() {
                let mut line = vec![(*name).to_owned()];
                line.extend(events.clone().map(|event| self.cell_text(self.cell(state as u8, event as u8))));
                grid.push(line);
            }
            grid
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::protocol! { door actions(Ring)
     on(      Push        Lock      )
     Open   { [Shut]      z         }
     Shut   { [Open Ring] [Locked]  }
     Locked { x           [Shut]    }
    }

    #[test]
    fn a_table_prints_as_it_is_written() {
        let expected = "\
door
          Push       Lock
  Open    Shut       z
  Shut    Open Ring  Locked
  Locked  x          Shut
";
        assert_eq!(door::TABLE.text(), expected);
    }

    #[test]
    fn a_table_prints_as_markdown_and_html() {
        let markdown = "### door\n\n|  | Push | Lock |\n| --- | --- | --- |\n| Open | Shut | z |\n| Shut | Open Ring | Locked |\n| Locked | x | Shut |\n";
        assert_eq!(door::TABLE.markdown(), markdown);
        let html = door::TABLE.html();
        assert!(html.contains("<tr><th>Shut</th><td>Open Ring</td><td>Locked</td></tr>"), "{html}");
    }

    crate::protocol! { gate actions(Creak)
     on(     Push     )
     Open  { [Shut]   }
     Shut  { [Open]   };
     on(     Lock  Kick )
     Open  { z     x    }
     Shut  { x     z    }
    }

    #[test]
    fn a_table_in_parts_is_one_table_and_prints_in_parts() {
        assert_eq!(gate::TABLE.events, ["Push", "Lock", "Kick"]);
        assert_eq!(gate::TABLE.cell(gate::State::Open as u8, gate::Event::Lock as u8), &Cell::Stall);
        let expected = "\
gate
        Push
  Open  Shut
  Shut  Open

        Lock  Kick
  Open  z     x
  Shut  x     z
";
        assert_eq!(gate::TABLE.text(), expected);
    }

    #[test]
    fn one_cell_changes_and_the_others_stay() {
        let (open, push) = (door::State::Open as u8, door::Event::Push as u8);
        let changed = door::TABLE.with(open, push, Cell::Stall);
        assert_eq!(changed.cell(open, push), &Cell::Stall);
        let same = changed.cells().zip(door::TABLE.cells()).filter(|(a, b)| a.2 == b.2).count();
        assert_eq!(same, 5);
    }
}
