//! Breadth-first search over the states of a system ([`Explore`]).
//!
//! Known states are kept only as fingerprints, with the number of the state each was first reached from; whole states
//! exist only in the frontier. A trace is reconstructed by following the fingerprints from the start.
//!
//! Threads share the frontier in batches: they compute the successors, and one thread enters them in the frontier's
//! order. So state numbers, traces and verdicts do not depend on the number of threads.

use super::explore::Explore;
use rustc_hash::FxHashMap;
use std::thread;

/// A property that the search adds to those of the model: a system that is not at rest can make progress.
pub const MOVES: &str = "some message can always move";
/// Another one: from every state the system can come to rest.
pub const DRAINS: &str = "everything can drain";

/// States that a thread expands at a time.
const BATCH: usize = 1024;

/// Progress of a search.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub states: usize,
    pub depth: usize,
}

/// How a search is run; except for the limit, this does not change its result.
pub struct Run<'a> {
    /// The search ends beyond this many states.
    pub limit: usize,
    pub threads: usize,
    /// Called now and then with the progress of the search.
    pub watch: &'a dyn Fn(Progress),
}

impl Default for Run<'_> {
    fn default() -> Self {
        Self { limit: usize::MAX, threads: 1, watch: &|_| {} }
    }
}

/// A violated property, and the shortest trace to it.
#[derive(Clone, Debug)]
pub struct Violation<S, A> {
    pub property: &'static str,
    /// Each action, and the state it led to.
    pub trace: Vec<(A, S)>,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Found<S, A> {
    pub states: usize,
    /// Moves from the start to the farthest state.
    pub depth: usize,
    /// `false` if the search stopped at its limit.
    pub complete: bool,
    /// The first violation met: the search stops there.
    pub violation: Option<Violation<S, A>>,
}

/// Visits every state, the nearest first, until one violates a property or the limit is exceeded.
pub fn search<M: Explore>(model: &M, run: &Run<'_>) -> Found<M::State, M::Action> {
    let mut walk =
        Walk { model, seen: FxHashMap::default(), parents: Vec::new(), prints: Vec::new(), drains: Vec::new() };
    let (mut depth, mut complete) = (0, true);
    let mut frontier: Vec<(u32, M::State)> = Vec::new();
    let state = model.initial();
    if let Some(number) = walk.enter(model.fingerprint(&state), None) {
        frontier.push((number, state));
    }
    let violated = 'search: loop {
        let mut next = Vec::new();
        for batch in frontier.chunks(BATCH * run.threads.max(1)) {
            let numbers = batch.iter().map(|&(number, _)| number);
            for (number, expanded) in numbers.zip(walk.expand_all(batch, run.threads)) {
                if let Some(property) = expanded.broken {
                    break 'search Some((number, property));
                }
                for (print, state) in expanded.successors {
                    if let Some(number) = walk.enter(print, Some(number)) {
                        next.push((number, state));
                    }
                }
                walk.drains[number as usize] = match expanded.way {
                    Way::AtRest => AT_REST,
                    Way::To(print) => walk.seen[&print],
                };
            }
            (run.watch)(Progress { states: walk.prints.len(), depth });
        }
        if next.is_empty() {
            break walk.stuck().map(|number| (number, DRAINS));
        }
        depth += 1;
        if walk.prints.len() > run.limit {
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
    /// By state: the state it was first reached from, or itself.
    parents: Vec<u32>,
    prints: Vec<u64>,
    /// By state: the next on its path to rest, or [`AT_REST`].
    drains: Vec<u32>,
}

/// Instead of a state's number: the system is at rest.
const AT_REST: u32 = u32::MAX;

/// The result of expanding a state.
struct Expanded<S> {
    /// The first property it violates; the other fields are then meaningless.
    broken: Option<&'static str>,
    /// Successors with their fingerprints, without those known before the batch.
    successors: Vec<(u64, S)>,
    way: Way,
}

/// Buffers that a thread reuses for each state.
struct Scratch<M: Explore> {
    actions: Vec<M::Action>,
    next: M::State,
}

/// How a state comes to rest: the fingerprint of the next state on the path.
enum Way {
    AtRest,
    To(u64),
}

impl<M: Explore> Walk<'_, M> {
    /// Gives a new state its number; `None` if it is known.
    fn enter(&mut self, print: u64, parent: Option<u32>) -> Option<u32> {
        let number = u32::try_from(self.prints.len()).expect("memory ends before 4 billion states");
        if *self.seen.entry(print).or_insert(number) != number {
            return None;
        }
        self.prints.push(print);
        self.parents.push(parent.unwrap_or(number));
        self.drains.push(AT_REST);
        Some(number)
    }

    /// Expands each state of a batch, in order; each thread takes a part.
    fn expand_all(&self, batch: &[(u32, M::State)], threads: usize) -> Vec<Expanded<M::State>> {
        let part = |states: &[(u32, M::State)]| -> Vec<_> {
            let Some((_, any)) = states.first() else { return Vec::new() };
            let mut scratch = Scratch { actions: Vec::new(), next: any.clone() };
            states.iter().map(|(_, state)| self.expand(state, &mut scratch)).collect()
        };
        if threads < 2 || batch.len() < BATCH / 8 {
            return part(batch);
        }
        thread::scope(|scope| {
            let mut parts = batch.chunks(batch.len().div_ceil(threads));
            let own = parts.next().unwrap_or_default();
            // If the operating system refuses a thread, this one does its work.
            let start = |states| thread::Builder::new().spawn_scoped(scope, move || part(states)).map_err(|_| states);
            let others: Vec<_> = parts.map(start).collect();
            let mut all = part(own);
            for other in others {
                match other {
                    Ok(other) => all.extend(other.join().expect("a model does not panic")),
                    Err(states) => all.extend(part(states)),
                }
            }
            all
        })
    }

    fn expand(&self, state: &M::State, scratch: &mut Scratch<M>) -> Expanded<M::State> {
        let model = self.model;
        let broken = |name| Expanded { broken: Some(name), successors: Vec::new(), way: Way::AtRest };
        if let Some(invariant) = model.violated(state) {
            return broken(invariant);
        }
        model.actions(state, &mut scratch.actions);
        let (mut successors, mut way) = (Vec::new(), model.drained(state).then_some(Way::AtRest));
        for action in scratch.actions.drain(..) {
            if !model.follow(state, &action, &mut scratch.next) {
                continue;
            }
            let print = model.fingerprint(&scratch.next);
            if way.is_none() && model.progresses(state, &action) {
                way = Some(Way::To(print));
            }
            if !self.seen.contains_key(&print) {
                successors.push((print, scratch.next.clone()));
            }
        }
        way.map_or_else(|| broken(MOVES), |way| Expanded { broken: None, successors, way })
    }

    /// The first state whose path to rest is a cycle.
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

    /// Reconstructs the trace from the start to a state.
    fn trace(&self, number: u32) -> Vec<(M::Action, M::State)> {
        let mut way = vec![number];
        while let Some(&at) = way.last().filter(|&&at| self.parents[at as usize] != at) {
            way.push(self.parents[at as usize]);
        }
        way.reverse();
        let mut state = self.model.initial();
        let mut trace = Vec::new();
        for &number in &way[1..] {
            let mut actions = Vec::new();
            self.model.actions(&state, &mut actions);
            let step = actions.into_iter().find_map(|action| {
                let next = self.model.next_state(&state, &action)?;
                (self.model.fingerprint(&next) == self.prints[number as usize]).then_some((action, next))
            });
            let (action, next) = step.expect("each state of a trace follows from the one before");
            state = next.clone();
            trace.push((action, next));
        }
        trace
    }
}
