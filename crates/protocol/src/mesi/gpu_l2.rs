//! The GPU's second-level cache: a directory of the vector caches above it. To the directory below it is one more
//! core.
//!
//! Table 3.7 of `[giles]`. As in [`directory`](super::directory), the paper's `M_Owned` and `E_Owned` are the events
//! `...Owner`: a request by the only holder above. Towards the directory below it does what [`l2`](super::l2) does.
//!
//! Two of the paper's statements about a load of a line that one vector cache holds do not agree: Table 3.7 flushes the holder, and the
//! text beside it (3.2.6.4) downgrades it. [`GpuL2::SHARING`] follows the text, as the author's published code does in the end;
//! [`GpuL2::ALONE`], whose loads are the events `LoadAlone`, follows the table.
//!
//! - `M`: the GPU may write the line, and no vector cache holds it. `M_Held`, `E_Held`: one vector cache holds it.
//! - `S_Dirty_In_Node`: the GPU may write the line, and vector caches hold it shared. `S_Clean`: it is shared, and
//!   caches outside the GPU may hold it too.
//! - `M_Pending`: the holder is downgraded for another vector cache; `M_Pending_Store`: it is flushed for another
//!   one's store; `M_Pending_Load`: for another one's load. `S_Pending_Owned`: sharers are invalidated for a store of a vector cache; `S_Pending`: the same,
//!   and then the directory is asked.
//! - `M_GetFwd`, `M_GetXFwd`, `M_Flush`, `S_Inval`: serving a probe of the directory, waiting for the vector caches.
//!   `S_Evict` and `I_WB_Flush_Conflict`: evicted, waiting for the vector caches. The others are as in
//!   [`l2`](super::l2).

use crate::{
    Access, Block, Controller, Granted, Kind, Line, Mask, Msg, Place, Sharers, Table, Work, common, mesi::actions,
    protocol,
};
use gpu_l2::{Action, Event, State};

