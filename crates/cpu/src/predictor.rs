//! Branch prediction: directions, targets, return addresses.
//!
//! The core fetches the right path only, so each prediction is compared with the branch's outcome, and the predictor is
//! trained, at once. Histories are therefore those of a machine that repairs them after each misprediction. Counters
//! have two bits.

use crate::{Direction, PredictorSpec};
use x86::trace::Branch;

/// A branch and its outcome.
#[derive(Clone, Copy, Debug)]
pub struct Jump {
    pub branch: Branch,
    pub rip: u64,
    /// The address of the instruction behind it.
    pub after: u64,
    /// The address of the instruction executed next.
    pub next: u64,
    pub taken: bool,
}

/// The result of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prediction {
    /// Fetch continues at the right address.
    Right,
    /// The target was unknown, but is encoded in the instruction: fetch continues when the branch has been decoded.
    Misfetch,
    /// Wrong direction. As with the other mispredictions below, fetch continues when the branch has been executed.
    Direction,
    Target,
    Return,
}

/// The predictor of a core. Each hardware thread has its own histories and return addresses.
pub struct Predictor {
    perfect: bool,
    bimodal: Counters,
    two_level: Counters,
    /// Which predictor to use: "taken" selects the two-level predictor.
    choice: Counters,
    /// For each thread, its branch histories.
    histories: Vec<Vec<u32>>,
    bits: u32,
    kind: Kind,
    targets: Targets,
    returns: Vec<Returns>,
}

#[derive(Clone, Copy)]
enum Kind {
    Never,
    Bimodal,
    TwoLevel,
    Combined,
}

/// Saturating counters from -2 to 1; 0 and 1 predict "taken".
struct Counters(Vec<i8>);

impl Counters {
    fn at(&mut self, place: u64) -> &mut i8 {
        let last = self.0.len() as u64 - 1;
        &mut self.0[(place & last) as usize]
    }
}

fn train(counter: &mut i8, up: bool) {
    *counter = if up { (*counter + 1).min(1) } else { (*counter - 1).max(-2) };
}

impl Predictor {
    pub fn new(spec: &PredictorSpec, threads: usize) -> Self {
        let (kind, bimodal, (histories, bits, counters), choices) = match spec.direction {
            Direction::Never | Direction::Perfect => (Kind::Never, 1, (1, 1, 1), 1),
            Direction::Bimodal { counters } => (Kind::Bimodal, counters, (1, 1, 1), 1),
            Direction::TwoLevel { histories, bits, counters } => (Kind::TwoLevel, 1, (histories, bits, counters), 1),
            Direction::Combined { bimodal, histories, bits, counters, choices } => {
                (Kind::Combined, bimodal, (histories, bits, counters), choices)
            }
        };
        let counters_of = |count| Counters(vec![0; count]);
        Self {
            perfect: spec.direction == Direction::Perfect,
            bimodal: counters_of(bimodal),
            two_level: counters_of(counters),
            choice: counters_of(choices),
            histories: vec![vec![0; histories]; threads],
            bits,
            kind,
            targets: Targets::new(spec.btb_sets, spec.btb_ways),
            returns: (0..threads).map(|_| Returns::new(spec.return_stack)).collect(),
        }
    }

    /// Predicts a branch of a hardware thread and trains on its outcome.
    pub fn predict(&mut self, thread: usize, jump: &Jump) -> Prediction {
        if self.perfect {
            return Prediction::Right;
        }
        match jump.branch {
            Branch::No | Branch::Syscall => Prediction::Right,
            Branch::Conditional => {
                let right = self.direction(thread, jump.rip, jump.taken) == jump.taken;
                let known = !jump.taken || self.targets.predict(jump.rip, jump.next);
                match (right, known) {
                    (false, _) => Prediction::Direction,
                    (true, false) => Prediction::Misfetch,
                    (true, true) => Prediction::Right,
                }
            }
            Branch::Direct | Branch::Call => {
                self.call(thread, jump);
                if self.targets.predict(jump.rip, jump.next) { Prediction::Right } else { Prediction::Misfetch }
            }
            Branch::Indirect | Branch::IndirectCall => {
                self.call(thread, jump);
                if self.targets.predict(jump.rip, jump.next) { Prediction::Right } else { Prediction::Target }
            }
            Branch::Return => {
                if self.returns[thread].pop() == Some(jump.next) {
                    Prediction::Right
                } else {
                    Prediction::Return
                }
            }
        }
    }

    /// The target that the branch target buffer knows of a branch.
    pub fn target(&self, rip: u64) -> Option<u64> {
        self.targets.target(rip)
    }

