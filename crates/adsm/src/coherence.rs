//! The protocols' tables, as the runtime reads them.
//!
//! The same tables that the checker of `protocol` proves (`protocol::adsm`, the paper's Fig. 6). A fault is served inside a
//! signal handler, where `protocol::step` can't run (it keeps a log and returns vectors), so the runtime looks cells up and does
//! what their actions say itself; a test holds the two against each other. What the actions come to here: `Fetch` a download,
//! `Send` an upload, `Take` a page opened for stores, `Drop` a host copy that no longer counts; the others are bookkeeping for
//! whoever asked, and that is the thread that waits.

use crate::{
    config::Protocol,
    os::{Access, Protection},
};
use protocol::{
    Cell, Table,
    adsm::{batch, lazy, rolling},
};

use protocol::adsm::lazy::Action;
pub use protocol::adsm::lazy::Event;

/// A protocol's table with what the runtime has to know of its states.
pub struct Rules {
    table: &'static Table,
    /// Of a new object, whose bytes are zero on both sides.
    pub initial: u8,
    pub invalid: u8,
    /// Batch-update has no such state.
    pub read_only: Option<u8>,
    pub dirty: u8,
    detects: bool,
    protections: [Protection; 8],
}

/// What the table says to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    Never,
    Stall,
    Go(Steps),
}

/// The next state, and what has to happen on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    pub next: u8,
    pub fetch: bool,
    pub send: bool,
    pub drop: bool,
}

impl Rules {
    pub fn of(protocol: Protocol) -> Self {
        let table: &'static Table = match protocol {
            Protocol::Batch => &batch::TABLE,
            Protocol::Lazy => &lazy::TABLE,
            Protocol::Rolling => &rolling::TABLE,
        };
        let state = |name| table.states.iter().position(|state| *state == name);
        let named = |name| state(name).expect("each table has this state") as u8;
        let mut protections = [Protection::Open; 8];
        for (protection, name) in protections.iter_mut().zip(table.states) {
            *protection = match *name {
                "ReadOnly" | "Rolling" => Protection::ReadOnly,
                "Dirty" => Protection::Open,
                _ => Protection::Closed,
            };
        }
        let detects = protocol != Protocol::Batch;
        if !detects {
            protections = [Protection::Open; 8];
        }
        let (invalid, dirty) = (named("Invalid"), named("Dirty"));
        let read_only = state("ReadOnly").map(|state| state as u8);
        Self { table, initial: read_only.unwrap_or(dirty), invalid, read_only, dirty, detects, protections }
    }

    /// What happens when `event` meets a block in `state`.
    pub fn plan(&self, state: u8, event: Event) -> Plan {
        match self.table.cell(state, event as u8) {
            Cell::Never => Plan::Never,
            Cell::Stall => Plan::Stall,
            Cell::Go(next, actions) => {
                let has = |action: Action| actions.contains(&(action as u8));
                let (fetch, send, drop) = (has(Action::Fetch), has(Action::Send), has(Action::Drop));
                Plan::Go(Steps { next: *next, fetch, send, drop })
            }
        }
    }

    /// What the program may do to a block in `state` without a fault.
    pub fn protection(&self, state: u8) -> Protection {
        self.protections[state as usize]
    }

    /// Whether accesses are detected at all.
    pub fn detects(&self) -> bool {
        self.detects
    }

    /// Whether the protocol knows how to send a dirty block and keep it.
    pub fn can_roll(&self) -> bool {
        matches!(self.plan(self.dirty, Event::Roll), Plan::Go(_))
    }

    pub fn name(&self) -> &'static str {
        self.table.name
    }

    pub fn state_name(&self, state: u8) -> &'static str {
        self.table.states[state as usize]
    }
}

impl From<Access> for Event {
    fn from(access: Access) -> Self {
        match access {
            Access::Load => Self::Load,
            Access::Store => Self::Store,
        }
    }
}
