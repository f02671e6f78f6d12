//! G-TSC's caches: write-through, with a lease for each line and no clock of their own.
//!
//! A request carries the time of its compute unit, and an answer the time at which the access took place. `R` waits
//! for a line, `X` for a later lease of a line that it holds. `L` and `W` are locked until a write has been given its
//! time: `L` without the line, `W` with it. While a line waits, its `cts` holds a time from the request: in the
//! first-level cache the compute unit's time, in the second-level cache the `wts` of the copy above.

use crate::{Block, Controller, Kind, Line, Msg, Place, Stamp, Stamps, Table, Work, common, protocol};
use mem::Scope;

protocol! {
 /// `Dead`: the line is not held, or its lease ends before the compute unit's time, or the load's scope is wider than
 /// this cache. `Same`: no other node has written the line since the copy held here.
 gtsc_l1 actions(Ask Fetch Through Fill Replace Stamp Answer Stored Hit Merge Drop Anew Done Pass Told)
 on( LoadLive   LoadDead       Store            Evict     Invalidate     Flush     Reset          )
 I { x          [R Ask Fetch]  [L Ask Through]  x         [I Done]       [I Done]  [I Done]       }
 V { [V Hit]    [X Ask Fetch]  [W Ask Through]  [I Drop]  [I Drop Done]  [V Done]  [I Anew Done]  }
 R { x          z              z                z         z              z         [R Anew Done]  }
 X { z          z              z                z         z              z         [R Anew Done]  }
 L { x          z              z                z         z              z         [L Anew Done]  }
 W { z          z              z                z         z              z         [L Anew Done]  };
 on( Data                       Renewed            WrittenSame              Written          )
 I { x                          x                  x                        x                }
 V { x                          x                  x                        x                }
 R { [V Fill Stamp Answer]      x                  x                        x                }
 X { [V Replace Stamp Answer]   [V Stamp Answer]   x                        x                }
 L { x                          x                  x                        [I Stored]       }
 W { x                          x                  [V Merge Stamp Stored]   [I Drop Stored]  };
 on( Modify         Modified      )
 I { [I Pass]       [I Told]      }
 V { [I Drop Pass]  [I Drop Told] }
 R { z              z             }
 X { z              z             }
 L { z              z             }
 W { z              z             }
}

protocol! {
 /// A second-level cache where memory is the home of lines: it reads on leases, as the caches above it do. `Same`:
 /// the copy above is the one held here. `Known`: what comes from below is the copy above.
 gtsc_l2 actions(Ask Fetch Through Fill Replace Stamp Answer AnswerKnown AnswerWrite Reply Renew Merge Drop Anew Done Pass HandUp)
 on( ReadSame   ReadLive   ReadDead       Write            Evict     Invalidate     Flush     Reset          )
 I { x          x          [R Ask Fetch]  [L Ask Through]  x         [I Done]       [I Done]  [I Done]       }
 V { [V Renew]  [V Reply]  [X Ask Fetch]  [W Ask Through]  [I Drop]  [I Drop Done]  [V Done]  [I Anew Done]  }
 R { x          x          z              z                z         z              z         [R Anew Done]  }
 X { z          z          z              z                z         z              z         [R Anew Done]  }
 L { x          x          z              z                z         z              z         [L Anew Done]  }
 W { z          z          z              z                z         z              z         [L Anew Done]  };
 on( Data                       DataKnown                  Renewed           RenewedKnown           WrittenSame                   Written               )
 I { x                          x                          x                 x                      x                             x                     }
 V { x                          x                          x                 x                      x                             x                     }
 R { [V Fill Stamp Answer]      [V Fill Stamp AnswerKnown] x                 x                      x                             x                     }
 X { [V Replace Stamp Answer]   x                          [V Stamp Answer]  [V Stamp AnswerKnown]  x                             x                     }
 L { x                          x                          x                 x                      x                             [I AnswerWrite]       }
 W { x                          x                          x                 x                      [V Merge Stamp AnswerWrite]   [I Drop AnswerWrite]  };
 on( Modify         Modified        )
 I { [I Pass]       [I HandUp]      }
 V { [I Drop Pass]  [I Drop HandUp] }
 R { z              z               }
 X { z              z               }
 L { z              z               }
 W { z              z               }
}

