//! What an experiment is.

use crate::{Job, Results, Row};

/// One experiment of a paper.
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line: what is compared with what.
    pub about: &'static str,
    /// Where the paper has it.
    pub source: &'static str,
    pub plan: fn(Options) -> Plan,
}

/// How an experiment is done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub size: Size,
    /// Run programs on this computer too, where the experiment compares with a real one.
    pub native: bool,
}

/// How large the inputs of an experiment are, and how many settings it tries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// For the direction of what comes out: small inputs and fewer settings, minutes in all.
    Quick,
    /// Inputs that are scaled down as far as the experiment's notes say; hours at most.
    #[default]
    Scaled,
    /// The paper's own sizes.
    Paper,
}

impl Size {
    pub fn is_quick(self) -> bool {
        self == Self::Quick
    }

    /// The one of three that is meant for this size.
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
    /// Programs that run on this computer too, whatever their machine.
    pub native: Vec<Job>,
    /// Whether runs must have the computer for themselves, because it is measured.
    pub alone: bool,
    /// What differs from the paper's set-up, for people.
    pub notes: Vec<String>,
    /// The rows, of whatever results there are; a row for which one is missing is left out.
    pub rows: Compute,
}

/// Computes rows of results.
pub type Compute = Box<dyn Fn(&Results) -> Vec<Row>>;
