//! Memory with HALCONE's time-stamp unit (TSU). For each line on lease it records the end of the last lease, `memts`,
//! and the time of the last write.
//!
//! Algorithm 3 has `memts` alone, and answers a read with the old `memts` in place of the time of writing. A reader
//! has to advance to the time of writing, or it would read a value from its future. With `memts` instead, each cache
//! that reads a line would advance past all leases granted before, though nothing was written.
//!
//! The unit has records for a limited number of lines. A line whose record is dropped may still be on lease, so a
//! line without a record starts at the largest `memts` ever dropped, and counts as written at the latest write time
//! ever dropped. Here a line's `rts` is its `memts`; its `cts`, and the `wts` of a line without a record, are these
//! dropped values.

use crate::{
    Block, Controller, Kind, Line, Msg, Place, Stamp, Stamps, Table, Work, common, protocol, roles::Parameters,
};
use tsu::{Action, Event, State};

protocol! {
 /// Algorithm 3. `Over`: the lease would end after the last time that can be represented, so logical time has to
 /// restart first.
 tsu actions(Enter Lease Reply Take Advance Ack Forget Restart Done Found)
 on(     Read                       Write                            ReadOver  WriteOver  Evict          Reset               )
 None  { [Known Enter Lease Reply]  [Known Enter Take Advance Ack]   z         z          x              [None Restart Done] }
 Known { [Known Lease Reply]        [Known Take Advance Ack]         z         z          [None Forget]  [None Restart Done] };
 on(     Modify                            )
 None  { [Known Enter Advance Found Take]  }
 Known { [Known Advance Found Take]        }
}

/// The controller of table [`tsu`]. A write's lease must be at least 2: a cache may always read up to `wts + 1`,
/// which would otherwise lie beyond the lease.
pub struct Tsu {
    pub read_lease: Stamp,
    pub write_lease: Stamp,
    /// The last time that can be represented.
    pub last: Stamp,
}

impl Tsu {
    /// 16-bit times and the leases of `[halcone 5.1]`.
    pub const PAPER: Self =
        Self { read_lease: Parameters::READ_LEASE, write_lease: Parameters::WRITE_LEASE, last: u16::MAX as Stamp };

    /// The end of a line's last lease.
    fn memts<const N: usize>(line: &Line<N>) -> Stamp {
        match State::ALL[line.state as usize] {
            State::None => line.stamps.cts,
            State::Known => line.stamps.rts,
        }
    }

    fn is_over<const N: usize>(&self, line: &Line<N>, lease: Stamp) -> bool {
        Self::memts(line).checked_add(lease).is_none_or(|end| end > self.last)
    }
}

impl<const N: usize> Controller<N> for Tsu {
    fn table(&self) -> &'static Table {
        &tsu::TABLE
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn classify(&self, _: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let event = match msg.kind {
            Kind::Read if self.is_over(line, self.read_lease) => Event::ReadOver,
            Kind::Read => Event::Read,
            Kind::Write | Kind::Modify if self.is_over(line, self.write_lease) => Event::WriteOver,
            Kind::Write => Event::Write,
            Kind::Modify => Event::Modify,
            Kind::Evict => Event::Evict,
            Kind::Reset => Event::Reset,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        let known = State::ALL[line.state as usize] == State::Known;
        line.data.is_full() && line.stamps.wts <= Self::memts(line) && (known || line.stamps.rts == 0)
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        let stamps = &mut work.line.stamps;
        match Action::ALL[action as usize] {
            Action::Enter => stamps.rts = stamps.cts,
            Action::Lease => stamps.rts += self.read_lease,
            Action::Advance => {
                stamps.wts = stamps.rts + 1;
                stamps.rts += self.write_lease;
            }
            Action::Reply => give(work, Kind::Data),
            Action::Ack => give(work, Kind::Ack),
            Action::Take => work.line.data.write(&work.msg.data),
            Action::Forget => *stamps = Stamps { wts: stamps.wts, ..Stamps::now(stamps.cts.max(stamps.rts)) },
            Action::Restart => *stamps = Stamps::ZERO,
            Action::Found => {
                let lease = Stamps { cts: 0, ..*stamps };
                common::found(work, lease);
            }
            Action::Done => work.send(work.msg.from, Kind::Done, Block::EMPTY),
        }
        Ok(())
    }
}

/// Sends the line with its lease, and the node on whose behalf it was requested.
fn give<const N: usize>(work: &mut Work<'_, N>, kind: Kind) {
    let lease = Stamps { cts: 0, ..work.line.stamps };
    let (me, msg) = (work.place.me, work.msg);
    work.push(Msg { of: msg.of, stamps: lease, ..Msg::new(me, msg.from, kind, msg.line, work.line.data) });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Log, Node, Step, step};
    use mem::LineAddr;

