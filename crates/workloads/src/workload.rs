//! The definition of a workload.

use std::{fmt, str::FromStr};

use thiserror::Error;

use crate::{
    check::{Checked, Mismatch},
    gpu::{Gpu, GpuError},
};

/// One built-in workload.
pub struct Workload {
    /// The workload's name on the command line.
    pub name: &'static str,
    /// One line that says what the workload computes, and how.
    pub about: &'static str,
    /// The kernels in OpenCL C.
    pub source: &'static str,
    /// The kernels built for gfx803.
    pub object: &'static [u8],
    /// The host program in C: its part of the program file that [`guest`](crate::guest) returns.
    pub host: &'static str,
    /// A description of each size, for people.
    pub sizes: fn(Size) -> String,
    /// Creates the inputs, launches the kernels and compares with the reference.
    pub run: fn(Size, &mut dyn Gpu) -> Result<Checked, WorkloadError>,
}

impl Workload {
    /// Whether its workgroups wait for each other inside a kernel. In that case all of them must be resident, and the
    /// number of instructions depends on how long they wait.
    pub fn waits_across_workgroups(&self) -> bool {
        self.source.contains("grid_barrier(")
    }
}

/// The size of a workload's input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// Enough to reach every path of the kernels; takes well under a second on every GPU implementation.
    Tiny,
    /// At least a million wavefront instructions over at least 4 MiB: two L2 caches of 2 MiB.
    #[default]
    Default,
    /// The size with which other simulators were measured; if none is known, the default.
    Usual,
}

impl Size {
    /// The parameter for this size.
    pub(crate) fn pick<T>(self, tiny: T, default: T) -> T {
        match self {
            Size::Tiny => tiny,
            Size::Default | Size::Usual => default,
        }
    }

    /// Variant of `pick` for workloads with a known size of other simulators.
    pub(crate) fn pick_usual<T>(self, tiny: T, default: T, usual: T) -> T {
        if self == Size::Usual { usual } else { self.pick(tiny, default) }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pick_usual("tiny", "default", "usual"))
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "tiny" => Ok(Size::Tiny),
            "default" => Ok(Size::Default),
            "usual" => Ok(Size::Usual),
            _ => Err(format!("there is no size '{text}': use 'tiny', 'default' or 'usual'")),
        }
    }
}

/// Why a workload failed.
#[derive(Debug, Error)]
pub enum WorkloadError {
    /// The GPU could not execute a request of the workload.
    #[error("{0}")]
    Gpu(#[from] GpuError),
    /// The GPU's result differs from the reference.
    #[error("wrong result: {0}")]
    Wrong(#[from] Mismatch),
}
