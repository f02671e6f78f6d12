//! Memory as the home of lines in G-TSC, for several GPUs: every line of memory has timestamps.
//!
//! Time starts at 1: a request with a `wts` of 0 says that the requester holds no copy.

use crate::{Block, Controller, FIRST, Kind, Line, Msg, Place, Stamp, Stamps, Table, Work, common, protocol};
use gtsc_memory::{Action, Event, State};

protocol! {
 /// `Same`: the reader holds the current version. `Over`: the lease would end after the last time that can be
 /// represented, so logical time has to restart first.
 gtsc_memory actions(Lease Reply Renew Take Perform Restart Done Found)
 on(    Read                ReadSame            Write                ReadOver  WriteOver  Reset                )
 Here { [Here Lease Reply]  [Here Lease Renew]  [Here Take Perform]  z         z          [Here Restart Done]  };
 on(    Modify             )
 Here { [Here Found Take]  }
}

/// The controller of table [`gtsc_memory`].
pub struct GtscMemory {
    pub lease: Stamp,
    /// The last time that can be represented.
    pub last: Stamp,
}

impl GtscMemory {
    /// 16-bit times, and for reads and writes a lease of 10, which is HALCONE's read lease.
    pub const PAPER: Self = Self { lease: 10, last: u16::MAX as Stamp };
}

/// The end of the lease for a reader at this time.
pub(super) fn read_until(stamps: Stamps, time: Stamp, lease: Stamp) -> Stamp {
    stamps.rts.max(time.max(FIRST).saturating_add(lease))
}

/// When a write requested at this time takes place: after every lease.
pub(super) fn written_at(stamps: Stamps, time: Stamp) -> Stamp {
    stamps.rts.max(FIRST).saturating_add(1).max(time)
}

/// Gives a write its time and acknowledges it. The answer carries its time, the end of its lease and, as `cts`, the
/// version it was written over.
pub(super) fn perform<const N: usize>(work: &mut Work<'_, N>, lease: Stamp) {
    let told = give_time(work, lease);
    work.send_stamped(work.msg.from, Kind::Ack, work.msg.data, told);
}

/// Gives a write its time; returns the timestamps for its answer.
pub(super) fn give_time<const N: usize>(work: &mut Work<'_, N>, lease: Stamp) -> Stamps {
    let stamps = work.line.stamps;
    let wts = written_at(stamps, work.msg.stamps.cts);
    let rts = wts + lease;
    work.line.stamps = Stamps { wts, rts, ..stamps };
    Stamps { wts, rts, cts: stamps.wts.max(FIRST) }
}

impl<const N: usize> Controller<N> for GtscMemory {
    fn table(&self) -> &'static Table {
        &gtsc_memory::TABLE
    }

    fn classify(&self, _: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let (stamps, time) = (line.stamps, msg.stamps.cts);
        let event = match msg.kind {
            Kind::Read if read_until(stamps, time, self.lease) > self.last => Event::ReadOver,
            Kind::Read if msg.stamps.wts == stamps.wts.max(FIRST) => Event::ReadSame,
            Kind::Read => Event::Read,
            Kind::Write | Kind::Modify if written_at(stamps, time).saturating_add(self.lease) > self.last => {
                Event::WriteOver
            }
            Kind::Write => Event::Write,
            Kind::Modify => Event::Modify,
            Kind::Reset => Event::Reset,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        line.state == State::Here as u8 && line.data.is_full() && line.stamps.cts == 0
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        let (stamps, asked) = (work.line.stamps, work.msg.stamps.cts);
        match Action::ALL[action as usize] {
            Action::Lease => {
                let (wts, rts) = (stamps.wts.max(FIRST), read_until(stamps, asked, self.lease));
                work.line.stamps = Stamps { wts, rts, cts: 0 };
            }
            Action::Reply => work.send_stamped(work.msg.from, Kind::Data, work.line.data, stamps),
            Action::Renew => work.send_stamped(work.msg.from, Kind::Renewed, Block::EMPTY, stamps),
            Action::Take => work.line.data.write(&work.msg.data),
            Action::Perform => perform(work, self.lease),
            Action::Found => {
                let told = give_time(work, self.lease);
                common::found(work, told);
            }
            Action::Restart => work.line.stamps = Stamps::ZERO,
            Action::Done => work.send(work.msg.from, Kind::Done, Block::EMPTY),
        }
        Ok(())
    }
}
