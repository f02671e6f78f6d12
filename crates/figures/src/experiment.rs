//! The definition of an experiment.

use crate::{Job, Results, Row};

/// One experiment of a paper.
pub struct Experiment {
    /// The experiment's name on the command line.
    pub name: &'static str,
    /// Says in one line what the experiment compares.
    pub about: &'static str,
    /// The place in the paper that describes it.
    pub source: &'static str,
    pub plan: fn(Options) -> Plan,
}

/// Options of an experiment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub size: Size,
    /// Also run programs natively, if the experiment compares with a real computer.
    pub native: bool,
}

/// Sizes of an experiment's inputs, and the number of settings tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// Small inputs and fewer settings, minutes in all: shows only the direction of effects.
    Quick,
    /// Inputs scaled down as the experiment's notes say; hours at most.
    #[default]
    Scaled,
    /// The paper's own sizes.
    Paper,
}

impl Size {
    pub fn is_quick(self) -> bool {
        self == Self::Quick
    }

    /// The value for this size.
    pub fn of<T>(self, quick: T, scaled: T, paper: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Scaled => scaled,
            Self::Paper => paper,
        }
    }
}

/// The work of an experiment.
pub struct Plan {
    pub jobs: Vec<Job>,
    /// Programs to run natively as well; their machine does not matter.
    pub native: Vec<Job>,
    /// Whether runs must not share the computer, because time on it is measured.
    pub alone: bool,
    /// Differences from the paper's set-up, for people.
    pub notes: Vec<String>,
    /// Computes the rows from the available results. A row that needs a missing result is left out.
    pub rows: Compute,
}

/// Computes rows from results.
pub type Compute = Box<dyn Fn(&Results) -> Vec<Row>>;
