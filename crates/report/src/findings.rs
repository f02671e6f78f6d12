//! Findings of an experiment, beside the paper's figures: as a table, and as a page with bars.

use crate::{
    ReportError,
    files::{file, json},
    html::{STRING, document, escaped, section},
    text::{Table, wrap},
};
use figures::{Findings, Row};
use std::{fmt::Write, fs, path::Path};

/// The findings as a table for people.
pub fn findings_text(findings: &Findings) -> String {
    let mut text = format!("{}: {}\n({})\n\n", findings.experiment, findings.about, findings.source);
    let (head, rows) = columns(findings);
    let mut table = Table::new(std::iter::once("").chain(head));
    for (row, cells) in findings.rows.iter().zip(rows) {
        table.row(std::iter::once(row.name.clone()).chain(cells));
    }
    if table.is_empty() {
        text.push_str("  no row: every run that it needs is missing\n");
    } else {
        text.push_str(&table.render());
    }
    for note in &findings.notes {
        write!(text, "\n  {}", wrap(note, 96, 2)).expect(STRING);
    }
    if !findings.notes.is_empty() {
        text.push('\n');
    }
    text
}

/// Writes the findings to a folder, which is created if needed: `findings.json`, and the page `report.html`.
pub fn write_findings(folder: &Path, findings: &Findings) -> Result<(), ReportError> {
    fs::create_dir_all(folder).map_err(|source| ReportError { path: folder.to_owned(), source })?;
    file(folder, "findings.json", &json(findings))?;
    file(folder, "report.html", page(findings).as_bytes())
}

fn page(findings: &Findings) -> String {
    let mut body = format!("<h1>{}</h1>\n<p>{}</p>\n", escaped(findings.experiment), escaped(findings.about));
    writeln!(body, "<p>Paper: {}</p>", escaped(findings.source)).expect(STRING);
    if !findings.rows.is_empty() {
        let legend = "<div class=legend><span><i style=\"background:var(--c7)\"></i>paper</span>\
                      <span><i style=\"background:var(--accent)\"></i>measured</span></div>\n";
        section(&mut body, "Paper and measurement", &format!("{legend}{}", bars(findings)));
        section(&mut body, "In numbers", &numbers(findings));
    }
    let notes = findings.notes.iter().map(|note| format!("<li>{}</li>\n", escaped(note)));
    let notes: String = notes.collect();
    if !notes.is_empty() {
        section(&mut body, "Notes", &format!("<ul>\n{notes}</ul>"));
    }
    document(findings.experiment, &body)
}

/// Two bars for each row, the paper's above, all on one scale.
fn bars(findings: &Findings) -> String {
    let (left, room, step) = (300.0, 560.0, 34.0);
    let values = findings.rows.iter().flat_map(|row| row.paper.into_iter().chain([row.measured]));
    let most = values.fold(f64::MIN_POSITIVE, f64::max);
    let height = step * findings.rows.len() as f64;
    let mut svg = format!("<svg viewBox=\"0 0 940 {height}\" role=img aria-label=\"paper and measured\">");
    for (at, row) in findings.rows.iter().enumerate() {
        let y = step * at as f64 + 3.0;
        write!(svg, "<text x={} y={} text-anchor=end>{}</text>", left - 8.0, y + 18.0, escaped(&row.name))
            .expect(STRING);
        let both = [(row.paper, "var(--c7)", "paper"), (Some(row.measured), "var(--accent)", "measured")];
        for (number_of_bar, (value, colour, what)) in both.into_iter().enumerate() {
            let Some(value) = value else { continue };
            let (y, width) = (y + 14.0 * number_of_bar as f64, (value / most * room).max(0.5));
            let told = number(value);
            write!(
                svg,
                "<rect x={left} y={y} width={width:.2} height=12 fill=\"{colour}\"><title>{what}: {told}</title></rect>\
                 <text class=faint x={:.2} y={}>{told}</text>",
                left + width + 6.0,
                y + 10.0
            )
            .expect(STRING);
        }
    }
    svg + "</svg>"
}

/// Heads and cells of the number columns. Only some experiments have values measured on hardware.
fn columns(findings: &Findings) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let mut head = vec!["paper", "measured", "ratio"];
    let cells = |row: &Row| vec![told(row.paper), number(row.measured), told(row.ratio)];
    let mut rows: Vec<Vec<String>> = findings.rows.iter().map(cells).collect();
    if findings.rows.iter().any(|row| row.hardware.is_some()) {
        head.push("hardware");
        rows.iter_mut().zip(&findings.rows).for_each(|(cells, row)| cells.push(told(row.hardware)));
    }
    (head, rows)
}

fn numbers(findings: &Findings) -> String {
    let (head, rows) = columns(findings);
    let head: String = head.iter().map(|name| format!("<th class=number>{name}</th>")).collect();
    let mut html = format!("<div class=wide><table><tr><th></th>{head}</tr>\n");
    for (row, cells) in findings.rows.iter().zip(rows) {
        let cells: String = cells.iter().map(|cell| format!("<td class=number>{cell}</td>")).collect();
        writeln!(html, "<tr><td>{}</td>{cells}</tr>", escaped(&row.name)).expect(STRING);
    }
    html + "</table></div>"
}

fn told(value: Option<f64>) -> String {
    value.map_or("-".into(), number)
}

/// A number for people: large numbers have fewer decimals.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(rows: Vec<Row>) -> Findings {
        let notes = vec!["small inputs".into()];
        Findings { experiment: "giles-study1", about: "a < b", source: "4.3.2", rows, notes }
    }

    #[test]
    fn a_table_has_the_papers_value_the_measured_one_and_their_ratio() {
        let rows = vec![Row::new("BP, c-mc", 4.0, 3.0), Row::new("BP, nc-l3", None, 250.4)];
        let text = findings_text(&findings(rows));
        let expected = "giles-study1: a < b\n(4.3.2)\n\n             paper  measured  ratio\n  BP, c-mc    4.00      3.00   0.75\n  \
                        BP, nc-l3      -       250      -\n\n  small inputs\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn values_of_hardware_have_a_column_where_there_are_any() {
        let rows = vec![Row::new("pns", 65.0, 6.0).beside(1.4), Row::new("cp", None, 1.0)];
        let text = findings_text(&findings(rows));
        assert!(
            text.contains("  pns   65.0      6.00   0.09      1.40\n  cp       -      1.00      -         -\n"),
            "{text}"
        );
        assert!(page(&findings(vec![Row::new("pns", 65.0, 6.0).beside(1.4)])).contains(">hardware</th>"));
    }

    #[test]
    fn a_page_has_a_bar_for_each_value() {
        let page = page(&findings(vec![Row::new("BP", 4.0, 3.0), Row::new("LUD", None, 1.0)]));
        assert_eq!(page.matches("<rect").count(), 3);
        assert!(page.contains("a &lt; b") && page.contains("<title>paper: 4.00</title>"), "{page}");
    }

    #[test]
    fn nothing_found_is_said() {
        assert!(findings_text(&findings(Vec::new())).contains("no row"));
    }
}
