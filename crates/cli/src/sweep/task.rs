//! One run of a sweep, and the key of its result: a hash of everything that the result depends on.

use crate::files;
use machine::Machine;
use miette::{IntoDiagnostic, WrapErr};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{fmt, path::Path};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub program: String,
    pub system: String,
    pub sets: Vec<(String, String)>,
    /// Arguments of the program, by name; an empty name is omitted.
    pub arguments: Vec<(String, String)>,
    pub options: Vec<String>,
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.program)?;
        self.words().iter().try_for_each(|word| write!(f, " {word}"))?;
        write!(f, " on {}", self.system)?;
        self.changes().iter().try_for_each(|change| write!(f, " {change}"))
    }
}

impl Task {
    /// Changes of the machine's keys: `gpu.l2.size=1MiB`.
    pub fn changes(&self) -> Vec<String> {
        self.sets.iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    /// The program's arguments. A switch that is on (`true`) has no value, and one that is off (`false`) is omitted.
    fn words(&self) -> Vec<String> {
        let word = |(name, value): &(String, String)| match value.as_str() {
            "true" => vec![name.clone()],
            "false" => Vec::new(),
            _ => vec![name.clone(), value.clone()],
        };
        self.arguments.iter().flat_map(word).filter(|word| !word.is_empty()).collect()
    }

    /// The command line after `cohesim`. `live`: the run serves a page about itself.
    pub fn command(&self, out: &Path, live: bool) -> Vec<String> {
        let mut words = vec!["run".to_owned(), self.program.clone(), "--system".into(), self.system.clone()];
        words.extend(self.changes().into_iter().flat_map(|change| ["--set".to_owned(), change]));
        words.extend(self.options.iter().cloned());
        words.extend(["--live", "0"].into_iter().filter(|_| live).map(str::to_owned));
        words.extend(["--out".to_owned(), out.display().to_string(), "--".into()]);
        words.extend(self.words());
        words
    }

    /// The hash of everything that the result depends on. Errors of the machine are reported here, before anything
    /// runs.
    pub fn key(&self, simulator: &[u8]) -> miette::Result<String> {
        let machine = Machine::load(&self.system, &self.changes()).into_diagnostic();
        let machine = machine.wrap_err_with(|| format!("{self}"))?;
        let mut hash = Sha256::new();
        // Each part is preceded by its length, so that different lists never give the same bytes.
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        part(simulator);
        part(machine.resolved.as_bytes());
        part(self.program.as_bytes());
        // Built-in programs are part of the simulator.
        let file = Path::new(&self.program);
        if self.program.contains('/') {
            part(&files::read(file)?);
        }
        let (words, options) = (self.words(), &self.options);
        part(&(words.len() as u64).to_le_bytes());
        words.iter().chain(options).for_each(|word| part(word.as_bytes()));
        let hash = hash.finalize();
        Ok(hash[..16].iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(size: &str) -> Task {
        Task {
            program: "fir".into(),
            system: "skeleton".into(),
            arguments: vec![("--size".into(), size.into()), ("--copies".into(), "false".into())],
            ..Task::default()
        }
    }

    #[test]
    fn a_key_depends_on_the_simulator_the_machine_and_the_arguments() {
        let key = task("64").key(b"one").unwrap();
        assert_eq!(key, task("64").key(b"one").unwrap());
        assert_ne!(key, task("64").key(b"another").unwrap());
        assert_ne!(key, task("65").key(b"one").unwrap());
        let other = Task { system: "r9nano".into(), ..task("64") };
        assert_ne!(key, other.key(b"one").unwrap());
        assert!(Task { system: "no-such".into(), ..task("64") }.key(b"one").is_err());
    }

    #[test]
    fn a_switch_has_no_value() {
        assert_eq!(task("64").to_string(), "fir --size 64 on skeleton");
        assert_eq!(task("true").to_string(), "fir --size on skeleton");
    }
}
