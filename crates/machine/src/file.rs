//! Machine files: found, laid over each other, changed by `--set`, and read section by section.
//!
//! A file may extend another by name. What is wrong is told with the place where it stands, and if a name is wrong, with
//! the nearest one that would be right.

use crate::bounds;
use serde::de::DeserializeOwned;
use std::{collections::BTreeSet, fs, path::Path};
use thiserror::Error;
use toml::{Table, Value};

/// The machines that come with cohesim: name and file.
const SHIPPED: &[(&str, &str)] = &[
    ("apu-c-l3", include_str!("../../../machines/apu-c-l3.toml")),
    ("apu-c-mc", include_str!("../../../machines/apu-c-mc.toml")),
    ("apu-nc-l3", include_str!("../../../machines/apu-nc-l3.toml")),
    ("apu-nc-mc", include_str!("../../../machines/apu-nc-mc.toml")),
    ("apu4-c-l3", include_str!("../../../machines/apu4-c-l3.toml")),
    ("apu4-c-mc", include_str!("../../../machines/apu4-c-mc.toml")),
    ("apu4-nc-l3", include_str!("../../../machines/apu4-nc-l3.toml")),
    ("apu4-nc-mc", include_str!("../../../machines/apu4-nc-mc.toml")),
    ("halcone-gpu", include_str!("../../../machines/halcone-gpu.toml")),
    ("hd7850", include_str!("../../../machines/hd7850.toml")),
    ("mini-gtsc", include_str!("../../../machines/mini-gtsc.toml")),
    ("mini-halcone", include_str!("../../../machines/mini-halcone.toml")),
    ("mini-hmg", include_str!("../../../machines/mini-hmg.toml")),
    ("mini-nmoesi", include_str!("../../../machines/mini-nmoesi.toml")),
    ("r9nano", include_str!("../../../machines/r9nano.toml")),
    ("r9nano-hbm", include_str!("../../../machines/r9nano-hbm.toml")),
    ("skeleton", include_str!("../../../machines/skeleton.toml")),
    ("virtual-cache-gpu", include_str!("../../../machines/virtual-cache-gpu.toml")),
];

/// A machine can't be had.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MachineError {
    #[error("there is no machine '{name}'{}; machines: {}, or the path of a file", meant(.nearest), .known.join(", "))]
    Unknown { name: String, nearest: Option<String>, known: Vec<String> },
    #[error("{path}: {reason}")]
    Unreadable { path: String, reason: String },
    #[error("'{name}' extends itself")]
    Circle { name: String },
    #[error("--set {text}: {reason}")]
    Set { text: String, reason: String },
    #[error("{place}: {reason}")]
    Wrong { place: String, reason: String },
}

fn meant(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!(" (did you mean '{name}'?)")).unwrap_or_default()
}

/// One source of keys: a file, or a `--set`.
pub(crate) struct Layer {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Layer {
    /// The line on which a key of a section (or the section) stands.
    pub(crate) fn line_of(&self, path: &str, key: Option<&str>) -> Option<usize> {
        line_of(&self.text, path, key)
    }
}

/// A machine as its files and `--set` say, not yet read.
pub struct File {
    pub name: String,
    pub(crate) table: Table,
    /// The most basic first.
    pub(crate) layers: Vec<Layer>,
    /// Sections that have been read.
    read: BTreeSet<String>,
}

/// The names of the machines that come with cohesim.
pub fn shipped() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name)
}

impl File {
    /// A machine that comes with cohesim by its name, or one in a file, with `changes` such as `gpu.l2.size=4MiB`.
    pub fn load(name: &str, changes: &[String]) -> Result<Self, MachineError> {
        let mut file = Self { name: name.to_owned(), table: Table::new(), layers: Vec::new(), read: BTreeSet::new() };
        file.lay(name, &mut Vec::new())?;
        for change in changes {
            file.set(change)?;
        }
        Ok(file)
    }

    fn lay(&mut self, name: &str, below: &mut Vec<String>) -> Result<(), MachineError> {
        if below.iter().any(|other| other == name) {
            return Err(MachineError::Circle { name: name.to_owned() });
        }
        below.push(name.to_owned());
        let text = source(name)?;
        let mut table: Table = text.parse().map_err(|error: toml::de::Error| wrong(name, &text, &error))?;
        match table.remove("extends") {
            Some(Value::String(base)) => self.lay(&base, below)?,
            Some(_) => {
                let reason = "'extends' names a machine, in quotes".to_owned();
                return Err(MachineError::Wrong { place: name.to_owned(), reason });
            }
            None => {}
        }
        merge(&mut self.table, table);
        self.layers.push(Layer { name: name.to_owned(), text });
        Ok(())
    }

