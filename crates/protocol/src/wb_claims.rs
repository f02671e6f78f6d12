//! A write-back second-level cache above a forward-backward table: its lines have virtual tags, and it writes no line
//! that the table does not know of.
//!
//! It works as [`wb_l2`](crate::wb_l2) with these additions (`[vcache 4.1 and 4.2]`). The first write to a line
//! claims it (`Upgrade`), so that the table can check the right to write and look for synonyms; further writes are
//! accepted meanwhile. Every eviction is reported (`Evicted`), also that of a clean line. The table recalls lines
//! whose page is removed (`Recall`) and is answered by the same notice.
//!
//! `A` in a state's name: claimed, not granted yet. A recall of a line that is being fetched or claimed again (`F`,
//! `PA`) is about an earlier copy: an answer to the current request would have arrived before the recall. A line that is held and
//! claimed (`DA`) gives up the bytes it did not write (`Shed`): the recall must not wait for the claim, which may wait for a driver.

use crate::{Block, Controller, Kind, Line, Mask, Msg, Place, Stamps, Table, Work, common, protocol};
use claims::{Action, Event, State};

protocol! {
 /// `Whole`: every byte is held, written or read.
 claims actions(Ask Fetch Fill Answer Reply Take Ack Claim WriteBack Clean Drop Tell Gone Done DoneAsked Bring Found Shed)
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
 DA { x          z                      [D]      [PA Shed Gone]                }
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
            Action::Shed => work.line.data = work.line.data.only(work.line.dirty),
        }
        Ok(())
    }
}
