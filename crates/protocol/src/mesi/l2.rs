//! A CPU core's second-level cache.
//!
//! Table 3.3 of `[giles]`: above it are the core's data and instruction caches, below it the directory. The first
//! part has the paper's columns; the others are its part in the directory's transactions (3.2.6.3). It keeps no
//! record of what the data cache above holds, and probes it each time (`CoreFlush`, `Downgrade`, `Inval`). For the
//! instruction cache it records whether that has fetched the line since it was last invalidated there.
//!
//! - `I_Get`, `I_GetX`, `I_GetS`, `S_Pending_Upgrade`: requested below. Probes of the directory wait for the answer.
//! - `..._Retry`: refused, in the retry queue. `..._Acks`: granted, but other caches have not acknowledged their
//!   invalidations yet.
//! - `M_GetFwd`, `M_GetXFwd`, `M_Flush`, `S_Inval`: serving a probe of the directory, waiting for the caches above.
//! - `S_Evict`, `I_WB_Flush_Conflict`: evicted, waiting for the caches above. `I_WB_Writable`: in the write-back
//!   queue. `I_WB_Non_Writable`: written back, not acknowledged yet.

use crate::{
    Access, Block, Controller, Granted, Kind, Line, Mask, Msg, Place, Sharers, Table, Work, common, mesi::actions,
    protocol,
};
use l2::{Action, Event, State};

