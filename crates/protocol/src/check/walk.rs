//! Random walks: one way through a system, and from its end to rest.
//!
//! A search looks at every state of a small system; a walk at a few hundred, of a system of any size. What a walk meets is as wrong as
//! what a search finds, so walks say quickly whether a changed table is noticed ([`super::mutants`]). That they meet nothing
//! says little.

use super::{
    explore::Explore,
    search::{DRAINS, MOVES},
};
use mem::SplitMix64;
use rustc_hash::FxHashSet;

/// How many steps something is held up, about.
const LATE: usize = 24;

/// Takes so many steps at random, the same ones for the same seed, and then comes to rest. The first property that does not hold.
pub fn walk<M: Explore>(model: &M, steps: usize, seed: u64) -> Option<&'static str> {
    let mut random = SplitMix64(seed);
    // Some walks let messages arrive before anybody asks for more, others let requests pile up.
    let patience = 1 + random.below(4);
    let mut state = model.initial();
    let mut next = state.clone();
    let mut moves = Vec::new();
    let mut late = None;
    for _ in 0..steps {
        model.actions(&state, &mut moves);
        if random.below(4) < patience {
            // What brings the system nearer to rest comes first.
            let first = moves.iter().take_while(|action| model.progresses(&state, action)).count();
            if first > 0 {
                moves.truncate(first);
            }
        }
        // Now and then something is held up for a while, and all else overtakes it.
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

/// Goes the way to rest on which the search goes, too.
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
