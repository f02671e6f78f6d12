//! The subject of a report: a program that was run on a machine.

use crate::figures::count;
use engine::{Run, Time};
use machine::{Machine, WARM_UP, checkpoint::Parts};
use os::{
    forward::{Forwarded, WarmUp},
    opencl::Paged,
};
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::{borrow::Cow, fmt, sync::OnceLock};

/// A run, and the facts known about it.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    pub program: &'a Program,
    pub arguments: &'a [String],
    pub machine: &'a Machine,
    pub run: &'a Run,
    /// Simulated time at which the program ended. Includes the host's part if the host is timed.
    pub total: Time,
    /// The functional part before the timed one, if the run was fast-forwarded.
    pub forwarded: Option<Forwarded>,
    /// The points at which the run drained, if it could.
    pub parts: Option<&'a Parts>,
    /// The driver's activity on pages, if there is a driver.
    pub paged: Option<&'a Paged>,
    pub host: HostFacts,
}

/// A program, and the inputs that it read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Program {
    pub name: String,
    /// Digest of its executable or code object.
    pub sha256: ImageDigest,
    pub inputs: Vec<Input>,
}

/// The digest of an executable or code object. Computed when a report first asks for it: a summary does not.
#[derive(Clone)]
pub struct ImageDigest {
    image: Cow<'static, [u8]>,
    digest: OnceLock<Digest>,
}

impl ImageDigest {
    pub fn get(&self) -> Digest {
        *self.digest.get_or_init(|| Digest::of(&self.image))
    }
}

impl fmt::Debug for ImageDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.get())
    }
}

impl PartialEq for ImageDigest {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for ImageDigest {}

impl Serialize for ImageDigest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.get().serialize(to)
    }
}

/// An input that a program read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Input {
    pub name: String,
    pub sha256: Digest,
}

impl Program {
    pub fn new(name: impl Into<String>, image: impl Into<Cow<'static, [u8]>>) -> Self {
        let sha256 = ImageDigest { image: image.into(), digest: OnceLock::new() };
        Self { name: name.into(), sha256, inputs: Vec::new() }
    }

    pub fn with_input(mut self, name: impl Into<String>, bytes: &[u8]) -> Self {
        self.inputs.push(Input { name: name.into(), sha256: Digest::of(bytes) });
        self
    }
}

/// Facts about the simulation itself. They are not results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HostFacts {
    pub seconds: f64,
    pub threads: usize,
    /// The most memory that the process has had, in bytes.
    pub memory_bytes: u64,
    /// Whether every read was checked against the golden image.
    pub checked: bool,
}

impl HostFacts {
    /// The most memory that this process has had so far; 0 if the system does not report it.
    pub fn peak_memory() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        peak.map_or(0, |kibibytes: u64| kibibytes << 10)
    }
}

/// The SHA-256 digest of some bytes.
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

/// The version of cohesim that gave a result.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Identity of a run: version, resolved machine, program, inputs and arguments, which determine its result. Two runs of
/// one identity have equal statistics.
pub type Identity = Digest;

impl Subject<'_> {
    pub fn identity(&self) -> Identity {
        let mut hash = Sha256::new();
        // Each part is preceded by its length, so that different lists never give the same bytes.
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        part(VERSION.as_bytes());
        part(self.machine.resolved.as_bytes());
        part(&self.program.sha256.get().0);
        part(&(self.program.inputs.len() as u64).to_le_bytes());
        for input in &self.program.inputs {
            part(input.name.as_bytes());
            part(&input.sha256.0);
        }
        for argument in std::iter::once(&self.program.name).chain(self.arguments) {
            part(argument.as_bytes());
        }
        if let Some(Forwarded { plan, .. }) = self.forwarded {
            part(format!("fast-forward {} {}", plan.to(), plan.warm_up()).as_bytes());
        }
        if let Some(parts) = self.drained() {
            part(format!("drained {parts}").as_bytes());
        }
        Digest(hash.finalize().into())
    }
}

impl<'a> Subject<'a> {
    /// The points at which the run drained, if it did.
    pub(crate) fn drained(&self) -> Option<&'a Parts> {
        self.parts.filter(|parts| !parts.drained.is_empty())
    }

    /// The measured part of the run: all of it except the warm-up.
    pub(crate) fn measured(&self) -> Cow<'a, Run> {
        let warmed = self.forwarded.is_some_and(|forwarded| forwarded.plan.warm_up() != WarmUp::Cold);
        let last = self.run.regions.iter().rposition(|region| region.name == WARM_UP).filter(|_| warmed);
        let Some(last) = last else { return Cow::Borrowed(self.run) };
        let mut run = self.run.clone();
        run.regions.drain(..=last);
        Cow::Owned(run)
    }
}

/// Duration of the regions of a run.
pub(crate) fn length(run: &Run) -> Time {
    run.regions.first().map_or(Time::ZERO, |first| Time(run.end.0.saturating_sub(first.start.0)))
}

/// A fast-forward, for reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FastForward {
    /// The point: `kernel:3`.
    pub to: String,
    /// `cold`, or what was timed before the point to warm the caches, unmeasured.
    pub warm_up: String,
    /// Whether the program reached the point. If not, nothing was measured.
    pub reached: bool,
    /// Instructions of the program that ran functionally; `kernels`: kernels that did.
    pub instructions: u64,
    pub kernels: u64,
}

impl From<Forwarded> for FastForward {
    fn from(forwarded: Forwarded) -> Self {
        let Forwarded { plan, reached, instructions, kernels } = forwarded;
        Self { to: plan.to().to_string(), warm_up: plan.warm_up().to_string(), reached, instructions, kernels }
    }
}

impl fmt::Display for FastForward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { to, warm_up, reached, instructions, kernels } = self;
        let (instructions, kernels) = (count(*instructions), count(*kernels));
        let skipped = format!("before it, without a timing model: {instructions} instructions, {kernels} kernels");
        match (reached, warm_up.as_str()) {
            (false, _) => write!(f, "to {to}, which the program did not reach: nothing was measured; {skipped}"),
            (true, "cold") => write!(f, "to {to}, with cold caches; {skipped}"),
            (true, warm_up) => write!(f, "to {to}, with caches warmed by {warm_up}; {skipped}"),
        }
    }
}
