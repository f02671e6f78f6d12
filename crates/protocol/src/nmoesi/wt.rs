//! A GPU's first-level cache that writes through: the default of `[umh 6.2]`. It leaves no bytes to be merged above the
//! L2.
//!
//! A non-coherent store goes to the L2 at once and is merged there; a copy that is held here is updated, too. `IW` and
//! `SW` wait for acknowledgements, as in [`vi_l1`](crate::vi_l1). A coherent store requests the line for writing, is
//! performed when the line arrives, and gives it back (`WB`). A store of no byte keeps the line here for writing (`X`)
//! until it is written or probed: this is how an atomic access, or a load that must see all writes, claims a line.
//!
//! A line that a probe has overtaken answers the pending load and is not kept. It is as new as when the load requested
//! it, and a writer that takes the line away again and again cannot starve a reader.

use super::{
    actions::{self, Done},
    l1::is_n_store,
};
use crate::{Access, Block, Controller, Kind, Line, Msg, Place, Stamps, Table, Work, common, protocol};
use mem::Scope;
use nmoesi_wt::{Action, Event, State};

protocol! {
 /// Table II without states of modified lines. `Over`: a byte of the store is in flight. `Claim`: a store of no byte.
 /// `LoadWide`: the load must see writes of others than the requester's group, so it claims the line and gives it up
 /// again (4.2).
 nmoesi_wt actions(Hit Write Merge Through Landed Ask AskStore Get GetX WriteBack Fill Loaded Stored Drop Spoil Unspoil Flushed FlushedNewer Done Take Bring Found)
 on(      Load             Claim                   Store                   NStore                NStoreOver  Evict           AckMore      AckLast)
 S      { [S Hit]          [I_GetX GetX AskStore]  [I_GetX GetX AskStore]  [SW Merge Through]    x           [I Drop]        x            x          }
 I      { [I_Get Ask Get]  [I_GetX GetX AskStore]  [I_GetX GetX AskStore]  [IW Through]          x           x               x            x          }
 X      { [X Hit]          [X Write]               [WB Write WriteBack]    [WB Write WriteBack]  x           [WB WriteBack]  x            x          }
 SW     { [SW Hit]         z                       z                       [SW Merge Through]    z           [IW Drop]       [SW Landed]  [S Landed] }
 IW     { z                z                       z                       [IW Through]          z           x               [IW Landed]  [I Landed] }
 I_Get  { z                z                       z                       z                     x           z               x            x          }
 I_GetX { z                z                       z                       z                     z           z               x            x          }
 WB     { z                z                       z                       z                     x           z               x            x          }
 Gone   { z                z                       z                       z                     x           z               x            x          };
 on(      PutS             PutSpoilt                     PutX                   PutClaimed       Back  BackAsked)
 S      { x                x                             x                      x                x     x         }
 I      { x                x                             x                      x                x     x         }
 X      { x                x                             x                      x                x     x         }
 SW     { x                x                             x                      x                x     x         }
 IW     { x                x                             x                      x                x     x         }
 I_Get  { [S Fill Loaded]  [I Unspoil Fill Loaded Drop]  x                      x                x     x         }
 I_GetX { x                x                             [WB Stored WriteBack]  [X Fill Stored]  x     x         }
 WB     { x                x                             x                      x                x     x         }
 Gone   { x                x                             x                      x                [I]   [I Done]  };
 on(      Inval                     CoreFlush                 Downgrade               Flush     Invalidate)
 S      { [I Flushed Drop]          x                         x                       [S Done]  [I Drop Done]      }
 I      { [I Flushed]               x                         x                       [I Done]  [I Done]           }
 X      { x                         [I Flushed Drop]          [S Flushed]             [X Done]  [WB Ask WriteBack] }
 SW     { [IW Flushed Drop]         x                         x                       z         z                  }
 IW     { [IW Flushed]              x                         x                       z         z                  }
 I_Get  { [I_Get Spoil Flushed]     x                         x                       z         z                  }
 I_GetX { [I_GetX Flushed]          z                         z                       z         z                  }
 WB     { [Gone FlushedNewer Drop]  [Gone FlushedNewer Drop]  [WB FlushedNewer Drop]  z         z                  }
 Gone   { x                         x                         x                       z         z                  };
 on(      Modify                     LoadWide)
 S      { [S Bring]                  [S Bring]          }
 I      { [I Bring]                  [I Bring]          }
 X      { [WB Found Take WriteBack]  [WB Hit WriteBack] }
 SW     { z                          z                  }
 IW     { z                          z                  }
 I_Get  { z                          z                  }
 I_GetX { z                          z                  }
 WB     { z                          z                  }
 Gone   { z                          z                  }
}

