//! `cohesim sdk`: the library that programs link with to run inside cohesim.

use crate::{files, ui::Ui};
use miette::{IntoDiagnostic, WrapErr, miette};
use serde::Serialize;
use std::{
    fs,
    path::{Path, PathBuf},
};

const LIBRARY: &[u8] = include_bytes!("../../../sdk/libOpenCL.a");
const SHARED: &[u8] = os::files::OPENCL;
const README: &str = include_str!("../../../sdk/README.md");
const PKG_CONFIG: &str = include_str!("../../../sdk/OpenCL.pc.in");

/// Write the OpenCL library that programs are linked with.
///
/// DIR gets libOpenCL.a and libOpenCL.so.1, a file for pkg-config, and a README that says how to link and what works. With
/// --pkg-config only the options for gcc are printed, for use in a command: make LDLIBS="$(cohesim sdk --pkg-config)", or, for a
/// Makefile that names -lOpenCL itself, make CC="gcc $(cohesim sdk --pkg-config)".
#[derive(clap::Args)]
pub struct Sdk {
    /// The folder, created if it does not exist [default with --pkg-config: cohesim/sdk in the user's cache].
    #[arg(value_name = "DIR", required_unless_present = "pkg_config")]
    folder: Option<PathBuf>,
    /// Print only the options with which gcc links a program.
    #[arg(long)]
    pkg_config: bool,
    /// With --pkg-config: link dynamically; the program then runs with --host-libraries or --root.
    #[arg(long, requires = "pkg_config")]
    dynamic: bool,
}

#[derive(Serialize)]
struct UnpackedSdk {
    files: Vec<PathBuf>,
    link: String,
}

impl Sdk {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let folder = match &self.folder {
            Some(folder) => folder.clone(),
            None => default_folder()?,
        };
        fs::create_dir_all(&folder)
            .into_diagnostic()
            .wrap_err_with(|| format!("can't make the folder '{}'", folder.display()))?;
        let folder = folder.canonicalize().into_diagnostic()?;
        let name = folder.display().to_string();
        let written = write(&folder, &name)?;
        if self.pkg_config {
            let link = options(&name, self.dynamic);
            ui.print(&format!("{link}\n"))?;
            return ui.report(&UnpackedSdk { files: written, link });
        }
        let link = format!("gcc -O2 prog.c -o prog {}", options(&name, false));
        ui.print(&format!("{name}: libOpenCL.a, libOpenCL.so.1, OpenCL.pc, README.md\nlink with: {link}\n"))?;
        ui.report(&UnpackedSdk { files: written, link })
    }
}

/// The gcc options to link with the library in a folder. Special characters are quoted for a shell.
fn options(folder: &str, dynamic: bool) -> String {
    let plain = folder.chars().all(|letter| letter.is_alphanumeric() || "/._-+".contains(letter));
    let place = if plain { format!("-L{folder}") } else { format!("'-L{}'", folder.replace('\'', "'\\''")) };
    format!("{}{place} -lOpenCL -pthread", if dynamic { "" } else { "-static " })
}

fn default_folder() -> miette::Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    let cache = cache.ok_or_else(|| miette!("neither XDG_CACHE_HOME nor HOME is set: name a folder"))?;
    Ok(cache.join("cohesim/sdk"))
}

fn write(folder: &Path, name: &str) -> miette::Result<Vec<PathBuf>> {
    let contents = [
        ("libOpenCL.a", LIBRARY.to_vec()),
        ("libOpenCL.so.1", SHARED.to_vec()),
        ("OpenCL.pc", PKG_CONFIG.replace("@FOLDER@", name).into_bytes()),
        ("README.md", README.replace("DIR", name).into_bytes()),
    ];
    let mut written = Vec::new();
    for (file, bytes) in contents {
        let path = folder.join(file);
        // An existing file may be in use by another make.
        if fs::read(&path).ok().as_ref() != Some(&bytes) {
            files::write(&path, &bytes)?;
        }
        written.push(path);
    }
    // The name by which linkers find a shared library.
    let link = folder.join("libOpenCL.so");
    if fs::read_link(&link).ok().as_deref() != Some(Path::new("libOpenCL.so.1")) {
        let partial = files::Partial::beside(&link);
        std::os::unix::fs::symlink("libOpenCL.so.1", partial.path())
            .into_diagnostic()
            .and_then(|()| partial.finish())
            .wrap_err_with(|| format!("can't write '{}'", link.display()))?;
    }
    written.push(link);
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_for_gcc_survive_a_shell() {
        assert_eq!(options("/opt/sdk", false), "-static -L/opt/sdk -lOpenCL -pthread");
        assert_eq!(options("/my sdk", true), "'-L/my sdk' -lOpenCL -pthread");
    }
}
