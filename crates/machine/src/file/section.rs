//! Reading a section into a type that checks its values.

use super::{
    File, MachineError,
    error::{did_you_mean, nearest},
    join, listed,
    shipped::parts_for,
};
use serde::de::{DeserializeOwned, value::MapDeserializer};
use std::cell::RefCell;
use toml::{Table, Value};

/// Why a section could not be read.
struct Unread {
    /// The key that was read last.
    key: String,
    message: String,
}

impl File {
    /// Whether there is such a section.
    pub fn has(&self, path: &str) -> bool {
        self.table_at(path).is_some()
    }

    /// Whether a section has such a key.
    pub(crate) fn says(&self, path: &str, key: &str) -> bool {
        self.table_at(path).is_some_and(|table| table.contains_key(key))
    }

    /// Whether a file or a part has this section, or a change on the command line sets all of it. A change of a single
    /// key does not count.
    pub(crate) fn founded(&self, path: &str) -> bool {
        self.has(path) && self.layers.iter().any(|layer| layer.founds(path))
    }

    /// Reads the keys of a section, such as `gpu.l1`, without its subsections. The root is "".
    pub fn section<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, MachineError> {
        if !self.has(path) {
            let parts = listed(&parts_for(path.rsplit('.').next().unwrap_or(path)));
            let reason = format!("section [{path}] is missing{parts}");
            return Err(MachineError::Wrong { place: self.name.clone(), reason });
        }
        self.read.insert(path.to_owned());
        self.values(path).map_err(|unread| self.explain(path, &unread))
    }

    /// Checks a section's values; keys may be missing.
    pub(super) fn lenient<T: DeserializeOwned>(&mut self, path: &str) -> Result<(), MachineError> {
        match self.values::<T>(path) {
            Err(unread) if missing(&unread.message).is_none() => Err(self.explain(path, &unread)),
            _ => Ok(()),
        }
    }

    fn values<T: DeserializeOwned>(&self, path: &str) -> Result<T, Unread> {
        let values = self.table_at(path).into_iter().flatten().filter(|(_, value)| !value.is_table());
        let mut values: Table = values.map(|(key, value)| (key.clone(), value.clone())).collect();
        let mut filled: Vec<String> = Vec::new();
        loop {
            let last = RefCell::new(String::new());
            let noted = values.iter().map(|(key, value)| {
                key.clone_into(&mut last.borrow_mut());
                (key.clone(), value.clone())
            });
            let error = match T::deserialize(MapDeserializer::<_, toml::de::Error>::new(noted)) {
                Ok(read) => return Ok(read),
                Err(error) => error.message().to_owned(),
            };
            // A key without effect may be missing: any number serves as its value, or else a truth value.
            let last = last.into_inner();
            match missing(&error).filter(|key| self.no_effect(&join(path, key)).is_some()) {
                Some(key) => {
                    filled.push(key.clone());
                    values.insert(key, Value::Integer(1));
                }
                None if filled.contains(&last) && values[&last].is_integer() => values[&last] = Value::Boolean(false),
                None => return Err(Unread { key: last, message: error }),
            }
        }
    }

    /// Reads one key of a section that is read as a whole later.
    pub(crate) fn key<T: DeserializeOwned>(&self, path: &str, key: &str) -> Result<T, MachineError> {
        let Some(value) = self.table_at(path).and_then(|table| table.get(key)) else {
            return Err(self.lacks(path, key));
        };
        T::deserialize(value.clone()).map_err(|error| self.wrong(path, Some(key), error.message()))
    }

    fn table_at(&self, path: &str) -> Option<&Table> {
        let mut keys = path.split('.').filter(|key| !key.is_empty());
        keys.try_fold(&self.table, |table, key| table.get(key)?.as_table())
    }

    /// Reports sections that no code has read.
    pub fn finish(&self) -> Result<(), MachineError> {
        let mut unread = Vec::new();
        walk(&self.table, "", &mut |path| {
            let known = |read: &String| read.starts_with(&format!("{path}."));
            if !self.read.contains(path) && !self.read.iter().any(known) && self.no_effect(path).is_none() {
                unread.push(path.to_owned());
            }
        });
        let Some(path) = unread.first() else { return Ok(()) };
        let names: Vec<&str> = self.read.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        let nearest = nearest(path, &names).map(|name| format!("; did you mean [{name}]?")).unwrap_or_default();
        let reason = format!("there is no section [{path}]{nearest}");
        Err(MachineError::Wrong { place: self.place(path, None), reason })
    }

    fn explain(&self, path: &str, Unread { key, message }: &Unread) -> MachineError {
        if let Some(rest) = message.strip_prefix("unknown field ") {
            let names: Vec<&str> = rest.split('`').skip(3).step_by(2).collect();
            let keys = if names.is_empty() {
                "it has sections only".to_owned()
            } else {
                format!("its keys: {}", names.join(", "))
            };
            let reason = format!("{} has no key '{key}'{}; {keys}", named(path), did_you_mean(key, &names));
            return MachineError::Wrong { place: self.place(path, Some(key)), reason };
        }
        if let Some(key) = missing(message) {
            return self.lacks(path, &key);
        }
        self.wrong(path, Some(key), message)
    }

    /// The error for a missing key.
    pub(crate) fn lacks(&self, path: &str, key: &str) -> MachineError {
        let reason = format!("{} lacks the key '{key}'", named(path));
        MachineError::Wrong { place: self.place(path, None), reason }
    }

    /// The error for a wrong value, found by the code that reads or builds the machine.
    pub fn wrong(&self, path: &str, key: Option<&str>, reason: impl Into<String>) -> MachineError {
        let reason = match key {
            Some(key) if path.is_empty() => format!("{key}: {}", reason.into()),
            Some(key) => format!("[{path}] {key}: {}", reason.into()),
            None => format!("[{path}]: {}", reason.into()),
        };
        MachineError::Wrong { place: self.place(path, key), reason }
    }

    /// The place that set a key or section last: file and line, or the `--set` option.
    pub(crate) fn place(&self, path: &str, key: Option<&str>) -> String {
        let full = key.map_or_else(|| path.to_owned(), |key| join(path, key));
        let find = |itself| self.layers.iter().rev().find_map(|layer| layer.place(&full, itself));
        find(true).or_else(|| find(false)).unwrap_or_else(|| self.name.clone())
    }
}

/// The key that is missing, if serde's error says so.
fn missing(message: &str) -> Option<String> {
    let rest = message.strip_prefix("missing field ")?;
    rest.split('`').nth(1).map(str::to_owned)
}

/// The section's name in errors.
fn named(path: &str) -> String {
    if path.is_empty() { "the machine".to_owned() } else { format!("[{path}]") }
}

/// Calls `f` with the path of every section.
fn walk(table: &Table, path: &str, f: &mut impl FnMut(&str)) {
    for (key, value) in table {
        if let Value::Table(section) = value {
            let path = join(path, key);
            f(&path);
            walk(section, &path, f);
        }
    }
}
