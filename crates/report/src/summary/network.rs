//! Networks: what switches and buses forwarded, and how long they could forward nothing.

use super::Spread;
use crate::figures::ratio;
use engine::Statistics;
use serde::Serialize;

/// All switches together, or all buses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Network {
    pub switches: usize,
    pub packets: u64,
    /// Packets a cycle through one of them.
    pub rate: Spread,
    /// Share of kernel time, or on a machine with a CPU of the run, in which one had packets and nowhere to send them.
    pub blocked: Spread,
}

impl Network {
    /// None where caches are joined by wires alone.
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
