//! The checker compared with stateright's own, and applied to protocols that are wrong on purpose.

use protocol::{
    Cell,
    catalogue::find,
    check::{Check, Explore, Limits, Move, Network, Run, System, World, check, search},
    vi_l1::l1,
};
use stateright::{Checker, Model, Property};
use std::borrow::Cow;

/// The first system of a protocol.
fn system(name: &str, caches: usize) -> System {
    (find(name).unwrap().systems[0].build)(caches, 1)
}

fn one_cache(name: &str) -> Check {
    Check::new(system(name, 1), Network::Unordered, 2, 1)
}

/// A system as a stateright model.
struct Theirs(Check);

impl Model for Theirs {
    type State = World;
    type Action = Move;

    fn init_states(&self) -> Vec<World> {
        vec![self.0.initial()]
    }

    fn actions(&self, world: &World, moves: &mut Vec<Move>) {
        Explore::actions(&self.0, world, moves);
    }

    fn next_state(&self, world: &World, action: Move) -> Option<World> {
        Explore::next_state(&self.0, world, &action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("every invariant holds", |model: &Self, world| model.0.violated(world).is_none())]
    }
}

#[test]
fn stateright_finds_as_many_states_as_the_own_search_where_no_two_caches_are_equal() {
    for name in ["vi", "wb_nc", "wt_nc", "adsm"] {
        let found = search(&one_cache(name), &Run::default());
        let theirs = Theirs(one_cache(name)).checker().spawn_bfs().join();
        assert_eq!(found.states, theirs.unique_state_count(), "{name}");
        assert!(found.violation.is_none() && theirs.discoveries().is_empty(), "{name}");
    }
}

#[test]
fn equal_caches_count_once() {
    let system = system("vi", 2);
    let mut named = system.clone();
    named.equals.clear();
    let states = |system| check(system, Network::Unordered, Limits { values: 1, ..Limits::default() }).states;
    let (canonical, all) = (states(system), states(named));
    assert!(canonical * 2 > all && canonical < all * 6 / 10, "{canonical} of {all}");
}

#[test]
fn a_kernel_that_starts_without_invalidation_reads_a_stale_byte_and_the_chart_shows_how() {
    let mut system = system("vi", 2);
    let (v, invalidate) = (l1::State::V as u8, l1::Event::Invalidate as u8);
    let keep = Cell::Go(v, Cow::Borrowed(&[l1::Action::Done as u8]));
    system.tables[0] = system.tables[0].with(v, invalidate, keep);
    let report = check(system, Network::Unordered, Limits::default());
    let violated: Vec<_> = report.properties.iter().filter(|p| p.holds == Some(false)).map(|p| p.name).collect();
    assert_eq!(violated, ["a read returns a value it may: none lost, none invented"]);
    let expected = "    l1.0     l1.1      l2     memory
      *        |        |        |      core0: Load 0x0  (l1.0 I -> IV)
      |---------------->|        |      Read 0x0  (l2 I -> F)
      |        |        |------->|      Read 0x0  (memory Here)
      |        |        |<-------|      Data 0x0 [0 0]  (l2 F -> V)
      |<----------------|        |      Data 0x0 [0 0]  (l1.0 IV -> V)
      |        *        |        |      core1: Store 0x0 [1 .]  (l1.1 I -> IW)
      |        |------->|        |      Write 0x0 [1 .]  (l2 V -> D)
      |        |<-------|        |      Ack 0x0 [1 .]  (l1.1 IW -> I)
      |        |        |        |      -- Flush of the Device by core0, core1
      *        |        |        |      core0: Flush all lines Device  (l1.0 Rest -> Sweep)
      |<       |        |        |      Flush 0x0  (l1.0 V)
      |        *        |        |      core1: Flush all lines Device  (l1.1 Rest -> Sweep)
      |        |<       |        |      Flush 0x0  (l1.1 I)
      |        |        |        |      -- Invalidate of the Device by core0, core1
      *        |        |        |      core0: Invalidate all lines Device  (l1.0 Rest -> Sweep)
      |<       |        |        |      Invalidate 0x0  (l1.0 V)
      |        *        |        |      core1: Invalidate all lines Device  (l1.1 Rest -> Sweep)
      |        |<       |        |      Invalidate 0x0  (l1.1 I)
      |        |        |        |      -- work begins
      *        |        |        |      core0: Load 0x0  (l1.0 V)
  core0 read 0 from byte 0 of line 0
";
    assert_eq!(report.counterexample.unwrap(), expected);
}

#[test]
fn a_reply_that_is_not_received_is_shown_in_flight() {
    let mut system = system("vi", 1);
    let (iv, data) = (l1::State::IV as u8, l1::Event::Data as u8);
    system.tables[0] = system.tables[0].with(iv, data, Cell::Stall);
    let report = check(system, Network::Unordered, Limits::default());
    let violated: Vec<_> = report.properties.iter().filter(|p| p.holds == Some(false)).map(|p| p.name).collect();
    assert_eq!(violated, ["some message can always move"]);
    let chart = report.counterexample.unwrap();
    let end = "  still under way: Data 0x0 [0 0] from l2 to l1.0\n  core0 still waits for line 0\n";
    assert!(chart.ends_with(end), "{chart}");
}

#[test]
fn a_load_that_overtakes_its_core_s_own_write_is_found() {
    let mut system = system("vi", 1);
    let (iw, load) = (l1::State::IW as u8, l1::Event::Load as u8);
    let hasty = system.tables[0].cell(l1::State::I as u8, load).clone();
    system.tables[0] = system.tables[0].with(iw, load, hasty);
    assert!(check(system, Network::Unordered, Limits::default()).counterexample.is_some());
}