/// Marks a line that may be read once and is not kept, because a probe for it came before the line did.
pub(super) const ONCE: u8 = 1;

/// The controller of table [`nmoesi_wt`].
pub struct WriteThrough {
    /// Number of bytes that a bit of the mask stands for.
    pub grain: u8,
}

/// With a mask bit for each byte.
pub static GPU: WriteThrough = WriteThrough { grain: 1 };

impl<const N: usize> Controller<N> for WriteThrough {
    fn table(&self) -> &'static Table {
        &nmoesi_wt::TABLE
    }

    fn classify(&self, _: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let event = match msg.kind {
            Kind::Load if msg.scope > Scope::Group => Event::LoadWide,
            Kind::Load => Event::Load,
            Kind::Modify => Event::Modify,
            Kind::Store if msg.data.mask().is_empty() => Event::Claim,
            Kind::Store if !is_n_store(Some(self.grain), msg.data.mask()) => Event::Store,
            Kind::Store if line.in_flight.and(msg.data.mask()).is_empty() => Event::NStore,
            Kind::Store => Event::NStoreOver,
            Kind::Evict => Event::Evict,
            Kind::Flush => Event::Flush,
            Kind::Invalidate => Event::Invalidate,
            Kind::PutS if line.early > 0 || msg.acks == ONCE => Event::PutSpoilt,
            Kind::PutS => Event::PutS,
            Kind::PutX if line.in_flight.is_empty() => Event::PutClaimed,
            Kind::PutX => Event::PutX,
            Kind::Ack if line.acks > 1 => Event::AckMore,
            Kind::Ack => Event::AckLast,
            Kind::WriteBackAck if line.is_asked() => Event::BackAsked,
            Kind::WriteBackAck => Event::Back,
            Kind::Inval => Event::Inval,
            Kind::CoreFlush => Event::CoreFlush,
            Kind::Downgrade => Event::Downgrade,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        let (held, whole) = (line.data.mask(), line.data.is_full());
        let (asked, writing) = (line.is_asked(), line.is_writing());
        let clean = !line.is_dirty();
        match State::ALL[line.state as usize] {
            State::S => whole && clean && !asked && !writing,
            State::X => whole && clean && !asked && !writing,
            State::I => held.is_empty() && clean && !asked && !writing && line.early == 0,
            State::SW => whole && clean && !asked && writing,
            State::IW => held.is_empty() && clean && !asked && writing,
            State::I_Get => held.is_empty() && clean && asked,
            State::I_GetX => held == line.in_flight && clean && asked && line.acks == 0,
            State::Gone => held.is_empty(),
            State::WB => held == line.dirty && line.early == 0 && line.in_flight.is_empty(),
        }
    }

    fn stores_land(&self) -> bool {
        true
    }

    fn claims(&self) -> bool {
        true
    }

    fn takes_room(&self, state: u8) -> bool {
        !matches!(State::ALL[state as usize], State::I | State::IW | State::WB | State::Gone)
    }

    fn access(&self, line: &Line<N>) -> Access {
        match State::ALL[line.state as usize] {
            State::X => Access::Write,
            State::S | State::SW => Access::Read,
            _ => Access::None,
        }
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Done {
        match Action::ALL[action as usize] {
            Action::Hit => work.send(work.msg.from, Kind::Loaded, work.line.data),
            Action::Write => actions::write(work),
            Action::Merge => work.line.data.write(&work.msg.data),
            Action::Through => common::write_through(work),
            Action::Landed => return common::landed(work),
            Action::Ask => common::ask(work),
            Action::AskStore => actions::ask_store(work),
            Action::Get => actions::get(work, Kind::GetS),
            Action::GetX => actions::get_x(work),
            Action::WriteBack => actions::write_back(work),
            Action::Fill => common::fill(work),
            Action::Loaded => return common::answer(work, Kind::Loaded),
            Action::Stored => return actions::stored(work),
            Action::Drop => common::drop_data(work),
            Action::Spoil => work.line.early = 1,
            Action::Unspoil => work.line.early = 0,
            Action::Flushed => actions::flushed(work, Block::EMPTY),
            Action::FlushedNewer => actions::flushed(work, actions::newer(work.line)),
            Action::Take => common::take_dirty(work),
            Action::Bring => common::bring(work, Kind::Store),
            Action::Found => common::found(work, Stamps::ZERO),
            Action::Done => {
                let to = work.line.asked.take().unwrap_or(work.msg.from);
                work.send(to, Kind::Done, Block::EMPTY);
            }
        }
        Ok(())
    }
}
