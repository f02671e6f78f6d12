//! What a workload is.

use std::{fmt, str::FromStr};

use thiserror::Error;

use crate::{
    check::{Checked, Mismatch},
    gpu::{Gpu, GpuError},
};

/// One built-in workload.
pub struct Workload {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line: what it computes, and how.
    pub about: &'static str,
    /// The kernels in OpenCL C.
    pub source: &'static str,
    /// The kernels built for gfx803.
    pub object: &'static [u8],
    /// The host program in C: its part of the program file that [`guest`](crate::guest) gives.
    pub host: &'static str,
    /// What the two sizes mean, for people.
    pub sizes: fn(Size) -> String,
    /// Makes the inputs, launches the kernels and compares with the reference.
    pub run: fn(Size, &mut dyn Gpu) -> Result<Checked, WorkloadError>,
}

impl Workload {
    /// Whether its workgroups wait for each other inside a kernel. Then all of them must be resident, and how many
    /// instructions they execute depends on how long they wait.
    pub fn waits_across_workgroups(&self) -> bool {
        self.source.contains("grid_barrier(")
    }
}

/// How much to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// Enough to reach every path of the kernels; done in well under a second by every GPU that runs it.
    Tiny,
    /// At least a million wavefront instructions over at least 4 MiB: two L2 caches of 2 MiB.
    #[default]
    Default,
    /// As much as other simulators were measured with; of workloads for which nothing is known, the default.
    Usual,
}

impl Size {
    /// The one of two parameters that belongs to this size.
    pub(crate) fn pick<T>(self, tiny: T, default: T) -> T {
        match self {
            Size::Tiny => tiny,
            Size::Default | Size::Usual => default,
        }
    }

    /// The same, where other simulators were measured with a size of their own.
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

/// Why a workload did not end well.
#[derive(Debug, Error)]
pub enum WorkloadError {
    /// The GPU could not do what the workload asked.
    #[error("{0}")]
    Gpu(#[from] GpuError),
    /// The GPU computed something else than the reference.
    #[error("wrong result: {0}")]
    Wrong(#[from] Mismatch),
}
