//! What the runtime counts.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! statistics {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Totals since the runtime was made.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
        #[repr(C)]
        pub struct Stats { $($(#[$doc])* pub $name: u64),* }

        /// The same while they are counted.
        #[derive(Default)]
        pub(crate) struct Counters { $(pub $name: AtomicU64),* }

        impl Counters {
            pub fn snapshot(&self) -> Stats {
                Stats { $($name: self.$name.load(Ordering::Relaxed)),* }
            }
        }

        impl Stats {
            /// What has been added since `earlier`.
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                Self { $($name: self.$name.wrapping_sub(earlier.$name)),* }
            }

            /// Both together.
            #[must_use]
            pub fn plus(&self, other: &Self) -> Self {
                Self { $($name: self.$name.wrapping_add(other.$name)),* }
            }
        }
    };
}
statistics! {
    /// Touches of closed pages that were loads.
    load_faults,
    /// Touches of closed or read-only pages that were stores.
    store_faults,
    /// Time spent serving them, transfers included, and opening blocks that are trusted to be looked at so that there is none.
    fault_nanoseconds,
    /// Of which waiting for transfers.
    fault_transfer_nanoseconds,
    /// Of the rest, opening blocks on trust.
    trust_nanoseconds,
    uploads,
    upload_bytes,
    downloads,
    download_bytes,
    /// Runs of dirty blocks that were sent early.
    evictions,
    /// Of which the device refused; the blocks stayed dirty.
    failed_evictions,
    calls,
    /// Times that the program touched an object before it had synchronised.
    implicit_syncs,
    /// Times that the system's limit of mappings made us open a whole object.
    coarsened,
    /// Of the downloads, those that were started before anybody asked.
    early_downloads,
    /// Runs of blocks that went from one device to another.
    migrations,
    migration_bytes,
    /// Time spent handing objects over, taking them back, and starting kernels.
    call_nanoseconds,
    /// Time spent waiting for kernels to end.
    wait_nanoseconds,
}

pub(crate) fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}
