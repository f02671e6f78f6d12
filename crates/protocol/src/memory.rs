//! Memory, the last level: it holds every byte and never stalls.

use crate::{Controller, Kind, Line, Msg, Place, Stamps, Table, Work, common, protocol};
use memory::{Action, Event};

protocol! { memory actions(Reply Take Ack Found)
 on(    Read          Write            Modify            )
 Here { [Here Reply]  [Here Take Ack]  [Here Found Take] }
}

/// The controller of table [`memory`].
pub struct Memory;

impl<const N: usize> Controller<N> for Memory {
    fn table(&self) -> &'static Table {
        &memory::TABLE
    }

    fn classify(&self, _: Place<'_>, _: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        match msg.kind {
            Kind::Read => Some(Event::Read as u8),
            Kind::Write => Some(Event::Write as u8),
            Kind::Modify => Some(Event::Modify as u8),
            _ => None,
        }
    }

    fn fits(&self, line: &Line<N>) -> bool {
        line.data.is_full()
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str> {
        match Action::ALL[action as usize] {
            Action::Reply => work.send(work.msg.from, Kind::Data, work.line.data),
            Action::Take => work.line.data.write(&work.msg.data),
            Action::Ack => common::acknowledge(work),
            Action::Found => common::found(work, Stamps::ZERO),
        }
        Ok(())
    }
}
