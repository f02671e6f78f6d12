//! Files that the commands read and write.

use gcn3::object::CodeObject;
use miette::{IntoDiagnostic, WrapErr};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Reads a file; the error names it.
pub fn read(path: &Path) -> miette::Result<Vec<u8>> {
    fs::read(path).into_diagnostic().wrap_err_with(|| format!("can't read '{}'", path.display()))
}

/// Reads a code object; the error names the file.
pub fn read_code_object(path: &Path) -> miette::Result<CodeObject> {
    let file = read(path)?;
    CodeObject::parse(&file).into_diagnostic().wrap_err_with(|| format!("can't use '{}'", path.display()))
}

/// Writes a file atomically: it is complete or absent.
pub fn write(path: &Path, bytes: &[u8]) -> miette::Result<()> {
    let partial = Partial::beside(path);
    fs::write(partial.path(), bytes)
        .into_diagnostic()
        .and_then(|()| partial.finish())
        .wrap_err_with(|| format!("can't write '{}'", path.display()))
}

/// A temporary file: it is renamed to its target when finished, and removed otherwise.
pub struct Partial {
    path: PathBuf,
    target: PathBuf,
}

impl Partial {
    /// A temporary path in the target's folder, so that finishing is a single rename.
    pub fn beside(target: &Path) -> Partial {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = target.with_file_name(format!(".{name}.{}.partial", std::process::id()));
        Partial { path, target: target.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn finish(self) -> miette::Result<()> {
        fs::rename(&self.path, &self.target).into_diagnostic()
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After finishing there is nothing left to remove.
        let _ = fs::remove_file(&self.path);
    }
}
