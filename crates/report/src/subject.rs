//! What is reported on: a program that was run on a machine.

use engine::{Run, Time};
use machine::Machine;
use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// A run, and what is known about it.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    pub program: &'a Program,
    pub arguments: &'a [String],
    pub machine: &'a Machine,
    pub run: &'a Run,
    /// When the program had ended, on the simulated machine: the host's part included, if the host has time there.
    pub total: Time,
    pub host: HostFacts,
}

/// A program, and what it read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Program {
    pub name: String,
    /// Of its executable or code object.
    pub sha256: Digest,
    pub inputs: Vec<Input>,
}

/// Something that a program read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Input {
    pub name: String,
    pub sha256: Digest,
}

impl Program {
    pub fn new(name: impl Into<String>, image: &[u8]) -> Self {
        Self { name: name.into(), sha256: Digest::of(image), inputs: Vec::new() }
    }

    pub fn with_input(mut self, name: impl Into<String>, bytes: &[u8]) -> Self {
        self.inputs.push(Input { name: name.into(), sha256: Digest::of(bytes) });
        self
    }
}

/// How it was on the computer that simulated. None of it is a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HostFacts {
    pub seconds: f64,
    pub threads: usize,
    /// Whether every read was compared with what it must return.
    pub checked: bool,
}

/// What some bytes hash to (SHA-256).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl From<[u8; 32]> for Digest {
    fn from(sha256: [u8; 32]) -> Self {
        Self(sha256)
    }
}

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The version that gave a result.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a run's result depends on: version, resolved machine, program, inputs and arguments. Two runs of one identity have the
/// same statistics.
pub type Identity = Digest;

impl Subject<'_> {
    pub fn identity(&self) -> Identity {
        let mut hash = Sha256::new();
        // Each part with its length, so that no two lists run together to the same bytes.
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        part(VERSION.as_bytes());
        part(self.machine.resolved.as_bytes());
        part(&self.program.sha256.0);
        part(&(self.program.inputs.len() as u64).to_le_bytes());
        for input in &self.program.inputs {
            part(input.name.as_bytes());
            part(&input.sha256.0);
        }
        for argument in std::iter::once(&self.program.name).chain(self.arguments) {
            part(argument.as_bytes());
        }
        Digest(hash.finalize().into())
    }
}