/// Whether a line may be read at a compute unit's time.
fn is_live<const N: usize>(line: &Line<N>, msg: &Msg<N>) -> bool {
    !line.is_empty() && msg.stamps.cts <= line.stamps.rts
}

/// Records the requester and the time it brought.
fn ask<const N: usize>(work: &mut Work<'_, N>, brought: Stamp) {
    common::ask(work);
    work.line.stamps.cts = brought;
}

/// Requests a line from below, or a later lease of the held copy.
fn fetch<const N: usize>(work: &mut Work<'_, N>) {
    let stamps = Stamps { wts: work.line.stamps.wts, rts: 0, cts: work.msg.stamps.cts };
    work.send_stamped(work.place.below, Kind::Read, Block::EMPTY, stamps);
}

fn through<const N: usize>(work: &mut Work<'_, N>) {
    let stamps = Stamps::now(work.msg.stamps.cts);
    work.send_stamped(work.place.below, Kind::Write, work.msg.data, stamps);
}

/// Takes the lease from the answer.
fn stamp<const N: usize>(work: &mut Work<'_, N>) {
    let Stamps { wts, rts, .. } = work.msg.stamps;
    work.line.stamps = Stamps { wts, rts, ..work.line.stamps };
}

/// Drops the bytes and their lease; the waiting requester stays recorded.
fn drop_line<const N: usize>(work: &mut Work<'_, N>) {
    common::drop_data(work);
    work.line.stamps = Stamps::now(work.line.stamps.cts);
}

/// Answers the waiting requester.
fn answer<const N: usize>(
    work: &mut Work<'_, N>,
    kind: Kind,
    data: Block<N>,
    stamps: Stamps,
) -> Result<(), &'static str> {
    let to = work.line.asked.take().ok_or("has no requester to answer")?;
    work.line.stamps.cts = 0;
    work.send_stamped(to, kind, data, stamps);
    Ok(())
}

/// The lease on which a line is held, without the time that the requester brought.
fn lease<const N: usize>(line: &Line<N>) -> Stamps {
    Stamps { cts: 0, ..line.stamps }
}

/// The lease, and as `cts` the time of an access, which is not before the line was written.
fn at<const N: usize>(line: &Line<N>, time: Stamp, wts: Stamp) -> Stamps {
    Stamps { cts: time.max(wts), ..line.stamps }
}

fn fits<const N: usize>(line: &Line<N>, held: bool, asked: bool) -> bool {
    let bytes =
        if held { line.data.is_full() } else { line.is_empty() && line.stamps.wts == 0 && line.stamps.rts == 0 };
    bytes && line.is_asked() == asked && (asked || line.stamps.cts == 0)
}

/// The controller of table [`gtsc_l1`].
pub struct GtscL1;

impl<const N: usize> Controller<N> for GtscL1 {
    fn table(&self) -> &'static Table {
        &gtsc_l1::TABLE
    }

    fn classify(&self, _: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        use gtsc_l1::Event;
        let event = match msg.kind {
            Kind::Load if is_live(line, msg) && msg.scope == Scope::Group => Event::LoadLive,
            Kind::Load => Event::LoadDead,
            Kind::Store => Event::Store,
            Kind::Evict => Event::Evict,
            Kind::Invalidate => Event::Invalidate,
            Kind::Flush => Event::Flush,
            Kind::Reset => Event::Reset,
            Kind::Data => Event::Data,
            Kind::Renewed => Event::Renewed,
            Kind::Ack if msg.stamps.cts == line.stamps.wts => Event::WrittenSame,
            Kind::Ack => Event::Written,
            Kind::Modify => Event::Modify,
            Kind::Modified => Event::Modified,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        use gtsc_l1::State;
        match State::ALL[line.state as usize] {
            State::I => fits(line, false, false),
            State::V => fits(line, true, false),
            State::R | State::L => fits(line, false, true),
            State::X | State::W => fits(line, true, true),
        }
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        use gtsc_l1::Action;
        let time = work.line.stamps.cts;
        match Action::ALL[action as usize] {
            Action::Ask => ask(work, work.msg.stamps.cts),
            Action::Fetch => fetch(work),
            Action::Through => through(work),
            Action::Fill => common::fill(work),
            Action::Replace => work.line.data = work.msg.data,
            Action::Stamp => stamp(work),
            Action::Answer => {
                let stamps = at(work.line, time, work.line.stamps.wts);
                return answer(work, Kind::Loaded, work.line.data, stamps);
            }
            Action::Stored => {
                let stamps = at(work.line, time, work.msg.stamps.wts);
                return answer(work, Kind::Stored, Block::EMPTY, stamps);
            }
            Action::Hit => {
                let stamps = at(work.line, work.msg.stamps.cts, work.line.stamps.wts);
                work.send_stamped(work.msg.from, Kind::Loaded, work.line.data, stamps);
            }
            Action::Merge => work.line.data.write(&work.msg.data),
            Action::Drop => drop_line(work),
            Action::Anew => {
                drop_line(work);
                work.line.stamps = Stamps::ZERO;
            }
            Action::Done => work.send(work.msg.from, Kind::Done, Block::EMPTY),
            Action::Pass => common::pass_on(work, None),
            Action::Told => common::told_above(work),
        }
        Ok(())
    }
}

