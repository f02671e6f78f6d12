//! One case of a target: everything it does follows from its seed.

use super::random::Random;
use std::io::Write;

/// How a case went that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    Ran,
    /// The input was refused with an error, as bad input must be.
    Refused,
}

/// A class of inputs.
pub struct Target {
    pub name: &'static str,
    pub about: &'static str,
    /// Of how many parts of the time it gets this many.
    pub share: u32,
    /// Cases of one worker process before it is started anew.
    pub chunk: u64,
    /// Cases of `--quick`.
    pub quick: u64,
    /// Runs a case: `Err` says what was wrong.
    pub run: fn(&mut Case) -> Result<Did, String>,
}

/// A case that runs.
pub struct Case {
    pub seed: u64,
    pub random: Random,
    /// The steps to keep, when a failing case is made smaller.
    keep: Option<Vec<usize>>,
    tell: bool,
}

impl Case {
    pub fn new(seed: u64, keep: Option<Vec<usize>>, tell: bool) -> Self {
        Self { seed, random: Random::new(seed), keep, tell }
    }

    /// The steps of this case: all that were generated, or those that are still needed to fail. Steps are whatever a case is made of
    /// (changes, instructions, calls) and can be left out one by one.
    pub fn steps<T>(&self, all: Vec<T>) -> Vec<T> {
        self.say("steps", &all.len().to_string());
        let is_kept = |number: &usize| self.keep.as_ref().is_none_or(|keep| keep.contains(number));
        all.into_iter().enumerate().filter(|(number, _)| is_kept(number)).map(|(_, step)| step).collect()
    }

    /// Describes the case, for the report if it fails; said before the case runs, which may never come back.
    pub fn note(&self, text: &str) {
        self.say("note", text);
    }

    fn say(&self, word: &str, text: &str) {
        if self.tell {
            say(word, text);
        }
    }
}

/// One line to the supervisor.
pub fn say(word: &str, text: &str) {
    let mut out = std::io::stdout().lock();
    // A supervisor that has gone away needs no lines.
    let _ = writeln!(out, "{word} {}", text.escape_default());
    let _ = out.flush();
}
