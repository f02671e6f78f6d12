//! The bytes behind a directory: a GPU's stacked DRAM behind its [`smd`](super::smd), or the host's DRAM behind its
//! [`hmd`](super::hmd).
//!
//! The directory sends a command for each line, as an SMD issues DRAM commands according to its SRAM (`[umh 5.4]`). The
//! store obeys at once and in order. Beside the bytes it keeps the mask (4.1.2): in a GPU's memory it marks bytes that
//! are newer than the host's, in the host's memory bytes that are newer than the owner's. So bytes that arrive from
//! below, or from the owner, are written only where there is no mark (`Fill`).

use super::actions::{self, Done};
use crate::{Block, Controller, Kind, Line, Mask, Msg, Place, Table, Work, common, protocol};
use store::{Action, Event};

protocol! {
 /// `Give...`: send the line to the node that the directory names. `Down`: send it to the home.
 store actions(PutS PutE PutX Fill Take Down Clean Drop)
 on(     GiveS        GiveE        GiveX        Fill         Write        Down               Unmark        Forget)
 Here { [Here PutS]  [Here PutE]  [Here PutX]  [Here Fill]  [Here Take]  [Here Down Clean]  [Here Clean]  [Here Drop] }
}

/// The controller of table [`store`].
pub struct Store;

/// Sends the line to the node that the directory names.
fn give<const N: usize>(work: &mut Work<'_, N>, kind: Kind) -> Done {
    let to = work.msg.of.ok_or("knows no node to give the line to")?;
    work.send(to, kind, work.line.data);
    Ok(())
}

impl<const N: usize> Controller<N> for Store {
    fn table(&self) -> &'static Table {
        &store::TABLE
    }

    fn is_prompt(&self) -> bool {
        true
    }

    fn classify(&self, _: Place<'_>, _: &Line<N>, msg: &Msg<N>) -> Option<u8> {
        let event = match msg.kind {
            Kind::GetS => Event::GiveS,
            Kind::Get => Event::GiveE,
            Kind::GetX => Event::GiveX,
            Kind::Data => Event::Fill,
            Kind::Write => Event::Write,
            Kind::Flush => Event::Down,
            Kind::Reset => Event::Unmark,
            Kind::Invalidate => Event::Forget,
            _ => return None,
        };
        Some(event as u8)
    }

    fn fits(&self, line: &Line<N>) -> bool {
        line.dirty.without(line.data.mask()).is_empty()
    }

    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Done {
        match Action::ALL[action as usize] {
            Action::PutS => give(work, Kind::PutS)?,
            Action::PutE => give(work, Kind::PutClnX)?,
            Action::PutX => give(work, Kind::PutX)?,
            Action::Fill => {
                let unmarked = Mask::first(N).without(work.line.dirty);
                work.line.data.write(&work.msg.data.only(unmarked));
            }
            Action::Take => common::take_dirty(work),
            Action::Down => {
                let to = work.msg.of.ok_or("knows no home")?;
                work.send(to, Kind::Flushed, actions::newer(work.line));
            }
            Action::Clean => work.line.dirty = Mask::NONE,
            Action::Drop => work.line.data = Block::EMPTY,
        }
        Ok(())
    }
}
