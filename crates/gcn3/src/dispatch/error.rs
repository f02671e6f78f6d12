//! Errors of a launch.

use crate::object::ArgumentKind;

/// Why a launch was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DispatchError {
    #[error(
        "kernel '{kernel}': along {axis}, a grid of {} work-items in groups of {} is not possible; both must be at \
         least 1, groups at most 1024",
        .grid[axis_index(*.axis)], .group[axis_index(*.axis)]
    )]
    Size { kernel: String, axis: char, grid: [u32; 3], group: [u32; 3] },
    #[error(
        "kernel '{kernel}': a work-group of {items} work-items is too large; the kernel was compiled for at most {limit}"
    )]
    GroupTooLarge { kernel: String, items: u32, limit: u32 },
    #[error("kernel '{kernel}': work-groups of {}, but its source requires {} (reqd_work_group_size)", by(.group), by(.required))]
    GroupRequired { kernel: String, group: [u32; 3], required: [u32; 3] },
    #[error(
        "kernel '{kernel}': the code object does not say where it expects a global offset (it has no metadata); \
         launch it without one"
    )]
    OffsetUndescribed { kernel: String },
    #[error(
        "kernel '{kernel}' reads byte {offset} of its arguments, which the metadata does not list: it was linked with a \
         library that expects another system's implicit arguments; use AMD's device libraries, as `cohesim cc` does"
    )]
    ImplicitUnlisted { kernel: String, offset: u32 },
    #[error("kernel '{kernel}' takes {expected} arguments, but {given} were given; it takes {signature}")]
    ArgumentCount { kernel: String, expected: usize, given: usize, signature: String },
    #[error("kernel '{kernel}', argument {index} ({argument}): it is a {expected}, but a {given} was given")]
    ArgumentKind { kernel: String, index: usize, argument: String, expected: ArgumentKind, given: &'static str },
    #[error("kernel '{kernel}', argument {index} ({argument}): it has {expected} bytes, but {given} were given")]
    ArgumentSize { kernel: String, index: usize, argument: String, expected: u32, given: usize },
    #[error("kernel '{kernel}', argument {index} ({argument}): a {kind} can't be passed yet")]
    ArgumentUnsupported { kernel: String, index: usize, argument: String, kind: ArgumentKind },
    #[error("kernel '{kernel}': {given} bytes of arguments were given, but its kernarg segment has {expected}")]
    KernargSize { kernel: String, expected: u32, given: usize },
    #[error("kernel '{kernel}' would need {size} bytes of local memory in each work-group; there are 65536")]
    LdsFull { kernel: String, size: u64 },
    #[error("kernel '{kernel}' needs {size} bytes of scratch memory per work-item; at most {limit} are possible")]
    ScratchTooLarge { kernel: String, size: u32, limit: u32 },
    #[error(
        "kernel '{kernel}': scratch memory at {scratch:#x} is out of reach: registers count up to 4 GiB from {base:#x}"
    )]
    ScratchOutOfReach { kernel: String, scratch: u64, base: u64 },
}

fn axis_index(axis: char) -> usize {
    "xyz".find(axis).unwrap_or(0)
}

fn by(size: &[u32; 3]) -> String {
    format!("{} x {} x {}", size[0], size[1], size[2])
}
