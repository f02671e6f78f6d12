//! `cohesim list workloads`: the names of the built-in workloads.

use miette::IntoDiagnostic;
use serde::Serialize;
use workloads::ALL;

use crate::ui::Ui;

/// List the built-in workloads.
#[derive(clap::Args)]
pub struct ListWorkloads {}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    about: &'static str,
}

impl ListWorkloads {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        if ui.json {
            let workloads: Vec<_> = ALL.iter().map(|w| Listed { name: w.name, about: w.about }).collect();
            let all = serde_json::json!({ "workloads": workloads });
            println!("{}", serde_json::to_string_pretty(&all).into_diagnostic()?);
        } else {
            for workload in ALL {
                println!("{:17} {}", workload.name, workload.about);
            }
        }
        Ok(())
    }
}
