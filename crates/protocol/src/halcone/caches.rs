//! HALCONE's first- and second-level caches: write-through, a lease for each line, one time for the whole cache.
//!
//! `R` waits for the answer to a read; `L` is locked until the answer to a write has arrived. Both answers bring the
//! whole line, because the cached copy may lack bytes that other nodes have written since. A locked first-level cache
//! stalls further stores, so each has at most one write to a line in flight. Writes of several first-level caches are
//! not ordered, so a second-level cache passes them on without waiting for each other's answers. Atomic accesses are
//! passed to memory; a copy fetched since is dropped when their answers come. These answers do not raise a cache's
//! time: otherwise each poll of a word would end all leases.

use crate::{Block, Controller, Kind, Line, Msg, Place, Stamps, Table, Work, common, protocol};
use mem::Scope;

protocol! {
 /// Algorithms 1 and 4. `Dead`: the line is not held, or its lease has ended, or the load's scope is wider than this
 /// cache. An acquire with a time raises the cache's time (`Acquire`); one without a time invalidates the line
 /// (`Forget`).
 halcone_l1 actions(Ask Fetch Through Fill Stamp Answer Stored Hit Drop Raise Restart Done Pass Told)
 on( LoadLive   LoadDead            Store                 Evict     Acquire         Forget         Flush     Reset                  Data                    Written                )
 I { x          [R Ask Fetch]       [L Ask Through]       x         [I Raise Done]  [I Done]       [I Done]  [I Restart Done]       x                       x                      }
 V { [V Hit]    [R Drop Ask Fetch]  [L Drop Ask Through]  [I Drop]  [V Raise Done]  [I Drop Done]  [V Done]  [I Drop Restart Done]  x                       x                      }
 R { x          z                   z                     z         z               z              z         [R Restart Done]       [V Fill Stamp Answer]   x                      }
 L { x          z                   z                     z         z               z              z         [L Restart Done]       x                       [V Fill Stamp Stored]  };
 on( Modify         Modified      )
 I { [I Pass]       [I Told]      }
 V { [I Drop Pass]  [I Drop Told] }
 R { z              z             }
 L { z              z             }
}

protocol! {
 /// Algorithms 2 and 5. `More`: other writes to the line are in flight.
 halcone_l2 actions(Ask Fetch Through Fill Stamp Along Answer AnswerWrite Reply Drop Raise Restart Done Pass HandUp)
 on( ReadLive    ReadDead            Write             Evict     Acquire         Forget         Flush     Reset                  Data                    WrittenMore             Written                            )
 I { x           [R Ask Fetch]       [L Through]       x         [I Raise Done]  [I Done]       [I Done]  [I Restart Done]       x                       x                       x                                  }
 V { [V Reply]   [R Drop Ask Fetch]  [L Drop Through]  [I Drop]  [V Raise Done]  [I Drop Done]  [V Done]  [I Drop Restart Done]  x                       x                       x                                  }
 R { x           z                   z                 z         z               z              z         [R Restart Done]       [V Fill Stamp Answer]   x                       x                                  }
 L { x           z                   [L Through]       z         z               z              z         [L Restart Done]       x                       [L Along AnswerWrite]   [V Fill Stamp AnswerWrite]         };
 on( Modify         Modified        )
 I { [I Pass]       [I HandUp]      }
 V { [I Drop Pass]  [I Drop HandUp] }
 R { z              z               }
 L { z              z               }
}

fn is_live<const N: usize>(line: &Line<N>) -> bool {
    !line.is_empty() && line.stamps.is_live()
}

/// Takes the lease from the answer, and advances the cache's time at least to the time of writing.
fn stamp<const N: usize>(work: &mut Work<'_, N>) {
    let Stamps { wts, rts, .. } = work.msg.stamps;
    let now = work.line.stamps.cts.max(wts);
    work.line.stamps = Stamps { wts, rts: rts.max(wts.saturating_add(1)), cts: now };
}

/// Drops the bytes and their lease.
fn drop_line<const N: usize>(work: &mut Work<'_, N>) {
    common::drop_data(work);
    work.line.stamps = Stamps::now(work.line.stamps.cts);
}

/// Raises the cache's time to that of the message.
fn raise<const N: usize>(work: &mut Work<'_, N>) {
    work.line.stamps.cts = work.line.stamps.cts.max(work.msg.stamps.cts);
}

/// The timestamps for a cache above: the lease, without this cache's own time. The receiver may read up to `wts + 1`
/// in any case (see [`stamp`]), so `wts` is limited to `rts - 1`.
fn lease(Stamps { wts, rts, .. }: Stamps) -> Stamps {
    Stamps { wts: wts.min(rts.saturating_sub(1)), rts, cts: 0 }
}

/// Sends the answer to a write, with the whole line and its lease, to the first-level cache that wrote.
fn answer_write<const N: usize>(work: &mut Work<'_, N>) -> Result<(), &'static str> {
    let to = work.msg.of.ok_or("has no requester to answer")?;
    work.line.acks = work.line.acks.checked_sub(1).ok_or("awaits no answer to a write")?;
    let Stamps { wts, rts, .. } = work.msg.stamps;
    let granted = Stamps { wts, rts: rts.max(wts.saturating_add(1)), cts: 0 };
    work.send_stamped(to, Kind::Ack, work.msg.data, lease(granted));
    Ok(())
}

fn answer<const N: usize>(
    work: &mut Work<'_, N>,
    kind: Kind,
    data: Block<N>,
    stamps: Stamps,
) -> Result<(), &'static str> {
    let to = work.line.asked.take().ok_or("has no requester to answer")?;
    work.send_stamped(to, kind, data, stamps);
    Ok(())
}

