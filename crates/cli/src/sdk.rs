//! `cohesim sdk`: what a program is linked with to run inside cohesim.

use crate::{files, ui::Ui};
use miette::{IntoDiagnostic, WrapErr};
use serde::Serialize;
use std::{fs, path::PathBuf};

const LIBRARY: &[u8] = include_bytes!("../../../sdk/libOpenCL.a");
const README: &str = include_str!("../../../sdk/README.md");
const PKG_CONFIG: &str = include_str!("../../../sdk/OpenCL.pc.in");

/// Write the OpenCL library that programs are linked with.
///
/// DIR gets libOpenCL.a, a file for pkg-config, and a README that says how to link and what works.
#[derive(clap::Args)]
pub struct Sdk {
    /// The folder; it is made if it is not there.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

#[derive(Serialize)]
struct Report {
    files: Vec<PathBuf>,
    link: String,
}

impl Sdk {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        fs::create_dir_all(&self.folder)
            .into_diagnostic()
            .wrap_err_with(|| format!("can't make the folder '{}'", self.folder.display()))?;
        let folder = self.folder.canonicalize().into_diagnostic()?;
        let name = folder.display().to_string();
        let contents = [
            ("libOpenCL.a", LIBRARY.to_vec()),
            ("OpenCL.pc", PKG_CONFIG.replace("@FOLDER@", &name).into_bytes()),
            ("README.md", README.replace("DIR", &name).into_bytes()),
        ];
        let mut written = Vec::new();
        for (file, bytes) in contents {
            let path = folder.join(file);
            files::write(&path, &bytes)?;
            written.push(path);
        }
        let link = format!("gcc -O2 -static prog.c -o prog -L {name} -lOpenCL -pthread");
        ui.print(&format!("{name}: libOpenCL.a, OpenCL.pc, README.md\nlink with: {link}\n"))?;
        ui.report(&Report { files: written, link })
    }
}
