//! The home of lines: a record of each line beside its bytes, and waiting messages. It knows no time.
//!
//! Every message is a step of the protocol's table for its home, which is stateless or a directory. A line in the
//! initial state needs no record. If the number of records is limited, a record is evicted to make room (`Evict`). A
//! message that the table stalls waits in order with its line and is retried after each step of that line. An answer is
//! never stalled.

use crate::{
    Backing,
    room::{Room, RoomSpec},
};
use mem::{Atomic, Block, LINE, LineAddr, PhysAddr, Share, WaitingRoom};
use protocol::{
    Impossible, Kind, Lane, Line, Log, Msg, Node, Place, Roster, Stamp, Stamps, Table, look, perform, roles::Seat,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What a step did to the line's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched {
    Nothing,
    Read,
    Written,
}

/// The outcome of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    pub line: LineAddr,
    pub touched: Touched,
    pub sends: Vec<Msg<LINE>>,
}

/// The outcome of an atomic access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub found: Block<LINE>,
    pub new: Block<LINE>,
    /// The step that wrote the new bytes.
    pub served: Served,
}

pub struct Home {
    controller: Seat,
    table: &'static Table,
    me: Node,
    above: Arc<Roster>,
    /// The addresses that belong to this home.
    share: Share,
    store: Backing,
    /// Records of lines, without their bytes. Never iterated, except sorted.
    known: FxHashMap<LineAddr, Line<LINE>>,
    /// `None`: the number of records is unlimited.
    room: Option<Room>,
    /// Records dropped to make room for others.
    pub forgotten: u64,
    /// The home's logical time, shared by all lines.
    cts: Stamp,
    /// The latest write time of any line whose record was dropped.
    written: Stamp,
    /// The latest write time of any line that was sent out.
    latest: Stamp,
    /// Whether a message waits because timestamps have overflowed.
    is_over: bool,
    waiting: WaitingRoom<Msg<LINE>>,
    log: Log,
    /// An empty list of messages, for reuse.
    spare: Vec<Msg<LINE>>,
}

impl Home {
    /// `history`: how many steps are kept for the report on an impossible event.
    pub fn new(
        controller: Seat,
        (me, above): (Node, Arc<Roster>),
        share: Share,
        store: Backing,
        history: usize,
    ) -> Self {
        let table = controller.table();
        Self {
            controller,
            table,
            me,
            above,
            share,
            store,
            known: FxHashMap::default(),
            room: None,
            forgotten: 0,
            cts: 0,
            written: 0,
            latest: 0,
            is_over: false,
            waiting: WaitingRoom::default(),
            log: Log::new(table, history),
            spare: Vec::new(),
        }
    }

    /// Takes a list of messages back that have been sent.
    pub fn recycle(&mut self, mut sends: Vec<Msg<LINE>>) {
        sends.clear();
        self.spare = sends;
    }

    /// Limits the number of records. The protocol must be able to drop the record of a line at rest.
    pub fn with_room(mut self, room: Option<RoomSpec>) -> Self {
        self.room = room.map(Room::new);
        self
    }

    /// Delivers a message; returns `None` if it waits here now.
    pub fn offer(&mut self, msg: Msg<LINE>) -> Result<Option<Served>, Box<Impossible>> {
        let answer = msg.lane() == Lane::Reply;
        let in_turn = !answer && self.waiting.is_awaited(msg.line);
        if !in_turn && let Some(served) = self.attempt(&msg)? {
            return Ok(Some(served));
        }
        if answer {
            return Err(Impossible::stalled_answer(self.table, self.line(msg.line).state, msg.kind));
        }
        self.waiting.park(msg.line, msg);
        Ok(None)
    }

    /// The next line whose first waiting message should be retried.
    pub fn next_work(&self) -> Option<LineAddr> {
        self.waiting.next()
    }

    /// Retries the first message of a line that has changed; returns `None` if it still waits.
    pub fn work(&mut self) -> Result<Option<(Msg<LINE>, Served)>, Box<Impossible>> {
        let Some(line) = self.waiting.take_next() else { return Ok(None) };
        let Some(&msg) = self.waiting.first(line) else { return Ok(None) };
        let Some(served) = self.attempt(&msg)? else { return Ok(None) };
        let (_, others) = self.waiting.leave(line);
        if !others {
            self.waiting.forget(line);
        }
        Ok(Some((msg, served)))
    }

    /// The latest write time of any line that was sent out. No acknowledged write is later.
    pub fn latest(&self) -> Stamp {
        self.latest
    }

