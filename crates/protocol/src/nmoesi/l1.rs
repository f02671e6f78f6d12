//! A first-level cache that writes back: a CPU's, or a GPU's if its L1s write back. `[umh Table II]`, with the cells
//! that the paper leaves out.
//!
//! The paper's columns come first. `I_Get`, `I_GetN` and `I_GetX` wait for the line for a load, a non-coherent store or
//! a store. A line in `WB` is being given up and waits for the probe that takes its bytes; in `Gone` the bytes have
//! been taken, and it waits for the confirmation that no more probes will come. There is no state O: what a read
//! request takes from M goes to the cache below, which then holds it, so S is left. A line in N may have been in E;
//! then the level below believes it to be the only copy, which does no harm.
//!
//! A line that a probe has overtaken may be stale. A GPU's cache answers the pending load with it, which is as new as
//! when the load requested it, and does not keep it; a pending non-coherent store requests the line for writing
//! instead, which no probe can spoil. So both make progress, however often others take the line away. A core's load
//! must not be older than its later ones, so a core's cache requests the line again.

use super::{
    actions::{self, Done},
    wt::ONCE,
};
use crate::{Access, Block, Controller, Kind, Line, Mask, Msg, Place, Stamps, Table, Work, common, protocol};
use mem::Scope;
use nmoesi_l1::{Action, Event, State};

protocol! {
 /// Table II. `PutOnce`, `PutSpoilt`: a probe was answered while the line was in flight, so the line may be stale; a
 /// GPU's cache uses it once, a core's does not. `LoadWide`: a GPU's load that must see writes of others than the
 /// requester's group; it claims the line and gives it up again (4.2).
 nmoesi_l1 actions(Hit Write Ask AskStore Get GetX WriteBack Fill Loaded Stored Drop Clean Spoil Unspoil Flushed FlushedNewer Done Take Bring Found)
 on(      Load             Store                   NStore                 Evict           Inval                     CoreFlush                 Downgrade)
 N      { [N Hit]          [I_GetX GetX AskStore]  [N Write]              [WB WriteBack]  [I FlushedNewer Drop]     x                         x                      }
 NX     { [NX Hit]         [M Write]               [NX Write]             [WB WriteBack]  x                         [I FlushedNewer Drop]     [N Flushed]            }
 M      { [M Hit]          [M Write]               [M Write]              [WB WriteBack]  x                         [I FlushedNewer Drop]     [S FlushedNewer Clean] }
 E      { [E Hit]          [M Write]               [NX Write]             [WB WriteBack]  x                         [I Flushed Drop]          [S Flushed]            }
 S      { [S Hit]          [I_GetX GetX AskStore]  [N Write]              [I Drop]        [I Flushed Drop]          x                         x                      }
 I      { [I_Get Ask Get]  [I_GetX GetX AskStore]  [I_GetN Get AskStore]  x               [I Flushed]               x                         x                      }
 I_Get  { z                z                       z                      z               [I_Get Spoil Flushed]     z                         z                      }
 I_GetN { z                z                       z                      z               [I_GetN Spoil Flushed]    z                         z                      }
 I_GetX { z                z                       z                      z               [I_GetX Flushed]          z                         z                      }
 WB     { z                z                       z                      z               [Gone FlushedNewer Drop]  [Gone FlushedNewer Drop]  [WB FlushedNewer Drop] }
 Gone   { z                z                       z                      z               [Gone Flushed]            x                         x                      };
 on(      PutS             PutOnce                       PutSpoilt            PutE                      PutX             Back  BackAsked  FlushClean  FlushDirty          Invalidate)
 N      { x                x                             x                    x                         x                x     x          x           [WB Ask WriteBack]  [WB Ask WriteBack] }
 NX     { x                x                             x                    x                         x                x     x          x           [WB Ask WriteBack]  [NX Done]          }
 M      { x                x                             x                    x                         x                x     x          [M Done]    [WB Ask WriteBack]  [M Done]           }
 E      { x                x                             x                    x                         x                x     x          [E Done]    x                   [E Done]           }
 S      { x                x                             x                    x                         x                x     x          [S Done]    x                   [I Drop Done]      }
 I      { x                x                             x                    x                         x                x     x          [I Done]    x                   [I Done]           }
 I_Get  { [S Fill Loaded]  [I Unspoil Fill Loaded Drop]  [I_Get Unspoil Get]  [E Unspoil Fill Loaded]   x                x     x          z           x                   z                  }
 I_GetN { [N Fill Stored]  [I_GetX Unspoil GetX]         x                    [NX Unspoil Fill Stored]  x                x     x          z           x                   z                  }
 I_GetX { x                x                             x                    x                         [M Fill Stored]  x     x          z           x                   z                  }
 WB     { x                x                             x                    x                         x                x     x          z           z                   z                  }
 Gone   { x                x                             x                    x                         x                [I]   [I Done]   z           x                   z                  };
 on(      Modify          LoadWide           )
 N      { [N Bring]       [N Bring]          }
 NX     { [M Found Take]  [WB Hit WriteBack] }
 M      { [M Found Take]  [WB Hit WriteBack] }
 E      { [M Found Take]  [WB Hit WriteBack] }
 S      { [S Bring]       [S Bring]          }
 I      { [I Bring]       [I Bring]          }
 I_Get  { z               z                  }
 I_GetN { z               z                  }
 I_GetX { z               z                  }
 WB     { z               z                  }
 Gone   { z               z                  }
}

