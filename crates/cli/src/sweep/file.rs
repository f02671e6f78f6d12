//! The file of a sweep: programs, machines, keys and arguments.
//!
//! ```toml
//! programs = ["matmul", "fir"]
//! systems = ["r9nano", "halcone-gpu"]
//! options = ["--check"]                       # of `cohesim run`, for every run
//! zip = [["gpu.l2.size", "gpu.l2.mshrs"]]     # these go together; everything else is crossed
//!
//! [set]
//! "gpu.l2.size" = ["1 MiB", "2 MiB"]
//! "gpu.l2.mshrs" = [32, 64]
//!
//! [arguments]
//! "--size" = [64, 128]
//! ```

use super::task::Task;
use miette::{IntoDiagnostic, WrapErr, bail, miette};
use serde::Deserialize;
use std::{collections::BTreeMap, path::Path};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepFile {
    programs: Vec<String>,
    systems: Vec<String>,
    #[serde(default)]
    set: BTreeMap<String, OneOrMore>,
    #[serde(default)]
    arguments: BTreeMap<String, OneOrMore>,
    /// Options of `cohesim run`, for every run.
    #[serde(default)]
    options: Vec<String>,
    /// Groups of axes that vary together, value by value.
    #[serde(default)]
    zip: Vec<Vec<String>>,
    /// Number of retries of a failed run.
    #[serde(default = "one")]
    pub retries: u32,
    #[serde(default)]
    pub slurm: Slurm,
}

fn one() -> u32 {
    1
}

/// Resources of tasks in a batch system.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slurm {
    pub partition: Option<String>,
    /// The value of sbatch's `--time`.
    pub time: Option<String>,
    /// The value of sbatch's `--mem`.
    pub memory: Option<String>,
    /// Maximum number of tasks at a time.
    pub at_once: Option<u32>,
}

/// A value, or several to try.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    More(Vec<toml::Value>),
    One(toml::Value),
}

impl OneOrMore {
    fn texts(&self) -> Vec<String> {
        let text = |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match self {
            Self::More(values) => values.iter().map(text).collect(),
            Self::One(value) => vec![text(value)],
        }
    }
}

/// A parameter in which runs differ.
#[derive(Debug)]
struct Axis {
    name: String,
    values: Vec<String>,
}

/// Options of `run` that a sweep sets itself.
const RESERVED: [&str; 7] = ["--system", "-s", "--set", "--out", "--json", "--functional", "--live"];

impl SweepFile {
    pub fn read(path: &Path) -> miette::Result<Self> {
        let text = std::fs::read_to_string(path).into_diagnostic();
        let text = text.wrap_err_with(|| format!("the sweep '{}' can't be read", path.display()))?;
        Self::parse(&text).wrap_err_with(|| format!("in the sweep '{}'", path.display()))
    }

    pub fn parse(text: &str) -> miette::Result<Self> {
        let file: Self = toml::from_str(text).map_err(|error| miette!("{}", error.to_string().trim_end()))?;
        if let Some(option) = file.options.iter().find(|option| {
            RESERVED.iter().any(|reserved| option == reserved || option.starts_with(&format!("{reserved}=")))
        }) {
            bail!("'{option}' can't be among the options: systems, [set] and the store say that");
        }
        Ok(file)
    }

    /// The axes of the sweep: the slowest to change first.
    fn axes(&self) -> miette::Result<Vec<Axis>> {
        let own = [("program", &self.programs), ("system", &self.systems)];
        let mut axes: Vec<Axis> =
            own.into_iter().map(|(name, values)| Axis { name: name.to_owned(), values: values.clone() }).collect();
        let more = self.set.iter().chain(&self.arguments);
        axes.extend(more.map(|(name, values)| Axis { name: name.clone(), values: values.texts() }));
        match axes.iter().find(|axis| axis.values.is_empty()) {
            Some(axis) => bail!("'{}' has no value: give it one at least", axis.name),
            None => Ok(axes),
        }
    }

