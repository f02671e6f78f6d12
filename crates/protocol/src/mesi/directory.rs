//! The directory: in the shared last-level cache, or at the memory controller where there is none.
//!
//! Tables 3.4 and 3.5 of `[giles]`: [`l3`] and [`mc`]. The paper has substates that distinguish the requester; here
//! they are events: `...Owner` is a request by the only holder of the line (the paper's `M_Owned` and `E_Owned`), the
//! plain event one by any other node (`M_Held`, `E_Held`).
//!
//! - `M`: newer than memory, and not held above. `M_Held` and `E_Held`: held above by one cache, which may write.
//! - `M_Pending` and `E_Pending`: a forward is in flight, and all requests are refused, also the holder's (`...Owner`;
//!   the paper's `M_Pending_Owned` and `E_Pending_Owned`).
//! - `M_Flush`: the holders are being flushed because a core flushes the line to memory (`mc` only).
//! - `M_Inval`: a store or an upgrade is granted, and the former holders are being invalidated.
//! - `I_Fetch`, `I_Load`, `I_Store`: requested from memory. `I_WB_Flush_Conflict`: evicted, and its holders above are
//!   being flushed or invalidated. `I_WB_Writable`: in the write-back queue. `I_WB_Non_Writable`: written to memory,
//!   not acknowledged yet.

use crate::{
    Block, Controller, Granted, Kind, Line, Mask, Msg, Place, Sharers, Table, Work, common,
    mesi::{actions, l3, mc},
};
use l3::l3::{Action, Event};

/// A directory; all its tables have the same events and actions.
#[derive(Clone, Copy)]
pub struct Directory(&'static Table);

/// The shared last-level cache.
pub static L3: Directory = Directory(&l3::l3::TABLE);
/// The memory controller.
pub static MC: Directory = Directory(&mc::mc::TABLE);

impl Directory {
    fn state<const N: usize>(&self, line: &Line<N>) -> &'static str {
        self.0.states[line.state as usize]
    }
}

