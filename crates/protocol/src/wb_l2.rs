//! A write-back second-level cache with byte masks: it takes writes without reading the line first.
//!
//! `P` holds only bytes that were written, `D` the whole line. A read of a partial line fetches the rest from below and lays
//! it under what was written. `C` in a state's name: being cleaned, that is flushed with the line kept until it has landed. Atomic accesses are performed
//! here, once the whole line is.

use crate::{Block, Controller, Kind, Line, Mask, Msg, Place, Stamps, Table, Work, common, protocol};
use wb::{Action, Event, State};

protocol! {
 /// `Whole`: every byte is here, written or read.
 wb actions(Ask Fetch Fill Answer Reply Take Ack WriteBack Clean Drop Done DoneAsked Bring Found)
 on(  Read            Write          Evict               Flush                Invalidate     Data             Landed                )
 I  { [F Ask Fetch]   [P Take Ack]   x                   [I Done]             [I Done]       x                x                     }
 V  { [V Reply]       [D Take Ack]   [I Drop]            [V Done]             [I Drop Done]  x                x                     }
 P  { [PF Ask Fetch]  [P Take Ack]   [W WriteBack Drop]  [PC Ask WriteBack]   x              x                x                     }
 D  { [D Reply]       [D Take Ack]   [W WriteBack Drop]  [DC Ask WriteBack]   x              x                x                     }
 F  { z               [PF Take Ack]  z                   z                    z              [V Fill Answer]  x                     }
 PF { z               [PF Take Ack]  z                   z                    z              [D Fill Answer]  x                     }
 W  { z               z              z                   z                    z              x                [I]                   }
 PC { z               z              z                   z                    z              x                [I Drop DoneAsked]    }
 DC { [DC Reply]      z              z                   z                    z              x                [V Clean DoneAsked]   };
 on(  Modify     ModifyWhole     )
 I  { [I Bring]  x               }
 V  { x          [D Found Take]  }
 P  { [P Bring]  [P Found Take]  }
 D  { x          [D Found Take]  }
 F  { z          x               }
 PF { z          z               }
 W  { z          x               }
 PC { z          z               }
 DC { x          z               }
}

/// The controller of table [`wb`].
pub struct WriteBackL2;

impl<const N: usize> Controller<N> for WriteBackL2 {
    fn table(&self) -> &'static Table {
        &wb::TABLE
    }

    fn classify(&self, _: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let event = match msg.kind {
            Kind::Read => Event::Read,
            Kind::Write => Event::Write,
            Kind::Evict => Event::Evict,
            Kind::Flush => Event::Flush,
            Kind::Invalidate => Event::Invalidate,
            Kind::Data => Event::Data,
            Kind::Ack => Event::Landed,
            Kind::Modify if line.data.is_full() => Event::ModifyWhole,
            Kind::Modify => Event::Modify,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        let (whole, dirty) = (line.data.is_full(), line.is_dirty());
        let (held, asked) = match State::ALL[line.state as usize] {
            State::I | State::W => (line.is_empty() && !dirty, false),
            State::V => (whole && !dirty, false),
            State::P => (line.is_partial(), false),
            State::D => (whole && dirty, false),
            State::F => (line.is_empty() && !dirty, true),
            State::PF | State::PC => (line.is_partial(), true),
            State::DC => (whole && dirty, true),
        };
        held && line.is_asked() == asked
    }

    fn takes_room(&self, state: u8) -> bool {
        state != State::I as u8 && state != State::W as u8
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        match Action::ALL[action as usize] {
            Action::Ask => common::ask(work),
            Action::Fetch => work.send(work.place.below, Kind::Read, Block::EMPTY),
            Action::Fill => common::fill(work),
            Action::Answer => return common::answer(work, Kind::Data),
            Action::Reply => work.send(work.msg.from, Kind::Data, work.line.data),
            Action::Take => common::take_dirty(work),
            Action::Ack => common::acknowledge(work),
            Action::WriteBack => common::write_back(work),
            Action::Clean => work.line.dirty = Mask::NONE,
            Action::Drop => common::drop_data(work),
            Action::Done => work.send(work.msg.from, Kind::Done, Block::EMPTY),
            Action::DoneAsked => return common::done_asked(work),
            Action::Bring => common::bring(work, Kind::Read),
            Action::Found => common::found(work, Stamps::ZERO),
        }
        Ok(())
    }
}