protocol! { gpu_l2 actions(Hold HoldAlone HoldAsked HoldAskedAlone Unhold PutS PutClnX PutX Nack Ask AnswerS AnswerClnX AnswerX Modify Take Ack Get GetX Fill
  AwaitAcks Early Count InvalOthers InvalAll Flush Downgrade Join InvAck FwdPutS FwdPutX FwdAck FwdAckX FwdNack FwdNackX FlushedDown Clean Drop WriteBack)
 on(                   Load                         LoadOwner                   Store                              StoreOwner                  LoadAlone)
 M                   { [M_Held HoldAlone PutX]      x                           [M_Held HoldAlone PutX]            x                           [M_Held HoldAlone PutX]    }
 M_Held              { [M_Pending Ask Downgrade]    x                           [M_Pending_Store Ask Flush]        x                           [M_Pending_Load Ask Flush] }
 M_Pending           { [M_Pending Nack]             [M_Pending Nack]            [M_Pending Nack]                   [M_Pending Nack]            x                          }
 M_Pending_Load      { x                            [M_Pending_Load Nack]       [M_Pending_Load Nack]              [M_Pending_Load Nack]       [M_Pending_Load Nack]      }
 M_Pending_Store     { [M_Pending_Store Nack]       [M_Pending_Store Nack]      [M_Pending_Store Nack]             [M_Pending_Store Nack]      [M_Pending_Store Nack]     }
 E_Held              { [M_Pending Ask Downgrade]    [E_Held PutClnX]            [M_Pending_Store Ask Flush]        [M_Held Modify PutX]        [M_Pending_Load Ask Flush] }
 S_Clean             { [S_Clean Hold PutS]          [S_Clean PutS]              [S_Pending Ask InvalOthers]        [I_GetX Ask Drop GetX]      [S_Clean Hold PutS]        }
 S_Dirty_In_Node     { [S_Dirty_In_Node Hold PutS]  x                           [S_Pending_Owned Ask InvalOthers]  x                           x                          }
 S_Pending           { [S_Pending Nack]             [S_Pending Nack]            [S_Pending Nack]                   [S_Pending Nack]            [S_Pending Nack]           }
 S_Pending_Owned     { [S_Pending_Owned Nack]       x                           [S_Pending_Owned Nack]             x                           x                          }
 S_Inval             { [S_Inval Nack]               [S_Inval Nack]              [S_Inval Nack]                     [S_Inval Nack]              [S_Inval Nack]             }
 S_Evict             { [S_Evict Nack]               [S_Evict Nack]              [S_Evict Nack]                     [S_Evict Nack]              [S_Evict Nack]             }
 I                   { [I_Get Ask Get]              x                           [I_GetX Ask GetX]                  x                           [I_Get Ask Get]            }
 I_Get               { z                            x                           z                                  x                           z                          }
 I_Get_Retry         { z                            x                           z                                  x                           z                          }
 I_GetX              { z                            x                           z                                  x                           z                          }
 I_GetX_Retry        { z                            x                           z                                  x                           z                          }
 I_GetX_Acks         { z                            x                           z                                  x                           z                          }
 M_GetFwd            { [M_GetFwd Nack]              [M_GetFwd Nack]             [M_GetFwd Nack]                    [M_GetFwd Nack]             [M_GetFwd Nack]            }
 M_GetXFwd           { [M_GetXFwd Nack]             [M_GetXFwd Nack]            [M_GetXFwd Nack]                   [M_GetXFwd Nack]            [M_GetXFwd Nack]           }
 M_Flush             { [M_Flush Nack]               [M_Flush Nack]              [M_Flush Nack]                     [M_Flush Nack]              [M_Flush Nack]             }
 I_WB_Flush_Conflict { [I_WB_Flush_Conflict Nack]   [I_WB_Flush_Conflict Nack]  [I_WB_Flush_Conflict Nack]         [I_WB_Flush_Conflict Nack]  [I_WB_Flush_Conflict Nack] }
 I_WB_Writable       { [M_Held HoldAlone PutX]      x                           [M_Held HoldAlone PutX]            x                           [M_Held HoldAlone PutX]    }
 I_WB_Non_Writable   { z                            x                           z                                  x                           z                          };
 on(                   WriteBack                       Evict                           Drain                               Retry)
 M                   { x                               [I_WB_Writable]                 x                                   x             }
 M_Held              { [M Take Unhold Ack]             [I_WB_Flush_Conflict Flush]     x                                   x             }
 M_Pending           { [M_Pending Take Ack]            z                               x                                   x             }
 M_Pending_Load      { [M_Pending_Load Take Ack]       z                               x                                   x             }
 M_Pending_Store     { [M_Pending_Store Take Ack]      z                               x                                   x             }
 E_Held              { [M Take Unhold Ack]             [I_WB_Flush_Conflict Flush]     x                                   x             }
 S_Clean             { x                               [S_Evict InvalAll]              x                                   x             }
 S_Dirty_In_Node     { x                               [I_WB_Flush_Conflict InvalAll]  x                                   x             }
 S_Pending           { x                               z                               x                                   x             }
 S_Pending_Owned     { x                               z                               x                                   x             }
 S_Inval             { x                               z                               x                                   x             }
 S_Evict             { x                               z                               x                                   x             }
 I                   { x                               x                               x                                   x             }
 I_Get               { x                               z                               x                                   x             }
 I_Get_Retry         { x                               z                               x                                   [I_Get Get]   }
 I_GetX              { x                               z                               x                                   x             }
 I_GetX_Retry        { x                               z                               x                                   [I_GetX GetX] }
 I_GetX_Acks         { x                               z                               x                                   x             }
 M_GetFwd            { [M_GetFwd Take Ack]             z                               x                                   x             }
 M_GetXFwd           { [M_GetXFwd Take Ack]            z                               x                                   x             }
 M_Flush             { [M_Flush Take Ack]              z                               x                                   x             }
 I_WB_Flush_Conflict { [I_WB_Flush_Conflict Take Ack]  z                               x                                   x             }
 I_WB_Writable       { x                               x                               [I_WB_Non_Writable WriteBack Drop]  x             }
 I_WB_Non_Writable   { x                               z                               x                                   x             };
 on(                   PutS                              PutClnX                             PutX                                              PutX_N                        Nack)
 M                   { x                                 x                                   x                                                 x                             x              }
 M_Held              { x                                 x                                   x                                                 x                             x              }
 M_Pending           { x                                 x                                   x                                                 x                             x              }
 M_Pending_Load      { x                                 x                                   x                                                 x                             x              }
 M_Pending_Store     { x                                 x                                   x                                                 x                             x              }
 E_Held              { x                                 x                                   x                                                 x                             x              }
 S_Clean             { x                                 x                                   x                                                 x                             x              }
 S_Dirty_In_Node     { x                                 x                                   x                                                 x                             x              }
 S_Pending           { x                                 x                                   x                                                 x                             x              }
 S_Pending_Owned     { x                                 x                                   x                                                 x                             x              }
 S_Inval             { x                                 x                                   x                                                 x                             x              }
 S_Evict             { x                                 x                                   x                                                 x                             x              }
 I                   { x                                 x                                   x                                                 x                             x              }
 I_Get               { [S_Clean Fill HoldAsked AnswerS]  [E_Held Fill HoldAsked AnswerClnX]  [M_Held Fill Modify HoldAsked AnswerX]            x                             [I_Get_Retry]  }
 I_Get_Retry         { x                                 x                                   x                                                 x                             x              }
 I_GetX              { x                                 x                                   [M_Held AwaitAcks Fill Modify HoldAsked AnswerX]  [I_GetX_Acks AwaitAcks Fill]  [I_GetX_Retry] }
 I_GetX_Retry        { x                                 x                                   x                                                 x                             x              }
 I_GetX_Acks         { x                                 x                                   x                                                 x                             x              }
 M_GetFwd            { x                                 x                                   x                                                 x                             x              }
 M_GetXFwd           { x                                 x                                   x                                                 x                             x              }
 M_Flush             { x                                 x                                   x                                                 x                             x              }
 I_WB_Flush_Conflict { x                                 x                                   x                                                 x                             x              }
 I_WB_Writable       { x                                 x                                   x                                                 x                             x              }
 I_WB_Non_Writable   { x                                 x                                   x                                                 x                             x              };
 on(                   InvAck               InvAckLast                               WriteBackAck  Flushed                      FlushedClean                                  FlushedDirty)
 M                   { x                    x                                        x             x                            x                                             x                                                 }
 M_Held              { x                    x                                        x             x                            x                                             x                                                 }
 M_Pending           { x                    x                                        x             x                            [S_Dirty_In_Node Count HoldAsked AnswerS]     [S_Dirty_In_Node Count Take HoldAsked AnswerS]    }
 M_Pending_Load      { x                    x                                        x             x                            [E_Held Count HoldAskedAlone AnswerClnX]      [M_Held Count Take Modify HoldAskedAlone AnswerX] }
 M_Pending_Store     { x                    x                                        x             x                            [M_Held Count Modify HoldAskedAlone AnswerX]  [M_Held Count Take HoldAskedAlone AnswerX]        }
 E_Held              { x                    x                                        x             x                            x                                             x                                                 }
 S_Clean             { x                    x                                        x             x                            x                                             x                                                 }
 S_Dirty_In_Node     { x                    x                                        x             x                            x                                             x                                                 }
 S_Pending           { x                    x                                        x             [S_Pending Count]            [I_GetX Count Drop GetX]                      x                                                 }
 S_Pending_Owned     { x                    x                                        x             [S_Pending_Owned Count]      [M_Held Count Modify HoldAskedAlone AnswerX]  [M_Held Count HoldAskedAlone AnswerX]             }
 S_Inval             { x                    x                                        x             [S_Inval Count]              [I Count InvAck Drop]                         x                                                 }
 S_Evict             { x                    x                                        x             [S_Evict Count]              [I Count Drop]                                x                                                 }
 I                   { x                    x                                        x             x                            x                                             x                                                 }
 I_Get               { x                    x                                        x             x                            x                                             x                                                 }
 I_Get_Retry         { x                    x                                        x             x                            x                                             x                                                 }
 I_GetX              { [I_GetX Early]       x                                        x             x                            x                                             x                                                 }
 I_GetX_Retry        { x                    x                                        x             x                            x                                             x                                                 }
 I_GetX_Acks         { [I_GetX_Acks Count]  [M_Held Count Modify HoldAsked AnswerX]  x             x                            x                                             x                                                 }
 M_GetFwd            { x                    x                                        x             x                            [S_Clean Count FwdPutS FwdAck]                [S_Clean Count Take FwdPutS FwdAck Clean]         }
 M_GetXFwd           { x                    x                                        x             [M_GetXFwd Count]            [I Count FwdPutX FwdAckX Drop]                [I Count Take FwdPutX FwdAckX Drop]               }
 M_Flush             { x                    x                                        x             [M_Flush Count]              [I Count FlushedDown Drop]                    [I Count Take FlushedDown Drop]                   }
 I_WB_Flush_Conflict { x                    x                                        x             [I_WB_Flush_Conflict Count]  [I Count Drop]                                [I_WB_Writable Count Take Unhold]                 }
 I_WB_Writable       { x                    x                                        x             x                            x                                             x                                                 }
 I_WB_Non_Writable   { x                    x                                        [I Count]     x                            x                                             x                                                 };
 on(                   Inval                    GetFwd                          GetXFwd                    CoreFlush)
 M                   { x                        [I FwdPutS FwdAck Drop]         [I FwdPutX FwdAckX Drop]   [I FlushedDown Drop]       }
 M_Held              { x                        [M_GetFwd Join Downgrade]       [M_GetXFwd Join Flush]     [M_Flush Flush]            }
 M_Pending           { x                        z                               z                          z                          }
 M_Pending_Load      { x                        z                               z                          z                          }
 M_Pending_Store     { x                        z                               z                          z                          }
 E_Held              { x                        [M_GetFwd Join Downgrade]       [M_GetXFwd Join Flush]     [M_Flush Flush]            }
 S_Clean             { [S_Inval Join InvalAll]  x                               x                          x                          }
 S_Dirty_In_Node     { x                        [S_Clean FwdPutS FwdAck Clean]  [M_GetXFwd Join InvalAll]  [M_Flush InvalAll]         }
 S_Pending           { z                        x                               x                          x                          }
 S_Pending_Owned     { x                        z                               z                          z                          }
 S_Inval             { x                        x                               x                          x                          }
 S_Evict             { z                        x                               x                          x                          }
 I                   { [I InvAck]               [I FwdNack]                     [I FwdNackX]               [I FlushedDown]            }
 I_Get               { z                        z                               z                          z                          }
 I_Get_Retry         { [I_Get_Retry InvAck]     [I_Get_Retry FwdNack]           [I_Get_Retry FwdNackX]     [I_Get_Retry FlushedDown]  }
 I_GetX              { z                        z                               z                          z                          }
 I_GetX_Retry        { [I_GetX_Retry InvAck]    [I_GetX_Retry FwdNack]          [I_GetX_Retry FwdNackX]    [I_GetX_Retry FlushedDown] }
 I_GetX_Acks         { x                        z                               z                          z                          }
 M_GetFwd            { x                        x                               x                          x                          }
 M_GetXFwd           { x                        x                               x                          x                          }
 M_Flush             { x                        x                               x                          x                          }
 I_WB_Flush_Conflict { x                        z                               z                          z                          }
 I_WB_Writable       { x                        [I FwdPutS FwdAck Drop]         [I FwdPutX FwdAckX Drop]   [I FlushedDown Drop]       }
 I_WB_Non_Writable   { x                        z                               z                          z                          }
}