/// The controller of table [`gtsc_l2`].
pub struct GtscL2;

impl<const N: usize> Controller<N> for GtscL2 {
    fn table(&self) -> &'static Table {
        &gtsc_l2::TABLE
    }

    fn classify(&self, _: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        use gtsc_l2::Event;
        let live = is_live(line, msg) && msg.scope < Scope::System;
        let known = line.stamps.cts == msg.stamps.wts;
        let event = match msg.kind {
            Kind::Read if live && msg.stamps.wts == line.stamps.wts => Event::ReadSame,
            Kind::Read if live => Event::ReadLive,
            Kind::Read => Event::ReadDead,
            Kind::Write => Event::Write,
            Kind::Evict => Event::Evict,
            Kind::Invalidate => Event::Invalidate,
            Kind::Flush => Event::Flush,
            Kind::Reset => Event::Reset,
            Kind::Data if known => Event::DataKnown,
            Kind::Data => Event::Data,
            Kind::Renewed if known => Event::RenewedKnown,
            Kind::Renewed => Event::Renewed,
            Kind::Ack if msg.stamps.cts == line.stamps.wts => Event::WrittenSame,
            Kind::Ack => Event::Written,
            Kind::Modify => Event::Modify,
            Kind::Modified => Event::Modified,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        use gtsc_l2::State;
        match State::ALL[line.state as usize] {
            State::I => fits(line, false, false),
            State::V => fits(line, true, false),
            State::R | State::L => fits(line, false, true),
            State::X | State::W => fits(line, true, true),
        }
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        use gtsc_l2::Action;
        match Action::ALL[action as usize] {
            Action::Ask => ask(work, work.msg.stamps.wts),
            Action::Fetch => fetch(work),
            Action::Through => through(work),
            Action::Fill => common::fill(work),
            Action::Replace => work.line.data = work.msg.data,
            Action::Stamp => stamp(work),
            Action::Answer => return answer(work, Kind::Data, work.line.data, lease(work.line)),
            Action::AnswerKnown => return answer(work, Kind::Renewed, Block::EMPTY, lease(work.line)),
            Action::AnswerWrite => return answer(work, Kind::Ack, work.msg.data, work.msg.stamps),
            Action::Reply => work.send_stamped(work.msg.from, Kind::Data, work.line.data, lease(work.line)),
            Action::Renew => work.send_stamped(work.msg.from, Kind::Renewed, Block::EMPTY, lease(work.line)),
            Action::Merge => work.line.data.write(&work.msg.data),
            Action::Drop => drop_line(work),
            Action::Anew => {
                drop_line(work);
                work.line.stamps = Stamps::ZERO;
            }
            Action::Done => work.send(work.msg.from, Kind::Done, Block::EMPTY),
            Action::Pass => common::pass_on(work, Some(work.msg.from)),
            Action::HandUp => return common::hand_up(work),
        }
        Ok(())
    }
}