    /// Whether there is a record of a line: it may be held above.
    pub fn is_known(&self, line: LineAddr) -> bool {
        self.known.contains_key(&line)
    }

    pub fn me(&self) -> Node {
        self.me
    }

    /// Whether timestamps have overflowed: messages wait until logical time restarts.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Restarts logical time: every line receives a `Reset`; waiting messages drop their timestamps and are retried.
    pub fn start_anew(&mut self) -> Result<(), Box<Impossible>> {
        let mut lines: Vec<LineAddr> = self.known.keys().copied().collect();
        lines.sort_unstable();
        for line in lines {
            self.attempt(&Msg::new(self.me, self.me, Kind::Reset, line, Block::EMPTY))?;
            if let Some(room) = &mut self.room {
                room.free(line);
            }
        }
        (self.cts, self.written, self.latest, self.is_over) = (0, 0, 0, false);
        self.waiting.messages_mut().for_each(|msg| msg.stamps = Stamps::ZERO);
        self.waiting.wake_all();
        Ok(())
    }

    /// Performs an atomic access whose operands are the bytes of `msg`; returns `None` if it has to wait.
    pub fn modify(&mut self, msg: &Msg<LINE>, atomic: Atomic) -> Result<Option<Changed>, Box<Impossible>> {
        if self.waiting.is_awaited(msg.line) {
            return Ok(None);
        }
        let old = *self.line(msg.line).data.bytes();
        let new = atomic.apply(&old, &msg.data);
        let found = Block::of(old, msg.data.mask());
        Ok(self.attempt(&Msg { data: new, ..*msg })?.map(|served| Changed { found, new, served }))
    }

    /// A line as input to the table: its record and its bytes.
    fn line(&self, address: LineAddr) -> Line<LINE> {
        let unknown = || Line { stamps: Stamps { wts: self.written, ..Stamps::ZERO }, ..Line::new(0) };
        let mut line = self.known.get(&address).copied().unwrap_or_else(unknown);
        let mut bytes = [0; LINE];
        self.store.read(self.inside(address), &mut bytes);
        line.data = Block::full(bytes);
        line.stamps.cts = self.cts;
        line
    }

    fn inside(&self, line: LineAddr) -> PhysAddr {
        self.share.inside(PhysAddr(line.0))
    }

    /// One step of the protocol; returns `None` on a stall.
    fn attempt(&mut self, msg: &Msg<LINE>) -> Result<Option<Served>, Box<Impossible>> {
        if msg.kind != Kind::Evict {
            self.make_room(msg.line)?;
        }
        let mut line = self.line(msg.line);
        let before = line;
        let place = Place { me: self.me, below: self.me, above: &self.above };
        let mut sends = std::mem::take(&mut self.spare);
        let met = look(&*self.controller, self.table, place, &line, msg);
        if !perform(&*self.controller, self.table, place, &mut line, msg, met, &mut self.log, &mut sends)? {
            // A home with restarts stalls messages only because timestamps have overflowed.
            self.is_over |= self.table.capabilities().restarts;
            self.spare = sends;
            return Ok(None);
        }
        let touched = match () {
            () if !msg.data.mask().is_empty() => Touched::Written,
            () if sends.iter().any(|send| !send.data.mask().is_empty()) => Touched::Read,
            () => Touched::Nothing,
        };
        if touched == Touched::Written {
            self.store.write(self.inside(msg.line), line.data.bytes());
        }
        self.keep(msg.line, &before, line);
        self.latest = sends.iter().map(|send| send.stamps.wts).fold(self.latest, Stamp::max);
        self.waiting.changed(msg.line);
        Ok(Some(Served { line: msg.line, touched, sends }))
    }

    /// Makes room for a record of a line.
    fn make_room(&mut self, line: LineAddr) -> Result<(), Box<Impossible>> {
        let Some(room) = &mut self.room else { return Ok(()) };
        let known = &self.known;
        // The victim is the line whose last lease ends first (`[halcone 3.2.5]`).
        let memts = |line: LineAddr| known.get(&line).map_or(0, |line| line.stamps.rts.into());
        if let Some(victim) = room.replace(line, memts) {
            self.forgotten += 1;
            self.forget(victim)?;
        }
        Ok(())
    }

    /// Drops the record of a line.
    fn forget(&mut self, line: LineAddr) -> Result<(), Box<Impossible>> {
        if self.known.contains_key(&line) {
            self.attempt(&Msg::new(self.me, self.me, Kind::Evict, line, Block::EMPTY))?;
        }
        Ok(())
    }