/// The controller of table [`nmoesi_l1`].
pub struct L1 {
    /// Number of bytes that a bit of the mask stands for; `None` if every store is coherent.
    pub grain: Option<u8>,
    /// Whether its core stores at all.
    pub stores: bool,
}

/// A CPU's data cache: every store is coherent.
pub static CPU: L1 = L1 { grain: None, stores: true };
/// A GPU's cache, with a mask bit for each byte.
pub static GPU: L1 = L1 { grain: Some(1), stores: true };

/// Whether a store can be performed without coherence. A store of no byte requests the line; a store of less than a
/// mask bit's bytes could not be merged.
pub(super) fn is_n_store(grain: Option<u8>, mask: Mask) -> bool {
    let Some(grain) = grain.map(usize::from) else { return false };
    let bits = |bit: usize| Mask::range(bit * grain, grain);
    !mask.is_empty() && (0..64 / grain).map(bits).all(|bit| [Mask::NONE, bit].contains(&mask.and(bit)))
}

impl<const N: usize> Controller<N> for L1 {
    fn table(&self) -> &'static Table {
        &nmoesi_l1::TABLE
    }

    fn classify(&self, _: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let event = match msg.kind {
            Kind::Load if Controller::<N>::claims(self) && msg.scope > Scope::Group => Event::LoadWide,
            Kind::Load => Event::Load,
            Kind::Modify if !self.stores => return None,
            Kind::Modify => Event::Modify,
            Kind::Store if !self.stores => return None,
            Kind::Store if is_n_store(self.grain, msg.data.mask()) => Event::NStore,
            Kind::Store => Event::Store,
            Kind::Evict => Event::Evict,
            Kind::Flush if line.is_dirty() => Event::FlushDirty,
            Kind::Flush => Event::FlushClean,
            Kind::Invalidate => Event::Invalidate,
            Kind::PutS if line.early > 0 || msg.acks == ONCE => match self.grain {
                Some(_) => Event::PutOnce,
                None => Event::PutSpoilt,
            },
            Kind::PutS => Event::PutS,
            Kind::PutClnX => Event::PutE,
            Kind::PutX => Event::PutX,
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
        let (held, dirty) = (line.data.mask(), line.dirty);
        let (whole, rests) = (line.data.is_full(), !line.is_asked());
        let waits = line.is_asked() && held == line.in_flight && dirty.is_empty();
        let fits = match State::ALL[line.state as usize] {
            State::N | State::NX => whole && rests && !dirty.is_empty(),
            State::M => whole && rests,
            State::E | State::S => whole && rests && dirty.is_empty(),
            State::I => held.is_empty() && rests,
            State::I_Get => waits && held.is_empty(),
            State::I_GetN | State::I_GetX => waits,
            State::WB => held == dirty,
            State::Gone => held.is_empty() && dirty.is_empty(),
        };
        let waiting = matches!(State::ALL[line.state as usize], State::I_Get | State::I_GetN | State::I_GetX);
        fits && (waiting || line.early == 0 && line.in_flight.is_empty())
    }

    fn claims(&self) -> bool {
        self.grain.is_some()
    }

    fn takes_room(&self, state: u8) -> bool {
        !matches!(State::ALL[state as usize], State::I | State::WB | State::Gone)
    }

    fn access(&self, line: &Line<N>) -> Access {
        match State::ALL[line.state as usize] {
            State::E | State::M | State::NX => Access::Write,
            State::S | State::N => Access::Read,
            _ => Access::None,
        }
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Done {
        match Action::ALL[action as usize] {
            Action::Hit => work.send(work.msg.from, Kind::Loaded, work.line.data),
            Action::Write => actions::write(work),
            Action::Ask => common::ask(work),
            Action::AskStore => actions::ask_store(work),
            Action::Get => actions::get(work, Kind::Get),
            Action::GetX => actions::get_x(work),
            Action::WriteBack => actions::write_back(work),
            Action::Fill => common::fill(work),
            Action::Loaded => return common::answer(work, Kind::Loaded),
            Action::Stored => return actions::stored(work),
            Action::Drop => common::drop_data(work),
            Action::Clean => work.line.dirty = Mask::NONE,
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
