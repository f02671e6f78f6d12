//! A write-back second-level cache that stands above a translator: its lines have the names of programs, and nothing is written here that the
//! translator has not heard of.
//!
//! As [`wb_l2`](crate::wb_l2), and beside that (`[vcache 4.1 and 4.2]`): the first write to a line claims it (`Upgrade`), so that the translator can
//! look for the right to write and for other names of the line; writes are taken meanwhile. Every line that goes is told (`Evicted`), those that
//! were not written as well. The translator recalls lines whose page goes (`Recall`), and is answered by such a notice, too.
//!
//! `A` in a state's name: claimed, not yet granted. A recall of a line that is being fetched or claimed anew (`F`, `PA`) is about an earlier copy:
//! an answer to the request that is under way would have come before it.

use crate::{Block, Controller, Kind, Line, Mask, Msg, Place, Stamps, Table, Work, common, protocol};
use claims::{Action, Event, State};

protocol! {
 /// `Whole`: every byte is here, written or read.
 claims actions(Ask Fetch Fill Answer Reply Take Ack Claim WriteBack Clean Drop Tell Gone Done DoneAsked Bring Found)
 on(  Read            Write                Evict                    Flush               Invalidate          Data             Landed                  )
 I  { [F Ask Fetch]   [PA Take Ack Claim]  [I]                      [I Done]            [I Done]            x                x                       }
 V  { [V Reply]       [DA Take Ack Claim]  [I Drop Tell]            [V Done]            [I Drop Tell Done]  x                x                       }
 P  { [PF Ask Fetch]  [P Take Ack]         [W WriteBack Drop Tell]  [PC Ask WriteBack]  x                   x                x                       }
 D  { [D Reply]       [D Take Ack]         [W WriteBack Drop Tell]  [DC Ask WriteBack]  x                   x                x                       }
 F  { z               z                    z                        z                   z                   [V Fill Answer]  x                       }
 PF { z               [PF Take Ack]        z                        z                   z                   [D Fill Answer]  x                       }
 PA { z               [PA Take Ack]        z                        z                   z                   x                x                       }
 DA { [DA Reply]      [DA Take Ack]        z                        z                   z                   x                x                       }
 W  { z               z                    z                        z                   z                   x                [I]                     }
 PC { z               z                    z                        z                   z                   x                [I Drop Tell DoneAsked] }
 DC { [DC Reply]      z                    z                        z                   z                   x                [V Clean DoneAsked]     };
 on(  Modify     ModifyWhole            Granted  Recall                        )
 I  { [I Bring]  x                      x        [I Gone]                      }
 V  { x          [DA Found Take Claim]  x        [I Drop Gone]                 }
 P  { [P Bring]  [P Found Take]         x        [W WriteBack Drop Gone]       }
 D  { x          [D Found Take]         x        [W WriteBack Drop Gone]       }
 F  { z          x                      x        [F Gone]                      }
 PF { z          z                      x        z                             }
 PA { z          z                      [P]      [PA Gone]                     }
 DA { x          z                      [D]      z                             }
 W  { z          x                      x        [W Gone]                      }
 PC { z          z                      x        z                             }
 DC { x          z                      x        z                             }
}

/// The controller of table [`claims`].
pub struct ClaimingL2;

impl<const N: usize> Controller<N> for ClaimingL2 {
    fn table(&self) -> &'static Table {
        &claims::TABLE
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
            Kind::UpgradeAck => Event::Granted,
            Kind::CoreFlush => Event::Recall,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        let (whole, dirty) = (line.data.is_full(), line.is_dirty());
        let (held, asked) = match State::ALL[line.state as usize] {
            State::I | State::W => (line.is_empty() && !dirty, false),
            State::V => (whole && !dirty, false),
            State::P | State::PA => (line.is_partial(), false),
            State::D | State::DA => (whole && dirty, false),
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
            Action::Claim => work.send(work.place.below, Kind::Upgrade, Block::EMPTY),
            Action::WriteBack => common::write_back(work),
            Action::Clean => work.line.dirty = Mask::NONE,
            Action::Drop => common::drop_data(work),
            Action::Tell => work.send(work.place.below, Kind::Evicted, Block::EMPTY),
            Action::Gone => {
                let (me, below) = (work.place.me, work.place.below);
                work.push(Msg { of: Some(me), ..Msg::new(me, below, Kind::Evicted, work.msg.line, Block::EMPTY) });
            }
            Action::Done => work.send(work.msg.from, Kind::Done, Block::EMPTY),
            Action::DoneAsked => return common::done_asked(work),
            Action::Bring => common::bring(work, Kind::Read),
            Action::Found => common::found(work, Stamps::ZERO),
        }
        Ok(())
    }
}
