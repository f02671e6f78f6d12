//! What a search and a walk need from a system: its states, the moves between them, and the invariants.

/// A system of states and moves.
pub trait Explore: Sync + Sized + 'static {
    type State: Clone + Send + Sync;
    type Action: Clone + PartialEq;

    fn initial(&self) -> Self::State;

    /// Adds every move that may be possible in a state; [`follow`](Explore::follow) says whether it is.
    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>);

    /// Computes the state after an action in `next`, reusing its memory. `false` if the action is not possible;
    /// `next` is then unspecified.
    fn follow(&self, state: &Self::State, action: &Self::Action, next: &mut Self::State) -> bool;

    /// The properties that must hold in every state.
    fn invariants(&self) -> &'static [Invariant<Self>];

    /// Equal for states that differ only in the names of equal members.
    fn fingerprint(&self, state: &Self::State) -> u64;

    /// Whether nothing is in flight.
    fn drained(&self, state: &Self::State) -> bool;

    /// Whether an action brings a state nearer to rest.
    fn progresses(&self, state: &Self::State, action: &Self::Action) -> bool;

    /// The state after an action, if it is possible.
    fn next_state(&self, state: &Self::State, action: &Self::Action) -> Option<Self::State> {
        let mut next = state.clone();
        self.follow(state, action, &mut next).then_some(next)
    }

    /// The first invariant that a state violates.
    fn violated(&self, state: &Self::State) -> Option<&'static str> {
        self.invariants().iter().find(|invariant| !(invariant.holds)(self, state)).map(|invariant| invariant.name)
    }
}

/// A property that must hold in every state.
pub struct Invariant<M: Explore> {
    pub name: &'static str,
    pub holds: fn(&M, &M::State) -> bool,
}
