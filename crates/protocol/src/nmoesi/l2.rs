//! A cache with a directory of the caches above it: a GPU's second-level cache, or the CPU's last-level cache (`[umh
//! 5.3]`).
//!
//! Towards the level below it behaves like [`l1`](super::l1). It records which caches above may hold the line
//! (`sharers`); in `Held` one of them has it for writing. To write a line, the cache first makes all caches above give
//! it up and only then asks below. So while it waits (`I_...`) no cache above holds the line, and probes are answered
//! at once.
//!
//! A line that was granted for reading but arrives after a probe for it was answered (spoilt) is not kept. A pending
//! load still receives it, once (`AnswerOnce`). A pending write asks for the line for writing instead (`I_GetNX`),
//! which no probe can spoil. So both make progress, however often other caches take the line away.
//!
//! The states `U_...` wait for caches above: `U_Grant` and `U_Share` on behalf of one that wants to write or to read;
//! `U_Ask` before the level below is asked for the right to write; `U_Inval` and `U_Down` for a probe from below;
//! `U_EvictS` and `U_EvictX` to evict the line; `U_TakeS` and `U_TakeX` for a cache that asks to have its line taken
//! back. Those with `X` hold the line for writing.

use super::{
    actions::{self, Done},
    wt,
};
use crate::{Access, Block, Controller, Granted, Kind, Line, Mask, Msg, Place, Sharers, Table, Work, common, protocol};
use nmoesi_l2::{Action, Event, State};

