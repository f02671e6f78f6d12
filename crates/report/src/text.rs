//! Text tables that read well within 100 columns and without colour.

use crate::figures::ratio;

/// A table: the first column is left-aligned, the others right-aligned.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Self {
        Self { rows: vec![head.into_iter().map(Into::into).collect()] }
    }

    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    pub(crate) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |at: usize| self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max();
        let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = "  ".to_owned();
            for (at, cell) in row.iter().enumerate() {
                let padding = " ".repeat(widths[at] - cell.chars().count());
                match at {
                    0 => line.extend([cell, padding.as_str()]),
                    _ => line.extend(["  ", padding.as_str(), cell]),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// A bar of at most `width` characters: `part` of `whole`. Any non-zero part gets at least one character.
pub(crate) fn bar(part: f64, whole: f64, width: usize) -> String {
    let length = (ratio(part, whole) * width as f64).round() as usize;
    let length = if part > 0.0 { length.max(1) } else { length };
    "#".repeat(length.min(width))
}

/// Breaks a text into lines of at most `width` characters; all lines except the first are indented by `indent` blanks.
pub(crate) fn wrap(text: &str, width: usize, indent: usize) -> String {
    let mut lines = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            used = indent;
        } else if used > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += length;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(["cache", "reads"]);
        table.row(["l1v", "1,024"]);
        table.row(["l2", "7"]);
        assert_eq!(table.render(), "  cache  reads\n  l1v    1,024\n  l2         7\n");
    }

    #[test]
    fn a_long_text_is_wrapped_behind_its_indent() {
        assert_eq!(wrap("one two three", 9, 2), "one two\n  three");
    }
}
