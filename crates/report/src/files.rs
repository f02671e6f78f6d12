//! The files of a run. `out.rs` makes them appear together.

use crate::{Summary, drawing, html, parquet, perfetto, rows, subject::Subject, subject::VERSION};
use engine::{Region, Run, Statistics, Time, Value};
use serde::Serialize;
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use thiserror::Error;

/// A file of a report can't be written.
#[derive(Debug, Error)]
#[error("can't write '{}': {source}", path.display())]
pub struct ReportError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// Writes the results of a run to a folder, which is created if needed (see [`OutFolder`](crate::OutFolder)):
///
/// - `stats.json`, `stats.csv`, `stats.parquet`: every statistic. They hold simulated facts only, which do not depend
///   on the number of threads;
/// - `summary.json`: the summary; `report.html`: the summary as a page;
/// - `run.json`: what was run, and facts about the simulation itself, such as its wall time;
/// - `machine.toml`: the machine, with everything it extends and every change;
/// - `plan.json`: its elements and wires, for programs that draw it;
/// - `trace.json`, if a trace was recorded: opens in ui.perfetto.dev.
pub fn write(folder: &Path, subject: &Subject) -> Result<(), ReportError> {
    fs::create_dir_all(folder).map_err(|source| ReportError { path: folder.to_owned(), source })?;
    let summary = Summary::of(subject);
    let measured = subject.measured();
    let shown = Subject { run: &measured, ..*subject };
    let regions = simulated(subject.run);
    let identity = subject.identity().to_string();
    let rows = rows::rows(&identity, &regions);
    file(folder, "stats.json", stats_json(subject.run.end, &regions).as_bytes())?;
    file(folder, "stats.csv", &rows::csv(&rows))?;
    file(folder, "stats.parquet", &parquet::render(subject, &rows))?;
    file(folder, "summary.json", &json(&summary))?;
    file(folder, "machine.toml", subject.machine.resolved.as_bytes())?;
    file(folder, "plan.json", line(&drawing::plan_file(subject.machine)).as_bytes())?;
    file(folder, "run.json", &json(&RunFile::of(subject)))?;
    if !subject.run.trace.is_empty() {
        file(folder, "trace.json", &perfetto::render(&subject.run.trace))?;
    }
    file(folder, "report.html", html::page(&shown, &summary).as_bytes())
}

/// `stats.json`: simulated facts only; a line for each statistic.
fn stats_json(end: Time, regions: &[(String, Region)]) -> String {
    let regions = regions.iter().map(|(_, region)| {
        let lines = region.statistics.0.iter().map(|(path, value)| format!("{}:{}", line(path), line(value)));
        let lines: Vec<String> = lines.collect();
        let (name, start, end) = (line(&region.name), region.start.0, region.end.0);
        format!("{{\"name\":{name},\"start\":{start},\"end\":{end},\"statistics\":{{\n{}\n}}}}", lines.join(",\n"))
    });
    let regions: Vec<String> = regions.collect();
    format!("{{\"time_fs\":{},\"regions\":[\n{}\n]}}\n", end.0, regions.join(",\n"))
}

/// `run.json`: what was run, and facts about the simulation itself.
#[derive(Serialize)]
struct RunFile<'a> {
    version: &'static str,
    identity: String,
    program: &'a crate::Program,
    arguments: &'a [String],
    system: &'a str,
    outcome: String,
    total_fs: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fast_forward: Option<crate::FastForward>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drained: Option<&'a machine::checkpoint::Parts>,
    host: crate::HostFacts,
    events: u64,
}

impl<'a> RunFile<'a> {
    fn of(subject: &Subject<'a>) -> Self {
        Self {
            version: VERSION,
            identity: subject.identity().to_string(),
            program: subject.program,
            arguments: subject.arguments,
            system: &subject.machine.name,
            outcome: subject.run.outcome.to_string(),
            total_fs: subject.total.0,
            fast_forward: subject.forwarded.map(Into::into),
            drained: subject.drained(),
            host: subject.host,
            events: subject.run.events,
        }
    }
}

/// The regions of a run with their names, without statistics of the checker (which is not part of the machine) and of
/// elements that were never active.
fn simulated(run: &Run) -> Vec<(String, Region)> {
    let kept = |region: &Region| {
        let kept = region.statistics.0.iter().filter(|(path, value)| !path.starts_with("check") && !is_nothing(value));
        let statistics = Statistics(kept.map(|(path, value)| (path.clone(), value.clone())).collect());
        Region { name: region.name.clone(), start: region.start, end: region.end, statistics }
    };
    let named = |(number, region): (usize, &Region)| (format!("{number} {}", region.name), kept(region));
    run.regions.iter().enumerate().map(named).collect()
}

/// Whether a statistic counted nothing.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Count(n) => *n == 0,
        Value::Histogram { count, .. } => *count == 0,
        Value::Level { area, max, .. } => *area == 0 && *max == 0,
        Value::Matrix { counts, .. } => counts.iter().all(|n| *n == 0),
        Value::Series(spans) => spans.sums.is_empty(),
        Value::Energy { passive, active } => *passive == 0 && *active == 0,
    }
}

const WRITABLE: &str = "what is reported has text keys and finite numbers";

/// The value as JSON on one line.
pub(crate) fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect(WRITABLE)
}

pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect(WRITABLE);
    text.push(b'\n');
    text
}

pub(crate) fn file(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), ReportError> {
    let path = folder.join(name);
    fs::write(&path, bytes).map_err(|source| ReportError { path, source })
}
