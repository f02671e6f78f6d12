//! Orders: acquires and releases, which concern all lines of a cache at once.
//!
//! An order is a message about [`WHOLE`]. A cache has one record for it, with a table of its own. The table decides the
//! sequence in which the order is carried out: on all lines here, by the level below, by peers. It does not handle
//! single lines. A message about [`WHOLE`] that a controller sends to itself is delivered to each of its lines (a
//! *sweep*), and a `Done` from itself comes back when every line has answered. The components that run controllers and
//! the checker both work this way, so the table alone defines an order. An order may also be about the lines of one
//! page ([`whole_page`]): components then put the page in the messages of the table, and sweep only its lines.
//!
//! `Acquire` and `Release` have device scope or less; `...Wide` have system scope. States of the record: in `Sweep`,
//! all lines are being swept. In `Forgetting` and `Flushing`, they are, too, and the order is then passed to the level
//! below. In `Below` and `Peers`, other nodes carry the order out. In `Ask`, the record has asked the level below for
//! the latest logical time, with which all lines will be swept (`Raise`). Orders of device scope stop at the
//! first-level caches, except those that ask for the latest time. When logical time restarts, a record drops the latest
//! time it has learnt of, as messages drop their timestamps.

use crate::{Block, Controller, Kind, Line, Msg, Node, Place, Stamps, Table, Work, protocol};
use mem::{LineAddr, PAGE, PhysAddr, Scope};
use orders_l1::{Action, Event};

/// Stands for all lines in the messages of an order.
pub const WHOLE: LineAddr = LineAddr(u64::MAX);

/// Stands for all lines of a page in the messages of an order: the page's first address plus one. No line has an odd
/// address.
pub const fn whole_page(page: PhysAddr) -> LineAddr {
    LineAddr((page.0 / PAGE * PAGE) | 1)
}

/// Stands for one line that is to be written back and dropped everywhere: the line's address plus three.
pub const fn flush_of(line: LineAddr) -> LineAddr {
    LineAddr(line.0 | 3)
}

/// The line that a message flushes (write back, and drop everywhere), if the message is about one line.
pub const fn flushed_line(order: LineAddr) -> Option<LineAddr> {
    if order.0 & 3 == 3 && order.0 != WHOLE.0 { Some(LineAddr(order.0 & !3)) } else { None }
}

/// Whether a message concerns many lines: all, or those of a page; or one line that is to be flushed.
pub const fn is_order(line: LineAddr) -> bool {
    line.0 & 1 == 1
}

/// Whether an order concerns a line.
pub const fn concerns(order: LineAddr, line: LineAddr) -> bool {
    order.0 == WHOLE.0 || order.0 / PAGE == line.0 / PAGE
}

protocol! {
 /// A first-level cache that invalidates its lines on an acquire.
 orders_l1 actions(Note Forget Flush GiveUp AcquireBelow ForgetBelow FlushBelow FlushPeers Hear Tell Done Latest Join TellAll)
 on(          Acquire              AcquireWide               Release             ReleaseWide             Swept                DoneMore      DoneLast )
 Rest       { [Sweep Note Forget]  [Forgetting Note Forget]  [Sweep Note Flush]  [Flushing Note Flush]   x                    x             x }
 Sweep      { z                    z                         z                   z                       [Rest Tell]          x             x }
 Forgetting { z                    z                         z                   z                       [Below ForgetBelow]  x             x }
 Flushing   { z                    z                         z                   z                       [Below FlushBelow]   x             x }
 Below      { z                    z                         z                   z                       x                    [Below Hear]  [Rest Hear Tell] }
}

protocol! {
 /// A first-level cache whose time an acquire raises to the latest time that memory has granted (HALCONE).
 orders_l1_raised actions(Note Forget Flush GiveUp AcquireBelow ForgetBelow FlushBelow FlushPeers Hear Tell Done Latest Join TellAll)
 on(          Acquire                  AcquireWide               Release             ReleaseWide             Swept                DoneMore      DoneLast )
 Rest       { [Ask Note AcquireBelow]  [Forgetting Note Forget]  [Sweep Note Flush]  [Flushing Note Flush]   x                    x             x }
 Ask        { z                        z                         z                   z                       x                    [Ask Hear]    [Sweep Hear Forget] }
 Sweep      { z                        z                         z                   z                       [Rest Tell]          x             x }
 Forgetting { z                        z                         z                   z                       [Below ForgetBelow]  x             x }
 Flushing   { z                        z                         z                   z                       [Below FlushBelow]   x             x }
 Below      { z                        z                         z                   z                       x                    [Below Hear]  [Rest Hear Tell] }
}