impl<const N: usize> Controller<N> for Directory {
    fn table(&self) -> &'static Table {
        self.0
    }

    fn classify(&self, place: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let owner = || line.sharers == place.sharer(msg.from);
        let event = match msg.kind {
            Kind::GetS if owner() => Event::FetchOwner,
            Kind::GetS => Event::Fetch,
            Kind::Get if owner() => Event::LoadOwner,
            Kind::Get => Event::Load,
            Kind::Upgrade if owner() => Event::UpgradeOwner,
            Kind::Upgrade => Event::Upgrade,
            Kind::GetX if owner() => Event::StoreOwner,
            Kind::GetX => Event::Store,
            Kind::WriteBack => Event::WriteBack,
            Kind::FwdAck => Event::FwdAck,
            Kind::FwdAckX => Event::FwdAckX,
            Kind::FwdNack => Event::FwdNack,
            Kind::FwdNackX => Event::FwdNackX,
            Kind::InvAck if line.acks > 1 => Event::InvAck,
            Kind::InvAck => Event::InvAckLast,
            Kind::Evict => Event::Evict,
            Kind::Drain => Event::Drain,
            Kind::Flushed if line.acks > 1 => Event::Flushed,
            Kind::Flushed if line.is_dirty() || !msg.data.mask().is_empty() => Event::FlushedDirty,
            Kind::Flushed => Event::FlushedClean,
            Kind::Data => Event::Data,
            Kind::Ack => Event::Landed,
            _ => return None,
        };
        Some(event as u8)
    }

    fn takes_room(&self, state: u8) -> bool {
        actions::takes_room(self.0, state)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        let (whole, empty) = (line.data.is_full(), line.is_empty());
        let (clean, dirty) = (!line.is_dirty(), line.dirty == Mask::first(N));
        let held = line.sharers.len();
        let (right, asked, acks) = match self.state(line) {
            "M" | "I_WB_Writable" => (whole && dirty && held == 0, false, false),
            "Uncached" => (whole && clean && held == 0, false, false),
            "M_Held" | "E_Held" => (whole && held == 1, false, false),
            "M_Pending" | "E_Pending" => (whole && held == 1, true, false),
            "M_Inval" => (whole && held == 1, false, true),
            "S" => (whole && held > 0, false, false),
            "I_Fetch" | "I_Load" | "I_Store" => (empty && clean && held == 0, true, false),
            "I_WB_Flush_Conflict" | "M_Flush" => (whole && held > 0, false, true),
            "I_WB_Non_Writable" => (empty && clean && held == 0, false, true),
            _ => (empty && clean && held == 0, false, false),
        };
        let exclusive = !self.state(line).starts_with('E') || clean;
        right && exclusive && (clean || dirty) && line.is_asked() == asked && (line.acks > 0) == acks
    }

    fn granted(&self, place: Place<'_>, line: &Line<N>) -> Option<Granted> {
        let asked = line.asked.map_or(Sharers::NONE, |node| place.sharer(node));
        let all = line.sharers.or(asked);
        Some(match self.state(line) {
            "M_Held" | "E_Held" => Granted { readers: Sharers::NONE, writers: line.sharers },
            "M_Pending" | "E_Pending" => Granted { readers: all, writers: all },
            "M_Inval" => Granted { readers: Sharers::ALL, writers: line.sharers },
            "S" => Granted { readers: line.sharers, writers: Sharers::NONE },
            "I_WB_Flush_Conflict" | "M_Flush" => Granted { readers: line.sharers, writers: line.sharers },
            _ => Granted::NOTHING,
        })
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        let (me, from) = (work.place.me, work.msg.from);
        match Action::ALL[action as usize] {
            Action::Hold => actions::hold(work),
            Action::HoldAlone => actions::hold_alone(work),
            Action::HoldAsked => return actions::hold_asked(work),
            Action::HoldAskedAlone => return actions::hold_asked_alone(work),
            Action::Settled => work.line.asked = None,
            Action::Unhold => work.line.sharers = Sharers::NONE,
            Action::PutS => work.send(from, Kind::PutS, work.line.data),
            Action::PutClnX => work.send(from, Kind::PutClnX, work.line.data),
            Action::PutX => work.send(from, Kind::PutX, work.line.data),
            Action::Nack => work.send(from, Kind::Nack, Block::EMPTY),
            Action::Ask => common::ask(work),
            Action::AnswerS => return common::answer(work, Kind::PutS),
            Action::AnswerClnX => return common::answer(work, Kind::PutClnX),
            Action::AnswerX => return common::answer(work, Kind::PutX),
            Action::UpgradeAck => work.send(from, Kind::UpgradeAck, Block::EMPTY),
            Action::Take => actions::take(work),
            Action::Ack => work.send(from, Kind::WriteBackAck, Block::EMPTY),
            Action::GetFwd => return forward_to_holder(work, Kind::GetFwd),
            Action::GetXFwd => return forward_to_holder(work, Kind::GetXFwd),
            Action::GrantAcks => {
                let acks = actions::others(work).len();
                work.send_for(from, Kind::PutX, work.line.data, None, acks);
            }
            Action::UpgradeAcks => {
                let acks = actions::others(work).len();
                work.send_for(from, Kind::UpgradeAck, Block::EMPTY, None, acks);
            }
            Action::Inval => actions::tell(work, actions::others(work), Kind::Inval, from),
            Action::Count => return actions::count(work),
            Action::Flush => actions::tell(work, work.line.sharers, Kind::CoreFlush, me),
            Action::InvalAll => actions::tell(work, work.line.sharers, Kind::Inval, me),
            Action::SdramLoad => actions::request(work, Kind::Read),
            Action::SdramStore => actions::write_back(work, Kind::Write),
            Action::Fill => common::fill(work),
            Action::Drop => common::drop_data(work),
            Action::Land => work.line.data.write(&work.msg.data),
        }
        Ok(())
    }
}

/// Tells the holder to send the line to the waiting node.
fn forward_to_holder<const N: usize>(work: &mut Work<'_, N>, kind: Kind) -> Result<(), &'static str> {
    let asked = work.line.asked.ok_or("knows no waiting requester")?;
    let sharers = work.line.sharers;
    actions::tell(work, sharers, kind, asked);
    work.line.acks = 0;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Log, Node, Roster, Step, mesi::l3::l3::State, step};
    use mem::LineAddr;

    /// No checked system has two instruction caches, so this test covers the case.
    #[test]
    fn a_second_fetch_waits_while_the_request_to_memory_is_outstanding() {
        let place = Place { me: Node(2), below: Node(3), above: &Roster::row(Node(0), 3) };
        let mut line = Line::<2>::new(State::I as u8);
        let mut log = Log::new(&l3::l3::TABLE, 0);
        let mut fetch = |from| {
            let msg = Msg::new(Node(from), place.me, Kind::GetS, LineAddr(0), Block::EMPTY);
            step(&L3, &l3::l3::TABLE, place, &mut line, &msg, &mut log).unwrap()
        };
        assert!(matches!(fetch(0), Step::Sends(sends) if sends[0].kind == Kind::Read));
        assert_eq!(fetch(1), Step::Stall);
    }
}
