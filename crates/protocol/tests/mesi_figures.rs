//! M2S-CGM's worked examples (`[giles Fig. 3.11 and the text of 3.2.6.3]`), message by message.

use protocol::{
    Kind, Node,
    check::{Check, Explore, Move, Network, World},
    mesi,
};

/// A system driven by hand: only the moves named by a test take place.
struct Play {
    check: Check,
    world: World,
}

impl Play {
    /// Three cores under a shared last-level cache.
    fn new() -> Self {
        let check = Check::new(mesi::cores(3, 1), Network::Unordered, 2, 0);
        let world = check.initial();
        Self { check, world }
    }

    fn node(&self, name: &str) -> Node {
        let number = self.check.system.members.iter().position(|member| member.name == name);
        Node(number.unwrap_or_else(|| panic!("there is no {name}")) as u16)
    }

    /// The state of a member's line.
    fn state(&self, name: &str) -> &'static str {
        let number = self.node(name).0 as usize;
        let table = &self.check.system.tables[self.check.system.members[number].table];
        table.states[self.world.lines[number].state as usize]
    }

    fn states<const N: usize>(&self, names: [&str; N]) -> [&'static str; N] {
        names.map(|name| self.state(name))
    }

    /// Takes the first possible move that `fits`.
    fn take(&mut self, what: &str, fits: impl Fn(&Move) -> bool) {
        let mut moves = Vec::new();
        self.check.actions(&self.world, &mut moves);
        let step = moves.into_iter().find(fits).unwrap_or_else(|| panic!("{what} is not possible"));
        self.world = self.check.next_state(&self.world, &step).unwrap_or_else(|| panic!("{what} has to wait"));
        assert_eq!(self.world.trouble, None, "{what}");
    }

    /// A core, or the cache itself, sends a member a message.
    fn ask(&mut self, to: &str, kind: Kind) -> &mut Self {
        let node = self.node(to);
        self.take(
            &format!("{kind:?} of {to}"),
            |step| matches!(step, Move::Ask(msg) if msg.to == node && msg.kind == kind),
        );
        self
    }

    /// A message arrives.
    fn arrives(&mut self, from: &str, to: &str, kind: Kind) -> &mut Self {
        let (sender, receiver) = (self.node(from), self.node(to));
        self.take(
            &format!("{kind:?} from {from} to {to}"),
            |step| matches!(step, Move::Deliver(msg) if (msg.from, msg.to, msg.kind) == (sender, receiver, kind)),
        );
        self
    }

    fn is_under_way(&self, from: &str, to: &str, kind: Kind) -> bool {
        let (from, to) = (self.node(from), self.node(to));
        self.world.network.iter().any(|msg| (msg.from, msg.to, msg.kind) == (from, to, kind))
    }

    /// A core misses in all caches and gets the line from memory.
    fn loads_from_memory(&mut self, core: usize) -> &mut Self {
        let (l1, l2) = (format!("l1d.{core}"), format!("l2.{core}"));
        self.ask(&l1, Kind::Load).arrives(&l1, &l2, Kind::Get).arrives(&l2, "l3", Kind::Get);
        self.arrives("l3", "memory", Kind::Read).arrives("memory", "l3", Kind::Data);
        self.arrives("l3", &l2, Kind::PutClnX).arrives(&l2, &l1, Kind::PutClnX)
    }
}

#[test]
fn figure_3_11_a_a_load_of_a_line_another_core_has_modified_is_forwarded_and_the_line_is_shared() {
    let mut play = Play::new();
    play.loads_from_memory(0).ask("l1d.0", Kind::Store);
    assert_eq!(
        play.states(["l1d.0", "l2.0", "l3"]),
        ["M", "E", "E_Held"],
        "a store to an exclusive line sends no message"
    );

    play.ask("l1d.1", Kind::Load).arrives("l1d.1", "l2.1", Kind::Get);
    play.arrives("l2.1", "l3", Kind::Get);
    assert_eq!(play.state("l3"), "E_Pending");
    play.arrives("l3", "l2.0", Kind::GetFwd).arrives("l2.0", "l1d.0", Kind::Downgrade);
    play.arrives("l1d.0", "l2.0", Kind::Flushed);
    assert_eq!(play.states(["l1d.0", "l2.0"]), ["S", "S"], "the holder keeps the line to read");

    let acknowledgement = play.world.network.iter().find(|msg| msg.kind == Kind::FwdAck).unwrap();
    assert!(acknowledgement.data.is_full(), "a sharing write-back carries the line");
    play.arrives("l2.0", "l3", Kind::FwdAck);
    assert_eq!(play.state("l3"), "S");
    play.arrives("l2.0", "l2.1", Kind::PutS).arrives("l2.1", "l1d.1", Kind::PutS);
    assert_eq!(play.states(["l1d.1", "l2.1"]), ["S", "S"]);
    assert!(play.world.network.is_empty());
}