protocol! { l2 actions(PutS PutClnX PutX Nack Return Ask AnswerS AnswerClnX AnswerX Fetched FetchedAsked Unfetched Modify Take Ack GetS Get GetX Upgrade Fill
  AwaitAcks Early Count InvalL1 InvalFetch FlushL1 DowngradeL1 Join InvAck FwdPutS FwdPutX FwdAck FwdAckX FwdNack FwdNackX Flushed Clean Drop WriteBack)
 on(                   Fetch                                    Load                        Upgrade                          Store)
 M                   { [I_WB_Flush_Conflict Nack FlushL1]       [M PutX]                    x                                [M PutX]                        }
 E                   { [I_WB_Flush_Conflict Nack FlushL1]       [E PutClnX]                 x                                [M Modify PutX]                 }
 S                   { [S Fetched PutS]                         [S PutS]                    [S_Pending_Upgrade Ask Upgrade]  [S_Pending_Upgrade Ask Upgrade] }
 S_Pending_Upgrade   { z                                        x                           x                                x                               }
 S_Upgrade_Retry     { z                                        x                           x                                x                               }
 S_Upgrade_Acks      { z                                        x                           x                                x                               }
 S_Inval             { [S_Inval Nack]                           [S_Inval Nack]              [S_Inval Nack]                   [S_Inval Nack]                  }
 S_Evict             { [S_Evict Nack]                           [S_Evict Nack]              [S_Evict Nack]                   [S_Evict Nack]                  }
 S_Inval_Fetch       { [S_Inval_Fetch Nack]                     x                           x                                x                               }
 I                   { [I_GetS Ask GetS]                        [I_Get Ask Get]             [I_GetX Ask GetX]                [I_GetX Ask GetX]               }
 I_GetS              { x                                        z                           z                                z                               }
 I_GetS_Retry        { x                                        z                           z                                z                               }
 I_Get               { z                                        x                           x                                x                               }
 I_Get_Retry         { z                                        x                           x                                x                               }
 I_GetX              { z                                        x                           x                                x                               }
 I_GetX_Retry        { z                                        x                           x                                x                               }
 I_GetX_Acks         { z                                        x                           x                                x                               }
 M_GetFwd            { [M_GetFwd Nack]                          [M_GetFwd Nack]             [M_GetFwd Nack]                  [M_GetFwd Nack]                 }
 M_GetXFwd           { [M_GetXFwd Nack]                         [M_GetXFwd Nack]            x                                [M_GetXFwd Nack]                }
 M_Flush             { [M_Flush Nack]                           [M_Flush Nack]              x                                [M_Flush Nack]                  }
 I_WB_Flush_Conflict { [I_WB_Flush_Conflict Nack]               [I_WB_Flush_Conflict Nack]  x                                [I_WB_Flush_Conflict Nack]      }
 I_WB_Writable       { [I_WB_Non_Writable Nack WriteBack Drop]  [M PutX]                    x                                [M PutX]                        }
 I_WB_Non_Writable   { z                                        z                           x                                z                               };
 on(                   WriteFetched                     WriteBack                       Evict                          Drain                               Retry)
 M                   { x                                [M Take Ack]                    [I_WB_Flush_Conflict FlushL1]  x                                   x                           }
 E                   { x                                [M Take Ack]                    [I_WB_Flush_Conflict FlushL1]  x                                   x                           }
 S                   { [S_Inval_Fetch Nack InvalFetch]  x                               [S_Evict InvalL1]              x                                   x                           }
 S_Pending_Upgrade   { x                                x                               z                              x                                   x                           }
 S_Upgrade_Retry     { x                                x                               z                              x                                   [S_Pending_Upgrade Upgrade] }
 S_Upgrade_Acks      { x                                x                               z                              x                                   x                           }
 S_Inval             { [S_Inval Nack]                   x                               z                              x                                   x                           }
 S_Evict             { [S_Evict Nack]                   x                               z                              x                                   x                           }
 S_Inval_Fetch       { [S_Inval_Fetch Nack]             x                               z                              x                                   x                           }
 I                   { x                                x                               x                              x                                   x                           }
 I_GetS              { x                                x                               z                              x                                   x                           }
 I_GetS_Retry        { x                                x                               z                              x                                   [I_GetS GetS]               }
 I_Get               { x                                x                               z                              x                                   x                           }
 I_Get_Retry         { x                                x                               z                              x                                   [I_Get Get]                 }
 I_GetX              { x                                x                               z                              x                                   x                           }
 I_GetX_Retry        { x                                x                               z                              x                                   [I_GetX GetX]               }
 I_GetX_Acks         { x                                x                               z                              x                                   x                           }
 M_GetFwd            { x                                [M_GetFwd Take Ack]             z                              x                                   x                           }
 M_GetXFwd           { x                                [M_GetXFwd Take Ack]            z                              x                                   x                           }
 M_Flush             { x                                [M_Flush Take Ack]              z                              x                                   x                           }
 I_WB_Flush_Conflict { x                                [I_WB_Flush_Conflict Take Ack]  z                              x                                   x                           }
 I_WB_Writable       { x                                x                               x                              [I_WB_Non_Writable WriteBack Drop]  x                           }
 I_WB_Non_Writable   { x                                x                               z                              x                                   x                           };
 on(                   PutS                           PutClnX              PutX                               PutX_N                        Upgrade_Ack                   Upgrade_Ack_N               Nack)
 M                   { x                              x                    x                                  x                             x                             x                           x                 }
 E                   { x                              x                    x                                  x                             x                             x                           x                 }
 S                   { x                              x                    x                                  x                             x                             x                           x                 }
 S_Pending_Upgrade   { x                              x                    x                                  x                             [M AwaitAcks Modify AnswerX]  [S_Upgrade_Acks AwaitAcks]  [S_Upgrade_Retry] }
 S_Upgrade_Retry     { x                              x                    x                                  x                             x                             x                           x                 }
 S_Upgrade_Acks      { x                              x                    x                                  x                             x                             x                           x                 }
 S_Inval             { x                              x                    x                                  x                             x                             x                           x                 }
 S_Evict             { x                              x                    x                                  x                             x                             x                           x                 }
 S_Inval_Fetch       { x                              x                    x                                  x                             x                             x                           x                 }
 I                   { x                              x                    x                                  x                             x                             x                           x                 }
 I_GetS              { [S Fill FetchedAsked AnswerS]  x                    x                                  x                             x                             x                           [I_GetS_Retry]    }
 I_GetS_Retry        { x                              x                    x                                  x                             x                             x                           x                 }
 I_Get               { [S Fill AnswerS]               [E Fill AnswerClnX]  [M Fill Modify AnswerX]            x                             x                             x                           [I_Get_Retry]     }
 I_Get_Retry         { x                              x                    x                                  x                             x                             x                           x                 }
 I_GetX              { x                              x                    [M AwaitAcks Fill Modify AnswerX]  [I_GetX_Acks AwaitAcks Fill]  x                             x                           [I_GetX_Retry]    }
 I_GetX_Retry        { x                              x                    x                                  x                             x                             x                           x                 }
 I_GetX_Acks         { x                              x                    x                                  x                             x                             x                           x                 }
 M_GetFwd            { x                              x                    x                                  x                             x                             x                           x                 }
 M_GetXFwd           { x                              x                    x                                  x                             x                             x                           x                 }
 M_Flush             { x                              x                    x                                  x                             x                             x                           x                 }
 I_WB_Flush_Conflict { x                              x                    x                                  x                             x                             x                           x                 }
 I_WB_Writable       { x                              x                    x                                  x                             x                             x                           x                 }
 I_WB_Non_Writable   { x                              x                    x                                  x                             x                             x                           x                 };
 on(                   InvAck                     InvAckLast                WriteBackAck  Flushed          FlushedClean                    FlushedDirty)
 M                   { x                          x                         x             x                x                               x                                   }
 E                   { x                          x                         x             x                x                               x                                   }
 S                   { x                          x                         x             x                x                               x                                   }
 S_Pending_Upgrade   { [S_Pending_Upgrade Early]  x                         x             x                x                               x                                   }
 S_Upgrade_Retry     { x                          x                         x             x                x                               x                                   }
 S_Upgrade_Acks      { [S_Upgrade_Acks Count]     [M Count Modify AnswerX]  x             x                x                               x                                   }
 S_Inval             { x                          x                         x             [S_Inval Count]  [I Count InvAck Drop]           x                                   }
 S_Evict             { x                          x                         x             [S_Evict Count]  [I Count Drop]                  x                                   }
 S_Inval_Fetch       { x                          x                         x             x                [S Count Unfetched]             x                                   }
 I                   { x                          x                         x             x                x                               x                                   }
 I_GetS              { x                          x                         x             x                x                               x                                   }
 I_GetS_Retry        { x                          x                         x             x                x                               x                                   }
 I_Get               { x                          x                         x             x                x                               x                                   }
 I_Get_Retry         { x                          x                         x             x                x                               x                                   }
 I_GetX              { [I_GetX Early]             x                         x             x                x                               x                                   }
 I_GetX_Retry        { x                          x                         x             x                x                               x                                   }
 I_GetX_Acks         { [I_GetX_Acks Count]        [M Count Modify AnswerX]  x             x                x                               x                                   }
 M_GetFwd            { x                          x                         x             x                [S Count FwdPutS FwdAck]        [S Count Take FwdPutS FwdAck Clean] }
 M_GetXFwd           { x                          x                         x             x                [I Count FwdPutX FwdAckX Drop]  [I Count Take FwdPutX FwdAckX Drop] }
 M_Flush             { x                          x                         x             x                [I Count Flushed Drop]          [I Count Take Flushed Drop]         }
 I_WB_Flush_Conflict { x                          x                         x             x                [I Count Drop]                  [I_WB_Writable Count Take]          }
 I_WB_Writable       { x                          x                         x             x                x                               x                                   }
 I_WB_Non_Writable   { x                          x                         [I Count]     x                x                               x                                   };
 on(                   Inval                          GetFwd                       GetXFwd                   CoreFlush)
 M                   { x                              [M_GetFwd Join DowngradeL1]  [M_GetXFwd Join FlushL1]  [M_Flush FlushL1]      }
 E                   { x                              [M_GetFwd Join DowngradeL1]  [M_GetXFwd Join FlushL1]  [M_Flush FlushL1]      }
 S                   { [S_Inval Join InvalL1]         x                            x                         x                      }
 S_Pending_Upgrade   { z                              z                            z                         z                      }
 S_Upgrade_Retry     { [S_Inval Return Join InvalL1]  x                            x                         x                      }
 S_Upgrade_Acks      { x                              z                            z                         z                      }
 S_Inval             { x                              x                            x                         x                      }
 S_Evict             { z                              x                            x                         x                      }
 S_Inval_Fetch       { z                              x                            x                         x                      }
 I                   { [I InvAck]                     [I FwdNack]                  [I FwdNackX]              [I Flushed]            }
 I_GetS              { z                              z                            z                         z                      }
 I_GetS_Retry        { [I_GetS_Retry InvAck]          [I_GetS_Retry FwdNack]       [I_GetS_Retry FwdNackX]   [I_GetS_Retry Flushed] }
 I_Get               { z                              z                            z                         z                      }
 I_Get_Retry         { [I_Get_Retry InvAck]           [I_Get_Retry FwdNack]        [I_Get_Retry FwdNackX]    [I_Get_Retry Flushed]  }
 I_GetX              { z                              z                            z                         z                      }
 I_GetX_Retry        { [I_GetX_Retry InvAck]          [I_GetX_Retry FwdNack]       [I_GetX_Retry FwdNackX]   [I_GetX_Retry Flushed] }
 I_GetX_Acks         { x                              z                            z                         z                      }
 M_GetFwd            { x                              x                            x                         x                      }
 M_GetXFwd           { x                              x                            x                         x                      }
 M_Flush             { x                              x                            x                         x                      }
 I_WB_Flush_Conflict { x                              z                            z                         z                      }
 I_WB_Writable       { x                              [I FwdPutS FwdAck Drop]      [I FwdPutX FwdAckX Drop]  [I Flushed Drop]       }
 I_WB_Non_Writable   { x                              z                            z                         z                      }
}