    fn call(&mut self, thread: usize, jump: &Jump) {
        if matches!(jump.branch, Branch::Call | Branch::IndirectCall) {
            self.returns[thread].push(jump.after);
        }
    }

    /// Predicts the direction of a conditional branch and trains on `taken`, its outcome.
    fn direction(&mut self, thread: usize, rip: u64, taken: bool) -> bool {
        let histories = &mut self.histories[thread];
        let own = (rip & (histories.len() as u64 - 1)) as usize;
        let history = histories[own];
        histories[own] = (history << 1 | taken as u32) & ((1 << self.bits) - 1);
        match self.kind {
            Kind::Never => false,
            Kind::Bimodal => consult(self.bimodal.at(rip), taken),
            Kind::TwoLevel => consult(self.two_level.at(rip << self.bits | history as u64), taken),
            Kind::Combined => {
                let simple = consult(self.bimodal.at(rip), taken);
                let deep = consult(self.two_level.at(rip << self.bits | history as u64), taken);
                let choice = self.choice.at(rip);
                let trusted = if *choice >= 0 { deep } else { simple };
                if simple != deep {
                    train(choice, deep == taken);
                }
                trusted
            }
        }
    }
}

/// The prediction of a counter, which is then trained on the outcome.
fn consult(counter: &mut i8, taken: bool) -> bool {
    let said = *counter >= 0;
    train(counter, taken);
    said
}

/// The branch target buffer: the ways of a set are ordered by their last use.
struct Targets {
    entries: Vec<(u64, u64)>,
    ways: usize,
}

/// An empty entry: no instruction begins at the last address.
const NOWHERE: (u64, u64) = (u64::MAX, 0);

impl Targets {
    fn new(sets: usize, ways: usize) -> Self {
        Self { entries: vec![NOWHERE; sets * ways], ways }
    }

    fn target(&self, rip: u64) -> Option<u64> {
        let sets = self.entries.len() / self.ways;
        let set = (rip as usize & (sets - 1)) * self.ways;
        self.entries[set..set + self.ways].iter().find(|(branch, _)| *branch == rip).map(|(_, target)| *target)
    }

    /// Whether the target was predicted; stores the right one.
    fn predict(&mut self, rip: u64, target: u64) -> bool {
        let sets = self.entries.len() / self.ways;
        let set = (rip as usize & (sets - 1)) * self.ways;
        let set = &mut self.entries[set..set + self.ways];
        let found = set.iter().position(|(branch, _)| *branch == rip);
        let right = found.is_some_and(|way| set[way].1 == target);
        set[..=found.unwrap_or(self.ways - 1)].rotate_right(1);
        set[0] = (rip, target);
        right
    }
}

/// The return address stack. When it is full, the oldest address is overwritten.
struct Returns {
    stack: Vec<u64>,
    top: usize,
    depth: usize,
}

impl Returns {
    fn new(size: usize) -> Self {
        Self { stack: vec![0; size], top: 0, depth: 0 }
    }

    fn push(&mut self, address: u64) {
        if !self.stack.is_empty() {
            self.top = (self.top + 1) % self.stack.len();
            self.stack[self.top] = address;
            self.depth = (self.depth + 1).min(self.stack.len());
        }
    }

