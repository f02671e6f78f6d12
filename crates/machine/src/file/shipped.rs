//! Machines and parts that ship with cohesim, collected from `machines/` by the build script.

use super::{MachineError, error::nearest};
use std::{fs, io::Read, path::Path};

/// Maximum size of a machine file.
const MOST_BYTES: u64 = 1 << 20;

include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// Names of the shipped machines.
pub fn shipped() -> impl Iterator<Item = &'static str> {
    MACHINES.iter().map(|(name, _)| *name)
}

/// Shipped parts: the section that each is for, and its name.
pub fn shipped_parts() -> impl Iterator<Item = (&'static str, &'static str)> {
    PARTS.iter().map(|(section, name, _)| (*section, *name))
}

/// Description of a shipped part: the first sentence of its file.
pub fn about_part(section: &str, name: &str) -> String {
    let head = part(section, name).unwrap_or_default().lines().map_while(|line| line.strip_prefix('#'));
    let text = head.map(str::trim).collect::<Vec<_>>().join(" ");
    text.split_once(". ").map_or(text.trim_end_matches('.'), |(first, _)| first).to_owned()
}

/// Names of the shipped parts for a section.
pub(super) fn parts_for(section: &str) -> Vec<&'static str> {
    shipped_parts().filter(|(of, _)| *of == section).map(|(_, name)| name).collect()
}

/// The text of the shipped part with this name for this section.
pub(super) fn part(section: &str, name: &str) -> Option<&'static str> {
    PARTS.iter().find(|(of, part, _)| (*of, *part) == (section, name)).map(|(.., text)| *text)
}

/// The text of a machine, and its path unless it is a shipped one.
pub(super) fn machine(name: &str) -> Result<(String, Option<&Path>), MachineError> {
    if let Some((_, text)) = MACHINES.iter().find(|(shipped, _)| *shipped == name) {
        return Ok(((*text).to_owned(), None));
    }
    let path = Path::new(name);
    if name.ends_with(".toml") || path.exists() {
        return Ok((read(path)?, Some(path)));
    }
    let known: Vec<String> = shipped().map(str::to_owned).collect();
    let names: Vec<&str> = shipped().collect();
    Err(MachineError::Unknown { name: name.to_owned(), nearest: nearest(name, &names).map(str::to_owned), known })
}

pub(super) fn read(path: &Path) -> Result<String, MachineError> {
    let unreadable = |error: std::io::Error| MachineError::Unreadable {
        path: path.display().to_string(),
        reason: error.to_string(),
    };
    let mut text = String::new();
    let mut file = fs::File::open(path).map_err(unreadable)?.take(MOST_BYTES + 1);
    file.read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MOST_BYTES {
        let reason = format!("is longer than {MOST_BYTES} B, and so no machine file");
        return Err(MachineError::Unreadable { path: path.display().to_string(), reason });
    }
    Ok(text)
}