/// The controller of table [`l2`].
pub struct L2;

/// The data cache is the first of the nodes above.
const DATA: Sharers = Sharers::one(0);

impl<const N: usize> Controller<N> for L2 {
    fn table(&self) -> &'static Table {
        &l2::TABLE
    }

    fn classify(&self, _: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let event = match msg.kind {
            Kind::GetS => Event::Fetch,
            Kind::Get => Event::Load,
            Kind::Upgrade | Kind::GetX if !line.sharers.is_empty() => Event::WriteFetched,
            Kind::Upgrade => Event::Upgrade,
            Kind::GetX => Event::Store,
            Kind::WriteBack => Event::WriteBack,
            Kind::Evict => Event::Evict,
            Kind::Drain => Event::Drain,
            Kind::Retry => Event::Retry,
            Kind::PutS => Event::PutS,
            Kind::PutClnX => Event::PutClnX,
            Kind::PutX if msg.acks > line.early => Event::PutX_N,
            Kind::PutX => Event::PutX,
            Kind::UpgradeAck if msg.acks > line.early => Event::Upgrade_Ack_N,
            Kind::UpgradeAck => Event::Upgrade_Ack,
            Kind::Nack => Event::Nack,
            Kind::InvAck if line.acks == 1 => Event::InvAckLast,
            Kind::InvAck => Event::InvAck,
            Kind::WriteBackAck => Event::WriteBackAck,
            Kind::Flushed if line.acks > 1 => Event::Flushed,
            Kind::Flushed if line.is_dirty() || !msg.data.mask().is_empty() => Event::FlushedDirty,
            Kind::Flushed => Event::FlushedClean,
            Kind::Inval => Event::Inval,
            Kind::GetFwd => Event::GetFwd,
            Kind::GetXFwd => Event::GetXFwd,
            Kind::CoreFlush => Event::CoreFlush,
            _ => return None,
        };
        Some(event as u8)
    }

    fn takes_room(&self, state: u8) -> bool {
        actions::takes_room(&l2::TABLE, state)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        let (whole, empty) = (line.data.is_full(), line.is_empty());
        let (clean, dirty) = (!line.is_dirty(), line.dirty == Mask::first(N));
        let (fetched, joined) = (!line.sharers.is_empty(), line.join.is_some());
        let waits = |held: bool| held && !joined && line.acks > 0;
        let rests = |held: bool| held && !joined && line.acks == 0;
        let serves = |held: bool| held && joined && line.acks > 0;
        use State::*;
        let (held, asked) = match State::ALL[line.state as usize] {
            M | I_WB_Writable => (rests(whole && dirty && !fetched), false),
            E => (rests(whole && clean && !fetched), false),
            S => (rests(whole && clean), false),
            S_Pending_Upgrade | S_Upgrade_Retry => (rests(whole && clean && !fetched), true),
            S_Upgrade_Acks => (waits(whole && clean && !fetched), true),
            S_Inval => (serves(whole && clean), false),
            S_Evict => (waits(whole && clean), false),
            S_Inval_Fetch => (waits(whole && clean && fetched), false),
            I => (rests(empty && clean && !fetched), false),
            I_GetS | I_GetS_Retry | I_Get | I_Get_Retry | I_GetX | I_GetX_Retry => {
                (rests(empty && clean && !fetched), true)
            }
            I_GetX_Acks => (waits(whole && clean && !fetched), true),
            M_GetFwd | M_GetXFwd => (serves(whole && !fetched && (clean || dirty)), false),
            M_Flush | I_WB_Flush_Conflict => (waits(whole && !fetched && (clean || dirty)), false),
            I_WB_Non_Writable => (waits(empty && clean && !fetched), false),
        };
        let early = matches!(State::ALL[line.state as usize], S_Pending_Upgrade | I_GetX) || line.early == 0;
        held && early && line.is_asked() == asked
    }

    fn access(&self, line: &Line<N>) -> Access {
        use State::*;
        match State::ALL[line.state as usize] {
            M | E | M_GetFwd | M_GetXFwd | M_Flush | I_WB_Flush_Conflict | I_WB_Writable => Access::Write,
            S | S_Pending_Upgrade | S_Upgrade_Retry | S_Upgrade_Acks | S_Inval | S_Evict | S_Inval_Fetch => {
                Access::Read
            }
            _ => Access::None,
        }
    }

    fn granted(&self, _: Place<'_>, line: &Line<N>) -> Option<Granted> {
        let readers = DATA.or(line.sharers);
        Some(match self.access(line) {
            Access::Write => Granted { readers: Sharers::NONE, writers: DATA },
            Access::Read => Granted { readers, ..Granted::NOTHING },
            Access::None => Granted::NOTHING,
        })
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        let (me, from, below) = (work.place.me, work.msg.from, work.place.below);
        match Action::ALL[action as usize] {
            Action::PutS => work.send(from, Kind::PutS, work.line.data),
            Action::PutClnX => work.send(from, Kind::PutClnX, work.line.data),
            Action::PutX => work.send(from, Kind::PutX, work.line.data),
            Action::Nack => work.send(from, Kind::Nack, Block::EMPTY),
            Action::Return => {
                let asked = work.line.asked.take().ok_or("has no requester to refuse")?;
                work.send(asked, Kind::Nack, Block::EMPTY);
            }
            Action::Ask => common::ask(work),
            Action::AnswerS => return common::answer(work, Kind::PutS),
            Action::AnswerClnX => return common::answer(work, Kind::PutClnX),
            Action::AnswerX => return common::answer(work, Kind::PutX),
            Action::Fetched => actions::hold(work),
            Action::FetchedAsked => return actions::hold_asked(work),
            Action::Unfetched => work.line.sharers = Sharers::NONE,
            Action::Modify => actions::modify(work),
            Action::Take => actions::take(work),
            Action::Ack => work.send(from, Kind::WriteBackAck, Block::EMPTY),
            Action::GetS => actions::request(work, Kind::GetS),
            Action::Get => actions::request(work, Kind::Get),
            Action::GetX => actions::request(work, Kind::GetX),
            Action::Upgrade => actions::request(work, Kind::Upgrade),
            Action::Fill => common::fill(work),
            Action::AwaitAcks => return actions::await_acks(work),
            Action::Early => actions::early(work),
            Action::Count => return actions::count(work),
            Action::InvalL1 => actions::tell(work, DATA.or(work.line.sharers), Kind::Inval, me),
            Action::InvalFetch => actions::tell(work, work.line.sharers, Kind::Inval, me),
            Action::FlushL1 => actions::tell(work, DATA, Kind::CoreFlush, me),
            Action::DowngradeL1 => actions::tell(work, DATA, Kind::Downgrade, me),
            Action::Join => actions::join(work),
            Action::InvAck => return actions::acknowledge_invalidation(work),
            Action::FwdPutS => return actions::forward(work, Kind::PutS),
            Action::FwdPutX => return actions::forward(work, Kind::PutX),
            Action::FwdAck => work.send(below, Kind::FwdAck, actions::changed(work)),
            Action::FwdAckX => work.send(below, Kind::FwdAckX, Block::EMPTY),
            Action::FwdNack => work.send(below, Kind::FwdNack, Block::EMPTY),
            Action::FwdNackX => work.send(below, Kind::FwdNackX, Block::EMPTY),
            Action::Flushed => work.send(below, Kind::Flushed, actions::changed(work)),
            Action::Clean => actions::clean(work),
            Action::Drop => {
                common::drop_data(work);
                work.line.sharers = Sharers::NONE;
            }
            Action::WriteBack => actions::write_back(work, Kind::WriteBack),
        }
        Ok(())
    }
}