    fn pop(&mut self) -> Option<u64> {
        self.depth = self.depth.checked_sub(1)?;
        let address = self.stack[self.top];
        self.top = (self.top + self.stack.len() - 1) % self.stack.len();
        Some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Cycles;

    const BIMODAL: Direction = Direction::Bimodal { counters: 1024 };
    const TWO_LEVEL: Direction = Direction::TwoLevel { histories: 1, bits: 8, counters: 1 << 14 };
    const COMBINED: Direction =
        Direction::Combined { bimodal: 1024, histories: 1, bits: 8, counters: 1 << 14, choices: 1024 };

    fn predictor(direction: Direction) -> Predictor {
        let spec = PredictorSpec { direction, btb_sets: 16, btb_ways: 2, return_stack: 4, penalty: Cycles(0) };
        Predictor::new(&spec, 1)
    }

    fn conditional(rip: u64, taken: bool) -> Jump {
        let next = if taken { 0x9000 } else { rip + 2 };
        Jump { branch: Branch::Conditional, rip, after: rip + 2, next, taken }
    }

    /// How many of the last hundred branches were mispredicted.
    fn misses(direction: Direction, branches: impl Iterator<Item = (u64, bool)>) -> usize {
        let mut predictor = predictor(direction);
        let outcomes: Vec<_> =
            branches.map(|(rip, taken)| predictor.predict(0, &conditional(rip, taken)) != Prediction::Right).collect();
        outcomes[outcomes.len() - 100..].iter().filter(|wrong| **wrong).count()
    }

    #[test]
    fn a_loop_of_ten_is_mispredicted_once_a_turn_by_two_bits() {
        let turns = (0..400).map(|n| (0x100, n % 10 != 9));
        assert_eq!(misses(BIMODAL, turns), 10);
    }

    #[test]
    fn a_short_loop_is_learnt_to_its_end_from_its_history() {
        let turns = || (0..400).map(|n| (0x100, n % 5 != 4));
        assert_eq!((misses(TWO_LEVEL, turns()), misses(COMBINED, turns())), (0, 0));
        assert_eq!(misses(BIMODAL, turns()), 20);
    }

    #[test]
    fn alternation_is_learnt_from_history_only() {
        let turns = || (0..400).map(|n| (0x100, n % 2 == 0));
        assert_eq!(misses(TWO_LEVEL, turns()), 0);
        assert!(misses(BIMODAL, turns()) >= 50);
    }

    #[test]
    fn a_branch_that_does_what_another_did_is_learnt_from_common_history() {
        // The first branch is pseudo-random; the second has the same direction.
        let mut state = 1u32;
        let pairs = (0..2000).flat_map(move |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let taken = state >> 31 == 1;
            [(0x100, taken), (0x200, taken)]
        });
        let mut predictor = predictor(TWO_LEVEL);
        let mut wrong = [0; 2];
        for (number, (rip, taken)) in pairs.enumerate() {
            let prediction = predictor.predict(0, &conditional(rip, taken));
            if number >= 3000 && prediction == Prediction::Direction {
                wrong[(rip == 0x200) as usize] += 1;
            }
        }
        assert!(wrong[0] > 150 && wrong[1] < 10, "{wrong:?} of 500 each");
    }

    #[test]
    fn the_predictor_that_is_right_more_often_is_chosen() {
        // One branch alternates, the other is random but mostly taken: history helps only the first.
        let mut state = 1u32;
        let branches = (0..2000).map(move |n| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if n % 2 == 0 { (0x101, n % 4 == 0) } else { (0x202, state >> 29 != 0) }
        });
        let branches: Vec<_> = branches.collect();
        let wrong = |direction| misses(direction, branches.iter().copied());
        assert!(wrong(COMBINED) <= wrong(BIMODAL), "{} and {}", wrong(COMBINED), wrong(BIMODAL));
    }

    #[test]
    fn returns_go_back_to_where_calls_came_from_as_deep_as_the_stack_is() {
        let mut predictor = predictor(BIMODAL);
        let mut call = |rip| {
            let jump = Jump { branch: Branch::Call, rip, after: rip + 5, next: 0x9000, taken: true };
            predictor.predict(0, &jump);
        };
        (0..5).for_each(|n| call(0x100 * (n + 1)));
        let mut back = |next| {
            let jump = Jump { branch: Branch::Return, rip: 0x9010, after: 0x9011, next, taken: true };
            predictor.predict(0, &jump)
        };
        for n in (1..5).rev() {
            assert_eq!(back(0x100 * (n + 1) + 5), Prediction::Right);
        }
        assert_eq!(back(0x105), Prediction::Return, "the fifth has been lost");
    }

    #[test]
    fn an_indirect_jump_is_expected_to_go_where_it_went_last() {
        let mut predictor = predictor(BIMODAL);
        let mut go = |next| {
            let jump = Jump { branch: Branch::Indirect, rip: 0x100, after: 0x102, next, taken: true };
            predictor.predict(0, &jump)
        };
        let outcomes = [0x500, 0x500, 0x600, 0x600].map(&mut go);
        use Prediction::{Right, Target};
        assert_eq!(outcomes, [Target, Right, Target, Right]);
    }

    #[test]
    fn a_jump_that_was_forgotten_is_found_again_at_decode() {
        let mut predictor = predictor(BIMODAL);
        let mut jump = |rip| {
            let jump = Jump { branch: Branch::Direct, rip, after: rip + 5, next: rip + 0x1000, taken: true };
            predictor.predict(0, &jump)
        };
        // Three branches that share a set of two ways.
        let outcomes = [0x100, 0x100, 0x200, 0x300, 0x100].map(&mut jump);
        use Prediction::{Misfetch, Right};
        assert_eq!(outcomes, [Misfetch, Right, Misfetch, Misfetch, Misfetch]);
    }
}
