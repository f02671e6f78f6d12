//! Bytes that transfers moved, by cause.

use engine::{Counter, Scope};
use os::opencl::gpu::{Cause, Transfer};

pub(super) struct MovedBytes([Counter; 7]);

impl MovedBytes {
    pub fn new(scope: &Scope) -> Self {
        let scope = scope.scope("moved");
        Self(
            ["copy", "launch", "fault", "prefetch", "eviction", "write_back", "call"].map(|cause| scope.counter(cause)),
        )
    }

    /// Counts a completed transfer.
    pub fn add(&self, transfer: &Transfer) {
        let cause = match transfer.cause {
            Cause::Copy => 0,
            Cause::Launch => 1,
            Cause::Fault => 2,
            Cause::Prefetch => 3,
            Cause::Eviction => 4,
            Cause::WriteBack => 5,
            Cause::Call => 6,
        };
        self.0[cause].add(transfer.bytes().0);
    }
}
