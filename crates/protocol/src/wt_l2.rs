//! A write-through second-level cache: writes go on to memory at once and stay in a line only if it is there already.
//!
//! It acknowledges a write to the cache above when it takes it, and a flush only when everything has landed in memory. Atomic accesses are performed here, once
//! the line is here and nothing of it is in flight; where several such caches share memory, they are passed on to it once nothing of the
//! line is held or in flight here.

use crate::roles::Atomics;
use crate::{Block, Controller, Kind, Line, Msg, Place, Stamps, Table, Work, common, protocol};
use wt::{Action, Event, State};

protocol! {
 /// `Past`: atomic accesses are performed below.
 wt actions(Ask Fetch Fill Answer Reply Merge Through Ack Landed Drop Done Bring Found Pass HandUp)
 on(  Read           Write                   WriteOver  Evict      Invalidate     Flush     Data             AckMore      AckLast    )
 I  { [F Ask Fetch]  [IW Through Ack]        x          x          [I Done]       [I Done]  x                x            x          }
 V  { [V Reply]      [VW Merge Through Ack]  x          [I Drop]   [I Drop Done]  [V Done]  x                x            x          }
 F  { z              z                       x          z          z              z         [V Fill Answer]  x            x          }
 IW { z              [IW Through Ack]        z          z          z              z         x                [IW Landed]  [I Landed] }
 VW { [VW Reply]     [VW Merge Through Ack]  z          [IW Drop]  z              z         x                [VW Landed]  [V Landed] };
 on(  Modify                    )
 I  { [I Bring]                 }
 V  { [VW Found Merge Through]  }
 F  { z                         }
 IW { z                         }
 VW { z                         };
 on(  ModifyPast     Modified         )
 I  { [I Pass]       [I HandUp]       }
 V  { [I Drop Pass]  [I Drop HandUp]  }
 F  { z              z                }
 IW { z              z                }
 VW { z              z                }
}

/// The controller of table [`wt`].
pub struct WriteThroughL2 {
    pub atomics: Atomics,
}

impl WriteThroughL2 {
    /// The only cache above its memory.
    pub const ALONE: Self = Self { atomics: Atomics::Here };
    /// One of several above one memory.
    pub const SEVERAL: Self = Self { atomics: Atomics::Below };
}

impl<const N: usize> Controller<N> for WriteThroughL2 {
    fn table(&self) -> &'static Table {
        &wt::TABLE
    }

    fn classify(&self, _: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let event = match msg.kind {
            Kind::Read => Event::Read,
            Kind::Write if line.in_flight.and(msg.data.mask()).is_empty() => Event::Write,
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
        let (holds, asked, writing) = match State::ALL[line.state as usize] {
            State::I => (false, false, false),
            State::V => (true, false, false),
            State::F => (false, true, false),
            State::IW => (false, false, true),
            State::VW => (true, false, true),
        };
        let held = if holds { line.data.is_full() } else { line.is_empty() };
        held && !line.is_dirty() && line.is_asked() == asked && line.is_writing() == writing
    }

    fn takes_room(&self, state: u8) -> bool {
        state != State::I as u8 && state != State::IW as u8
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
}
