//! Machine files: built from parts, layered over each other, changed by `--set`, and read section by section.
//!
//! A section's keys come from three sources, each overriding the ones before: the machine that the file extends, the
//! part that the section names (`part = "r9nano"`), and the file's own keys. Changes on the command line form the last
//! layer. Errors say where the mistake stands and, for a wrong name, the nearest valid one. Keys without effect are
//! reported as well (see [`effect`]).

mod effect;
mod error;
mod section;
mod shipped;
mod source;

pub(crate) use effect::Because;
pub use effect::Idle;
pub use error::MachineError;
pub(crate) use error::did_you_mean;
pub use shipped::{about_part, shipped, shipped_parts};
pub(crate) use source::{Kind, Layer, join};

use effect::Idleness;
use source::Source;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use toml::{Table, Value};

/// The layers of a machine's files and `--set` options, before the machine is read from them.
pub struct File {
    pub name: String,
    pub(crate) table: Table,
    /// Later layers override earlier ones.
    pub(crate) layers: Vec<Layer>,
    /// Number of machine files added so far.
    rank: usize,
    /// Sections that have been read.
    read: BTreeSet<String>,
    /// Keys and sections without effect on this machine.
    idle: Vec<Idleness>,
}

impl File {
    /// Loads a shipped machine by name, or a machine from a file, with `changes` such as `gpu.l2.size=4MiB`.
    pub fn load(name: &str, changes: &[String]) -> Result<Self, MachineError> {
        let mut file = Self {
            name: name.to_owned(),
            table: Table::new(),
            layers: Vec::new(),
            rank: 0,
            read: BTreeSet::new(),
            idle: Vec::new(),
        };
        file.machine(name, &mut Vec::new())?;
        let changes = source::changes(changes, file.rank + 1)?;
        if changes.table.contains_key("extends") {
            let reason = "'extends' stands in a machine file; --system names the machine".to_owned();
            return Err(MachineError::Wrong { place: changes.place("extends"), reason });
        }
        file.lay(changes, "", &mut Vec::new())?;
        Ok(file)
    }

    /// Adds a machine file as a layer over the machines that it extends.
    fn machine(&mut self, name: &str, extending: &mut Vec<PathBuf>) -> Result<(), MachineError> {
        let (text, path) = shipped::machine(name)?;
        // Several paths may lead to one file.
        let file = path.and_then(|path| path.canonicalize().ok()).unwrap_or_else(|| PathBuf::from(name));
        if extending.contains(&file) {
            return Err(MachineError::Circle { name: name.to_owned() });
        }
        extending.push(file);
        let folder = path.and_then(Path::parent).map(Path::to_owned).unwrap_or_default();
        let layer = source::layer(name.to_owned(), text, "", Kind::Machine, 0);
        let mut source = Source::parse(layer, folder)?;
        match source.table.remove("extends") {
            Some(Value::String(base)) => {
                // A path is relative to the file, as with parts, or to the current folder of the command.
                let beside: PathBuf = source.folder.join(&base).components().collect();
                let is_path = base.contains('/') || base.ends_with(".toml");
                let base = if is_path && beside.exists() { beside.display().to_string() } else { base };
                self.machine(&base, extending)?;
            }
            Some(_) => {
                let reason = "'extends' names a machine, in quotes".to_owned();
                return Err(MachineError::Wrong { place: source.place("extends"), reason });
            }
            None => {}
        }
        self.rank += 1;
        source.layers[0].rank = self.rank;
        self.lay(source, "", &mut Vec::new())
    }

    /// Adds keys over the section `at`: first the parts that they name, outer sections first, then the keys themselves.
    /// `within` are the parts that enclose this one.
    fn lay(&mut self, mut source: Source, at: &str, within: &mut Vec<PathBuf>) -> Result<(), MachineError> {
        let mut table = std::mem::take(&mut source.table);
        self.lay_parts(&mut table, &source, at, within)?;
        let mut below = &mut self.table;
        for key in at.split('.').filter(|key| !key.is_empty()) {
            let next = below.entry(key).or_insert_with(|| Value::Table(Table::new()));
            let is_value = || wrong(&source, at, format!("'{key}' is a value, not a section"));
            below = next.as_table_mut().ok_or_else(is_value)?;
        }
        merge(below, table, at, &source)?;
        self.layers.append(&mut source.layers);
        Ok(())
    }

