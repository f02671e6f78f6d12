//! `cohesim view`: shows results of runs in the browser.

use crate::{bench::engine::knightsim, repro::simulator, ui::Ui};
use figures::{Options, Size, Store};
use miette::{IntoDiagnostic, WrapErr, bail, miette};
use serde_json::{Value, json};
use std::path::PathBuf;
use viewer::{Experiment, Server, View};

/// Show results in a browser: lists of runs, comparisons, one run with its machine and time line, and experiments
/// beside their papers.
///
/// Reads the folders that `--out` of run, compare and repro has written, and the stores of sweeps and of repro. The
/// page is served to this computer only, changes no files, and loads nothing from the network. Ctrl-C ends the command.
#[derive(clap::Args)]
pub struct ViewCommand {
    /// Folders that are searched for results, with their subfolders [default: repro's store].
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// The port of the page's address; 0 takes one that is free.
    #[arg(long, default_value = "7878")]
    port: u16,
}

impl ViewCommand {
    pub fn run(self, ui: &Ui) -> miette::Result<()> {
        let mut folders = Vec::new();
        for folder in &self.folders {
            let found = folder.canonicalize().into_diagnostic();
            let found = found.wrap_err_with(|| format!("results can't be read in '{}'", folder.display()))?;
            if !found.is_dir() {
                bail!(
                    "'{}' is not a folder: name one that --out has written, or one that contains such folders",
                    folder.display()
                );
            }
            folders.push(found);
        }
        let kept = Store::default_folder();
        if folders.is_empty() {
            let none = || miette!("there is no folder of stored results here: name one, as in `cohesim view results`");
            folders.push(kept.clone().ok_or_else(none)?);
        }
        // Results of repro's store are found in the named folders and in its default folder.
        let simulator = simulator()?;
        let stores: Vec<Store> =
            folders.iter().cloned().chain(kept).map(|folder| Store::new(folder, &simulator)).collect();
        let recall = move |name: &str, size: &str| recalled(&stores, name, size);
        let listed = |name: &str, about: &str, source: &str, kept| {
            let [name, about, source] = [name, about, source].map(str::to_owned);
            Experiment { name, about, source, kept }
        };
        let of_engine = knightsim::ALL.iter().map(|one| listed(one.name, one.about, one.source, false));
        let experiments = of_engine.chain(figures::ALL.iter().map(|one| listed(one.name, one.about, one.source, true)));
        let view = View { folders, experiments: experiments.collect(), recall: Box::new(recall) };
        let server = Server::bind(view, self.port).map_err(|error| {
            let help = "another `cohesim view` may use it: --port 0 takes a free port";
            miette!(help = help, "port {} of this computer can't be opened: {error}", self.port)
        })?;
        let (address, runs) = (format!("http://{}/", server.address()), server.runs());
        ui.print(&format!("{runs} runs to look at: {address} (Ctrl-C ends it)\n"))?;
        ui.report(&json!({ "address": address, "runs": runs }))?;
        server.run().into_diagnostic()
    }
}

/// The findings of an experiment from stored results, in the store that has most of them.
fn recalled(stores: &[Store], name: &str, size: &str) -> Option<Value> {
    let experiment = figures::find(name)?;
    let size = match size {
        "quick" => Size::Quick,
        "scaled" => Size::Scaled,
        "paper" => Size::Paper,
        _ => return None,
    };
    let found = stores.iter().map(|store| figures::recall(experiment, Options { size, native: false }, store));
    let found = found.min_by_key(|recalled| recalled.missing)?;
    let (rows, notes) = (&found.findings.rows, &found.findings.notes);
    Some(json!({ "rows": rows, "notes": notes, "runs": found.runs, "missing": found.missing }))
}