    /// Every run, in the order of the file, without duplicates.
    pub fn tasks(&self) -> miette::Result<Vec<Task>> {
        let axes = self.axes()?;
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut taken = vec![false; axes.len()];
        let groups_of_names = self.zip.iter().map(|names| {
            let at = names.iter().map(|name| {
                let known = || axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>().join(", ");
                let at = axes.iter().position(|axis| axis.name == *name);
                at.ok_or_else(|| {
                    miette!(
                        help = format!("there are {}", known()),
                        "zip names '{name}', which is not an axis of this sweep"
                    )
                })
            });
            at.collect::<miette::Result<Vec<usize>>>()
        });
        let zipped = groups_of_names.collect::<miette::Result<Vec<_>>>()?;
        for at in 0..axes.len() {
            if taken[at] {
                continue;
            }
            let group = zipped.iter().find(|group| group.contains(&at)).cloned().unwrap_or_else(|| vec![at]);
            let length = axes[group[0]].values.len();
            for member in &group {
                let (first, own) = (&axes[group[0]], &axes[*member]);
                if own.values.len() != length {
                    bail!(
                        "'{}' has {length} values and '{}' has {}: zipped axes must have the same number of values",
                        first.name,
                        own.name,
                        own.values.len()
                    );
                }
                if std::mem::replace(&mut taken[*member], true) {
                    bail!("zip names '{}' twice", own.name);
                }
            }
            groups.push(group);
        }
        let mut tasks: Vec<Task> = Vec::new();
        let mut choice = vec![0; groups.len()];
        loop {
            let value = |axis: usize| {
                let group = groups.iter().position(|group| group.contains(&axis)).expect("every axis is in a group");
                axes[axis].values[choice[group]].clone()
            };
            let mut task =
                Task { program: value(0), system: value(1), options: self.options.clone(), ..Task::default() };
            for (at, axis) in axes.iter().enumerate().skip(2) {
                let value = value(at);
                if at < 2 + self.set.len() {
                    task.sets.push((axis.name.clone(), value));
                } else {
                    task.arguments.push((axis.name.clone(), value));
                }
            }
            if !tasks.contains(&task) {
                tasks.push(task);
            }
            // The next combination: the last group changes fastest.
            let Some(at) = (0..groups.len()).rev().find(|at| choice[*at] + 1 < axes[groups[*at][0]].values.len())
            else {
                return Ok(tasks);
            };
            choice[at] += 1;
            choice[at + 1..].fill(0);
        }
    }

    /// Names of the machine keys and arguments in which runs differ, in the order of a task's.
    pub fn columns(&self) -> (Vec<String>, Vec<String>) {
        (self.set.keys().cloned().collect(), self.arguments.keys().cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        SweepFile::parse(text).unwrap().tasks().unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn axes_are_crossed_and_the_last_changes_soonest() {
        let text = "programs = ['fir', 'aes']\nsystems = ['r9nano']\n[set]\n'gpu.l2.size' = ['1MiB', '2MiB']\n[arguments]\n'--size' = 64\n";
        let expected = [
            "fir --size 64 on r9nano gpu.l2.size=1MiB",
            "fir --size 64 on r9nano gpu.l2.size=2MiB",
            "aes --size 64 on r9nano gpu.l2.size=1MiB",
            "aes --size 64 on r9nano gpu.l2.size=2MiB",
        ];
        assert_eq!(told(text), expected);
    }

    #[test]
    fn axes_that_are_zipped_go_together() {
        let text = "programs = ['fir', 'aes']\nsystems = ['a', 'b']\nzip = [['program', '--size']]\n[arguments]\n'--size' = [1, 2]\n";
        assert_eq!(told(text), ["fir --size 1 on a", "fir --size 1 on b", "aes --size 2 on a", "aes --size 2 on b"]);
    }

    #[test]
    fn impossible_combinations_are_reported() {
        let error = |text: &str| {
            let tasks = SweepFile::parse(text).and_then(|file| file.tasks());
            tasks.expect_err("this is not a sweep").to_string()
        };
        let start = "programs = ['fir', 'aes']\nsystems = ['a']\n";
        assert!(error(&format!("{start}zip = [['program', 'system']]")).contains("same number of values"));
        assert!(error(&format!("{start}zip = [['program', 'nothing']]")).contains("'nothing'"));
        assert!(error(&format!("{start}options = ['--out=x']")).contains("--out"));
        assert!(error("programs = []\nsystems = ['a']").contains("no value"));
        assert!(error(&format!("{start}jobs = 3")).contains("jobs"));
    }
}
