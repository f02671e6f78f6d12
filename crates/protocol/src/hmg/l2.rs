//! HMG's second-level cache: the home of some lines, and a holder of copies of others.
//!
//! The first rows are for a home: a write-back cache over memory ([`crate::wb_l2`]) that records which caches read. The
//! rows with an `A` are for a cache away from the line's home: write-through ([`crate::wt_l2`]), where `AP` delays
//! writes to bytes that are in flight. `AD` waits for a copy that was invalidated before it arrived: the answer is
//! passed to the waiting requester and not kept.

use crate::{Block, Controller, Kind, Line, Mask, Msg, Place, Sharers, Stamps, Table, Work, common, protocol};
use hmg_l2::{Action, Event, State};
use mem::Scope;

protocol! {
 /// `Away`: the line's home is another cache. `Past`: only the home may answer. `Over`: writes a byte that is in
 /// flight. `Whole`: every byte is held.
 hmg_l2 actions(Ask Share Fetch Fill Answer Reply Take Merge Through Ack Tell WriteBack Clean Landed Hold Send Drop Done DoneAsked Bring Found TellAll Pass HandUp)
 on(  Read                  Write               ReadAway       ReadPast            WriteAway               WriteOver      )
 I  { [F Ask Share Fetch]   [P Take Ack]        [AF Ask Fetch] [AF Ask Fetch]      [AW Through Ack]        x              }
 V  { [V Share Reply]       [D Take Ack Tell]   x              x                   x                       x              }
 P  { [PF Ask Share Fetch]  [P Take Ack]        x              x                   x                       x              }
 D  { [D Share Reply]       [D Take Ack Tell]   x              x                   x                       x              }
 F  { z                     z                   x              x                   x                       x              }
 PF { z                     z                   x              x                   x                       x              }
 W  { z                     z                   x              x                   x                       x              }
 PC { z                     z                   x              x                   x                       x              }
 DC { [DC Share Reply]      z                   x              x                   x                       x              }
 A  { x                     x                   [A Reply]      [AF Drop Ask Fetch] [AV Merge Through Ack]  x              }
 AF { x                     x                   z              z                   z                       x              }
 AD { x                     x                   z              z                   z                       x              }
 AW { x                     x                   z              z                   [AW Through Ack]        [AP Hold Ack]  }
 AV { x                     x                   [AV Reply]     z                   [AV Merge Through Ack]  z              }
 AP { x                     x                   z              z                   x                       [AP Hold Ack]  };
 on(  Evict                    Flush               Invalidate          Forget       Data                  Landed               AckMore      AckLast               )
 I  { x                        [I Done]            [I Done]            [I]          x                     x                    x            x                     }
 V  { [I Tell Drop]            [V Done]            [I Tell Drop Done]  x            x                     x                    x            x                     }
 P  { [W WriteBack Drop]       [PC Ask WriteBack]  x                   x            x                     x                    x            x                     }
 D  { [W WriteBack Tell Drop]  [DC Ask WriteBack]  x                   x            x                     x                    x            x                     }
 F  { z                        z                   z                   x            [V Fill Answer]       x                    x            x                     }
 PF { z                        z                   z                   x            [D Fill Answer]       x                    x            x                     }
 W  { z                        z                   z                   x            x                     [I]                  x            x                     }
 PC { z                        z                   z                   x            x                     [I Drop DoneAsked]   x            x                     }
 DC { z                        z                   z                   x            x                     [V Clean DoneAsked]  x            x                     }
 A  { [I Drop]                 [A Done]            [I Drop Done]       [I Drop]     x                     x                    x            x                     }
 AF { z                        z                   z                   [AD]         [A Fill Answer]       x                    x            x                     }
 AD { z                        z                   z                   [AD]         [I Fill Answer Drop]  x                    x            x                     }
 AW { z                        z                   z                   [AW]         x                     x                    [AW Landed]  [I Landed]            }
 AV { z                        z                   z                   [AW Drop]    x                     x                    [AV Landed]  [A Landed]            }
 AP { z                        z                   z                   [AP]         x                     x                    [AP Landed]  [AW Landed Send Drop] };
 on(  Modify     ModifyWhole             ModifyAway     Modified        )
 I  { [I Bring]  x                       [I Pass]       [I HandUp]      }
 V  { x          [D Found Take TellAll]  x              x               }
 P  { [P Bring]  [P Found Take]          x              x               }
 D  { x          [D Found Take TellAll]  x              x               }
 F  { z          x                       x              x               }
 PF { z          z                       x              x               }
 W  { z          x                       x              x               }
 PC { z          z                       x              x               }
 DC { x          z                       x              x               }
 A  { x          x                       [I Drop Pass]  [I Drop HandUp] }
 AF { x          x                       z              z               }
 AD { x          x                       z              z               }
 AW { x          x                       z              z               }
 AV { x          x                       z              z               }
 AP { x          x                       z              z               }
}

/// The controller of table [`hmg_l2`]. Its roster ([`Place::above`]) holds the second-level caches of all GPUs,
/// itself included.
pub struct HmgL2;

