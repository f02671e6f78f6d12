//! Sources of keys: machine files, parts, and changes on the command line, each with the lines of its keys.

use super::MachineError;
use std::{collections::BTreeMap, path::PathBuf};
use toml::{Table, Value, de::DeTable};

/// One source of keys: a file, a part of one, or a `--set`.
#[derive(Clone)]
pub(crate) struct Layer {
    /// `r9nano`, `mine.toml`, `gpu/r9nano` for a shipped part, or `--set gpus=2`.
    pub(crate) name: String,
    pub(crate) text: String,
    /// The section that the layer belongs to; empty for whole machines.
    pub(crate) at: String,
    pub(crate) kind: Kind,
    /// Higher ranks override lower ones: machine files in the order of extension, then the changes on the command line.
    /// A part has the rank of the file that names it.
    pub(crate) rank: usize,
    said: BTreeMap<String, Said>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Machine,
    Part,
    Change,
}

/// The place at which a layer names a key or section.
#[derive(Clone, Copy)]
struct Said {
    line: usize,
    /// Named by itself, not only as the prefix of a longer path.
    itself: bool,
}

impl Layer {
    /// Where the layer names a key or section, given by its full path. `itself`: not only as the prefix of a longer
    /// path.
    pub(crate) fn place(&self, path: &str, itself: bool) -> Option<String> {
        let said = self.said.get(path).filter(|said| said.itself || !itself)?;
        Some(if self.kind == Kind::Change { self.name.clone() } else { format!("{}:{}", self.name, said.line) })
    }

    /// The line of a key, given by its full path.
    pub(crate) fn line(&self, path: &str) -> Option<usize> {
        self.said.get(path).map(|said| said.line)
    }

    /// Sections for which the layer names a part.
    pub(crate) fn sections_with_parts(&self) -> impl Iterator<Item = &str> {
        self.said.keys().filter_map(|path| path.strip_suffix(".part"))
    }

    /// Whether the layer defines the section itself, instead of only setting single keys of it.
    pub(crate) fn founds(&self, path: &str) -> bool {
        self.kind == Kind::Part && self.at == path
            || self.said.get(path).is_some_and(|said| said.itself || self.kind != Kind::Change)
    }
}

/// Keys that are merged together: those of a file, or all changes on the command line.
pub(super) struct Source {
    pub(super) table: Table,
    pub(super) layers: Vec<Layer>,
    /// Base folder of relative part paths.
    pub(super) folder: PathBuf,
}

impl Source {
    /// Parses the text of a file whose keys belong to the section `at`.
    pub(super) fn parse(mut layer: Layer, folder: PathBuf) -> Result<Self, MachineError> {
        let wrong = |error: toml::de::Error| {
            let line = error.span().map(|span| line_at(&layer.text, span.start));
            let place = line.map_or(layer.name.clone(), |line| format!("{}:{line}", layer.name));
            MachineError::Wrong { place, reason: error.message().to_owned() }
        };
        let table: Table = layer.text.parse().map_err(&wrong)?;
        let mut said = BTreeMap::new();
        index(DeTable::parse(&layer.text).map_err(&wrong)?.get_ref(), &layer.text, &layer.at, &mut said);
        layer.said = said;
        Ok(Self { table, layers: vec![layer], folder })
    }

    /// The last place that names a key or section.
    pub(super) fn place(&self, path: &str) -> String {
        let found = self.layers.iter().rev().find_map(|layer| layer.place(path, false));
        found.unwrap_or_else(|| self.layers.last().map(|layer| layer.name.clone()).unwrap_or_default())
    }
}

/// The layer of a file whose text has not been parsed.
pub(super) fn layer(name: String, text: String, at: &str, kind: Kind, rank: usize) -> Layer {
    Layer { name, text, at: at.to_owned(), kind, rank, said: BTreeMap::new() }
}

/// All changes on the command line, such as `gpu.l2.size=4MiB`; the last change of a key wins.
pub(super) fn changes(changes: &[String], rank: usize) -> Result<Source, MachineError> {
    let mut source = Source { table: Table::new(), layers: Vec::new(), folder: PathBuf::new() };
    for change in changes {
        let refused = |reason: &str| MachineError::Set { text: change.clone(), reason: reason.to_owned() };
        let (path, written) = change.split_once('=').ok_or_else(|| refused("write it as path=value"))?;
        let keys: Vec<&str> = path.split('.').map(str::trim).collect();
        if keys.iter().any(|key| key.is_empty()) {
            return Err(refused("a path is made of names with dots between them"));
        }
        // A value that is not valid TOML is taken as a string.
        let parsed = format!("value = {written}").parse::<Table>().ok().filter(|table| table.len() == 1);
        let value = parsed.and_then(|mut table| table.remove("value"));
        let value = value.unwrap_or_else(|| Value::String(written.trim().to_owned()));
        let mut layer = layer(format!("--set {change}"), String::new(), "", Kind::Change, rank);
        for end in 1..=keys.len() {
            layer.said.insert(keys[..end].join("."), Said { line: 0, itself: end == keys.len() });
        }
        said_within(&value, &keys.join("."), &mut layer.said);
        let (last, sections) = keys.split_last().expect("a split has at least one part");
        let mut table = &mut source.table;
        for key in sections {
            let next = table.entry(*key).or_insert_with(|| Value::Table(Table::new()));
            table = next.as_table_mut().ok_or_else(|| refused(&format!("'{key}' is a value, not a section")))?;
        }
        match (table.get_mut(*last), value) {
            (Some(Value::Table(below)), Value::Table(over)) => below.extend(over),
            (_, value) => _ = table.insert((*last).to_owned(), value),
        }
        source.layers.push(layer);
    }
    Ok(source)
}

/// Records every key of an inline table.
fn said_within(value: &Value, path: &str, said: &mut BTreeMap<String, Said>) {
    for (key, value) in value.as_table().into_iter().flatten() {
        let path = format!("{path}.{key}");
        said.insert(path.clone(), Said { line: 0, itself: true });
        said_within(value, &path, said);
    }
}

/// Records the line of every key and section.
fn index(table: &DeTable<'_>, text: &str, at: &str, said: &mut BTreeMap<String, Said>) {
    for (key, value) in table {
        let (path, span) = (join(at, key.get_ref()), key.span());
        let itself = !text[span.end.min(text.len())..].trim_start().starts_with('.');
        said.insert(path.clone(), Said { line: line_at(text, span.start), itself });
        if let Some(inner) = value.get_ref().as_table() {
            index(inner, text, &path, said);
        }
    }
}

fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// The full path of a section's key.
pub(crate) fn join(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") }
}
