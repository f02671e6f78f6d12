//! OpenCL error codes.

use crate::guest::{Fault, NoRoom};
use crate::state::state;

use super::cl;

/// An OpenCL status: zero or a negative number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("OpenCL error {0}")]
pub struct Code(pub i32);

state!(tuple Code);

pub type Cl<T> = Result<T, Code>;

/// A pointer that is not mapped counts as an invalid value.
impl From<Fault> for Code {
    fn from(_: Fault) -> Self {
        cl::INVALID_VALUE
    }
}

impl From<NoRoom> for Code {
    fn from(_: NoRoom) -> Self {
        cl::MEM_OBJECT_ALLOCATION_FAILURE
    }
}

/// Fails with `code` unless `right` holds.
pub fn ensure(right: bool, code: Code) -> Cl<()> {
    if right { Ok(()) } else { Err(code) }
}