#[test]
fn figure_3_11_b_a_store_to_a_shared_line_ends_when_the_directory_and_the_writer_have_every_acknowledgement() {
    let mut play = Play::new();
    play.loads_from_memory(0).ask("l1d.1", Kind::Load).arrives("l1d.1", "l2.1", Kind::Get);
    play.arrives("l2.1", "l3", Kind::Get).arrives("l3", "l2.0", Kind::GetFwd).arrives("l2.0", "l1d.0", Kind::Downgrade);
    play.arrives("l1d.0", "l2.0", Kind::Flushed).arrives("l2.0", "l3", Kind::FwdAck);
    play.arrives("l2.0", "l2.1", Kind::PutS).arrives("l2.1", "l1d.1", Kind::PutS);
    assert_eq!(play.states(["l2.0", "l2.1", "l3"]), ["S", "S", "S"]);

    play.ask("l1d.2", Kind::Store).arrives("l1d.2", "l2.2", Kind::GetX).arrives("l2.2", "l3", Kind::GetX);
    assert_eq!(play.state("l3"), "M_Inval");
    play.arrives("l3", "l2.2", Kind::PutX);
    assert_eq!(play.state("l2.2"), "I_GetX_Acks", "PutX_N names two acknowledgements");

    for (l1, l2) in [("l1d.0", "l2.0"), ("l1d.1", "l2.1")] {
        play.arrives("l3", l2, Kind::Inval).arrives(l2, l1, Kind::Inval);
        assert!(!play.is_under_way(l2, "l3", Kind::InvAck), "not before the cache above has given the line up");
        play.arrives(l1, l2, Kind::Flushed);
        assert_eq!(play.states([l1, l2]), ["I", "I"]);
    }
    play.arrives("l2.0", "l2.2", Kind::InvAck).arrives("l2.0", "l3", Kind::InvAck);
    play.arrives("l2.1", "l3", Kind::InvAck);
    assert_eq!(play.states(["l3", "l2.2", "l1d.2"]), ["M_Held", "I_GetX_Acks", "I_GetX"], "one is still missing");
    play.arrives("l2.1", "l2.2", Kind::InvAck).arrives("l2.2", "l1d.2", Kind::PutX);
    assert_eq!(play.states(["l1d.2", "l2.2", "l3"]), ["M", "M", "M_Held"]);
    assert!(play.world.network.is_empty());
}

#[test]
fn figure_3_11_b_an_upgrade_also_waits_for_the_acknowledgements() {
    let mut play = Play::new();
    play.loads_from_memory(0).ask("l1d.1", Kind::Load).arrives("l1d.1", "l2.1", Kind::Get);
    play.arrives("l2.1", "l3", Kind::Get).arrives("l3", "l2.0", Kind::GetFwd).arrives("l2.0", "l1d.0", Kind::Downgrade);
    play.arrives("l1d.0", "l2.0", Kind::Flushed).arrives("l2.0", "l3", Kind::FwdAck);
    play.arrives("l2.0", "l2.1", Kind::PutS).arrives("l2.1", "l1d.1", Kind::PutS);

    play.ask("l1d.1", Kind::Store).arrives("l1d.1", "l2.1", Kind::Upgrade).arrives("l2.1", "l3", Kind::Upgrade);
    play.arrives("l3", "l2.1", Kind::UpgradeAck);
    assert_eq!(play.states(["l1d.1", "l2.1"]), ["S_Pending_Upgrade", "S_Upgrade_Acks"]);
    play.arrives("l3", "l2.0", Kind::Inval).arrives("l2.0", "l1d.0", Kind::Inval).arrives(
        "l1d.0",
        "l2.0",
        Kind::Flushed,
    );
    play.arrives("l2.0", "l2.1", Kind::InvAck).arrives("l2.1", "l1d.1", Kind::PutX);
    assert_eq!(play.states(["l1d.1", "l2.1", "l3"]), ["M", "M", "M_Inval"]);
    play.arrives("l2.0", "l3", Kind::InvAck);
    assert_eq!(play.state("l3"), "M_Held");
}

/// The paper lets the directory grant the line to its owner again while the forward is in flight. That is unsound
/// (see `docs/protocols/mesi.md`): here the owner is refused, serves the forward, and asks again.
#[test]
fn figure_3_11_c_an_owner_that_asks_again_while_a_forward_is_under_way_joins_it_first() {
    let mut play = Play::new();
    play.loads_from_memory(0).ask("l2.0", Kind::Evict).arrives("l2.0", "l1d.0", Kind::CoreFlush);
    play.arrives("l1d.0", "l2.0", Kind::Flushed);
    assert_eq!(play.states(["l1d.0", "l2.0", "l3"]), ["I", "I", "E_Held"], "a clean line is dropped without a word");

    play.ask("l1d.1", Kind::Load).arrives("l1d.1", "l2.1", Kind::Get).arrives("l2.1", "l3", Kind::Get);
    play.ask("l1d.0", Kind::Load).arrives("l1d.0", "l2.0", Kind::Get);
    assert!(play.is_under_way("l3", "l2.0", Kind::GetFwd) && play.is_under_way("l2.0", "l3", Kind::Get), "they cross");
    play.arrives("l2.0", "l3", Kind::Get);
    assert_eq!(play.states(["l2.0", "l3"]), ["I_Get", "E_Pending"]);
    play.arrives("l3", "l2.0", Kind::Nack);
    assert_eq!(play.state("l2.0"), "I_Get_Retry");

    play.arrives("l3", "l2.0", Kind::GetFwd).arrives("l2.0", "l3", Kind::FwdNack);
    play.arrives("l3", "l2.1", Kind::PutS).arrives("l2.1", "l1d.1", Kind::PutS);
    play.ask("l2.0", Kind::Retry).arrives("l2.0", "l3", Kind::Get).arrives("l3", "l2.0", Kind::PutS);
    play.arrives("l2.0", "l1d.0", Kind::PutS);
    assert_eq!(play.states(["l1d.0", "l1d.1", "l2.0", "l2.1", "l3"]), ["S"; 5]);
    assert!(play.world.network.is_empty());
}
