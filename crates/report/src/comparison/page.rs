//! A comparison as an HTML page.

use super::Comparison;
use crate::{
    figures::percent,
    files::{ReportError, file, json},
    html::{CORES, UNITS, document, escaped, legend, section, stacked_rows},
    summary::REASONS,
};
use engine::Time;
use std::{fs, path::Path};

impl Comparison {
    /// Writes `comparison.json` and `comparison.html` to a folder, which is created if needed.
    pub fn write(&self, folder: &Path) -> Result<(), ReportError> {
        fs::create_dir_all(folder).map_err(|source| ReportError { path: folder.to_owned(), source })?;
        file(folder, "comparison.json", &json(self))?;
        file(folder, "comparison.html", self.html().as_bytes())
    }

    /// A self-contained page.
    pub fn html(&self) -> String {
        let title = format!("{} on {} machines", self.program, self.runs.len());
        let mut body = format!("<h1>{}</h1>\n", escaped(&title));
        self.cores_section(&mut body);
        let longest = self.summaries().map(|(_, summary)| summary.kernel_fs).max().unwrap_or(0).max(1);
        let rows = self.summaries().filter(|(_, summary)| summary.kernel_fs > 0).map(|(run, summary)| {
            let shares = summary
                .units
                .as_ref()
                .map_or_else(Vec::new, |units| units.breakdown.iter().map(|share| share.share.mean).collect());
            let speedup = run.kernel_speedup.map_or(String::new(), |times| format!(", {times:.2}x"));
            let note = format!("{}{speedup}", Time(summary.kernel_fs));
            (run.system.clone(), summary.kernel_fs as f64 / longest as f64, note, shares)
        });
        let rows: Vec<_> = rows.collect();
        if !rows.is_empty() {
            let chart = format!("{}{}", legend(&UNITS), stacked_rows(&rows, &UNITS));
            section(&mut body, "Kernel time, and what compute units did meanwhile", &chart);
            section(&mut body, "Shares of kernel time", &self.shares());
        }
        section(&mut body, "In text", &format!("<pre>{}</pre>", escaped(&self.to_string())));
        document(&title, &body)
    }

    /// What cores spent the run on, for machines with cores.
    fn cores_section(&self, body: &mut String) {
        let longest = self.summaries().map(|(_, summary)| summary.total_fs).max().unwrap_or(0).max(1);
        let rows = self.summaries().filter_map(|(run, summary)| {
            let cores = summary.cores.as_ref()?;
            let shares = cores.phases.iter().map(|(name, _)| if name == "idle" { 0.0 } else { cores.share(name) });
            let speedup = run.speedup.map_or(String::new(), |times| format!(", {times:.2}x"));
            let note = format!("{}{speedup}", Time(summary.total_fs));
            Some((run.system.clone(), summary.total_fs as f64 / longest as f64, note, shares.collect()))
        });
        let rows: Vec<_> = rows.collect();
        if !rows.is_empty() {
            let chart = format!("{}{}", legend(&CORES), stacked_rows(&rows, &CORES));
            section(body, "Total time, and the activity of cores while they had a thread", &chart);
        }
    }

    fn shares(&self) -> String {
        let heads = self.summaries().map(|(run, _)| format!("<th class=\"number name\">{}</th>", escaped(&run.system)));
        let mut table =
            format!("<div class=wide><table><thead><tr><th></th>{}</tr></thead><tbody>", heads.collect::<String>());
        for (reason, told) in REASONS {
            let cells = self.summaries().map(|(_, summary)| {
                let share = summary.units.as_ref().map_or("-".to_owned(), |units| percent(units.share(reason)));
                format!("<td class=number>{share}</td>")
            });
            table.push_str(&format!("<tr><td>{told}</td>{}</tr>", cells.collect::<String>()));
        }
        table + "</tbody></table></div>"
    }
}