protocol! {
 /// A first-level cache of compute units with clocks of their own: an acquire passes the latest time to them (G-TSC).
 orders_l1_told actions(Note Forget Flush GiveUp AcquireBelow ForgetBelow FlushBelow FlushPeers Hear Tell Done Latest Join TellAll)
 on(          Acquire                    AcquireWide               Release             ReleaseWide             Swept                DoneMore      DoneLast )
 Rest       { [Below Note AcquireBelow]  [Forgetting Note Forget]  [Sweep Note Flush]  [Flushing Note Flush]   x                    x             x }
 Sweep      { z                          z                         z                   z                       [Rest Tell]          x             x }
 Forgetting { z                          z                         z                   z                       [Below ForgetBelow]  x             x }
 Flushing   { z                          z                         z                   z                       [Below FlushBelow]   x             x }
 Below      { z                          z                         z                   z                       x                    [Below Hear]  [Rest Hear Tell] }
}

protocol! {
 /// A first-level cache that never holds stale lines: only a release of system scope concerns other nodes (MESI).
 orders_l1_coherent actions(Note Forget Flush GiveUp AcquireBelow ForgetBelow FlushBelow FlushPeers Hear Tell Done Latest Join TellAll)
 on(     Acquire      AcquireWide  Release      ReleaseWide              Swept  DoneMore      DoneLast )
 Rest  { [Rest Done]  [Rest Done]  [Rest Done]  [Below Note FlushBelow]  x      x             x }
 Below { z            z            z            z                        x      [Below Hear]  [Rest Hear Tell] }
}

protocol! {
 /// A second-level cache that invalidates and writes back on request.
 orders_l2 actions(Note Forget Flush GiveUp AcquireBelow ForgetBelow FlushBelow FlushPeers Hear Tell Done Latest Join TellAll)
 on(     Acquire              AcquireWide          Release             ReleaseWide         Swept        DoneMore  DoneLast )
 Rest  { x                    [Sweep Note Forget]  x                   [Sweep Note Flush]  x            x         x }
 Sweep { x                    z                    x                   z                   [Rest Tell]  x         x }
}

protocol! {
 /// A second-level cache with peers that are homes of lines: a release waits until their invalidations have arrived
 /// (HMG).
 orders_l2_homes actions(Note Forget Flush GiveUp AcquireBelow ForgetBelow FlushBelow FlushPeers Hear Tell Done Latest Join TellAll)
 on(        Acquire              AcquireWide          Release                ReleaseWide            Swept               DoneMore      DoneLast )
 Rest     { x                    [Sweep Note Forget]  x                      [Flushing Note Flush]  x                   x             x }
 Sweep    { x                    z                    x                      z                      [Rest Tell]         x             x }
 Flushing { x                    z                    x                      z                      [Peers FlushPeers]  x             x }
 Peers    { x                    z                    x                      z                      x                   [Peers Hear]  [Rest Hear Tell] }
}

protocol! {
 /// A second-level cache whose time an acquire raises to the latest time that memory has granted (HALCONE). An
 /// acquire that arrives while the cache asks memory joins the one in progress. The cache then asks again before it
 /// answers either of them, because the first answer may be too old for the later acquire.
 orders_l2_raised actions(Note Forget Flush GiveUp AcquireBelow ForgetBelow FlushBelow FlushPeers Hear Tell Done Latest Join TellAll)
 on(     Acquire                  AcquireWide          Release             ReleaseWide         Swept           DoneMore      DoneLast )
 Rest  { [Ask Join AcquireBelow]  [Sweep Note Forget]  x                   [Sweep Note Flush]  x               x             x }
 Ask   { [Again Join]             z                    x                   z                   x               [Ask Hear]    [Raise Hear Forget] }
 Again { [Again Join]             z                    x                   z                   x               [Again Hear]  [Ask Hear AcquireBelow] }
 Raise { z                        z                    x                   z                   [Rest TellAll]  x             x }
 Sweep { z                        z                    x                   z                   [Rest Tell]     x             x }
}

protocol! {
 /// A second-level cache that passes on the latest time (G-TSC); acquires that come meanwhile join.
 orders_l2_told actions(Note Forget Flush GiveUp AcquireBelow ForgetBelow FlushBelow FlushPeers Hear Tell Done Latest Join TellAll)
 on(     Acquire                  AcquireWide          Release             ReleaseWide         Swept        DoneMore      DoneLast )
 Rest  { [Ask Join AcquireBelow]  [Sweep Note Forget]  x                   [Sweep Note Flush]  x            x             x }
 Ask   { [Again Join]             z                    x                   z                   x            [Ask Hear]    [Rest Hear TellAll] }
 Again { [Again Join]             z                    x                   z                   x            [Again Hear]  [Ask Hear AcquireBelow] }
 Sweep { z                        z                    x                   z                   [Rest Tell]  x             x }
}

