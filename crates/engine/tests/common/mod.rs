//! Helpers of the engine's tests.
#![allow(dead_code)] // each test file uses a part of it

use engine::{Hertz, Model, Outcome, Run, RunOptions, Scope};
use std::sync::{Arc, Mutex};

/// Runs the model that `build` makes in one partition with a clock of 1 GHz, so that cycles are nanoseconds.
pub fn simulate(build: impl FnOnce(Scope) + Send + 'static) -> Run {
    simulate_with(&RunOptions::default(), build)
}

pub fn simulate_with(options: &RunOptions, build: impl FnOnce(Scope) + Send + 'static) -> Run {
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(1));
    model.partition(move |partition| build(partition.scope(clock)));
    model.run(options)
}

/// A log that contexts write and a test reads.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub fn new() -> Log {
        Log::default()
    }

    pub fn note(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub fn text(&self) -> String {
        self.lines().join(" ")
    }
}

pub fn finished(run: &Run) {
    assert_eq!(run.outcome, Outcome::Finished, "{}", run.outcome);
}