/// The controller of table [`gpu_l2`].
pub struct GpuL2 {
    /// Whether loads ask for a shared copy, as instruction fetches do, so that the first write to each line is a
    /// request. A forward-backward table below sees all writes by that.
    shares: bool,
    /// Whether a line that the GPU may write is held by one vector cache at a time, also while they only read it.
    alone: bool,
}

impl GpuL2 {
    pub const SHARING: Self = Self { shares: false, alone: false };
    pub const ALONE: Self = Self { shares: false, alone: true };
    /// The second-level cache above a forward-backward table.
    pub const READING: Self = Self { shares: true, alone: false };
}

impl<const N: usize> Controller<N> for GpuL2 {
    fn table(&self) -> &'static Table {
        &gpu_l2::TABLE
    }

    fn classify(&self, place: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let owner = || line.sharers == place.sharer(msg.from);
        let event = match msg.kind {
            Kind::Get if owner() => Event::LoadOwner,
            Kind::Get if self.alone => Event::LoadAlone,
            Kind::Get => Event::Load,
            Kind::GetX if owner() => Event::StoreOwner,
            Kind::GetX => Event::Store,
            Kind::WriteBack => Event::WriteBack,
            Kind::Evict => Event::Evict,
            Kind::Drain => Event::Drain,
            Kind::Retry => Event::Retry,
            Kind::PutS => Event::PutS,
            Kind::PutClnX => Event::PutClnX,
            Kind::PutX if msg.acks > line.early => Event::PutX_N,
            Kind::PutX => Event::PutX,
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
        actions::takes_room(&gpu_l2::TABLE, state)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        let (whole, empty) = (line.data.is_full(), line.is_empty());
        let (clean, dirty) = (!line.is_dirty(), line.dirty == Mask::first(N));
        let (held, joined) = (line.sharers.len(), line.join.is_some());
        let waits = |right: bool| right && !joined && line.acks > 0;
        let rests = |right: bool| right && !joined && line.acks == 0;
        let serves = |right: bool| right && joined && line.acks > 0;
        let owned = whole && held > 0 && (clean || dirty);
        use State::*;
        let (right, asked) = match State::ALL[line.state as usize] {
            M | I_WB_Writable => (rests(whole && dirty && held == 0), false),
            M_Held => (rests(whole && dirty && held == 1), false),
            E_Held => (rests(whole && clean && held == 1), false),
            M_Pending | M_Pending_Load | M_Pending_Store => (waits(owned && held == 1), true),
            S_Clean => (rests(whole && clean && held > 0), false),
            S_Dirty_In_Node => (rests(owned), false),
            S_Pending => (waits(whole && clean && held > 0), true),
            S_Pending_Owned => (waits(owned), true),
            S_Inval => (serves(whole && clean && held > 0), false),
            S_Evict => (waits(whole && clean && held > 0), false),
            I => (rests(empty && clean && held == 0), false),
            I_Get | I_Get_Retry | I_GetX | I_GetX_Retry => (rests(empty && clean && held == 0), true),
            I_GetX_Acks => (waits(whole && clean && held == 0), true),
            M_GetFwd => (serves(owned && held == 1), false),
            M_GetXFwd => (serves(owned), false),
            M_Flush | I_WB_Flush_Conflict => (waits(owned), false),
            I_WB_Non_Writable => (waits(empty && clean && held == 0), false),
        };
        let early = State::ALL[line.state as usize] == I_GetX || line.early == 0;
        right && early && line.is_asked() == asked
    }

    fn access(&self, line: &Line<N>) -> Access {
        use State::*;
        match State::ALL[line.state as usize] {
            S_Clean | S_Pending | S_Inval | S_Evict => Access::Read,
            I | I_Get | I_Get_Retry | I_GetX | I_GetX_Retry | I_GetX_Acks | I_WB_Non_Writable => Access::None,
            _ => Access::Write,
        }
    }

    fn granted(&self, _: Place<'_>, line: &Line<N>) -> Option<Granted> {
        use State::*;
        let writes = match State::ALL[line.state as usize] {
            S_Dirty_In_Node | S_Pending_Owned => false,
            _ => self.access(line) == Access::Write,
        };
        Some(Granted { readers: line.sharers, writers: if writes { line.sharers } else { Sharers::NONE } })
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        let (me, from, below) = (work.place.me, work.msg.from, work.place.below);
        match Action::ALL[action as usize] {
            Action::Hold => actions::hold(work),
            Action::HoldAlone => actions::hold_alone(work),
            Action::HoldAsked => return actions::hold_asked(work),
            Action::HoldAskedAlone => return actions::hold_asked_alone(work),
            Action::Unhold => work.line.sharers = Sharers::NONE,
            Action::PutS => work.send(from, Kind::PutS, work.line.data),
            Action::PutClnX => work.send(from, Kind::PutClnX, work.line.data),
            Action::PutX => work.send(from, Kind::PutX, work.line.data),
            Action::Nack => work.send(from, Kind::Nack, Block::EMPTY),
            Action::Ask => common::ask(work),
            Action::AnswerS => return common::answer(work, Kind::PutS),
            Action::AnswerClnX => return common::answer(work, Kind::PutClnX),
            Action::AnswerX => return common::answer(work, Kind::PutX),
            Action::Modify => actions::modify(work),
            Action::Take => actions::take(work),
            Action::Ack => work.send(from, Kind::WriteBackAck, Block::EMPTY),
            Action::Get => actions::request(work, if self.shares { Kind::GetS } else { Kind::Get }),
            Action::GetX => actions::request(work, Kind::GetX),
            Action::Fill => common::fill(work),
            Action::AwaitAcks => return actions::await_acks(work),
            Action::Early => actions::early(work),
            Action::Count => return actions::count(work),
            Action::InvalOthers => actions::tell(work, actions::others(work), Kind::Inval, me),
            Action::InvalAll => actions::tell(work, work.line.sharers, Kind::Inval, me),
            Action::Flush => actions::tell(work, work.line.sharers, Kind::CoreFlush, me),
            Action::Downgrade => actions::tell(work, work.line.sharers, Kind::Downgrade, me),
            Action::Join => actions::join(work),
            Action::InvAck => return actions::acknowledge_invalidation(work),
            Action::FwdPutS => return actions::forward(work, Kind::PutS),
            Action::FwdPutX => return actions::forward(work, Kind::PutX),
            Action::FwdAck => work.send(below, Kind::FwdAck, actions::changed(work)),
            Action::FwdAckX => work.send(below, Kind::FwdAckX, Block::EMPTY),
            Action::FwdNack => work.send(below, Kind::FwdNack, Block::EMPTY),
            Action::FwdNackX => work.send(below, Kind::FwdNackX, Block::EMPTY),
            Action::FlushedDown => work.send(below, Kind::Flushed, actions::changed(work)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Log, Node, Roster, Step, step};
    use mem::LineAddr;

    /// No checked system has a GPU with three vector caches beside a core, so this test covers the case.
    #[test]
    fn a_store_waits_for_every_vector_cache_that_shares_the_line() {
        let place = Place { me: Node(3), below: Node(4), above: &Roster::row(Node(0), 3) };
        let mut line = Line {
            data: Block::full([1, 1]),
            sharers: [0, 1, 2].map(Sharers::one).into_iter().fold(Sharers::NONE, Sharers::or),
            ..Line::new(State::S_Clean as u8)
        };
        let mut log = Log::new(&gpu_l2::TABLE, 0);
        let mut meets = |line: &mut Line<2>, from, kind| {
            let msg = Msg::new(Node(from), place.me, kind, LineAddr(0), Block::EMPTY);
            match step(&GpuL2::SHARING, &gpu_l2::TABLE, place, line, &msg, &mut log).unwrap() {
                Step::Sends(sends) => sends.into_iter().map(|send| (send.to, send.kind)).collect(),
                Step::Stall => panic!("{kind:?} has to wait"),
            }
        };
        let told: Vec<_> = meets(&mut line, 1, Kind::GetX);
        assert_eq!(told, [(Node(0), Kind::Inval), (Node(2), Kind::Inval)]);
        assert_eq!(meets(&mut line, 0, Kind::Flushed), []);
        assert_eq!(State::ALL[line.state as usize], State::S_Pending);
        assert_eq!(meets(&mut line, 2, Kind::Flushed), [(Node(4), Kind::GetX)]);
        assert_eq!(State::ALL[line.state as usize], State::I_GetX);
    }

    #[test]
    fn a_load_takes_the_line_from_its_holder_where_one_vector_cache_holds_it_at_a_time() {
        let place = Place { me: Node(3), below: Node(4), above: &Roster::row(Node(0), 3) };
        for (controller, asked, given) in [
            (GpuL2::SHARING, Kind::Downgrade, (Kind::PutS, State::S_Dirty_In_Node)),
            (GpuL2::ALONE, Kind::CoreFlush, (Kind::PutClnX, State::E_Held)),
        ] {
            let sharers = Sharers::one(0);
            let mut line = Line { data: Block::full([1, 1]), sharers, ..Line::new(State::E_Held as u8) };
            let mut log = Log::new(&gpu_l2::TABLE, 0);
            let mut meets = |from, kind| {
                let msg = Msg::new(Node(from), place.me, kind, LineAddr(0), Block::EMPTY);
                match step(&controller, &gpu_l2::TABLE, place, &mut line, &msg, &mut log).unwrap() {
                    Step::Sends(sends) => sends.into_iter().map(|send| (send.to, send.kind)).collect::<Vec<_>>(),
                    Step::Stall => panic!("{kind:?} has to wait"),
                }
            };
            assert_eq!(meets(1, Kind::Get), [(Node(0), asked)]);
            assert_eq!(meets(0, Kind::Flushed), [(Node(1), given.0)]);
            assert_eq!(State::ALL[line.state as usize], given.1);
        }
    }
}
