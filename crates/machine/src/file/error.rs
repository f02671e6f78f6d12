//! Errors in machine files, and the search for the nearest existing name.

use thiserror::Error;

/// Why a machine can't be loaded.
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

/// ` (did you mean 'ring'?)`, if a name is like `wrong`.
pub(crate) fn did_you_mean(wrong: &str, names: &[&str]) -> String {
    meant(&nearest(wrong, names).map(str::to_owned))
}

/// The name nearest to `wrong`, if one is near enough.
pub(crate) fn nearest<'a>(wrong: &str, names: &[&'a str]) -> Option<&'a str> {
    let best = names.iter().map(|name| (distance(wrong, name), *name)).min()?;
    (best.0 <= wrong.len().max(3) / 2).then_some(best.1)
}

/// Edit distance: letters to change, add or remove.
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