    /// A cache has evicted a line. If the cache held it on the last lease that was granted, no other cache shares the
    /// line, and its record is dropped. Returns whether it was.
    pub fn evicted(&mut self, notice: &Msg<LINE>) -> Result<bool, Box<Impossible>> {
        let last = self.known.get(&notice.line).is_some_and(|line| line.stamps.rts == notice.stamps.rts);
        if last {
            if let Some(room) = &mut self.room {
                room.free(notice.line);
            }
            self.forget(notice.line)?;
        }
        Ok(last)
    }

    /// Stores the record of a line after a step, unless the line is in the initial state.
    fn keep(&mut self, address: LineAddr, before: &Line<LINE>, mut line: Line<LINE>) {
        self.cts = line.stamps.cts;
        line.data = before.data;
        if line == *before {
            return;
        }
        (line.data, line.stamps.cts) = (Block::EMPTY, 0);
        if line.state == 0 && self.controller.keeps_time() {
            self.written = self.written.max(std::mem::take(&mut line.stamps.wts));
        }
        if line == Line::new(0) {
            self.known.remove(&address);
        } else {
            self.known.insert(address, line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mem::Mask;
    use protocol::{Controller, halcone, memory, mesi};

    const ME: Node = Node(9);
    const LINE_0: LineAddr = LineAddr(0);
    const LINE_1: LineAddr = LineAddr(LINE as u64);

    fn home(controller: impl Controller<LINE> + 'static) -> Home {
        let above = Arc::new(Roster::row(Node(0), 9));
        Home::new(Arc::new(controller), (ME, above), Share::ALL, crate::Store::default().into(), 8)
    }

    fn say(home: &mut Home, from: u16, kind: Kind, line: LineAddr, data: Block<LINE>) -> Option<Served> {
        home.offer(Msg::new(Node(from), ME, kind, line, data)).expect("the table has a cell for this")
    }

    fn kinds(served: &Served) -> Vec<(u16, Kind)> {
        served.sends.iter().map(|send| (send.to.0, send.kind)).collect()
    }

    #[test]
    fn bytes_that_are_written_are_read_again_and_nothing_else_is_remembered() {
        let mut home = home(memory::Memory);
        let written = say(&mut home, 0, Kind::Write, LINE_1, Block::one(3, 7)).unwrap();
        assert_eq!((written.touched, kinds(&written)), (Touched::Written, vec![(0, Kind::Ack)]));
        let read = say(&mut home, 1, Kind::Read, LINE_1, Block::EMPTY).unwrap();
        assert_eq!((read.touched, read.sends[0].data.get(3)), (Touched::Read, Some(7)));
        assert!(home.known.is_empty());
        let mut byte = [0];
        home.store.read(PhysAddr(LINE as u64 + 3), &mut byte);
        assert_eq!(byte, [7], "an element that shares the store sees it");
    }

    /// Two caches hold the line shared. The first is granted ownership and writes the line back before the second has
    /// acknowledged its invalidation. A request of the second then waits behind the write-back.
    #[test]
    fn messages_wait_in_order_with_their_line_until_it_has_changed() {
        let mut home = home(mesi::directory::MC);
        for cache in [0, 1] {
            say(&mut home, cache, Kind::GetS, LINE_0, Block::EMPTY).unwrap();
        }
        let granted = say(&mut home, 0, Kind::Upgrade, LINE_0, Block::EMPTY).unwrap();
        assert_eq!(kinds(&granted), [(0, Kind::UpgradeAck), (1, Kind::Inval)]);
        let changed = Block::full([5; LINE]);
        assert_eq!(say(&mut home, 0, Kind::WriteBack, LINE_0, changed), None);
        assert_eq!(say(&mut home, 1, Kind::Get, LINE_0, Block::EMPTY), None, "it would overtake the write-back");
        let other = say(&mut home, 1, Kind::Get, LINE_1, Block::EMPTY).unwrap();
        assert_eq!(kinds(&other), [(1, Kind::PutClnX)], "other lines are not held up");
        assert_eq!(home.next_work(), None);
        say(&mut home, 1, Kind::InvAck, LINE_0, Block::EMPTY).expect("an answer never waits");
        let (_, landed) = home.work().unwrap().unwrap();
        assert_eq!((landed.touched, kinds(&landed)), (Touched::Written, vec![(0, Kind::WriteBackAck)]));
        let (_, read) = home.work().unwrap().unwrap();
        assert_eq!((kinds(&read), *read.sends[0].data.bytes()), (vec![(1, Kind::PutClnX)], [5; LINE]));
        assert!(home.next_work().is_none() && home.waiting.is_empty());
    }

    #[test]
    fn a_message_that_the_protocol_does_not_know_is_reported_with_the_line_s_history() {
        let mut home = home(mesi::directory::MC);
        say(&mut home, 0, Kind::Get, LINE_0, Block::EMPTY).unwrap();
        let hole = home.offer(Msg::new(Node(0), ME, Kind::InvAck, LINE_0, Block::EMPTY)).unwrap_err();
        assert_eq!((hole.state, hole.event.as_str()), ("E_Held", "InvAckLast"));
        assert_eq!(hole.history.len(), 2);
    }

    #[test]
    fn the_present_is_one_for_all_lines() {
        let mut home = home(halcone::Tsu::PAPER);
        let lease = |served: Served| served.sends[0].stamps;
        let first = say(&mut home, 0, Kind::Read, LINE_0, Block::EMPTY).unwrap();
        assert_eq!(lease(first), Stamps { wts: 0, rts: 10, cts: 0 });
        say(&mut home, 0, Kind::Evict, LINE_0, Block::EMPTY).unwrap();
        assert!(home.known.is_empty(), "what was forgotten is remembered once, not by line");
        let written = say(&mut home, 0, Kind::Write, LINE_1, Block::of([1; LINE], Mask::byte(0))).unwrap();
        assert_eq!(lease(written), Stamps { wts: 11, rts: 15, cts: 0 }, "the first line's lease may still be read");
    }

    #[test]
    fn of_lines_in_a_full_unit_the_one_whose_lease_ends_first_is_forgotten_though_it_was_used_last() {
        let room = RoomSpec { sets: 1, ways: 2, block: LINE as u64, share: Share::ALL };
        let mut home = home(halcone::Tsu::PAPER).with_room(Some(room));
        for line in [LINE_0, LINE_0, LINE_1] {
            say(&mut home, 0, Kind::Read, line, Block::EMPTY).unwrap();
        }
        say(&mut home, 0, Kind::Read, LineAddr(2 * LINE as u64), Block::EMPTY).unwrap();
        assert!(home.known.contains_key(&LINE_0) && !home.known.contains_key(&LINE_1), "20 is later than 10");
        assert_eq!(home.forgotten, 1);
    }

    #[test]
    fn a_line_that_its_last_reader_has_evicted_is_forgotten_and_one_that_another_has_read_since_is_not() {
        let mut home = home(halcone::Tsu::PAPER);
        let read = |home: &mut Home, line| say(home, 0, Kind::Read, line, Block::EMPTY).unwrap().sends[0].stamps;
        let (alone, shared) = (read(&mut home, LINE_0), read(&mut home, LINE_1));
        read(&mut home, LINE_1);
        let notice = |line, stamps| Msg { stamps, ..Msg::new(Node(0), ME, Kind::Evicted, line, Block::EMPTY) };
        assert!(home.evicted(&notice(LINE_0, alone)).unwrap());
        assert!(!home.evicted(&notice(LINE_1, shared)).unwrap(), "its lease was given out again");
        assert!(!home.evicted(&notice(LINE_0, alone)).unwrap(), "it is not known any more");
        assert_eq!(home.known.len(), 1);
        let again = Stamps { wts: 0, rts: 20, cts: 0 };
        assert_eq!(
            read(&mut home, LINE_0),
            again,
            "a line that was forgotten starts after its last lease; nothing was written"
        );
    }

    #[test]
    fn where_there_is_room_for_one_line_another_has_it_forgotten_and_starts_after_its_lease() {
        let room = RoomSpec { sets: 1, ways: 1, block: LINE as u64, share: Share::ALL };
        let mut home = home(halcone::Tsu::PAPER).with_room(Some(room));
        let lease = |served: Served| served.sends[0].stamps;
        say(&mut home, 0, Kind::Read, LINE_0, Block::EMPTY).unwrap();
        let written = say(&mut home, 0, Kind::Write, LINE_1, Block::of([1; LINE], Mask::byte(0))).unwrap();
        assert_eq!(lease(written), Stamps { wts: 11, rts: 15, cts: 0 });
        assert_eq!((home.known.len(), home.forgotten), (1, 1));
        let again = say(&mut home, 0, Kind::Read, LINE_0, Block::EMPTY).unwrap();
        assert_eq!(
            lease(again),
            Stamps { wts: 11, rts: 25, cts: 0 },
            "after all that was forgotten; it may be what was written"
        );
    }
}
