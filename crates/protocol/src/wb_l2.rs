//! A write-back second-level cache with byte masks: it accepts writes without reading the line first.
//!
//! `P` holds only written bytes, `D` the whole line. A read of a partial line fetches the rest from below and fills in
//! the bytes that were not written. `C` in a state's name: being cleaned, that is, flushed and kept until the
//! write-back is acknowledged. If this cache is alone above its memory, atomic accesses are performed here once the
//! whole line is held. If several such caches share a memory, atomic accesses are passed to the memory once the line is
//! not held here: the controller first evicts the line (`Bring`).
//!
//! With `fetches`, the cache fetches each line that it writes, like Multi2Sim's GPUs: their only protocol is NMOESI, in
//! which a store that misses sends a read request (`[umh 4.1, Table II]`). The writer is acknowledged at once; in `PA`
//! the line is in flight, and no requester waits for it.

use crate::roles::Atomics;
use crate::{Block, Controller, Kind, Line, Mask, Msg, Place, Stamps, Table, Work, common, protocol};
use wb::{Action, Event, State};

protocol! {
 /// `Whole`: every byte is held, written or read. `Past`: atomic accesses are performed below. `WriteMiss`: a write
 /// miss in a cache that fetches the lines that it writes.
 wb actions(Ask Fetch Fill Answer Reply Take Ack WriteBack Clean Drop Done DoneAsked Bring Found Pass Shed HandUp)
 on(  Read            Write          Evict               Flush                Invalidate     Data             Landed                )
 I  { [F Ask Fetch]   [P Take Ack]   [I]                 [I Done]             [I Done]       x                x                     }
 V  { [V Reply]       [D Take Ack]   [I Drop]            [V Done]             [I Drop Done]  x                x                     }
 P  { [PF Ask Fetch]  [P Take Ack]   [W WriteBack Drop]  [PC Ask WriteBack]   x              x                x                     }
 D  { [D Reply]       [D Take Ack]   [W WriteBack Drop]  [DC Ask WriteBack]   x              x                x                     }
 F  { z               [PF Take Ack]  z                   z                    z              [V Fill Answer]  x                     }
 PF { z               [PF Take Ack]  z                   z                    z              [D Fill Answer]  x                     }
 PA { [PF Ask]        [PA Take Ack]  z                   z                    z              [D Fill]         x                     }
 W  { z               z              z                   z                    z              x                [I]                   }
 PC { z               z              z                   z                    z              x                [I Drop DoneAsked]    }
 DC { [DC Reply]      z              z                   z                    z              x                [V Clean DoneAsked]   };
 on(  Modify     ModifyWhole     WriteMiss            )
 I  { [I Bring]  x               [PA Take Ack Fetch]  }
 V  { x          [D Found Take]  x                    }
 P  { [P Bring]  [P Found Take]  x                    }
 D  { x          [D Found Take]  x                    }
 F  { z          x               x                    }
 PF { z          z               x                    }
 PA { z          z               x                    }
 W  { z          x               x                    }
 PC { z          z               x                    }
 DC { x          z               x                    };
 on(  ModifyPast     Modified         )
 I  { [I Pass]       [I HandUp]       }
 V  { [I Drop Pass]  [I Drop HandUp]  }
 P  { [P Bring]      [P HandUp]       }
 D  { [D Bring]      [P Shed HandUp]  }
 F  { z              z                }
 PF { z              z                }
 PA { z              z                }
 W  { z              z                }
 PC { z              z                }
 DC { z              z                }
}

/// The controller of table [`wb`].
pub struct WriteBackL2 {
    pub atomics: Atomics,
    /// Whether a write miss fetches the line.
    pub fetches: bool,
}

impl WriteBackL2 {
    /// The only cache above its memory.
    pub const ALONE: Self = Self { atomics: Atomics::Here, fetches: false };
    /// The controller of one of several such caches above one memory.
    pub const SEVERAL: Self = Self { atomics: Atomics::Below, fetches: false };
    /// Alone, and it fetches the lines that it writes.
    pub const FETCHING: Self = Self { atomics: Atomics::Here, fetches: true };
}

impl<const N: usize> Controller<N> for WriteBackL2 {
    fn table(&self) -> &'static Table {
        &wb::TABLE
    }

    fn classify(&self, _: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let event = match msg.kind {
            Kind::Read => Event::Read,
            Kind::Write if self.fetches && line.state == State::I as u8 => Event::WriteMiss,
            Kind::Write => Event::Write,
            Kind::Evict => Event::Evict,
            Kind::Flush => Event::Flush,
            Kind::Invalidate => Event::Invalidate,
            Kind::Data => Event::Data,
            Kind::Ack => Event::Landed,
            Kind::Modify if self.atomics.are_below(msg.line) => Event::ModifyPast,
            Kind::Modify if line.data.is_full() => Event::ModifyWhole,
            Kind::Modify => Event::Modify,
            Kind::Modified => Event::Modified,
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
            Action::Bring => match self.atomics.are_below(work.msg.line) {
                false => common::bring(work, Kind::Read),
                // Bytes written here must reach memory first.
                true => common::bring(work, Kind::Evict),
            },
            Action::Found => common::found(work, Stamps::ZERO),
            Action::Pass => common::pass_on(work, Some(work.msg.from)),
            // Bytes that were read may be older than the atomic access.
            Action::Shed => work.line.data = work.line.data.only(work.line.dirty),
            Action::HandUp => return common::hand_up(work),
        }
        Ok(())
    }
}