/// A lease that has ended does not matter any more.
fn essence<const N: usize>(line: &Line<N>) -> Line<N> {
    let stamps = if line.stamps.is_live() { line.stamps } else { Stamps::now(line.stamps.cts) };
    Line { stamps, ..*line }
}

fn fits<const N: usize>(line: &Line<N>, valid: bool, asked: bool) -> bool {
    let held = if valid { line.data.is_full() } else { line.is_empty() && line.stamps == Stamps::now(line.stamps.cts) };
    held && line.is_asked() == asked
}

/// The controller of table [`halcone_l1`].
pub struct HalconeL1;

impl<const N: usize> Controller<N> for HalconeL1 {
    fn table(&self) -> &'static Table {
        &halcone_l1::TABLE
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn classify(&self, _: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        use halcone_l1::Event;
        let event = match msg.kind {
            Kind::Load if is_live(line) && msg.scope == Scope::Group => Event::LoadLive,
            Kind::Load => Event::LoadDead,
            Kind::Store => Event::Store,
            Kind::Evict => Event::Evict,
            Kind::Invalidate if msg.stamps.cts > 0 => Event::Acquire,
            Kind::Invalidate => Event::Forget,
            Kind::Flush => Event::Flush,
            Kind::Reset => Event::Reset,
            Kind::Data => Event::Data,
            Kind::Ack => Event::Written,
            Kind::Modify => Event::Modify,
            Kind::Modified => Event::Modified,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        use halcone_l1::State;
        match State::ALL[line.state as usize] {
            State::I => fits(line, false, false),
            State::V => fits(line, true, false),
            State::R | State::L => fits(line, false, true),
        }
    }

    fn essence(&self, line: &Line<N>) -> Line<N> {
        // The requester does not use the time of writing.
        let line = essence(line);
        Line { stamps: Stamps { wts: 0, ..line.stamps }, ..line }
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        use halcone_l1::Action;
        match Action::ALL[action as usize] {
            Action::Ask => common::ask(work),
            Action::Fetch => work.send(work.place.below, Kind::Read, Block::EMPTY),
            Action::Through => work.send(work.place.below, Kind::Write, work.msg.data),
            Action::Fill => common::fill(work),
            Action::Stamp => stamp(work),
            Action::Answer => return answer(work, Kind::Loaded, work.line.data, work.line.stamps),
            Action::Stored => return answer(work, Kind::Stored, Block::EMPTY, work.line.stamps),
            Action::Hit => work.send_stamped(work.msg.from, Kind::Loaded, work.line.data, work.line.stamps),
            Action::Drop => drop_line(work),
            Action::Raise => raise(work),
            Action::Restart => work.line.stamps = Stamps::ZERO,
            Action::Done => work.send(work.msg.from, Kind::Done, Block::EMPTY),
            Action::Pass => common::pass_on(work, None),
            Action::Told => common::told_above(work),
        }
        Ok(())
    }
}

/// The controller of table [`halcone_l2`].
pub struct HalconeL2;

impl<const N: usize> Controller<N> for HalconeL2 {
    fn table(&self) -> &'static Table {
        &halcone_l2::TABLE
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn tells_evictions(&self) -> bool {
        true
    }

    fn classify(&self, _: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        use halcone_l2::Event;
        let event = match msg.kind {
            Kind::Read if is_live(line) && msg.scope < Scope::System => Event::ReadLive,
            Kind::Read => Event::ReadDead,
            Kind::Write => Event::Write,
            Kind::Evict => Event::Evict,
            Kind::Invalidate if msg.stamps.cts > 0 => Event::Acquire,
            Kind::Invalidate => Event::Forget,
            Kind::Flush => Event::Flush,
            Kind::Reset => Event::Reset,
            Kind::Data => Event::Data,
            Kind::Ack if line.acks > 1 => Event::WrittenMore,
            Kind::Ack => Event::Written,
            Kind::Modify => Event::Modify,
            Kind::Modified => Event::Modified,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        use halcone_l2::State;
        let state = State::ALL[line.state as usize];
        (line.acks > 0) == (state == State::L) && fits(line, state == State::V, state == State::R)
    }

    fn essence(&self, line: &Line<N>) -> Line<N> {
        essence(line)
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        use halcone_l2::Action;
        match Action::ALL[action as usize] {
            Action::Ask => common::ask(work),
            Action::Fetch => work.send(work.place.below, Kind::Read, Block::EMPTY),
            Action::Through => {
                work.line.acks += 1;
                work.send_for(work.place.below, Kind::Write, work.msg.data, Some(work.msg.from), 0);
            }
            Action::Fill => common::fill(work),
            Action::Stamp => stamp(work),
            Action::Along => work.line.stamps.cts = work.line.stamps.cts.max(work.msg.stamps.wts),
            Action::Answer => return answer(work, Kind::Data, work.line.data, lease(work.line.stamps)),
            Action::AnswerWrite => return answer_write(work),
            Action::Reply => work.send_stamped(work.msg.from, Kind::Data, work.line.data, lease(work.line.stamps)),
            Action::Drop => drop_line(work),
            Action::Raise => raise(work),
            Action::Restart => work.line.stamps = Stamps::ZERO,
            Action::Done => work.send(work.msg.from, Kind::Done, Block::EMPTY),
            Action::Pass => common::pass_on(work, Some(work.msg.from)),
            Action::HandUp => return common::hand_up(work),
        }
        Ok(())
    }
}
