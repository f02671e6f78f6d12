//! A GPU's second-level cache as the home of lines in G-TSC: the protocol as published, for one GPU over a plain
//! memory.
//!
//! It writes back. A line that it evicts loses its timestamps: one time for the whole cache, `cts`, records the
//! latest end of such leases, and a line that is fetched (again) starts there. `F` fetches a line for a reader, `G`
//! the rest of a line that was written. `W` is being written back; `C` is too, and stays in the cache.

use super::memory::{give_time, perform, read_until, written_at};
use crate::{Block, Controller, FIRST, Kind, Line, Mask, Msg, Place, Stamp, Stamps, Table, Work, common, protocol};
use gtsc_home::{Action, Event, State};

protocol! {
 /// `Same`: the reader holds the current version. `Over`: the lease would end after the last time that can be
 /// represented.
 gtsc_home actions(Ask Enter Fetch Fill Answer Lease Reply Renew Take Perform WriteBack Clean Forget Drop Restart Done DoneAsked Bring Found)
 on( ReadSame         Read                        Write                         ReadOver  WriteOver  )
 I { x                [F Enter Lease Ask Fetch]   [G Enter Take Perform Fetch]  z         z          }
 V { [V Lease Renew]  [V Lease Reply]             [D Take Perform]              z         z          }
 D { [D Lease Renew]  [D Lease Reply]             [D Take Perform]              z         z          }
 F { x                z                           z                             z         z          }
 G { z                z                           z                             z         z          }
 W { x                z                           z                             z         z          }
 C { z                z                           z                             z         z          };
 on( Evict                      Invalidate            Flush               Reset               Data             Landed                )
 I { x                          [I Done]              [I Done]            [I Restart Done]    x                x                     }
 V { [I Forget Drop]            [I Forget Drop Done]  [V Done]            [V Restart Done]    x                x                     }
 D { [W WriteBack Forget Drop]  x                     [C Ask WriteBack]   [D Restart Done]    x                x                     }
 F { z                          z                     z                   x                   [V Fill Answer]  x                     }
 G { z                          z                     z                   x                   [D Fill]         x                     }
 W { z                          z                     z                   x                   x                [I]                   }
 C { z                          z                     z                   x                   x                [V Clean DoneAsked]   };
 on( Modify          )
 I { [I Bring]       }
 V { [D Found Take]  }
 D { [D Found Take]  }
 F { z               }
 G { z               }
 W { z               }
 C { z               }
}

/// The controller of table [`gtsc_home`].
pub struct GtscHome {
    pub lease: Stamp,
    /// The last time that can be represented.
    pub last: Stamp,
}

impl GtscHome {
    pub const PAPER: Self = Self { lease: 10, last: u16::MAX as Stamp };
}

/// The timestamps of a line; for a line that is not held, the latest of those that were dropped.
fn times<const N: usize>(line: &Line<N>) -> Stamps {
    match State::ALL[line.state as usize] {
        State::I | State::W => Stamps { wts: line.stamps.cts.max(FIRST), rts: line.stamps.cts, cts: line.stamps.cts },
        _ => line.stamps,
    }
}

impl<const N: usize> Controller<N> for GtscHome {
    fn table(&self) -> &'static Table {
        &gtsc_home::TABLE
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn classify(&self, _: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let (times, asked) = (times(line), msg.stamps.cts);
        let event = match msg.kind {
            Kind::Read if read_until(times, asked, self.lease) > self.last => Event::ReadOver,
            Kind::Read if !line.is_empty() && msg.stamps.wts == times.wts.max(FIRST) => Event::ReadSame,
            Kind::Read => Event::Read,
            Kind::Write | Kind::Modify if written_at(times, asked).saturating_add(self.lease) > self.last => {
                Event::WriteOver
            }
            Kind::Write => Event::Write,
            Kind::Modify => Event::Modify,
            Kind::Evict => Event::Evict,
            Kind::Invalidate => Event::Invalidate,
            Kind::Flush => Event::Flush,
            Kind::Reset => Event::Reset,
            Kind::Data => Event::Data,
            Kind::Ack => Event::Landed,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        let (whole, dirty, times) = (line.data.is_full(), line.is_dirty(), line.stamps.wts > 0 || line.stamps.rts > 0);
        let (held, asked) = match State::ALL[line.state as usize] {
            State::I | State::W => (line.is_empty() && !dirty && !times, false),
            State::V => (whole && !dirty, false),
            State::D => (whole && dirty, false),
            State::F => (line.is_empty() && !dirty && times, true),
            State::G => (line.is_partial(), false),
            State::C => (whole && dirty, true),
        };
        held && line.is_asked() == asked
    }

    fn takes_room(&self, state: u8) -> bool {
        state != State::I as u8 && state != State::W as u8
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        let (stamps, asked) = (work.line.stamps, work.msg.stamps.cts);
        let lease = Stamps { cts: 0, ..stamps };
        match Action::ALL[action as usize] {
            Action::Ask => common::ask(work),
            Action::Enter => work.line.stamps = times(work.line),
            Action::Fetch => work.send(work.place.below, Kind::Read, Block::EMPTY),
            Action::Fill => common::fill(work),
            Action::Answer => {
                let to = work.line.asked.take().ok_or("has no requester to answer")?;
                work.send_stamped(to, Kind::Data, work.line.data, lease);
            }
            Action::Lease => {
                let (wts, rts) = (stamps.wts.max(FIRST), read_until(stamps, asked, self.lease));
                work.line.stamps = Stamps { wts, rts, ..stamps };
            }
            Action::Reply => work.send_stamped(work.msg.from, Kind::Data, work.line.data, lease),
            Action::Renew => work.send_stamped(work.msg.from, Kind::Renewed, Block::EMPTY, lease),
            Action::Take => common::take_dirty(work),
            Action::Perform => perform(work, self.lease),
            Action::WriteBack => common::write_back(work),
            Action::Clean => work.line.dirty = Mask::NONE,
            Action::Forget => work.line.stamps = Stamps::now(stamps.cts.max(stamps.rts)),
            Action::Drop => common::drop_data(work),
            Action::Restart => work.line.stamps = Stamps::ZERO,
            Action::Done => work.send(work.msg.from, Kind::Done, Block::EMPTY),
            Action::Bring => common::bring(work, Kind::Read),
            Action::Found => {
                let told = give_time(work, self.lease);
                common::found(work, told);
            }
            Action::DoneAsked => return common::done_asked(work),
        }
        Ok(())
    }
}