protocol! {
 /// A cache that never holds stale lines and about which the levels below need not know.
 orders_coherent actions(Note Forget Flush GiveUp AcquireBelow ForgetBelow FlushBelow FlushPeers Hear Tell Done Latest Join TellAll)
 on(    Acquire      AcquireWide  Release      ReleaseWide  Swept  DoneMore  DoneLast )
 Rest { x            [Rest Done]  x            [Rest Done]  x      x         x }
}

protocol! {
 /// A cache that is coherent with the caches above it but not with memory below: a release gives its lines up.
 orders_recalled actions(Note Forget Flush GiveUp AcquireBelow ForgetBelow FlushBelow FlushPeers Hear Tell Done Latest Join TellAll)
 on(     Acquire      AcquireWide  Release              ReleaseWide          Swept        DoneMore  DoneLast )
 Rest  { x            [Rest Done]  x                    [Sweep Note GiveUp]  x            x         x }
 Sweep { x            z            x                    z                    [Rest Tell]  x         x }
}

protocol! {
 /// A second-level cache over a memory that is a level itself: an order is carried out here, then there (NMOESI).
 orders_passed_on actions(Note Forget Flush GiveUp AcquireBelow ForgetBelow FlushBelow FlushPeers Hear Tell Done Latest Join TellAll)
 on(          Acquire                   AcquireWide               Release                ReleaseWide            Swept                DoneMore      DoneLast )
 Rest       { x                         [Forgetting Note GiveUp]  x                      [Flushing Note Flush]  x                    x             x }
 Forgetting { x                         z                         x                      z                      [Below ForgetBelow]  x             x }
 Flushing   { x                         z                         x                      z                      [Below FlushBelow]   x             x }
 Below      { x                         z                         x                      z                      x                    [Below Hear]  [Rest Hear Tell] }
}

protocol! {
 /// A memory that is a level: the last to carry out an order (NMOESI).
 orders_level actions(Note Forget Flush GiveUp AcquireBelow ForgetBelow FlushBelow FlushPeers Hear Tell Done Latest Join TellAll)
 on(     Acquire              AcquireWide          Release             ReleaseWide         Swept        DoneMore  DoneLast )
 Rest  { x                    [Sweep Note GiveUp]  x                   [Sweep Note Flush]  x            x         x }
 Sweep { x                    z                    x                   z                   [Rest Tell]  x         x }
}

protocol! {
 /// A home with logical time: it answers with the latest time that it has granted to any line.
 orders_home actions(Note Forget Flush GiveUp AcquireBelow ForgetBelow FlushBelow FlushPeers Hear Tell Done Latest Join TellAll)
 on(    Acquire        AcquireWide    Release        ReleaseWide    Swept  DoneMore  DoneLast )
 Rest { [Rest Latest]  x            x            x            x      x         x }
}

/// The controller of the tables of orders, which all have the same events and actions. There is one for each cache.
#[derive(Clone, Debug)]
pub struct Orders {
    pub table: &'static Table,
    /// All nodes below, for whichever lines.
    pub below: Vec<Node>,
    /// Caches at the same level that are homes of lines.
    pub peers: Vec<Node>,
}

impl Orders {
    fn tell<const N: usize>(work: &mut Work<'_, N>, kind: Kind, scope: Scope, nodes: &[Node]) {
        for node in nodes {
            work.push(Msg { scope, ..Msg::new(work.place.me, *node, kind, WHOLE, Block::EMPTY) });
        }
        work.line.acks = nodes.len() as u16;
    }

    /// Passes an order to each line here.
    fn sweep<const N: usize>(work: &mut Work<'_, N>, kind: Kind) {
        let me = work.place.me;
        work.push(Msg { stamps: work.line.stamps, ..Msg::new(me, me, kind, WHOLE, Block::EMPTY) });
    }

    fn done<const N: usize>(work: &mut Work<'_, N>, to: Node, stamps: Stamps) {
        work.push(Msg { stamps, ..Msg::new(work.place.me, to, Kind::Done, WHOLE, Block::EMPTY) });
    }
}

