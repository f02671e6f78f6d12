//! Page faults: what they cost, and how many there were (`003_07d33ec44b25be67.txt`, 3.2.7).
//!
//! The kernel answers faults; what that takes is charged to whoever faulted. A fault is soft if the page is there and only its entry
//! is missing or refuses, and hard if the page has to be made or fetched.

use engine::{Counter, Cycles, Scope};

/// From the machine file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultSpec {
    /// What a soft fault takes.
    pub soft: Cycles,
    /// What a hard fault takes.
    pub hard: Cycles,
}

/// The page faults of one who faults.
pub struct Faults {
    spec: FaultSpec,
    soft: Counter,
    hard: Counter,
    cycles: Counter,
}

impl Faults {
    pub fn new(spec: FaultSpec, scope: &Scope) -> Faults {
        let [soft, hard, cycles] = ["soft_faults", "hard_faults", "fault_cycles"].map(|name| scope.counter(name));
        Faults { spec, soft, hard, cycles }
    }

    /// Counts a soft fault; says how long it takes.
    pub fn soft(&self) -> Cycles {
        self.charge(&self.soft, self.spec.soft)
    }

    /// Counts a hard fault; says how long it takes.
    pub fn hard(&self) -> Cycles {
        self.charge(&self.hard, self.spec.hard)
    }

    fn charge(&self, counter: &Counter, cycles: Cycles) -> Cycles {
        counter.increment();
        self.cycles.add(cycles.0);
        cycles
    }
}