protocol! {
 /// Table II for a cache below other caches. `Alone`: no other cache above holds the line. `Owner`: the sender has it
 /// for writing.
 nmoesi_l2 actions(Hold HoldAlone HoldAsked HoldAskedAlone Unhold UnholdFrom PutS PutE PutX Ack Relieve AnswerS AnswerOnce AnswerE AnswerX AnswerAck Ask AskWrite Take Count Get GetS
  GetX TellInval TellOthers TellFrom TellDowngrade WriteBack Fill Drop Clean Spoil Unspoil Flushed FlushedNewer Done)
 on(        Get                          GetAlone               GetS                         Write)
 N        { [N Hold PutS]                [N Hold PutS]          [N Hold PutS]                [N Take Ack]          }
 NX       { [NX Hold PutS]               [NX Hold PutS]         [NX Hold PutS]               [NX Take Ack]         }
 M        { [M Hold PutS]                [Held HoldAlone PutE]  [M Hold PutS]                [M Take Ack]          }
 E        { [E Hold PutS]                [Held HoldAlone PutE]  [E Hold PutS]                [NX Take Ack]         }
 S        { [S Hold PutS]                [S Hold PutS]          [S Hold PutS]                [N Take Ack]          }
 I        { x                            [I_Get Ask Get]        [I_GetS Ask GetS]            [I_GetN Get AskWrite] }
 Held     { [U_Share Ask TellDowngrade]  x                      [U_Share Ask TellDowngrade]  [Held Take Ack]       }
 I_Get    { x                            z                      z                            z                     }
 I_GetS   { x                            z                      z                            z                     }
 I_GetN   { x                            z                      z                            z                     }
 I_GetX   { x                            z                      z                            z                     }
 I_GetNX  { x                            z                      z                            z                     }
 U_Grant  { z                            z                      z                            z                     }
 U_Ask    { z                            z                      z                            z                     }
 U_Share  { z                            z                      z                            z                     }
 U_Inval  { z                            z                      z                            z                     }
 U_Down   { z                            z                      z                            z                     }
 U_EvictS { z                            z                      z                            z                     }
 U_EvictX { z                            z                      z                            z                     }
 U_TakeS  { z                            z                      z                            z                     }
 U_TakeX  { z                            z                      z                            z                     }
 WB       { x                            z                      z                            z                     }
 Gone     { x                            z                      z                            z                     };
 on(        GetX                           GetXAlone                      WriteBack           WriteBackOld)
 N        { [U_Ask Ask Take TellOthers]    [I_GetX Ask Take GetX Unhold]  [U_TakeS TellFrom]  [N Relieve]       }
 NX       { [U_Grant Ask Take TellOthers]  [Held HoldAlone Take PutX]     [U_TakeX TellFrom]  [NX Relieve]      }
 M        { [U_Grant Ask Take TellOthers]  [Held HoldAlone Take PutX]     [U_TakeX TellFrom]  [M Relieve]       }
 E        { [U_Grant Ask Take TellOthers]  [Held HoldAlone Take PutX]     [U_TakeX TellFrom]  [E Relieve]       }
 S        { [U_Ask Ask Take TellOthers]    [I_GetX Ask Take GetX Unhold]  [U_TakeS TellFrom]  [S Relieve]       }
 I        { x                              [I_GetX Ask Take GetX]         x                   [I Relieve]       }
 Held     { [U_Grant Ask Take TellOthers]  x                              [U_TakeX TellFrom]  [Held Relieve]    }
 I_Get    { x                              z                              x                   [I_Get Relieve]   }
 I_GetS   { x                              z                              x                   [I_GetS Relieve]  }
 I_GetN   { x                              z                              x                   [I_GetN Relieve]  }
 I_GetX   { x                              z                              x                   [I_GetX Relieve]  }
 I_GetNX  { x                              z                              x                   [I_GetNX Relieve] }
 U_Grant  { z                              z                              z                   z                 }
 U_Ask    { z                              z                              z                   z                 }
 U_Share  { z                              z                              z                   z                 }
 U_Inval  { z                              z                              z                   z                 }
 U_Down   { z                              z                              z                   z                 }
 U_EvictS { z                              z                              z                   z                 }
 U_EvictX { z                              z                              z                   z                 }
 U_TakeS  { z                              z                              z                   z                 }
 U_TakeX  { z                              z                              z                   z                 }
 WB       { x                              z                              x                   [WB Relieve]      }
 Gone     { x                              z                              x                   [Gone Relieve]    };
 on(        Evict           EvictAbove            FlushClean   FlushDirty          FlushAbove)
 N        { [WB WriteBack]  [U_EvictS TellInval]  x            [WB Ask WriteBack]  [U_EvictS Ask TellInval] }
 NX       { [WB WriteBack]  [U_EvictX TellInval]  x            [WB Ask WriteBack]  [U_EvictX Ask TellInval] }
 M        { [WB WriteBack]  [U_EvictX TellInval]  x            [WB Ask WriteBack]  [U_EvictX Ask TellInval] }
 E        { [WB WriteBack]  [U_EvictX TellInval]  [E Done]     x                   x                        }
 S        { [I Drop]        [U_EvictS TellInval]  [S Done]     x                   x                        }
 I        { x               x                     [I Done]     x                   x                        }
 Held     { x               [U_EvictX TellInval]  [Held Done]  x                   [U_EvictX Ask TellInval] }
 I_Get    { z               x                     z            x                   x                        }
 I_GetS   { z               x                     z            x                   x                        }
 I_GetN   { z               x                     z            x                   x                        }
 I_GetX   { z               x                     z            x                   x                        }
 I_GetNX  { z               x                     z            x                   x                        }
 U_Grant  { x               z                     z            x                   z                        }
 U_Ask    { x               z                     z            x                   z                        }
 U_Share  { x               z                     z            x                   z                        }
 U_Inval  { x               z                     z            x                   z                        }
 U_Down   { x               z                     z            x                   z                        }
 U_EvictS { x               z                     z            x                   z                        }
 U_EvictX { x               z                     z            x                   z                        }
 U_TakeS  { x               z                     z            x                   z                        }
 U_TakeX  { x               z                     z            x                   z                        }
 WB       { z               x                     z            z                   x                        }
 Gone     { z               x                     z            x                   x                        };
 on(        PutS                        PutSpoilt               PutE                                        PutX)
 N        { x                           x                       x                                           x                                          }
 NX       { x                           x                       x                                           x                                          }
 M        { x                           x                       x                                           x                                          }
 E        { x                           x                       x                                           x                                          }
 S        { x                           x                       x                                           x                                          }
 I        { x                           x                       x                                           x                                          }
 Held     { x                           x                       x                                           x                                          }
 I_Get    { [S Fill HoldAsked AnswerS]  [I Unspoil AnswerOnce]  [Held Unspoil Fill HoldAskedAlone AnswerE]  [Held Unspoil Fill HoldAskedAlone AnswerE] }
 I_GetS   { [S Fill HoldAsked AnswerS]  [I Unspoil AnswerOnce]  [E Unspoil Fill HoldAsked AnswerS]          x                                          }
 I_GetN   { [N Fill AnswerAck]          [I_GetNX Unspoil GetX]  [NX Unspoil Fill AnswerAck]                 x                                          }
 I_GetX   { x                           x                       x                                           [Held Fill HoldAskedAlone AnswerX]         }
 I_GetNX  { x                           x                       x                                           [M Fill AnswerAck]                         }
 U_Grant  { x                           x                       x                                           x                                          }
 U_Ask    { x                           x                       x                                           x                                          }
 U_Share  { x                           x                       x                                           x                                          }
 U_Inval  { x                           x                       x                                           x                                          }
 U_Down   { x                           x                       x                                           x                                          }
 U_EvictS { x                           x                       x                                           x                                          }
 U_EvictX { x                           x                       x                                           x                                          }
 U_TakeS  { x                           x                       x                                           x                                          }
 U_TakeX  { x                           x                       x                                           x                                          }
 WB       { x                           x                       x                                           x                                          }
 Gone     { x                           x                       x                                           x                                          };
 on(        Answer                 AnswerClean                          AnswerDirty)
 N        { x                      x                                    x                                        }
 NX       { x                      x                                    x                                        }
 M        { x                      x                                    x                                        }
 E        { x                      x                                    x                                        }
 S        { x                      x                                    x                                        }
 I        { x                      x                                    x                                        }
 Held     { x                      x                                    x                                        }
 I_Get    { x                      x                                    x                                        }
 I_GetS   { x                      x                                    x                                        }
 I_GetN   { x                      x                                    x                                        }
 I_GetX   { x                      x                                    x                                        }
 I_GetNX  { x                      x                                    x                                        }
 U_Grant  { [U_Grant Take Count]   [Held Count HoldAskedAlone AnswerX]  [Held Take Count HoldAskedAlone AnswerX] }
 U_Ask    { [U_Ask Take Count]     [I_GetX Count GetX Unhold]           [I_GetX Take Count GetX Unhold]          }
 U_Share  { x                      [E Count HoldAsked AnswerS]          [M Take Count HoldAsked AnswerS]         }
 U_Inval  { [U_Inval Take Count]   [I Count Unhold Flushed Drop]        [I Take Count Unhold FlushedNewer Drop]  }
 U_Down   { x                      [S Count Flushed]                    [S Take Count FlushedNewer Clean]        }
 U_EvictS { [U_EvictS Take Count]  [I Count Unhold Drop]                [WB Take Count Unhold WriteBack]         }
 U_EvictX { [U_EvictX Take Count]  [WB Count Unhold WriteBack]          [WB Take Count Unhold WriteBack]         }
 U_TakeS  { x                      [S Count UnholdFrom Relieve]         [N Take Count UnholdFrom Relieve]        }
 U_TakeX  { x                      [E Count UnholdFrom Relieve]         [M Take Count UnholdFrom Relieve]        }
 WB       { x                      x                                    x                                        }
 Gone     { x                      x                                    x                                        };
 on(        Inval                     InvalAbove           CoreFlush                 CoreFlushAbove       Downgrade               Back  BackAsked)
 N        { [I FlushedNewer Drop]     [U_Inval TellInval]  x                         x                    x                       x     x         }
 NX       { x                         x                    [I FlushedNewer Drop]     [U_Inval TellInval]  [N Flushed]             x     x         }
 M        { x                         x                    [I FlushedNewer Drop]     [U_Inval TellInval]  [S FlushedNewer Clean]  x     x         }
 E        { x                         x                    [I Flushed Drop]          [U_Inval TellInval]  [S Flushed]             x     x         }
 S        { [I Flushed Drop]          [U_Inval TellInval]  x                         x                    x                       x     x         }
 I        { [I Flushed]               x                    x                         x                    x                       x     x         }
 Held     { x                         x                    x                         [U_Inval TellInval]  [U_Down TellDowngrade]  x     x         }
 I_Get    { [I_Get Spoil Flushed]     x                    z                         x                    z                       x     x         }
 I_GetS   { [I_GetS Spoil Flushed]    x                    z                         x                    z                       x     x         }
 I_GetN   { [I_GetN Spoil Flushed]    x                    z                         x                    z                       x     x         }
 I_GetX   { [I_GetX Flushed]          x                    z                         x                    z                       x     x         }
 I_GetNX  { [I_GetNX Flushed]         x                    z                         x                    z                       x     x         }
 U_Grant  { x                         x                    x                         z                    z                       x     x         }
 U_Ask    { x                         z                    x                         x                    x                       x     x         }
 U_Share  { x                         x                    x                         z                    z                       x     x         }
 U_Inval  { x                         x                    x                         x                    x                       x     x         }
 U_Down   { x                         x                    x                         x                    x                       x     x         }
 U_EvictS { x                         z                    x                         x                    x                       x     x         }
 U_EvictX { x                         x                    x                         z                    z                       x     x         }
 U_TakeS  { x                         z                    x                         x                    x                       x     x         }
 U_TakeX  { x                         x                    x                         z                    z                       x     x         }
 WB       { [Gone FlushedNewer Drop]  x                    [Gone FlushedNewer Drop]  x                    [WB FlushedNewer Drop]  x     x         }
 Gone     { [Gone Flushed]            x                    x                         x                    x                       [I]   [I Done]  }
}

