//! Random walks: one path through a system, and from its end to rest.
//!
//! A search visits every state of a small system; a walk visits a few hundred states of a system of any size. A
//! violation that a walk meets is as real as one that a search finds, so walks quickly show whether a changed table
//! is noticed ([`super::mutants`]). A walk without a violation proves little.

use super::{
    explore::Explore,
    search::{DRAINS, MOVES},
};
use mem::SplitMix64;
use rustc_hash::FxHashSet;

/// The average number of steps for which a move is delayed.
const LATE: usize = 24;

/// Takes `steps` random steps, which depend only on `seed`, and then brings the system to rest. Returns the first
/// property that is violated.
pub fn walk<M: Explore>(model: &M, steps: usize, seed: u64) -> Option<&'static str> {
    let mut random = SplitMix64(seed);
    // Some walks let messages arrive before cores send more requests; others let requests pile up.
    let patience = 1 + random.below(4);
    let mut state = model.initial();
    let mut next = state.clone();
    let mut moves = Vec::new();
    let mut late = None;
    for _ in 0..steps {
        model.actions(&state, &mut moves);
        if random.below(4) < patience {
            // Moves that bring the system nearer to rest come first.
            let first = moves.iter().take_while(|action| model.progresses(&state, action)).count();
            if first > 0 {
                moves.truncate(first);
            }
        }
        // Now and then one move is delayed for a while, and all others overtake it.
        match random.below(LATE) {
            0 => late = None,
            1 => late = moves.get(random.below(moves.len().max(1))).cloned(),
            _ => {}
        }
        if moves.len() > 1 {
            moves.retain(|action| Some(action) != late.as_ref());
        }
        while !moves.is_empty() {
            let action = moves.swap_remove(random.below(moves.len()));
            if model.follow(&state, &action, &mut next) {
                std::mem::swap(&mut state, &mut next);
                break;
            }
        }
        moves.clear();
        if let Some(property) = model.violated(&state) {
            return Some(property);
        }
    }
    come_to_rest(model, state)
}

/// Takes the same path to rest as the search.
fn come_to_rest<M: Explore>(model: &M, mut state: M::State) -> Option<&'static str> {
    let (mut seen, mut moves, mut next) = (FxHashSet::default(), Vec::new(), state.clone());
    while !model.drained(&state) {
        if !seen.insert(model.fingerprint(&state)) {
            return Some(DRAINS);
        }
        model.actions(&state, &mut moves);
        let mut forward = moves.drain(..).filter(|action| model.progresses(&state, action));
        if !forward.any(|action| model.follow(&state, &action, &mut next)) {
            return Some(MOVES);
        }
        drop(forward);
        std::mem::swap(&mut state, &mut next);
        if let Some(property) = model.violated(&state) {
            return Some(property);
        }
    }
    None
}
