//! Keys without effect, such as `memory.dram.ranks` where `memory.kind` is "fixed".
//!
//! The code that reads a section knows which of its keys are used and records the others with a reason ([`File::idle`],
//! [`File::idle_section`]). A key that a person wrote for this machine and that has no effect is a mistake. It is not a
//! mistake if it comes from a part, which serves many machines, or if the key that makes it idle was set in a later
//! file: a file that extends a machine need not remove the keys that it makes idle.

use super::{File, Kind, Layer, MachineError, join};
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// Why a key has no effect.
#[derive(Clone, Debug)]
pub(crate) struct Because {
    /// The key or section that is the cause.
    cause: String,
    reason: String,
}

impl Because {
    /// `cause` is a key or section; `reason` says what it is, and which change would give the idle keys an effect.
    pub(crate) fn new(cause: &str, reason: impl Into<String>) -> Self {
        Self { cause: cause.to_owned(), reason: reason.into() }
    }

    /// The key `cause` has this value; one of the values `others` would give the idle keys an effect.
    pub(crate) fn value(cause: &str, value: &str, others: &[&str]) -> Self {
        Self::new(cause, format!("{cause} is \"{value}\"; set {cause} to {}", others.join(", ")))
    }
}

/// A key that a person wrote for a machine on which it has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The key's full path.
    pub key: String,
    /// Whether it was set on the command line.
    pub change: bool,
    pub error: MachineError,
}

/// A key or a section without effect.
pub(super) struct Idleness {
    path: String,
    /// Keys of the section that do have an effect.
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
    /// Records that the key or section at `path` has no effect on this machine. A section that is read later may omit
    /// the key if its value is a number.
    pub(crate) fn idle(&mut self, path: &str, why: &Because) {
        self.idle_but(path, &[], why);
    }

    /// Records that no key of the section has an effect except these.
    pub(crate) fn idle_but(&mut self, path: &str, except: &'static [&'static str], why: &Because) {
        self.idle.push(Idleness { path: path.to_owned(), except, why: why.clone() });
    }

    /// Variant of [`File::idle`] for a section of a known type: its keys may be missing, but those present must be
    /// valid.
    pub(crate) fn idle_section<T: DeserializeOwned>(&mut self, path: &str, why: &Because) -> Result<(), MachineError> {
        if self.has(path) {
            self.lenient::<T>(path)?;
        }
        self.idle(path, why);
        Ok(())
    }

    /// Keys that were written for this machine and have no effect; complete after the machine has been read.
    pub fn without_effect(&self) -> Vec<Idle> {
        let mut found = Vec::new();
        keys(&self.table, "", &mut |path| {
            let layer = self.layers.iter().rev().find(|layer| layer.line(path).is_some());
            found.extend(layer.and_then(|layer| self.idle_in(layer, path, path)));
        });
        // A section without effect may also name a part.
        for layer in &self.layers {
            let parts = layer.sections_with_parts();
            found.extend(parts.filter_map(|section| self.idle_in(layer, section, &join(section, "part"))));
        }
        found
    }

    /// The mistake of setting `key` in this layer, if `path` has no effect and the layer is not excused.
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

    /// Why a key has no effect; `None` if it has one.
    pub(crate) fn no_effect(&self, path: &str) -> Option<&str> {
        self.idle_because(path).map(|why| why.reason.as_str())
    }

    fn idle_because(&self, path: &str) -> Option<&Because> {
        self.idle.iter().find(|idle| idle.covers(path)).map(|idle| &idle.why)
    }

    /// Rank of the file that decided the cause: the last that sets a key, or the first that has a section.
    fn rank_of(&self, cause: &str) -> usize {
        let mut ranks = self.layers.iter().filter(|layer| layer.line(cause).is_some()).map(|layer| layer.rank);
        if self.has(cause) { ranks.next() } else { ranks.next_back() }.unwrap_or(0)
    }

    /// The section without idle keys and without subsections that become empty.
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