impl HmgL2 {
    /// Whether this cache is the line's home: only a home has memory below it.
    fn is_home(&self, place: Place<'_>) -> bool {
        !place.above.contains(place.below)
    }

    /// The set with only the sender; empty if the sender is not another second-level cache.
    fn sender<const N: usize>(&self, work: &Work<'_, N>) -> Sharers {
        let from = work.msg.from;
        if work.place.above.contains(from) && from != work.place.me { work.place.sharer(from) } else { Sharers::NONE }
    }

    /// Invalidates the copies of all holders except the one that has just written.
    fn tell<const N: usize>(&self, work: &mut Work<'_, N>) {
        let sender = self.sender(work);
        self.tell_but(work, sender);
    }

    /// Invalidates the copies of all holders except `others`. The sender of an atomic access is no exception: its
    /// copy lacks the new value.
    fn tell_but<const N: usize>(&self, work: &mut Work<'_, N>, others: Sharers) {
        let sharers = work.line.sharers;
        for number in sharers.without(others).numbers() {
            work.send(work.place.above.member(number), Kind::Inval, Block::EMPTY);
        }
        work.line.sharers = sharers.and(others);
    }
}

impl<const N: usize> Controller<N> for HmgL2 {
    fn table(&self) -> &'static Table {
        &hmg_l2::TABLE
    }

    fn classify(&self, place: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let home = self.is_home(place);
        let event = match msg.kind {
            Kind::Read if home => Event::Read,
            Kind::Read if msg.scope == Scope::System => Event::ReadPast,
            Kind::Read => Event::ReadAway,
            Kind::Write if home => Event::Write,
            Kind::Write if common::is_beside(line, msg) => Event::WriteAway,
            Kind::Write => Event::WriteOver,
            Kind::Modify if home && line.data.is_full() => Event::ModifyWhole,
            Kind::Modify if home => Event::Modify,
            Kind::Modify => Event::ModifyAway,
            Kind::Modified => Event::Modified,
            Kind::Evict => Event::Evict,
            Kind::Flush => Event::Flush,
            Kind::Invalidate => Event::Invalidate,
            Kind::Inval => Event::Forget,
            Kind::Data => Event::Data,
            Kind::Ack if home => Event::Landed,
            Kind::Ack if line.acks > 1 => Event::AckMore,
            Kind::Ack => Event::AckLast,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        let (empty, whole, partial) = (line.is_empty(), line.data.is_full(), line.is_partial());
        let (held, dirty, asked, writing) = match State::ALL[line.state as usize] {
            State::I | State::W => (empty, false, false, false),
            State::V | State::A => (whole, false, false, false),
            State::P => (partial, true, false, false),
            State::D => (whole, true, false, false),
            State::F | State::AF | State::AD => (empty, false, true, false),
            State::PF | State::PC => (partial, true, true, false),
            State::DC => (whole, true, true, false),
            State::AW => (empty, false, false, true),
            State::AV => (whole, false, false, true),
            State::AP => (partial, true, false, true),
        };
        let known = matches!(State::ALL[line.state as usize], State::V | State::D | State::F | State::PF | State::DC);
        let flags = (line.is_dirty(), line.is_asked(), line.is_writing()) == (dirty, asked, writing);
        held && flags && (known || line.sharers.is_empty())
    }

    fn is_merely_told(&self) -> bool {
        true
    }

    fn takes_room(&self, state: u8) -> bool {
        !matches!(State::ALL[state as usize], State::I | State::W | State::AW | State::AP)
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        match Action::ALL[action as usize] {
            Action::Ask => common::ask(work),
            Action::Share => work.line.sharers.add(self.sender(work)),
            Action::Fetch => work.send(work.place.below, Kind::Read, Block::EMPTY),
            Action::Fill => common::fill(work),
            Action::Answer => return common::answer(work, Kind::Data),
            Action::Reply => work.send(work.msg.from, Kind::Data, work.line.data),
            Action::Take => common::take_dirty(work),
            Action::Merge => work.line.data.write(&work.msg.data),
            Action::Through => common::write_through(work),
            Action::Ack => common::acknowledge(work),
            Action::Tell => self.tell(work),
            Action::WriteBack => common::write_back(work),
            Action::Clean => work.line.dirty = Mask::NONE,
            Action::Landed => return common::landed(work),
            Action::Hold => common::take_dirty(work),
            Action::Send => common::send_held(work),
            Action::Drop => common::drop_data(work),
            Action::Done => work.send(work.msg.from, Kind::Done, Block::EMPTY),
            Action::DoneAsked => return common::done_asked(work),
            Action::Bring => common::bring(work, Kind::Read),
            Action::Found => common::found(work, Stamps::ZERO),
            Action::TellAll => self.tell_but(work, Sharers::NONE),
            Action::Pass => common::pass_on(work, Some(work.msg.from)),
            Action::HandUp => return common::hand_up(work),
        }
        Ok(())
    }
}