    fn set(&mut self, change: &str) -> Result<(), MachineError> {
        let refused = |reason: &str| MachineError::Set { text: change.to_owned(), reason: reason.to_owned() };
        let (path, value) = change.split_once('=').ok_or_else(|| refused("write it as path=value"))?;
        let (path, value) = (path.trim(), value.trim());
        let mut keys: Vec<&str> = path.split('.').collect();
        if keys.iter().any(|key| key.is_empty()) {
            return Err(refused("a path is made of names with dots between them"));
        }
        // What is no TOML value is a text without its quotes.
        let parsed = format!("value = {value}").parse::<Table>().ok().and_then(|mut table| table.remove("value"));
        let value = parsed.unwrap_or_else(|| Value::String(value.to_owned()));
        let last = keys.pop().expect("a split has at least one part");
        let mut table = &mut self.table;
        for key in keys {
            let next = table.entry(key).or_insert_with(|| Value::Table(Table::new()));
            table = next.as_table_mut().ok_or_else(|| refused(&format!("'{key}' is a value, not a section")))?;
        }
        table.insert(last.to_owned(), value);
        self.layers.push(Layer { name: format!("--set {change}"), text: String::new() });
        Ok(())
    }

    /// Whether there is such a section.
    pub fn has(&self, path: &str) -> bool {
        let mut keys = path.split('.');
        keys.try_fold(&self.table, |table, key| table.get(key)?.as_table()).is_some()
    }

    /// Reads the values of a section: `gpu.l1`. Sections within it are not part of it; the root is "".
    pub fn section<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, MachineError> {
        let mut table = Some(&self.table);
        for key in path.split('.').filter(|key| !key.is_empty()) {
            table = table.and_then(|table| table.get(key)).and_then(Value::as_table);
        }
        let Some(table) = table else {
            return Err(MachineError::Wrong {
                place: self.name.clone(),
                reason: format!("section [{path}] is missing"),
            });
        };
        self.read.insert(path.to_owned());
        let values: Table = table.iter().filter(|(_, v)| !v.is_table()).map(|(k, v)| (k.clone(), v.clone())).collect();
        for (key, value) in &values {
            if let Some(reason) = bounds::too_large(path, key, value) {
                return Err(self.wrong(path, Some(key), reason));
            }
        }
        // One key at a time would lose "missing field": read all, and on an error find out which key it was.
        T::deserialize(Value::Table(values.clone())).map_err(|error| self.explain::<T>(path, &values, error.message()))
    }

    /// Refuses sections that nobody has read.
    pub fn finish(&self) -> Result<(), MachineError> {
        let mut unread = Vec::new();
        walk(&self.table, "", &mut |path| {
            if !self.read.contains(path) && !self.read.iter().any(|read| read.starts_with(&format!("{path}."))) {
                unread.push(path.to_owned());
            }
        });
        match unread.first() {
            None => Ok(()),
            Some(path) => {
                let names: Vec<&str> = self.read.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
                let nearest = nearest(path, &names).map(|name| format!("; did you mean [{name}]?")).unwrap_or_default();
                let reason = format!("there is no section [{path}]{nearest}");
                Err(MachineError::Wrong { place: self.place(path, None), reason })
            }
        }
    }

    fn explain<T: DeserializeOwned>(&self, path: &str, values: &Table, message: &str) -> MachineError {
        let quoted = |text: &str| text.split('`').nth(1).map(str::to_owned);
        if let Some(rest) = message.strip_prefix("unknown field ") {
            let key = quoted(rest).unwrap_or_default();
            let names: Vec<&str> = rest.split('`').skip(3).step_by(2).collect();
            let nearest = nearest(&key, &names).map(|name| format!(" (did you mean '{name}'?)")).unwrap_or_default();
            let reason = format!("{} has no key '{key}'{nearest}; its keys: {}", named(path), names.join(", "));
            return MachineError::Wrong { place: self.place(path, Some(&key)), reason };
        }
        // A value that can't be read: the one without which the message changes.
        let culprit = values.keys().find(|key| {
            let mut without = values.clone();
            without.remove(*key);
            T::deserialize(Value::Table(without)).err().is_some_and(|error| error.message() != message)
        });
        if let Some(rest) = message.strip_prefix("missing field ") {
            let reason = format!("{} lacks the key '{}'", named(path), quoted(rest).unwrap_or_default());
            return MachineError::Wrong { place: self.place(path, None), reason };
        }
        let key = culprit.cloned();
        self.wrong(path, key.as_deref(), message)
    }