impl<const N: usize> Controller<N> for Orders {
    fn table(&self) -> &'static Table {
        self.table
    }

    fn classify(&self, place: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let wide = msg.scope == Scope::System;
        let event = match msg.kind {
            Kind::Invalidate if wide => Event::AcquireWide,
            Kind::Invalidate => Event::Acquire,
            Kind::Flush if wide => Event::ReleaseWide,
            Kind::Flush => Event::Release,
            Kind::Done if msg.from == place.me => Event::Swept,
            Kind::Done if line.acks > 1 => Event::DoneMore,
            Kind::Done => Event::DoneLast,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        let (at_rest, joined) = (line.state == 0, !line.sharers.is_empty());
        line.is_empty() && (line.is_asked() || joined) != at_rest && !(line.is_asked() && joined)
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        match Action::ALL[action as usize] {
            Action::Note => work.line.asked = Some(work.msg.from),
            Action::Forget => Self::sweep(work, Kind::Invalidate),
            Action::Flush => Self::sweep(work, Kind::Flush),
            Action::GiveUp => Self::sweep(work, Kind::Evict),
            Action::AcquireBelow => Self::tell(work, Kind::Invalidate, Scope::Device, &self.below),
            Action::ForgetBelow => Self::tell(work, Kind::Invalidate, Scope::System, &self.below),
            Action::FlushBelow => Self::tell(work, Kind::Flush, Scope::System, &self.below),
            Action::FlushPeers => Self::tell(work, Kind::Flush, Scope::System, &self.peers),
            Action::Hear => {
                work.line.acks = work.line.acks.checked_sub(1).ok_or("awaits no answer")?;
                work.line.stamps.cts = work.line.stamps.cts.max(work.msg.stamps.cts);
            }
            Action::Tell => {
                let to = work.line.asked.take().ok_or("has no node to notify")?;
                let stamps = std::mem::take(&mut work.line.stamps);
                Self::done(work, to, stamps);
            }
            Action::Join => {
                let asks = work.place.sharer(work.msg.from);
                if asks.is_empty() || work.line.sharers.meets(asks) {
                    return Err("is not one of those above, or has acquired already");
                }
                work.line.sharers.add(asks);
            }
            Action::TellAll => {
                let (all, stamps) = (std::mem::take(&mut work.line.sharers), std::mem::take(&mut work.line.stamps));
                let above = work.place.above;
                all.numbers().for_each(|number| Self::done(work, above.member(number), stamps));
            }
            Action::Done => Self::done(work, work.msg.from, Stamps::ZERO),
            Action::Latest => Self::done(work, work.msg.from, work.line.stamps),
        }
        Ok(())
    }
}

protocol! {
 /// What a home does when a peer releases with system scope: it sends a marker to every node to which it may have
 /// sent invalidations. Each confirms the marker, which arrives behind all earlier invalidations (HMG). There is a
 /// record for each peer that can ask.
 markers actions(Note Mark Count Tell Marked)
 on(        Release              Marker            MarkedMore       MarkedLast        )
 Rest     { [Marking Note Mark]  [Rest Marked]     x                x                 }
 Marking  { x                    [Marking Marked]  [Marking Count]  [Rest Count Tell] }
}

/// The controller of table [`markers`].
#[derive(Clone, Debug)]
pub struct Markers {
    /// All nodes that may have been sent an invalidation.
    pub peers: Vec<Node>,
}

impl Markers {
    /// The node whose release a message is about.
    pub fn asker<const N: usize>(msg: &Msg<N>) -> Node {
        msg.of.unwrap_or(msg.from)
    }
}

