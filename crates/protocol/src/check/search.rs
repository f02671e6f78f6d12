//! Breadth-first search over a `stateright::Model`.
//!
//! Of a state met before only its fingerprint is kept, with the number of the state it was first reached from; whole states
//! live while they wait at the frontier. A trace is found again by walking from the start along the fingerprints.

use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use stateright::{Expectation, Model};

/// What the search needs beside the model: which states are the same, and how a system comes to rest.
pub trait Explore: Model {
    /// Equal for states that differ only in names.
    fn fingerprint(&self, state: &Self::State) -> u64;
    /// Nothing is under way.
    fn drained(&self, state: &Self::State) -> bool;
    /// Whether an action brings the system nearer to rest. Among a state's actions the first of these is the way to go.
    fn progresses(&self, state: &Self::State, action: &Self::Action) -> bool;
}

/// A property that the search sees to itself, as it looks at every next state anyway.
pub const MOVES: &str = "some message can always move";

/// The property that the search adds to the model's: from every state the system can come to rest.
pub const DRAINS: &str = "everything can drain";

/// A property that does not hold, and the shortest way to see it.
#[derive(Clone, Debug)]
pub struct Violation<S, A> {
    pub property: &'static str,
    /// What happened, and the state it led to.
    pub trace: Vec<(A, S)>,
}

/// What a search brings.
#[derive(Clone, Debug)]
pub struct Found<S, A> {
    pub states: usize,
    /// Moves from the start to the farthest state.
    pub depth: usize,
    /// False if the search ended at its limit.
    pub complete: bool,
    /// The first violation met: the search stops there.
    pub violation: Option<Violation<S, A>>,
}

/// Looks at every state, the nearest first, until one violates a property or `limit` states are known.
pub fn search<M: Explore>(model: &M, limit: usize) -> Found<M::State, M::Action>
where
    M::State: Clone,
    M::Action: Clone,
{
    let mut walk =
        Walk { model, seen: FxHashMap::default(), parents: Vec::new(), prints: Vec::new(), drains: Vec::new() };
    let (mut depth, mut complete) = (0, true);
    let mut frontier: Vec<(u32, M::State)> = Vec::new();
    for state in model.init_states() {
        let (number, new) = walk.enter(&state, None);
        if new {
            frontier.push((number, state));
        }
    }
    let properties = model.properties();
    let mut actions = Vec::new();
    let violated = 'search: loop {
        let mut next = Vec::new();
        for (number, state) in &frontier {
            let broken = |p: &&stateright::Property<M>| {
                p.name != MOVES && matches!(p.expectation, Expectation::Always) && !(p.condition)(model, state)
            };
            if let Some(property) = properties.iter().find(broken) {
                break 'search Some((*number, property.name));
            }
            let mut drain = if model.drained(state) { AT_REST } else { STUCK };
            model.actions(state, &mut actions);
            for action in actions.drain(..) {
                let progresses = drain == STUCK && model.progresses(state, &action);
                let Some(successor) = model.next_state(state, action) else { continue };
                let (known, new) = walk.enter(&successor, Some(*number));
                if new {
                    next.push((known, successor));
                }
                if progresses {
                    drain = known;
                }
            }
            walk.drains[*number as usize] = drain;
            if drain == STUCK {
                break 'search Some((*number, MOVES));
            }
        }
        if next.is_empty() {
            break walk.stuck().map(|number| (number, DRAINS));
        }
        depth += 1;
        if walk.prints.len() > limit {
            complete = false;
            break None;
        }
        frontier = next;
    };
    let violation = violated.map(|(number, property)| Violation { property, trace: walk.trace(number) });
    Found { states: walk.prints.len(), depth, complete, violation }
}

struct Walk<'a, M: Explore> {
    model: &'a M,
    /// The number of the state with a fingerprint.
    seen: FxHashMap<u64, u32>,
    /// By state: the one it was first reached from; itself if none.
    parents: Vec<u32>,
    prints: Vec<u64>,
    /// By state: the next on its way to rest, or one of those below.
    drains: Vec<u32>,
}

/// The system is at rest.
const AT_REST: u32 = u32::MAX;
/// Not at rest, and nothing brings it nearer.
const STUCK: u32 = u32::MAX - 1;

impl<M: Explore> Walk<'_, M>
where
    M::State: Clone,
    M::Action: Clone,
{
    /// A state's number, and whether it is new.
    fn enter(&mut self, state: &M::State, parent: Option<u32>) -> (u32, bool) {
        let print = self.model.fingerprint(state);
        let number = u32::try_from(self.prints.len()).expect("memory ends before 4 billion states");
        match self.seen.entry(print) {
            Entry::Occupied(known) => (*known.get(), false),
            Entry::Vacant(place) => {
                place.insert(number);
                self.prints.push(print);
                self.parents.push(parent.unwrap_or(number));
                self.drains.push(STUCK);
                (number, true)
            }
        }
    }

    /// The first state from which the way to rest goes round in a circle.
    fn stuck(&self) -> Option<u32> {
        let mut good = vec![false; self.drains.len()];
        for start in 0..self.drains.len() {
            let (mut path, mut at) = (Vec::new(), start);
            while !good[at] && self.drains[at] != AT_REST {
                if path.len() > self.drains.len() {
                    return Some(start as u32);
                }
                path.push(at);
                at = self.drains[at] as usize;
            }
            good[at] = true;
            path.into_iter().for_each(|state| good[state] = true);
        }
        None
    }

    /// Finds the way from the start to a state again.
    fn trace(&self, number: u32) -> Vec<(M::Action, M::State)> {
        let mut way = vec![number];
        while let Some(&at) = way.last().filter(|&&at| self.parents[at as usize] != at) {
            way.push(self.parents[at as usize]);
        }
        way.reverse();
        let start =
            self.model.init_states().into_iter().find(|s| self.model.fingerprint(s) == self.prints[way[0] as usize]);
        let mut state = start.expect("the first state of a trace is an initial one");
        let mut trace = Vec::new();
        for &number in &way[1..] {
            let mut actions = Vec::new();
            self.model.actions(&state, &mut actions);
            let step = actions.into_iter().find_map(|action| {
                let next = self.model.next_state(&state, action.clone())?;
                (self.model.fingerprint(&next) == self.prints[number as usize]).then_some((action, next))
            });
            let (action, next) = step.expect("each state of a trace follows from the one before");
            state = next.clone();
            trace.push((action, next));
        }
        trace
    }
}
