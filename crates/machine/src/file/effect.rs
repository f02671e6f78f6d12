//! Keys without effect: those that another key makes idle, such as `memory.dram.ranks` where `memory.kind` is "fixed".
//!
//! The code that reads a section knows which of its keys count and says which don't, with the reason ([`File::idle`],
//! [`File::idle_section`]). A key that a person wrote for this machine and that does nothing is a mistake. It is none if it comes
//! from a part, which serves many machines, or if the cause was said later: who extends a machine or changes a key need
//! not take back what that makes idle.

use super::{File, Kind, Layer, MachineError, join};
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// Why a key has no effect.
#[derive(Clone, Debug)]
pub(crate) struct Because {
    /// The key, or the section, that is the cause.
    cause: String,
    reason: String,
}

impl Because {
    /// `cause` is a key or section; `reason` says what it is, and what would give the others an effect.
    pub(crate) fn new(cause: &str, reason: impl Into<String>) -> Self {
        Self { cause: cause.to_owned(), reason: reason.into() }
    }

    /// The key `cause` has this value, and one of `others` would give an effect.
    pub(crate) fn value(cause: &str, value: &str, others: &[&str]) -> Self {
        Self::new(cause, format!("{cause} is \"{value}\"; set {cause} to {}", others.join(", ")))
    }
}

/// A key that a person wrote for a machine on which it does nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idle {
    /// Its whole path.
    pub key: String,
    /// Whether it is a change of the command line.
    pub change: bool,
    pub error: MachineError,
}

/// A key or a section without effect.
pub(super) struct Idleness {
    path: String,
    /// Keys of the section that do have one.
    except: &'static [&'static str],
    why: Because,
}

impl Idleness {
    fn covers(&self, path: &str) -> bool {
        let Some(rest) = path.strip_prefix(&self.path) else { return false };
        rest.is_empty() && self.except.is_empty()
            || rest.strip_prefix('.').is_some_and(|key| !self.except.contains(&key))
    }
}

impl File {
    /// The key or section at `path` has no effect on this machine. A section that is read after this need not have the key, if it is
    /// a number.
    pub(crate) fn idle(&mut self, path: &str, why: &Because) {
        self.idle_but(path, &[], why);
    }

    /// No key of the section has an effect but these.
    pub(crate) fn idle_but(&mut self, path: &str, except: &'static [&'static str], why: &Because) {
        self.idle.push(Idleness { path: path.to_owned(), except, why: why.clone() });
    }

    /// The same for a section whose keys are known: they must be right all the same, but need not be there.
    pub(crate) fn idle_section<T: DeserializeOwned>(&mut self, path: &str, why: &Because) -> Result<(), MachineError> {
        if self.has(path) {
            self.lenient::<T>(path)?;
        }
        self.idle(path, why);
        Ok(())
    }

    /// Keys that were written for this machine and have no effect; complete once it has been read.
    pub fn without_effect(&self) -> Vec<Idle> {
        let mut found = Vec::new();
        keys(&self.table, "", &mut |path| {
            let layer = self.layers.iter().rev().find(|layer| layer.line(path).is_some());
            found.extend(layer.and_then(|layer| self.idle_in(layer, path, path)));
        });
        // A part of a section without effect.
        for layer in &self.layers {
            let parts = layer.sections_with_parts();
            found.extend(parts.filter_map(|section| self.idle_in(layer, section, &join(section, "part"))));
        }
        found
    }

    /// Whether the key that a layer says should not stand there because `path` has no effect.
    fn idle_in(&self, layer: &Layer, path: &str, key: &str) -> Option<Idle> {
        let why = self.idle_because(path)?;
        if layer.kind == Kind::Part || layer.rank < self.rank_of(&why.cause) {
            return None;
        }
        let reason = format!("{key} has no effect: {}", why.reason);
        let place = layer.place(key, false).unwrap_or_else(|| layer.name.clone());
        let error = MachineError::Wrong { place, reason };
        Some(Idle { key: key.to_owned(), change: layer.kind == Kind::Change, error })
    }

    /// Why a key has no effect, if it has none.
    pub(crate) fn no_effect(&self, path: &str) -> Option<&str> {
        self.idle_because(path).map(|why| why.reason.as_str())
    }

    fn idle_because(&self, path: &str) -> Option<&Because> {
        self.idle.iter().find(|idle| idle.covers(path)).map(|idle| &idle.why)
    }

    /// Which file decided about a cause: the last that says a key, the first that has a section.
    fn rank_of(&self, cause: &str) -> usize {
        let mut ranks = self.layers.iter().filter(|layer| layer.line(cause).is_some()).map(|layer| layer.rank);
        if self.has(cause) { ranks.next() } else { ranks.next_back() }.unwrap_or(0)
    }

    /// A section without the keys that have no effect, nor sections that are empty without them.
    pub(super) fn effective(&self, table: &Table, at: &str) -> Table {
        let mut kept = Table::new();
        for (key, value) in table {
            let path = join(at, key);
            match value {
                _ if self.idle_because(&path).is_some() => {}
                Value::Table(section) => {
                    let section = self.effective(section, &path);
                    if !section.is_empty() {
                        kept.insert(key.clone(), Value::Table(section));
                    }
                }
                value => _ = kept.insert(key.clone(), value.clone()),
            }
        }
        kept
    }
}

/// Calls `f` with the path of every key.
fn keys(table: &Table, at: &str, f: &mut impl FnMut(&str)) {
    for (key, value) in table {
        let path = join(at, key);
        match value {
            Value::Table(section) => keys(section, &path, f),
            _ => f(&path),
        }
    }
}