impl<const N: usize> Controller<N> for Markers {
    fn table(&self) -> &'static Table {
        &markers::TABLE
    }

    fn classify(&self, _: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        use markers::Event;
        let event = match msg.kind {
            Kind::Flush => Event::Release,
            Kind::Inval => Event::Marker,
            Kind::Done if line.acks > 1 => Event::MarkedMore,
            Kind::Done => Event::MarkedLast,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        (line.state == markers::State::Marking as u8) == (line.is_asked() && line.acks > 0)
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        use markers::Action;
        let (me, from) = (work.place.me, work.msg.from);
        let about = |to, kind, of| Msg { of, ..Msg::new(me, to, kind, WHOLE, Block::EMPTY) };
        match Action::ALL[action as usize] {
            Action::Note => work.line.asked = Some(from),
            Action::Mark => {
                self.peers.iter().for_each(|peer| work.push(about(*peer, Kind::Inval, Some(from))));
                work.line.acks = self.peers.len() as u16;
            }
            Action::Count => work.line.acks = work.line.acks.checked_sub(1).ok_or("awaits no answer")?,
            Action::Tell => {
                let to = work.line.asked.take().ok_or("has no node to notify")?;
                work.push(about(to, Kind::Done, None));
            }
            Action::Marked => work.push(about(from, Kind::Done, work.msg.of)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, Log, Roster, Step, step};

    const TABLES: [&Table; 12] = [
        &orders_l1::TABLE,
        &orders_l1_raised::TABLE,
        &orders_l1_told::TABLE,
        &orders_l1_coherent::TABLE,
        &orders_l2::TABLE,
        &orders_l2_homes::TABLE,
        &orders_l2_raised::TABLE,
        &orders_l2_told::TABLE,
        &orders_coherent::TABLE,
        &orders_recalled::TABLE,
        &orders_passed_on::TABLE,
        &orders_level::TABLE,
    ];

    /// In checked systems a cache gets one order at a time, except for acquires of several caches above it.
    #[test]
    fn an_order_waits_while_another_is_carried_out_unless_it_may_join() {
        let asks = [orders_l2_raised::TABLE.name, orders_l2_told::TABLE.name];
        for table in TABLES {
            for event in [Event::Acquire, Event::AcquireWide, Event::Release, Event::ReleaseWide] {
                let taken = *table.cell(0, event as u8) != Cell::Never;
                for state in 1..table.states.len() as u8 {
                    let joins = asks.contains(&table.name)
                        && event == Event::Acquire
                        && ["Ask", "Again"].contains(&table.states[state as usize]);
                    let cell = table.cell(state, event as u8);
                    match (taken, joins) {
                        (false, _) => assert_eq!(*cell, Cell::Never, "{} {state} {event:?}", table.name),
                        (true, false) => assert_eq!(*cell, Cell::Stall, "{} {state} {event:?}", table.name),
                        (true, true) => assert!(matches!(cell, Cell::Go(..)), "{} {state} {event:?}", table.name),
                    }
                }
            }
        }
    }

    #[test]
    fn an_acquire_during_a_request_to_memory_joins_and_the_request_is_repeated() {
        let orders = Orders { table: &orders_l2_raised::TABLE, below: vec![Node(8)], peers: Vec::new() };
        let (above, mut line) = (Roster::row(Node(0), 2), Line::<2>::new(0));
        let place = Place { me: Node(4), below: Node(4), above: &above };
        let mut show = |from, kind, time| {
            let msg = Msg { stamps: Stamps::now(time), ..Msg::new(Node(from), Node(4), kind, WHOLE, Block::EMPTY) };
            let mut log = Log::new(orders.table, 0);
            match step(&orders, orders.table, place, &mut line, &msg, &mut log).expect("it has a cell") {
                Step::Sends(sends) => {
                    sends.iter().map(|send| (send.to.0, send.kind, send.stamps.cts)).collect::<Vec<_>>()
                }
                Step::Stall => panic!("it has to wait"),
            }
        };
        assert_eq!(show(0, Kind::Invalidate, 0), [(8, Kind::Invalidate, 0)]);
        assert_eq!(show(1, Kind::Invalidate, 0), [], "the answer may be older than what it must see");
        assert_eq!(show(8, Kind::Done, 5), [(8, Kind::Invalidate, 0)], "so memory is asked again");
        assert_eq!(show(8, Kind::Done, 9), [(4, Kind::Invalidate, 9)], "lines here are raised");
        assert_eq!(show(4, Kind::Done, 0), [(0, Kind::Done, 9), (1, Kind::Done, 9)]);
    }

    #[test]
    fn a_cache_over_two_banks_waits_for_both() {
        let orders = Orders { table: &orders_l1_raised::TABLE, below: vec![Node(1), Node(2)], peers: Vec::new() };
        let (me, mut line) = (Node(0), Line::<2>::new(0));
        let mut show = |from, kind, time| {
            let msg = Msg { stamps: Stamps::now(time), ..Msg::new(Node(from), me, kind, WHOLE, Block::EMPTY) };
            let mut log = Log::new(orders.table, 0);
            match step(&orders, orders.table, Place::new(me, me), &mut line, &msg, &mut log).expect("it has a cell") {
                Step::Sends(sends) => {
                    sends.iter().map(|send| (send.to.0, send.kind, send.stamps.cts)).collect::<Vec<_>>()
                }
                Step::Stall => panic!("{msg} waits"),
            }
        };
        assert_eq!(show(9, Kind::Invalidate, 0), [(1, Kind::Invalidate, 0), (2, Kind::Invalidate, 0)]);
        assert_eq!(show(2, Kind::Done, 7), []);
        assert_eq!(show(1, Kind::Done, 4), [(0, Kind::Invalidate, 7)], "lines go on to the latest time of any");
        assert_eq!(show(0, Kind::Done, 0), [(9, Kind::Done, 7)]);
    }
}
