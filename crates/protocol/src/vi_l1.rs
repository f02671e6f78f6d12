//! A GPU's first-level cache: valid or invalid, write-through, no allocation on a write, invalidated when a kernel
//! starts.
//!
//! `W` in a state's name: bytes have been written through and are not acknowledged yet. A load of a line that was
//! evicted meanwhile waits for the acknowledgements. So does a second store to a byte in flight, because on an
//! unordered network the old byte could arrive last; if all wires down keep messages in order, that store goes ahead.
//! Stores to other bytes of the line always go ahead. An atomic access is passed on once the line is neither held nor
//! in flight here; a copy fetched since is dropped when the answer comes.

use crate::{Block, Controller, Kind, Line, Msg, Place, Table, Work, common, protocol};
use l1::{Action, Event, State};
use mem::Scope;

protocol! {
 /// `LoadPast`: the load's scope is wider than this cache.
 l1 actions(Ask Fetch Fill Answer Hit Merge Through Landed Drop Done Pass Told)
 on(  Load            LoadPast             Store               StoreOver  Evict      Invalidate     Flush     Data             AckMore      AckLast    )
 I  { [IV Ask Fetch]  [IV Ask Fetch]       [IW Through]        x          x          [I Done]       [I Done]  x                x            x          }
 V  { [V Hit]         [IV Drop Ask Fetch]  [VW Merge Through]  x          [I Drop]   [I Drop Done]  [V Done]  x                x            x          }
 IV { z               z                    z                   x          z          z              z         [V Fill Answer]  x            x          }
 IW { z               z                    [IW Through]        z          z          z              z         x                [IW Landed]  [I Landed] }
 VW { [VW Hit]        z                    [VW Merge Through]  z          [IW Drop]  z              z         x                [VW Landed]  [V Landed] };
 on(  Modify         Modified      )
 I  { [I Pass]       [I Told]      }
 V  { [I Drop Pass]  [I Drop Told] }
 IV { z              z             }
 IW { z              z             }
 VW { z              z             }
}

/// The controller of table [`l1`].
pub struct ViL1 {
    /// Whether the network below delivers the messages for a line in the order in which they were sent.
    pub in_order: bool,
}

impl ViL1 {
    pub const ANY_ORDER: Self = Self { in_order: false };
    pub const IN_ORDER: Self = Self { in_order: true };
}

impl<const N: usize> Controller<N> for ViL1 {
    fn table(&self) -> &'static Table {
        &l1::TABLE
    }

    fn scopes(&self) -> &'static [Scope] {
        &[Scope::Group, Scope::System]
    }

    fn classify(&self, _: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let event = match msg.kind {
            Kind::Load if msg.scope > Scope::Group => Event::LoadPast,
            Kind::Load => Event::Load,
            Kind::Store if self.in_order || line.in_flight.and(msg.data.mask()).is_empty() => Event::Store,
            Kind::Store => Event::StoreOver,
            Kind::Evict => Event::Evict,
            Kind::Invalidate => Event::Invalidate,
            Kind::Flush => Event::Flush,
            Kind::Data => Event::Data,
            Kind::Ack if line.acks > 1 => Event::AckMore,
            Kind::Ack => Event::AckLast,
            Kind::Modify => Event::Modify,
            Kind::Modified => Event::Modified,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        let (holds, asked, writing) = match State::ALL[line.state as usize] {
            State::I => (false, false, false),
            State::V => (true, false, false),
            State::IV => (false, true, false),
            State::IW => (false, false, true),
            State::VW => (true, false, true),
        };
        let held = if holds { line.data.is_full() } else { line.is_empty() };
        held && !line.is_dirty() && line.is_asked() == asked && line.is_writing() == writing
    }

    fn stores_land(&self) -> bool {
        true
    }

    fn takes_room(&self, state: u8) -> bool {
        state != State::I as u8 && state != State::IW as u8
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        match Action::ALL[action as usize] {
            Action::Ask => common::ask(work),
            Action::Fetch => work.send(work.place.below, Kind::Read, Block::EMPTY),
            Action::Fill => common::fill(work),
            Action::Answer => return common::answer(work, Kind::Loaded),
            Action::Hit => work.send(work.msg.from, Kind::Loaded, work.line.data),
            Action::Merge => work.line.data.write(&work.msg.data),
            Action::Through => common::write_through(work),
            Action::Landed if self.in_order => return common::landed_in_order(work),
            Action::Landed => return common::landed(work),
            Action::Drop => common::drop_data(work),
            Action::Done => work.send(work.msg.from, Kind::Done, Block::EMPTY),
            Action::Pass => common::pass_on(work, None),
            Action::Told => common::told_above(work),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalogue::ALL,
        check::{Limits, Network, check},
    };

    /// Stores to bytes in flight go ahead, and no old byte arrives last.
    #[test]
    fn stores_do_not_wait_for_each_other_on_a_network_that_keeps_their_order() {
        for name in ["wb_nc", "wt_nc"] {
            let protocol = ALL.iter().find(|protocol| protocol.name == name).unwrap();
            let mut system = (protocol.systems[0].build)(2, 1);
            for member in system.members.iter_mut().filter(|member| member.core.is_some()) {
                member.controller = &ViL1::IN_ORDER;
            }
            let limits = Limits { values: 2, threads: 1, ..Limits::default() };
            let ordered = check(system.clone(), Network::Ordered { depth: 2 }, limits);
            assert!(ordered.holds(), "{name}: {}", ordered.counterexample.unwrap_or_default());
            let unordered = check(system, Network::Unordered, limits);
            assert!(!unordered.holds(), "{name}: on another network the old byte may arrive last");
        }
    }
}
