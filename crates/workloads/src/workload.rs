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

/// How much to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// Enough to reach every path of the kernels; done in well under a second by every GPU that runs it.
    Tiny,
    /// At least a million wavefront instructions over at least 4 MiB: two L2 caches of 2 MiB.
    #[default]
    Default,
}

impl Size {
    /// The one of two parameters that belongs to this size.
    pub(crate) fn pick<T>(self, tiny: T, default: T) -> T {
        match self {
            Size::Tiny => tiny,
            Size::Default => default,
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pick("tiny", "default"))
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "tiny" => Ok(Size::Tiny),
            "default" => Ok(Size::Default),
            _ => Err(format!("there is no size '{text}': use 'tiny' or 'default'")),
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
