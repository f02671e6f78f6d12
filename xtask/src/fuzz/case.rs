//! One case of a target, determined by its seed.

use super::random::Random;
use std::io::Write;

/// Outcomes of a case that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    Ran,
    /// The input was rejected with an error, as bad input must be.
    Refused,
}

/// A class of inputs.
pub struct Target {
    pub name: &'static str,
    pub about: &'static str,
    /// The target's relative share of the time.
    pub share: u32,
    /// Number of cases that one worker process runs before a new one is started.
    pub chunk: u64,
    /// Number of cases with `--quick`.
    pub quick: u64,
    /// Runs a case; `Err` describes the failure.
    pub run: fn(&mut Case) -> Result<Did, String>,
}

/// A case being run.
pub struct Case {
    pub seed: u64,
    pub random: Random,
    /// Indices of the steps to keep, while a failing case is shrunk.
    keep: Option<Vec<usize>>,
    tell: bool,
}

impl Case {
    pub fn new(seed: u64, keep: Option<Vec<usize>>, tell: bool) -> Self {
        Self { seed, random: Random::new(seed), keep, tell }
    }

    /// The steps of this case: all that were generated or, while shrinking, those to keep. Steps are the parts of a
    /// case (changes, instructions, calls) that can be left out one by one.
    pub fn steps<T>(&self, all: Vec<T>) -> Vec<T> {
        self.say("steps", &all.len().to_string());
        let is_kept = |number: &usize| self.keep.as_ref().is_none_or(|keep| keep.contains(number));
        all.into_iter().enumerate().filter(|(number, _)| is_kept(number)).map(|(_, step)| step).collect()
    }

    /// Describes the case for the report. Must be called before the case runs, which may never return.
    pub fn note(&self, text: &str) {
        self.say("note", text);
    }

    fn say(&self, word: &str, text: &str) {
        if self.tell {
            say(word, text);
        }
    }
}

/// Sends one line to the supervisor.
pub fn say(word: &str, text: &str) {
    let mut out = std::io::stdout().lock();
    // If the supervisor has ended, the line is dropped.
    let _ = writeln!(out, "{word} {}", text.escape_default());
    let _ = out.flush();
}