    fn lay_parts(
        &mut self,
        table: &mut Table,
        source: &Source,
        at: &str,
        within: &mut Vec<PathBuf>,
    ) -> Result<(), MachineError> {
        if let Some(part) = table.remove("part") {
            let (part, path) = self.part(&part, source, at)?;
            if within.contains(&path) {
                let reason = format!("[{at}] part: '{}' is a part of itself", part.layers[0].name);
                return Err(wrong(source, &join(at, "part"), reason));
            }
            within.push(path);
            self.lay(part, at, within)?;
            within.pop();
        }
        for (key, value) in table.iter_mut() {
            if let Value::Table(section) = value {
                self.lay_parts(section, source, &join(at, key), within)?;
            }
        }
        Ok(())
    }

    /// The part of this name for the section `at`, and its file: a shipped part, or a path.
    fn part(&self, name: &Value, source: &Source, at: &str) -> Result<(Source, PathBuf), MachineError> {
        let place = join(at, "part");
        if at.is_empty() {
            let reason = "part: sections are made from parts (gpu.part, memory.part); a machine 'extends' another";
            return Err(wrong(source, &place, reason.to_owned()));
        }
        let section = at.rsplit('.').next().unwrap_or(at);
        let known = shipped::parts_for(section);
        let Value::String(name) = name else {
            return Err(wrong(source, &place, format!("[{at}] part: names a part, in quotes{}", listed(&known))));
        };
        let rank = source.layers.last().map_or(0, |layer| layer.rank);
        let (called, text, folder, path) = if name.contains('/') || name.ends_with(".toml") {
            let path: PathBuf = source.folder.join(name).components().collect();
            let text = shipped::read(&path).map_err(|error| wrong(source, &place, format!("[{at}] part: {error}")))?;
            let folder = path.parent().map(Path::to_owned).unwrap_or_default();
            (path.display().to_string(), text, folder, path.canonicalize().unwrap_or(path))
        } else {
            let Some(text) = shipped::part(section, name) else {
                return Err(wrong(source, &place, no_part(name, at, section, &known)));
            };
            let called = format!("{section}/{name}");
            (called.clone(), text.to_owned(), PathBuf::new(), PathBuf::from(called))
        };
        let part = Source::parse(source::layer(called, text, at, Kind::Part, rank), folder)?;
        if part.table.contains_key("extends") {
            let reason =
                "a part does not extend a machine; it can be made from another part: part = \"NAME\"".to_owned();
            return Err(wrong(&part, &join(at, "extends"), reason));
        }
        Ok((part, path))
    }

    /// The complete machine as one file: with everything it extends, its parts and every change. After the machine has
    /// been read, keys without effect are left out.
    pub fn resolved(&self) -> String {
        let table = self.effective(&self.table, "");
        toml::to_string_pretty(&table).expect("what was read from TOML can be written as TOML")
    }
}

fn wrong(source: &Source, path: &str, reason: String) -> MachineError {
    MachineError::Wrong { place: source.place(path), reason }
}

fn listed(known: &[&str]) -> String {
    if known.is_empty() { String::new() } else { format!("; parts for it: {}", known.join(", ")) }
}

/// The error message for a part that does not exist or belongs to another section.
fn no_part(name: &str, at: &str, section: &str, known: &[&str]) -> String {
    let elsewhere: Vec<String> =
        shipped_parts().filter(|(_, part)| *part == name).map(|(of, _)| format!("[{of}]")).collect();
    let hint = match elsewhere.as_slice() {
        [] => did_you_mean(name, known),
        sections => format!(" (it is one for {})", sections.join(" and ")),
    };
    let list = if known.is_empty() {
        format!("; no parts for [{section}] come with cohesim: write the path of a file, \"./NAME.toml\"")
    } else {
        format!("{}, or the path of a file", listed(known))
    };
    format!("[{at}] part: there is no part '{name}' for [{at}]{hint}{list}")
}

/// Merges `over` into `table`, the section `at`, section by section.
fn merge(table: &mut Table, over: Table, at: &str, source: &Source) -> Result<(), MachineError> {
    for (key, value) in over {
        let path = join(at, &key);
        match (table.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(over)) => merge(below, over, &path, source)?,
            (Some(Value::Table(_)), _) => {
                return Err(wrong(source, &path, format!("'{key}' is a section, not a value")));
            }
            (Some(_), Value::Table(_)) => {
                return Err(wrong(source, &path, format!("'{key}' is a value, not a section")));
            }
            (_, value) => _ = table.insert(key, value),
        }
    }
    Ok(())
}
