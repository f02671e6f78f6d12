//! The file that an interrupted `cohesim compare` leaves in its folder, so that the same command can continue: the
//! summaries of the finished machines, whose files lie beside it.

use crate::{files, guest::GuestOptions, repro::simulator};
use machine::Machine;
use miette::{IntoDiagnostic, WrapErr};
use report::Summary;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{fs, io, os::unix::ffi::OsStrExt, path::Path};

/// TOML keeps every floating-point number as it is.
const FILE: &str = "unfinished.toml";

#[derive(Default, Serialize, Deserialize)]
pub struct Unfinished {
    /// A digest of this program, the command, the folder that it was given in, the guest program and the machines.
    key: String,
    machines: Vec<Summary>,
}

impl Unfinished {
    /// A comparison without finished machines.
    pub fn new(guest: &GuestOptions, machines: &[Machine]) -> miette::Result<Self> {
        let mut hash = Sha256::new();
        // Each part is preceded by its length, so that different lists never give the same bytes.
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        part(&simulator()?);
        part(std::env::current_dir().unwrap_or_default().as_os_str().as_bytes());
        std::env::args_os().skip(1).for_each(|word| part(word.as_bytes()));
        part(&guest.image()?.0);
        machines.iter().for_each(|machine| part(machine.resolved.as_bytes()));
        let key = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { key, machines: Vec::new() })
    }

    /// Takes over the finished machines from a folder in which the same command was interrupted.
    pub fn go_on(&mut self, folder: &Path) {
        let left = fs::read_to_string(folder.join(FILE)).ok().and_then(|text| toml::from_str(&text).ok());
        if let Some(Self { key, machines }) = left.filter(|left: &Self| left.key == self.key) {
            *self = Self { key, machines };
        }
    }

    pub fn of(&self, machine: &str) -> Option<&Summary> {
        self.machines.iter().find(|summary| summary.system == machine)
    }

    /// Copies the files of the finished machines from one folder to another.
    pub fn keep_files(&self, from: &Path, to: &Path) -> io::Result<()> {
        for summary in &self.machines {
            let (from, to) = (from.join(&summary.system), to.join(&summary.system));
            fs::create_dir_all(&to)?;
            for entry in fs::read_dir(from)? {
                let entry = entry?;
                fs::copy(entry.path(), to.join(entry.file_name()))?;
            }
        }
        Ok(())
    }

    /// Writes the summaries of the finished machines to a folder.
    pub fn write(self, folder: &Path, machines: Vec<Summary>) -> miette::Result<()> {
        let text = toml::to_string(&Self { machines, ..self }).into_diagnostic();
        files::write(
            &folder.join(FILE),
            text.wrap_err("the finished machines can't be kept for the next command")?.as_bytes(),
        )
    }
}
