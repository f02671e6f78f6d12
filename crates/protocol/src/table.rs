//! A protocol's table: states down, events across, and in each cell what happens.
//!
//! The table is data, not code: what a controller does in a state on an event is looked up here and nowhere else. So it can
//! be printed beside the paper's, counted cell by cell, and changed one cell at a time to see whether the checker notices.
//! Labels are kept as small numbers; the macro [`protocol!`](crate::protocol) makes the enums behind them.

use std::{borrow::Cow, fmt::Write};

/// What a controller does in one state on one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// `x`: this can't happen. If it does, the run ends with [`Impossible`](crate::Impossible).
    Never,
    /// `z`: not now. The message stays where it is and is tried again.
    Stall,
    /// `[Next action action]`: do the actions in this order, then go to the next state.
    Go(u8, Cow<'static, [u8]>),
}

/// The table of one controller. Made by [`protocol!`](crate::protocol).
#[derive(Clone, Debug)]
pub struct Table {
    pub name: &'static str,
    pub states: &'static [&'static str],
    pub events: &'static [&'static str],
    pub actions: &'static [&'static str],
    cells: Cow<'static, [Cell]>,
}

impl Table {
    /// A row for each state and in it a cell for each event: the array types see to it.
    pub const fn new<const STATES: usize, const EVENTS: usize>(
        name: &'static str,
        states: &'static [&'static str; STATES],
        events: &'static [&'static str; EVENTS],
        actions: &'static [&'static str],
        rows: &'static [[Cell; EVENTS]; STATES],
    ) -> Self {
        Self { name, states, events, actions, cells: Cow::Borrowed(rows.as_flattened()) }
    }

    pub fn cell(&self, state: u8, event: u8) -> &Cell {
        &self.cells[self.index(state, event)]
    }

    /// Where a cell stands when the rows are written one after another.
    pub fn index(&self, state: u8, event: u8) -> usize {
        state as usize * self.events.len() + event as usize
    }

    /// Whether a line in this state has nothing under way: no event has to wait for it.
    pub fn at_rest(&self, state: u8) -> bool {
        (0..self.events.len()).all(|event| *self.cell(state, event as u8) != Cell::Stall)
    }

    /// Every cell with its state and its event, row by row.
    pub fn cells(&self) -> impl Iterator<Item = (u8, u8, &Cell)> {
        let events = self.events.len();
        self.cells.iter().enumerate().map(move |(i, cell)| ((i / events) as u8, (i % events) as u8, cell))
    }

    /// The same table with one cell changed.
    pub fn with(&self, state: u8, event: u8, cell: Cell) -> Self {
        let mut changed = self.clone();
        let index = self.index(state, event);
        changed.cells.to_mut()[index] = cell;
        changed
    }

    /// A cell as it stands in the source: `x`, `z`, or the next state and the actions.
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

    /// For a terminal: columns of equal width.
    pub fn text(&self) -> String {
        let grid = self.grid();
        let width = |column: usize| grid.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let widths: Vec<_> = (0..=self.events.len()).map(width).collect();
        let mut out = format!("{}\n", self.name);
        for row in &grid {
            let line: Vec<_> = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
            let _ = writeln!(out, "  {}", line.join("  ").trim_end());
        }
        out
    }

    /// For a document.
    pub fn markdown(&self) -> String {
        let mut out = format!("### {}\n\n", self.name);
        for (number, row) in self.grid().iter().enumerate() {
            let _ = writeln!(out, "| {} |", row.join(" | "));
            if number == 0 {
                let _ = writeln!(out, "|{}", " --- |".repeat(row.len()));
            }
        }
        out
    }

    /// For a page: a `table` element with the name as its caption. Labels are identifiers, so nothing needs escaping.
    pub fn html(&self) -> String {
        let mut out = format!("<table>\n<caption>{}</caption>\n", self.name);
        for (number, row) in self.grid().iter().enumerate() {
            out.push_str("<tr>");
            for (column, cell) in row.iter().enumerate() {
                let tag = if number == 0 || column == 0 { "th" } else { "td" };
                let _ = write!(out, "<{tag}>{cell}</{tag}>");
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</table>\n");
        out
    }

    /// The heading and the rows, as text.
    fn grid(&self) -> Vec<Vec<String>> {
        let mut grid = vec![vec![String::new()]];
        grid[0].extend(self.events.iter().map(|event| (*event).to_owned()));
        for (state, row) in self.states.iter().zip(self.cells.chunks(self.events.len())) {
            let mut line = vec![(*state).to_owned()];
            line.extend(row.iter().map(|cell| self.cell_text(cell)));
            grid.push(line);
        }
        grid
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

    #[test]
    fn one_cell_changes_and_the_others_stay() {
        let (open, push) = (door::State::Open as u8, door::Event::Push as u8);
        let changed = door::TABLE.with(open, push, Cell::Stall);
        assert_eq!(changed.cell(open, push), &Cell::Stall);
        let same = changed.cells().zip(door::TABLE.cells()).filter(|(a, b)| a.2 == b.2).count();
        assert_eq!(same, 5);
    }
}
