//! Networks: packets that switches and buses forwarded, and how long they were blocked.

use super::Spread;
use crate::figures::ratio;
use engine::Statistics;
use serde::{Deserialize, Serialize};

/// All switches together, or all buses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    pub switches: usize,
    pub packets: u64,
    /// Packets per cycle through one of them.
    pub rate: Spread,
    /// Share of kernel time (of the run, on a machine with a CPU) in which one had packets and could forward none.
    pub blocked: Spread,
}

impl Network {
    /// `None` if caches are connected by wires alone.
    pub(super) fn of(total: &Statistics, cycles: u64) -> Option<Self> {
        let switches = total.0.keys().filter_map(|path| path.strip_suffix(".blocked_cycles"));
        let (mut packets, mut rates, mut blocked) = (0, Vec::new(), Vec::new());
        for switch in switches {
            let forwarded = total.count(&format!("{switch}.forwarded"));
            packets += forwarded;
            rates.push(ratio(forwarded as f64, cycles as f64));
            let held = total.count(&format!("{switch}.blocked_cycles"));
            blocked.push(ratio(held as f64, cycles as f64));
        }
        let switches = rates.len();
        (switches > 0).then(|| Self { switches, packets, rate: Spread::of(&rates), blocked: Spread::of(&blocked) })
    }
}
