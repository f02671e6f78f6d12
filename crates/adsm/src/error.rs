//! The errors of the library, with messages for the user.

use crate::accel::DeviceError;
use std::io;

/// An error of the library.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error("the system refused {what}: {source}")]
    System { what: &'static str, source: io::Error },
    #[error("an object of {bytes} bytes can't be made: {why}")]
    Size { bytes: usize, why: &'static str },
    #[error("{address:#x} does not belong to a shared object{}", if *.freed { "; it was freed before" } else { "" })]
    Foreign { address: usize, freed: bool },
    #[error("{address:#x} lies inside a shared object; only its start, {start:#x}, can be freed")]
    Inside { address: usize, start: usize },
    #[error("the object at {address:#x} is used by a kernel in flight; call sync() before freeing it")]
    InFlight { address: usize },
    #[error(
        "one call would have to run on both {one} and {other}: it uses data of both, and data of neither can be moved to the other"
    )]
    TwoDevices { one: String, other: String },
    #[error("{bytes} bytes from {address:#x} leave the object that begins at {start:#x} and has {len} bytes")]
    Bounds { address: usize, bytes: usize, start: usize, len: usize },
    #[error("{variable}={value} is not valid: {expected}")]
    Setting { variable: String, value: String, expected: String },
    #[error("{why}")]
    NoRuntime { why: String },
    #[error("{why}")]
    Argument { why: String },
    #[error("this process was forked from the one that made the runtime; shared objects stay with the parent")]
    Forked,
    #[error("the protocol {protocol} has no answer when {event} meets a block in state {state}: a bug in this library")]
    Protocol { protocol: &'static str, state: &'static str, event: &'static str },
    #[error("one pointer is not possible on {device}; allocate with safe_alloc and translate with safe()")]
    NoOnePointer { device: String },
}

impl Error {
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}

/// The result type of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;
