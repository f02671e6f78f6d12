//! The runtime's counters.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! statistics {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Totals since the runtime was created.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
        #[repr(C)]
        pub struct Stats { $($(#[$doc])* pub $name: u64),* }

        /// The live counters behind `Stats`.
        #[derive(Default)]
        pub(crate) struct Counters { $(pub $name: AtomicU64),* }

        impl Counters {
            pub fn snapshot(&self) -> Stats {
                Stats { $($name: self.$name.load(Ordering::Relaxed)),* }
            }
        }

        impl Stats {
            /// The difference from `earlier`.
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                Self { $($name: self.$name.wrapping_sub(earlier.$name)),* }
            }

            /// The sum of both.
            #[must_use]
            pub fn plus(&self, other: &Self) -> Self {
                Self { $($name: self.$name.wrapping_add(other.$name)),* }
            }
        }
    };
}
statistics! {
    /// Faults by loads from closed pages.
    load_faults,
    /// Faults by stores to closed or read-only pages.
    store_faults,
    /// Time spent serving faults and opening trusted blocks without a fault, transfers included.
    fault_nanoseconds,
    /// Part of it: waiting for transfers.
    fault_transfer_nanoseconds,
    /// Part of the rest: opening trusted blocks.
    trust_nanoseconds,
    uploads,
    upload_bytes,
    downloads,
    download_bytes,
    /// Runs of dirty blocks sent early.
    evictions,
    /// Evictions that the device refused; their blocks stayed dirty.
    failed_evictions,
    calls,
    /// How often the program accessed an object before it had synchronised.
    implicit_syncs,
    /// How often a whole object was opened because of the system's limit of mappings.
    coarsened,
    /// Downloads started before the program accessed the data.
    early_downloads,
    /// Runs of blocks transferred from one device to another.
    migrations,
    migration_bytes,
    /// Time spent releasing and acquiring objects, and starting kernels.
    call_nanoseconds,
    /// Time spent waiting for kernels to end.
    wait_nanoseconds,
}

pub(crate) fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}
