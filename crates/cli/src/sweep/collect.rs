//! One table of all runs of a sweep: their parameters and results. It holds simulated facts only, in the order of the
//! sweep, so it does not depend on which process executed which run.

use super::{store::Store, task::Task};
use miette::{IntoDiagnostic, WrapErr, miette};
use serde_json::Value;
use std::{fs, path::Path};

/// Figures of a summary, by their paths in it.
const FIGURES: [(&str, &str); 8] = [
    ("total_fs", "/total_fs"),
    ("kernel_fs", "/kernel_fs"),
    ("kernel_cycles", "/kernel_cycles"),
    ("wave_instructions", "/wave_instructions"),
    ("cpu_instructions", "/cores/instructions"),
    ("memory_bytes", "/memory/bytes"),
    ("memory_reads", "/memory/reads"),
    ("memory_writes", "/memory/writes"),
];

pub struct Collected {
    pub heads: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// The table of the completed runs.
pub fn table(
    store: &Store,
    tasks: &[(String, Task)],
    columns: &(Vec<String>, Vec<String>),
) -> miette::Result<Collected> {
    let summaries = tasks.iter().filter(|(key, _)| store.run(key).join("run.json").is_file()).map(|(key, task)| {
        let read = |name: &str| -> miette::Result<Value> {
            let path = store.run(key).join(name);
            let unreadable = || format!("the result of '{task}' can't be read: {}", path.display());
            let text = fs::read(&path).into_diagnostic().wrap_err_with(unreadable)?;
            serde_json::from_slice(&text).into_diagnostic().wrap_err_with(unreadable)
        };
        // The run is called as its statistics call it.
        let identity = read("run.json")?["identity"].as_str().unwrap_or_default().to_owned();
        Ok((key, identity, task, read("summary.json")?))
    });
    let summaries = summaries.collect::<miette::Result<Vec<_>>>()?;
    // The causes of moved bytes that occur in any run.
    let causes = summaries.iter().filter_map(|(.., summary)| summary["moved"].as_object());
    let mut causes: Vec<String> = causes.flat_map(|moved| moved.keys().cloned()).collect();
    causes.sort();
    causes.dedup();
    let mut heads: Vec<String> = ["run", "key", "program", "system"].map(str::to_owned).into();
    heads.extend(columns.0.iter().chain(&columns.1).cloned());
    heads.push("outcome".into());
    heads.extend(FIGURES.map(|(name, _)| name.to_owned()));
    heads.extend(causes.iter().map(|cause| format!("moved_{}", cause.replace(' ', "_"))));
    let rows = summaries.iter().map(|(key, identity, task, summary)| {
        let text = |value: Option<&Value>| match value {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        let mut row = vec![identity.clone(), (*key).clone(), task.program.clone(), task.system.clone()];
        row.extend(task.sets.iter().chain(&task.arguments).map(|(_, value)| value.clone()));
        row.push(text(summary.get("outcome")));
        row.extend(FIGURES.map(|(_, place)| text(summary.pointer(place))));
        row.extend(causes.iter().map(|cause| summary["moved"].get(cause).map_or("0".to_owned(), |n| text(Some(n)))));
        row
    });
    Ok(Collected { rows: rows.collect(), heads })
}

impl Collected {
    pub fn csv(&self) -> miette::Result<Vec<u8>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for row in std::iter::once(&self.heads).chain(&self.rows) {
            writer.write_record(row).into_diagnostic()?;
        }
        writer.into_inner().map_err(|error| miette!("the table can't be written: {error}"))
    }

    /// Writes `runs.csv`, and `stats.parquet` with every statistic of every run.
    pub fn write(&self, store: &Store, folder: &Path) -> miette::Result<()> {
        let unwritable = || format!("can't write to '{}'", folder.display());
        fs::create_dir_all(folder).into_diagnostic().wrap_err_with(unwritable)?;
        crate::files::write(&folder.join("runs.csv"), &self.csv()?)?;
        let files: Vec<_> = self.rows.iter().map(|row| store.run(&row[1]).join("stats.parquet")).collect();
        report::join_parquet(&files, &folder.join("stats.parquet")).into_diagnostic().wrap_err_with(unwritable)
    }
}
