//! The protocols' tables, as the runtime reads them.
//!
//! These are the tables that the checker of `protocol` verifies (`protocol::adsm`, the paper's Fig. 6). A fault is
//! served inside a signal handler, where `protocol::step` can't run (it keeps a log and returns vectors). So the
//! runtime looks up cells and carries out their actions itself; a test compares the two. The actions here: `Fetch` is a
//! download, `Send` an upload, `Take` opens a page for stores, `Drop` discards a host copy. The others are bookkeeping
//! for the requester, which here is the waiting thread.

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

/// A protocol's table with the properties of its states that the runtime needs.
pub struct Rules {
    table: &'static Table,
    /// The state of a new object, whose bytes are zero on both sides.
    pub initial: u8,
    pub invalid: u8,
    /// Batch-update has no such state.
    pub read_only: Option<u8>,
    pub dirty: u8,
    detects: bool,
    protections: [Protection; 8],
}

/// The actions and the next state that the table demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    Never,
    Stall,
    Go(Steps),
}

/// The next state, and the actions on the way to it.
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

    /// The table's reaction to `event` for a block in `state`.
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

    /// Which accesses to a block in `state` cause no fault.
    pub fn protection(&self, state: u8) -> Protection {
        self.protections[state as usize]
    }

    /// Whether the protocol detects accesses by page faults.
    pub fn detects(&self) -> bool {
        self.detects
    }

    /// Whether the protocol can send a dirty block and keep it readable.
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