    fn send(unit: &Tsu, line: &mut Line<2>, kind: Kind, data: Block<2>) -> Option<Stamps> {
        let msg = Msg::new(Node(9), Node(0), kind, LineAddr(0), data);
        let place = Place::new(Node(0), Node(0));
        match step(unit, &tsu::TABLE, place, line, &msg, &mut Log::new(&tsu::TABLE, 0)).unwrap() {
            Step::Stall => None,
            Step::Sends(sends) => Some(sends.first().map_or(Stamps::ZERO, |send| send.stamps)),
        }
    }

    fn fresh() -> Line<2> {
        Line { data: Block::full([0, 0]), ..Line::new(State::None as u8) }
    }

    #[test]
    fn a_line_that_was_forgotten_starts_after_every_lease_that_was_forgotten() {
        let mut line = fresh();
        assert_eq!(send(&Tsu::PAPER, &mut line, Kind::Read, Block::EMPTY), Some(Stamps { wts: 0, rts: 10, cts: 0 }));
        send(&Tsu::PAPER, &mut line, Kind::Evict, Block::EMPTY);
        let written = send(&Tsu::PAPER, &mut line, Kind::Write, Block::one(0, 1));
        assert_eq!(written, Some(Stamps { wts: 11, rts: 15, cts: 0 }), "the first lease may still be read");
    }

    #[test]
    fn a_line_that_was_only_read_does_not_count_as_written_when_it_is_returned() {
        let mut line = fresh();
        for end in [10, 20] {
            let read = send(&Tsu::PAPER, &mut line, Kind::Read, Block::EMPTY);
            assert_eq!(read, Some(Stamps { wts: 0, rts: end, cts: 0 }));
            send(&Tsu::PAPER, &mut line, Kind::Evict, Block::EMPTY);
        }
        send(&Tsu::PAPER, &mut line, Kind::Write, Block::one(0, 1));
        send(&Tsu::PAPER, &mut line, Kind::Evict, Block::EMPTY);
        let read = send(&Tsu::PAPER, &mut line, Kind::Read, Block::EMPTY);
        assert_eq!(read, Some(Stamps { wts: 21, rts: 35, cts: 0 }), "it may have been this one that was written");
    }

    #[test]
    fn requests_wait_at_the_last_time_until_all_caches_are_reset() {
        let mut line = fresh();
        line.stamps.cts = Tsu::PAPER.last - 7;
        assert_eq!(send(&Tsu::PAPER, &mut line, Kind::Read, Block::EMPTY), None);
        let written = send(&Tsu::PAPER, &mut line, Kind::Write, Block::one(0, 1));
        assert_eq!(written.map(|stamps| stamps.rts), Some(Tsu::PAPER.last - 2));
        assert_eq!(send(&Tsu::PAPER, &mut line, Kind::Write, Block::one(0, 2)), None);
        send(&Tsu::PAPER, &mut line, Kind::Reset, Block::EMPTY);
        assert_eq!(line.stamps, Stamps::ZERO);
        let read = send(&Tsu::PAPER, &mut line, Kind::Read, Block::EMPTY);
        assert_eq!(read, Some(Stamps { wts: 0, rts: 10, cts: 0 }));
        assert_eq!(line.data, Block::full([1, 0]), "what was written stays");
    }
}
