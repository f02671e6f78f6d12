//! What a search and a walk need of a system: its states, the moves between them, and what must hold.

/// A system of states and moves.
pub trait Explore: Sync + Sized + 'static {
    type State: Clone + Send + Sync;
    type Action: Clone + PartialEq;

    fn initial(&self) -> Self::State;

    /// Adds every move that may be possible in a state; [`follow`](Explore::follow) says whether it is.
    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>);

    /// Makes `next` the state that follows, in its own memory; `false` if none does, and `next` is then anything.
    fn follow(&self, state: &Self::State, action: &Self::Action, next: &mut Self::State) -> bool;

    /// What must hold in every state.
    fn invariants(&self) -> &'static [Invariant<Self>];

    /// Equal for states that differ only in names.
    fn fingerprint(&self, state: &Self::State) -> u64;

    /// Nothing is in flight.
    fn drained(&self, state: &Self::State) -> bool;

    /// An action brings a state nearer to rest.
    fn progresses(&self, state: &Self::State, action: &Self::Action) -> bool;

    /// The state that follows, if one does.
    fn next_state(&self, state: &Self::State, action: &Self::Action) -> Option<Self::State> {
        let mut next = state.clone();
        self.follow(state, action, &mut next).then_some(next)
    }

    /// The first invariant that does not hold in a state.
    fn violated(&self, state: &Self::State) -> Option<&'static str> {
        self.invariants().iter().find(|invariant| !(invariant.holds)(self, state)).map(|invariant| invariant.name)
    }
}

/// Something that must hold in every state.
pub struct Invariant<M: Explore> {
    pub name: &'static str,
    pub holds: fn(&M, &M::State) -> bool,
}
