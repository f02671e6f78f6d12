//! A write-through second-level cache: writes go to memory at once, and update the line here only if it is held.
//!
//! It acknowledges a write to the cache above when it accepts the write, and a flush only when all writes have
//! reached memory. A write to bytes in flight must not overtake them. If the line is held, the write stalls.
//! Otherwise it is kept here (`IP`) with all later writes to the line, and they are sent as one write when the bytes
//! in flight have been acknowledged. If this cache is alone above its memory, atomic accesses are performed here once
//! the line is held and none of it is in flight. If several such caches share a memory, atomic accesses are passed to
//! it once the line is neither held nor in flight here.

use crate::roles::Atomics;
use crate::{Block, Controller, Kind, Line, Msg, Place, Stamps, Table, Work, common, protocol};
use wt::{Action, Event, State};

protocol! {
 /// `Past`: atomic accesses are performed below.
 wt actions(Ask Fetch Fill Answer Reply Merge Through Ack Landed Hold Send Drop Done Bring Found Pass HandUp)
 on(  Read           Write                   WriteOver      Evict      Invalidate     Flush     Data             AckMore      AckLast               )
 I  { [F Ask Fetch]  [IW Through Ack]        x              x          [I Done]       [I Done]  x                x            x                     }
 V  { [V Reply]      [VW Merge Through Ack]  x              [I Drop]   [I Drop Done]  [V Done]  x                x            x                     }
 F  { z              z                       x              z          z              z         [V Fill Answer]  x            x                     }
 IW { z              [IW Through Ack]        [IP Hold Ack]  z          z              z         x                [IW Landed]  [I Landed]            }
 VW { [VW Reply]     [VW Merge Through Ack]  z              [IW Drop]  z              z         x                [VW Landed]  [V Landed]            }
 IP { z              x                       [IP Hold Ack]  z          z              z         x                [IP Landed]  [IW Landed Send Drop] };
 on(  Modify                    )
 I  { [I Bring]                 }
 V  { [VW Found Merge Through]  }
 F  { z                         }
 IW { z                         }
 VW { z                         }
 IP { z                         };
 on(  ModifyPast     Modified         )
 I  { [I Pass]       [I HandUp]       }
 V  { [I Drop Pass]  [I Drop HandUp]  }
 F  { z              z                }
 IW { z              z                }
 VW { z              z                }
 IP { z              z                }
}

/// The controller of table [`wt`].
pub struct WriteThroughL2 {
    pub atomics: Atomics,
}

impl WriteThroughL2 {
    /// The only cache above its memory.
    pub const ALONE: Self = Self { atomics: Atomics::Here };
    /// The controller of one of several such caches above one memory.
    pub const SEVERAL: Self = Self { atomics: Atomics::Below };
}

impl<const N: usize> Controller<N> for WriteThroughL2 {
    fn table(&self) -> &'static Table {
        &wt::TABLE
    }

    fn classify(&self, _: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let event = match msg.kind {
            Kind::Read => Event::Read,
            Kind::Write if common::is_beside(line, msg) => Event::Write,
            Kind::Write => Event::WriteOver,
            Kind::Evict => Event::Evict,
            Kind::Invalidate => Event::Invalidate,
            Kind::Flush => Event::Flush,
            Kind::Data => Event::Data,
            Kind::Ack if line.acks > 1 => Event::AckMore,
            Kind::Ack => Event::AckLast,
            Kind::Modify if self.atomics.are_below(msg.line) => Event::ModifyPast,
            Kind::Modify => Event::Modify,
            Kind::Modified => Event::Modified,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        let (empty, whole, partial) = (line.is_empty(), line.data.is_full(), line.is_partial());
        let (held, kept_back, asked, writing) = match State::ALL[line.state as usize] {
            State::I => (empty, false, false, false),
            State::V => (whole, false, false, false),
            State::F => (empty, false, true, false),
            State::IW => (empty, false, false, true),
            State::VW => (whole, false, false, true),
            State::IP => (partial, true, false, true),
        };
        held && (line.is_dirty(), line.is_asked(), line.is_writing()) == (kept_back, asked, writing)
    }

    fn takes_room(&self, state: u8) -> bool {
        !matches!(State::ALL[state as usize], State::I | State::IW | State::IP)
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        match Action::ALL[action as usize] {
            Action::Ask => common::ask(work),
            Action::Fetch => work.send(work.place.below, Kind::Read, Block::EMPTY),
            Action::Fill => common::fill(work),
            Action::Answer => return common::answer(work, Kind::Data),
            Action::Reply => work.send(work.msg.from, Kind::Data, work.line.data),
            Action::Merge => work.line.data.write(&work.msg.data),
            Action::Through => common::write_through(work),
            Action::Ack => common::acknowledge(work),
            Action::Landed => return common::landed(work),
            Action::Hold => common::take_dirty(work),
            Action::Send => common::send_held(work),
            Action::Drop => common::drop_data(work),
            Action::Done => work.send(work.msg.from, Kind::Done, Block::EMPTY),
            Action::Bring => common::bring(work, Kind::Read),
            Action::Found => common::found(work, Stamps::ZERO),
            Action::Pass => common::pass_on(work, Some(work.msg.from)),
            Action::HandUp => return common::hand_up(work),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Log, Node, Place, Step, step};
    use mem::LineAddr;

    #[test]
    fn reads_and_writes_wait_for_a_line_that_is_being_fetched() {
        for (kind, data) in [(Kind::Read, Block::EMPTY), (Kind::Write, Block::<2>::one(0, 1))] {
            let mut line = Line { asked: Some(Node(3)), ..Line::new(State::F as u8) };
            let msg = Msg::new(Node(4), Node(0), kind, LineAddr(0), data);
            let place = Place::new(Node(0), Node(1));
            let mut log = Log::new(&wt::TABLE, 0);
            assert_eq!(step(&WriteThroughL2::ALONE, &wt::TABLE, place, &mut line, &msg, &mut log), Ok(Step::Stall));
        }
    }

    #[test]
    fn what_is_written_over_bytes_in_flight_goes_as_one_write_when_they_have_landed() {
        let mut line = Line::<2>::new(State::I as u8);
        let mut say = |kind, data| {
            let msg = Msg::new(Node(4), Node(0), kind, LineAddr(0), data);
            let mut log = Log::new(&wt::TABLE, 0);
            match step(&WriteThroughL2::ALONE, &wt::TABLE, Place::new(Node(0), Node(1)), &mut line, &msg, &mut log) {
                Ok(Step::Sends(sends)) => sends.into_iter().map(|send| (send.to, send.kind, send.data)).collect(),
                _ => Vec::new(),
            }
        };
        let [first, beside, second, third] = [(0, 1), (1, 2), (0, 3), (1, 4)].map(|(at, value)| Block::one(at, value));
        let acknowledged = |data| (Node(4), Kind::Ack, data);
        for goes in [first, beside] {
            assert_eq!(say(Kind::Write, goes), [(Node(1), Kind::Write, goes), acknowledged(goes)]);
        }
        for stays in [second, third] {
            assert_eq!(say(Kind::Write, stays), [acknowledged(stays)]);
        }
        let both = Block::full([3, 4]);
        assert_eq!(say(Kind::Ack, beside), [], "another is in flight");
        assert_eq!(say(Kind::Ack, first), [(Node(1), Kind::Write, both)]);
        assert_eq!(say(Kind::Ack, both), []);
        assert_eq!(line, Line::new(State::I as u8));
    }
}
