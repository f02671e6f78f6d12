//! Combinations of choices, a subset of them that covers all pairs, and parallel execution over a list.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// One choice per dimension, by index.
pub type Combination = Vec<usize>;

/// All combinations, given the number of choices of each dimension.
pub fn combinations(choices: &[usize]) -> Vec<Combination> {
    let mut all = vec![Vec::new()];
    for count in choices {
        let more = |begun: Combination| (0..*count).map(move |choice| begun.iter().copied().chain([choice]).collect());
        all = all.into_iter().flat_map(more).collect();
    }
    all
}

/// A subset such that any two choices that occur together in `legal` also occur together in the subset.
pub fn pairwise(legal: &[Combination]) -> Vec<Combination> {
    let pairs = |combination: &Combination| -> Vec<(usize, usize, usize, usize)> {
        let choices: Vec<(usize, usize)> = combination.iter().copied().enumerate().collect();
        let firsts = choices.iter().enumerate();
        firsts.flat_map(|(at, a)| choices[at + 1..].iter().map(|b| (a.0, a.1, b.0, b.1))).collect()
    };
    let mut missing: BTreeSet<_> = legal.iter().flat_map(pairs).collect();
    let mut chosen = Vec::new();
    while !missing.is_empty() {
        let new = |combination: &&Combination| pairs(combination).iter().filter(|pair| missing.contains(*pair)).count();
        // Among equals, the first.
        let Some(best) = legal.iter().rev().max_by_key(new) else { break };
        pairs(best).iter().for_each(|pair| _ = missing.remove(pair));
        chosen.push(best.clone());
    }
    chosen
}

/// Applies a function to each item, one per processor at a time. Returns the texts, in order.
pub fn each<T: Sync>(all: &[T], does: impl Fn(&T) -> Option<String> + Sync) -> Vec<String> {
    let (next, said) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Some(message) = does(one) {
                said.lock().unwrap_or_else(PoisonError::into_inner).push(message);
            }
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..workers).for_each(|_| _ = scope.spawn(work)));
    let mut said = said.into_inner().unwrap_or_else(PoisonError::into_inner);
    said.sort();
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pairwise_cover_has_every_pair_that_any_combination_has() {
        let legal = vec![vec![0, 0, 0], vec![0, 1, 1], vec![1, 0, 1], vec![1, 1, 0], vec![1, 1, 1]];
        let chosen = pairwise(&legal);
        assert!(chosen.len() < legal.len(), "{chosen:?}");
        for first in 0..2 {
            for second in 0..2 {
                assert!(chosen.iter().any(|combination| combination[0] == first && combination[1] == second));
            }
        }
    }
}