    /// A value that is none of those that can be chosen.
    pub fn no_choice(&self, path: &str, key: &str, value: &str, choices: &[&str]) -> MachineError {
        let nearest = nearest(value, choices).map(|name| format!(" (did you mean '{name}'?)")).unwrap_or_default();
        self.wrong(path, Some(key), format!("must be one of {}{nearest}", choices.join(", ")))
    }

    /// The place of something that is wrong, found by the code that wires the machine.
    pub fn wrong(&self, path: &str, key: Option<&str>, reason: impl Into<String>) -> MachineError {
        let reason = match key {
            Some(key) if path.is_empty() => format!("{key}: {}", reason.into()),
            Some(key) => format!("[{path}] {key}: {}", reason.into()),
            None => format!("[{path}]: {}", reason.into()),
        };
        MachineError::Wrong { place: self.place(path, key), reason }
    }

    /// Where a key (or a section) was said last: file and line, or the `--set`.
    pub(crate) fn place(&self, path: &str, key: Option<&str>) -> String {
        let full = match key {
            Some(key) if path.is_empty() => key.to_owned(),
            Some(key) => format!("{path}.{key}"),
            None => path.to_owned(),
        };
        for layer in self.layers.iter().rev() {
            if let Some(change) = layer.name.strip_prefix("--set ") {
                let set = change.split('=').next().unwrap_or_default().trim();
                if set == full || set.starts_with(&format!("{full}.")) {
                    return layer.name.clone();
                }
            } else if let Some(line) = layer.line_of(path, key) {
                return format!("{}:{line}", layer.name);
            }
        }
        self.name.clone()
    }

    /// The machine with everything it extends and every change, as a file of its own.
    pub fn resolved(&self) -> String {
        toml::to_string_pretty(&self.table).expect("what was read from TOML can be written as TOML")
    }
}

/// A section, as errors call it.
fn named(path: &str) -> String {
    if path.is_empty() { "the machine".to_owned() } else { format!("[{path}]") }
}

/// The text of a machine.
fn source(name: &str) -> Result<String, MachineError> {
    if let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
        return Ok((*text).to_owned());
    }
    if name.ends_with(".toml") || Path::new(name).exists() {
        let unreadable =
            |error: std::io::Error| MachineError::Unreadable { path: name.to_owned(), reason: error.to_string() };
        return fs::read_to_string(name).map_err(unreadable);
    }
    let known: Vec<String> = shipped().map(str::to_owned).collect();
    let names: Vec<&str> = shipped().collect();
    Err(MachineError::Unknown { name: name.to_owned(), nearest: nearest(name, &names).map(str::to_owned), known })
}

fn wrong(name: &str, text: &str, error: &toml::de::Error) -> MachineError {
    let line = error.span().map(|span| text[..span.start.min(text.len())].lines().count().max(1));
    let place = line.map_or(name.to_owned(), |line| format!("{name}:{line}"));
    MachineError::Wrong { place, reason: error.message().to_owned() }
}

/// Lays `over` over `table`, section by section.
fn merge(table: &mut Table, over: Table) {
    for (key, value) in over {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(over)) => merge(below, over),
            (_, value) => _ = table.insert(key, value),
        }
    }
}

/// Calls `f` with the path of every section.
fn walk(table: &Table, path: &str, f: &mut impl FnMut(&str)) {
    for (key, value) in table {
        if let Value::Table(section) = value {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            f(&path);
            walk(section, &path, f);
        }
    }
}

/// The line of a text on which a key of a section (or the section) stands; a key may be written with dots.
fn line_of(text: &str, path: &str, key: Option<&str>) -> Option<usize> {
    let joined =
        |section: &str, name: &str| if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") };
    let wanted = key.map_or(path.to_owned(), |key| joined(path, key));
    let mut section = String::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            section = header.trim().to_owned();
            if key.is_none() && section == path {
                return Some(number + 1);
            }
        } else if let (Some(_), Some((name, _))) = (key, line.split_once('='))
            && joined(&section, name.trim()) == wanted
        {
            return Some(number + 1);
        }
    }
    None
}

/// The name most like `wrong`, if one is like it at all.
fn nearest<'a>(wrong: &str, names: &[&'a str]) -> Option<&'a str> {
    let best = names.iter().map(|name| (distance(wrong, name), *name)).min()?;
    (best.0 <= wrong.len().max(3) / 2).then_some(best.1)
}

/// How many letters must be changed, added or left out.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
