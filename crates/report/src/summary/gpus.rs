//! What each GPU of a machine with a fabric spent the run on, and what happened to pages.

use crate::figures::ratio;
use engine::{Statistics, Value};
use os::opencl::Paged;
use serde::{Deserialize, Serialize};

/// The phases of a GPU: the name in the statistics, and the name for people.
pub(crate) const GPU_PHASES: [(&str, &str); 6] = [
    ("kernel", "ran kernels"),
    ("fault", "waited for page faults"),
    ("peers", "waited for other GPUs' shares"),
    ("flush", "waited for flushes of caches"),
    ("copy", "waited for copies"),
    ("idle", "had nothing to do"),
];

/// Where the time of one GPU went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuTime {
    /// `gpu0`.
    pub name: String,
    /// Shares of the run, in the order of `GPU_PHASES`; they add up to 1.
    pub shares: Vec<(String, f64)>,
    /// Share of the run in which at least one read over the fabric was in flight. It overlaps the other shares.
    pub remote_reads: f64,
}

impl GpuTime {
    pub(super) fn of(total: &Statistics) -> Vec<Self> {
        let accounts = (0..).map(|gpu| (gpu, format!("front_end.gpu{gpu}.time")));
        let accounts = accounts.map_while(|(gpu, path)| {
            let cycles = |phase: &str| total.get(&format!("{path}.{phase}")).map(count);
            let of: Vec<(&'static str, u64)> =
                GPU_PHASES.iter().map(|(phase, _)| (*phase, cycles(phase).unwrap_or(0))).collect();
            let all: u64 = of.iter().map(|(_, cycles)| cycles).sum();
            (all > 0).then(|| {
                let pending = total.get(&format!("gpu{gpu}.port.reads.pending")).map_or(0, count);
                let none = total.get(&format!("gpu{gpu}.port.reads.none")).map_or(0, count);
                Self {
                    name: format!("gpu{gpu}"),
                    shares: of
                        .into_iter()
                        .map(|(phase, cycles)| (phase.to_owned(), ratio(cycles as f64, all as f64)))
                        .collect(),
                    remote_reads: ratio(pending as f64, (pending + none) as f64),
                }
            })
        });
        accounts.collect()
    }
}

fn count(value: &Value) -> u64 {
    match value {
        Value::Count(count) => *count,
        _ => 0,
    }
}

/// The driver's activity on pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pages {
    /// Faults that the driver served: the host's, and those of GPUs.
    pub host_faults: u64,
    pub device_faults: u64,
    /// Pages that moved to another memory; that moved back and forth; that were evicted because a memory was full.
    pub migrations: u64,
    pub thrashed: u64,
    pub evictions: u64,
}

impl Pages {
    /// `None` if nothing happened to any page.
    pub(super) fn of(paged: &Paged) -> Option<Self> {
        let Paged { host_faults, device_faults, migrations, thrashed, evictions, .. } = *paged;
        let pages = Self { host_faults, device_faults, migrations, thrashed, evictions };
        (pages != Self::default()).then_some(pages)
    }

    /// The counts that are not zero, with their names.
    pub fn told(&self) -> Vec<String> {
        let counts = [
            (self.host_faults, "faults of the host"),
            (self.device_faults, "faults of GPUs"),
            (self.migrations, "migrated"),
            (self.thrashed, "thrashed"),
            (self.evictions, "evicted"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        counts.map(|(count, what)| format!("{} {what}", crate::figures::count(count))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_each_gpu_are_of_its_own_account() {
        let mut total = Statistics::default();
        for (path, cycles) in [
            ("front_end.gpu0.time.kernel", 60),
            ("front_end.gpu0.time.fault", 20),
            ("front_end.gpu0.time.idle", 20),
            ("front_end.gpu1.time.idle", 50),
            ("gpu0.port.reads.pending", 30),
            ("gpu0.port.reads.none", 70),
        ] {
            total.0.insert(path.into(), Value::Count(cycles));
        }
        let gpus = GpuTime::of(&total);
        assert_eq!(gpus.len(), 2);
        assert_eq!(
            gpus[0].shares[..3],
            [("kernel", 0.6), ("fault", 0.2), ("peers", 0.0)].map(|(phase, share)| (phase.to_owned(), share))
        );
        assert_eq!((gpus[0].remote_reads, gpus[1].remote_reads), (0.3, 0.0));
        assert_eq!(gpus[1].shares[5], ("idle".to_owned(), 1.0));
    }
}
