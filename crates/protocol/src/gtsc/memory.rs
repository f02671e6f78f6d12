//! Memory as the home of lines in G-TSC, for several GPUs: the times of every line lie beside it.
//!
//! Time begins at 1: a request with a `wts` of 0 says that nothing is held above.

use crate::{Block, Controller, FIRST, Kind, Line, Msg, Place, Stamp, Stamps, Table, Work, common, protocol};
use gtsc_memory::{Action, Event, State};

protocol! {
 /// `Same`: the reader holds what is here. `Over`: the lease would end beyond the last time there is, so everybody has to start anew.
 gtsc_memory actions(Lease Reply Renew Take Perform Restart Done Found)
 on(    Read                ReadSame            Write                ReadOver  WriteOver  Reset                )
 Here { [Here Lease Reply]  [Here Lease Renew]  [Here Take Perform]  z         z          [Here Restart Done]  };
 on(    Modify             )
 Here { [Here Found Take]  }
}

/// The controller of table [`gtsc_memory`].
pub struct GtscMemory {
    pub lease: Stamp,
    /// The last time there is.
    pub last: Stamp,
}

impl GtscMemory {
    /// 16-bit times and a lease of 10: as long as HALCONE's for reads. Reads and writes have the same.
    pub const PAPER: Self = Self { lease: 10, last: u16::MAX as Stamp };
}

/// A reader at this time may read the line for a while: when that ends.
pub(super) fn read_until(stamps: Stamps, time: Stamp, lease: Stamp) -> Stamp {
    stamps.rts.max(time.max(FIRST).saturating_add(lease))
}

/// When a write takes place that was asked for at this time: after whatever may have been read.
pub(super) fn written_at(stamps: Stamps, time: Stamp) -> Stamp {
    stamps.rts.max(FIRST).saturating_add(1).max(time)
}

/// Gives a write its time and acknowledges it: from when on it counts, how long it may be read, and (as `cts`) which version it
/// was written over.
pub(super) fn perform<const N: usize>(work: &mut Work<'_, N>, lease: Stamp) {
    let told = give_time(work, lease);
    work.send_stamped(work.msg.from, Kind::Ack, work.msg.data, told);
}

/// The times of a write that takes place now, as they are told.
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
