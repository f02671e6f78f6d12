//! The first-level caches: the meaning of the tables of a CPU's instruction and data caches and a GPU's vector cache.
//!
//! Tables 3.1, 3.2 and 3.6 of `[giles]`: [`l1i`], [`l1d`], [`l1v`]. The paper's columns come first. The other columns,
//! for all other messages, follow its text or fill in what it leaves out. `I_Get` and `I_GetX` wait for an answer;
//! `..._Retry` were refused and are in the retry queue. `I_WB_Writable` is in the write-back queue and can be taken
//! back from there. `I_WB_Non_Writable` has left it and is not acknowledged yet: requests that come meanwhile are
//! coalesced, that is, they wait. A cache with a pending request answers no probe before it has its own answer or a
//! refusal. An atomic access is performed where the line may be written; otherwise a store of no bytes fetches the line
//! (`Bring`).

use crate::{
    Access, Block, Controller, Kind, Line, Mask, Msg, Place, Stamps, Table, Work, common,
    mesi::{actions, l1d, l1i, l1v},
};
use l1d::l1d::{Action, Event};

/// A first-level cache; all its tables have the same events and actions.
#[derive(Clone, Copy)]
pub struct L1 {
    table: &'static Table,
    /// The request that a load sends below.
    load: Kind,
}

/// The CPU's data cache.
pub static L1D: L1 = L1 { table: &l1d::l1d::TABLE, load: Kind::Get };
/// The GPU's vector cache.
pub static L1V: L1 = L1 { table: &l1v::l1v::TABLE, load: Kind::Get };
/// The CPU's instruction cache.
pub static L1I: L1 = L1 { table: &l1i::l1i::TABLE, load: Kind::GetS };

impl L1 {
    fn state<const N: usize>(&self, line: &Line<N>) -> &'static str {
        self.table.states[line.state as usize]
    }
}

impl<const N: usize> Controller<N> for L1 {
    fn table(&self) -> &'static Table {
        self.table
    }

    fn classify(&self, _: Place<'_>, _: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let event = match msg.kind {
            Kind::Load => Event::Load,
            Kind::Store if self.load == Kind::GetS => return None,
            Kind::Store => Event::Store,
            Kind::Modify if self.load == Kind::GetS => return None,
            Kind::Modify => Event::Modify,
            Kind::Evict => Event::Evict,
            Kind::Drain => Event::Drain,
            Kind::Retry => Event::Retry,
            Kind::PutS => Event::PutS,
            Kind::PutClnX => Event::PutClnX,
            Kind::PutX => Event::PutX,
            Kind::Nack => Event::Nack,
            Kind::WriteBackAck => Event::WriteBackAck,
            Kind::Inval => Event::Inval,
            Kind::CoreFlush => Event::CoreFlush,
            Kind::Downgrade => Event::Downgrade,
            _ => return None,
        };
        Some(event as u8)
    }

    fn takes_room(&self, state: u8) -> bool {
        actions::takes_room(self.table, state)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        let (whole, empty) = (line.data.is_full(), line.is_empty());
        let (clean, dirty) = (!line.is_dirty(), line.dirty == Mask::first(N));
        let (held, asked, acks) = match self.state(line) {
            "M" | "I_WB_Writable" => (whole && dirty, false, 0),
            "E" | "S" => (whole && clean, false, 0),
            "S_Pending_Upgrade" | "S_Upgrade_Retry" => (whole, true, 0),
            "I_Get" | "I_Get_Retry" | "I_GetS" | "I_GetS_Retry" => (empty && clean, true, 0),
            // A store of no bytes fetches the line.
            "I_GetX" | "I_GetX_Retry" => (line.data.mask() == line.dirty, true, 0),
            "I_WB_Non_Writable" => (empty && clean, false, 1),
            _ => (empty && clean, false, 0),
        };
        held && line.is_asked() == asked && line.acks == acks
    }

    fn access(&self, line: &Line<N>) -> Access {
        match self.state(line) {
            "M" | "E" | "I_WB_Writable" => Access::Write,
            "S" | "S_Pending_Upgrade" | "S_Upgrade_Retry" => Access::Read,
            _ => Access::None,
        }
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        match Action::ALL[action as usize] {
            Action::Hit => work.send(work.msg.from, Kind::Loaded, work.line.data),
            Action::Write => actions::write(work),
            Action::Ask => common::ask(work),
            Action::Take => common::take_dirty(work),
            Action::Get => actions::request(work, self.load),
            Action::GetX => actions::request(work, Kind::GetX),
            Action::Upgrade => actions::request(work, Kind::Upgrade),
            Action::Drop => common::drop_data(work),
            Action::KeepStore => actions::keep_store(work),
            Action::Fill => common::fill(work),
            Action::Loaded => return common::answer(work, Kind::Loaded),
            Action::Stored => return actions::stored(work),
            Action::Modify => actions::modify(work),
            Action::WriteBack => actions::write_back(work, Kind::WriteBack),
            Action::Landed => return actions::count(work),
            Action::Clean => actions::clean(work),
            Action::Flushed => work.send(work.place.below, Kind::Flushed, Block::EMPTY),
            Action::FlushedData => work.send(work.place.below, Kind::Flushed, work.line.data),
            Action::Bring => common::bring(work, Kind::Store),
            Action::Found => common::found(work, Stamps::ZERO),
        }
        Ok(())
    }
}