/// The controller of table [`nmoesi_l2`].
pub struct L2 {
    /// Whether it asks for every line to write, also for one that is only loaded, so that it holds what all others have
    /// written without coherence: the CPU's last-level cache. No cache above it asks with `GetS`.
    pub owns: bool,
}

impl L2 {
    fn state<const N: usize>(line: &Line<N>) -> State {
        State::ALL[line.state as usize]
    }

    /// Makes these caches above give the line up.
    fn tell_inval<const N: usize>(work: &mut Work<'_, N>, sharers: Sharers) {
        let kind = if Self::state(work.line) == State::Held { Kind::CoreFlush } else { Kind::Inval };
        actions::tell(work, sharers, kind);
    }

    /// The caches that hold the line, except the requester.
    fn others<const N: usize>(place: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Sharers {
        line.sharers.without(place.sharer(msg.from))
    }
}

impl<const N: usize> Controller<N> for L2 {
    fn table(&self) -> &'static Table {
        &nmoesi_l2::TABLE
    }

    fn classify(&self, place: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let alone = Self::others(place, line, msg).is_empty();
        let holds = line.sharers.meets(place.sharer(msg.from));
        let above = !line.sharers.is_empty();
        let event = match msg.kind {
            // No probe reaches a cache that is not in the directory (a GPU's instruction cache), so it may only read.
            Kind::Get if place.sharer(msg.from).is_empty() => Event::GetS,
            Kind::Get if alone => Event::GetAlone,
            Kind::Get => Event::Get,
            Kind::GetS => Event::GetS,
            Kind::GetX if alone => Event::GetXAlone,
            Kind::GetX => Event::GetX,
            Kind::Write => Event::Write,
            Kind::WriteBack if holds => Event::WriteBack,
            Kind::WriteBack => Event::WriteBackOld,
            Kind::Evict if above => Event::EvictAbove,
            Kind::Evict => Event::Evict,
            Kind::Flush if !line.is_dirty() => Event::FlushClean,
            Kind::Flush if above => Event::FlushAbove,
            Kind::Flush => Event::FlushDirty,
            Kind::PutS if line.early > 0 => Event::PutSpoilt,
            Kind::PutS => Event::PutS,
            Kind::PutClnX => Event::PutE,
            Kind::PutX => Event::PutX,
            Kind::Flushed if line.acks > 1 => Event::Answer,
            Kind::Flushed if line.is_dirty() || !msg.data.mask().is_empty() => Event::AnswerDirty,
            Kind::Flushed => Event::AnswerClean,
            Kind::Inval if above => Event::InvalAbove,
            Kind::WriteBackAck if line.is_asked() => Event::BackAsked,
            Kind::WriteBackAck => Event::Back,
            Kind::Inval => Event::Inval,
            Kind::CoreFlush if above => Event::CoreFlushAbove,
            Kind::CoreFlush => Event::CoreFlush,
            Kind::Downgrade => Event::Downgrade,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        let state = Self::state(line);
        let (held, whole, dirty) = (line.data.mask(), line.data.is_full(), line.is_dirty());
        let rests = line.acks == 0 && !line.is_asked() && line.in_flight.is_empty() && line.early == 0;
        let alone = line.sharers.is_empty();
        match state {
            State::N | State::NX | State::M => whole && dirty && rests,
            State::E | State::S => whole && !dirty && rests,
            State::I => held.is_empty() && rests && alone,
            State::Held => whole && rests && line.sharers.len() == 1,
            State::I_Get | State::I_GetS | State::I_GetX => {
                held.is_empty() && !dirty && line.is_asked() && line.acks == 0 && alone
            }
            State::I_GetN | State::I_GetNX => held == line.in_flight && line.is_asked() && line.acks == 0 && alone,
            State::U_Grant | State::U_Ask | State::U_Share => whole && line.is_asked() && line.acks > 0,
            State::Gone => held.is_empty() && alone,
            State::WB => held == line.dirty && line.acks == 0 && alone,
            _ => whole && line.acks > 0,
        }
    }

    fn takes_room(&self, state: u8) -> bool {
        !matches!(State::ALL[state as usize], State::I | State::WB | State::Gone | State::U_EvictS | State::U_EvictX)
    }

    fn access(&self, line: &Line<N>) -> Access {
        match Self::state(line) {
            State::E | State::M | State::NX | State::Held => Access::Write,
            State::S | State::N => Access::Read,
            _ => Access::None,
        }
    }

    fn granted(&self, _: Place<'_>, line: &Line<N>) -> Option<Granted> {
        let writes = matches!(
            Self::state(line),
            State::Held
                | State::U_Grant
                | State::U_Share
                | State::U_Inval
                | State::U_Down
                | State::U_EvictX
                | State::U_TakeX
        );
        let writers = if writes { line.sharers } else { Sharers::NONE };
        Some(Granted { readers: line.sharers, writers })
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Done {
        let from = work.place.sharer(work.msg.from);
        let asked = work.line.asked.map(|asked| work.place.sharer(asked)).ok_or("knows no waiting requester");
        match Action::ALL[action as usize] {
            Action::Hold => work.line.sharers.add(from),
            Action::HoldAlone => work.line.sharers = from,
            Action::HoldAsked => work.line.sharers.add(asked?),
            Action::HoldAskedAlone => work.line.sharers = asked?,
            Action::Unhold => work.line.sharers = Sharers::NONE,
            Action::UnholdFrom => work.line.sharers = work.line.sharers.without(from),
            Action::PutS => work.send(work.msg.from, Kind::PutS, work.line.data),
            Action::PutE => work.send(work.msg.from, Kind::PutClnX, work.line.data),
            Action::PutX => work.send(work.msg.from, Kind::PutX, work.line.data),
            Action::Ack => common::acknowledge(work),
            Action::Relieve => work.send(work.msg.from, Kind::WriteBackAck, Block::EMPTY),
            Action::AnswerS => return common::answer(work, Kind::PutS),
            Action::AnswerOnce => {
                let to = work.line.asked.take().ok_or("has no requester to answer")?;
                let (me, msg) = (work.place.me, *work.msg);
                work.push(Msg { acks: wt::ONCE, ..Msg::new(me, to, Kind::PutS, msg.line, msg.data) });
            }
            Action::AnswerE => return common::answer(work, Kind::PutClnX),
            Action::AnswerX => return common::answer(work, Kind::PutX),
            Action::AnswerAck => {
                let to = work.line.asked.take().ok_or("has no write to acknowledge")?;
                work.send(to, Kind::Ack, work.line.data.only(work.line.in_flight));
                actions::perform(work);
            }
            Action::Ask => common::ask(work),
            Action::AskWrite => actions::ask_store(work),
            Action::Take => common::take_dirty(work),
            Action::Count => return actions::count(work),
            Action::Get if self.owns => actions::get(work, Kind::GetX),
            Action::Get => actions::get(work, Kind::Get),
            Action::GetS => actions::get(work, Kind::GetS),
            Action::GetX => actions::get_x(work),
            Action::TellInval => Self::tell_inval(work, work.line.sharers),
            Action::TellOthers => {
                let others = Self::others(work.place, work.line, work.msg);
                Self::tell_inval(work, others);
            }
            Action::TellFrom => Self::tell_inval(work, from),
            Action::TellDowngrade => actions::tell(work, work.line.sharers, Kind::Downgrade),
            Action::WriteBack => actions::write_back(work),
            Action::Fill => common::fill(work),
            Action::Drop => common::drop_data(work),
            Action::Clean => work.line.dirty = Mask::NONE,
            Action::Spoil => work.line.early = 1,
            Action::Unspoil => work.line.early = 0,
            Action::Flushed => actions::flushed(work, Block::EMPTY),
            Action::FlushedNewer => actions::flushed(work, actions::newer(work.line)),
            Action::Done => {
                let to = work.line.asked.take().unwrap_or(work.msg.from);
                work.send(to, Kind::Done, Block::EMPTY);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Log, Node, Roster, Step, step};
    use mem::LineAddr;

    const N: usize = 4;

    #[test]
    fn a_cache_that_is_not_in_the_directory_is_given_lines_to_read_only() {
        let l2: &dyn Controller<N> = &L2 { owns: false };
        let (me, below, code) = (Node(1), Node(2), Node(9));
        let above = Roster::row(Node(0), 1);
        let initial = l2.table().states.iter().position(|&state| state == "I").expect("the table has a state I");
        let mut line = Line::new(initial as u8);
        let mut tell = |from, kind, data| {
            let place = Place { me, below, above: &above };
            let msg = Msg::new(from, me, kind, LineAddr(0), data);
            let done = step(l2, l2.table(), place, &mut line, &msg, &mut Log::new(l2.table(), 0));
            let Step::Sends(sends) = done.expect("the table has no hole") else { panic!("{kind:?} waits") };
            let sends: Vec<_> = sends.iter().map(|sent| (sent.to, sent.kind)).collect();
            (sends, l2.table().states[line.state as usize])
        };
        assert_eq!(tell(code, Kind::Get, Block::EMPTY), (vec![(below, Kind::GetS)], "I_GetS"));
        assert_eq!(tell(below, Kind::PutS, Block::full([7; N])), (vec![(code, Kind::PutS)], "S"));
        assert_eq!(tell(code, Kind::Get, Block::EMPTY), (vec![(code, Kind::PutS)], "S"));
        // The only cache of the directory is still alone.
        assert_eq!(tell(Node(0), Kind::GetX, Block::EMPTY), (vec![(below, Kind::GetX)], "I_GetX"));
    }
}
