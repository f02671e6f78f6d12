//! What a table can do, derived from its labels at compile time.
//!
//! The component that runs a controller has to know whether the table has events that the component itself starts (a
//! retry, a drain, a restart), and whether the table may refuse a request. [`protocol!`](crate::protocol) finds out
//! by name resolution: each of these labels has a constant `None` in [`absent`], and a table that has the label
//! shadows the constant with the label's number. So no label is looked up by its text.

use crate::{Cell, Table};

/// The labels with a common meaning in all tables, with their numbers if the table has them.
#[derive(Clone, Copy, Debug)]
pub struct Labels {
    /// The state of a line that is not held.
    pub invalid: Option<u8>,
    pub evict: Option<u8>,
    pub drain: Option<u8>,
    pub retry: Option<u8>,
    pub reset: Option<u8>,
    pub core_flush: Option<u8>,
    pub ack_more: Option<u8>,
    pub nack: Option<u8>,
    pub found: Option<u8>,
    pub bring: Option<u8>,
}

/// Constants for the labels of [`Labels`] that a table does not have.
#[doc(hidden)]
#[allow(non_upper_case_globals)]
pub mod absent {
    pub mod states {
        pub const I: Option<u8> = None;
    }
    pub mod events {
        pub const Evict: Option<u8> = None;
        pub const Drain: Option<u8> = None;
        pub const Retry: Option<u8> = None;
        pub const Reset: Option<u8> = None;
        pub const CoreFlush: Option<u8> = None;
        pub const AckMore: Option<u8> = None;
    }
    pub mod actions {
        pub const Nack: Option<u8> = None;
        pub const Found: Option<u8> = None;
        pub const Bring: Option<u8> = None;
    }
}

/// What the component that runs a controller has to provide for its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// A request that was refused below is retried (`Retry`).
    pub retries: bool,
    /// Lines stay in the write-back queue until the cache sends them below (`Drain`).
    pub drains: bool,
    /// A request can be refused (`Nack`): its sender then retries.
    pub nacks: bool,
    /// The level below may recall a dirty line (`CoreFlush`).
    pub probed: bool,
    /// Probes must not wait behind requests for their line.
    pub probes_apart: bool,
    /// Logical time can be restarted (`Reset`).
    pub restarts: bool,
    /// A record can be dropped to make room for another (`Evict`).
    pub forgets: bool,
    /// A line may have several writes in flight (`AckMore`).
    pub overlaps_writes: bool,
    /// Atomic accesses are performed here (`Found`), at least for some lines; otherwise they are passed below.
    pub performs: bool,
}

impl Table {
    pub const fn capabilities(&self) -> Capabilities {
        let Labels { evict, drain, retry, reset, core_flush, ack_more, nack, found, .. } = self.labels;
        Capabilities {
            retries: retry.is_some(),
            drains: drain.is_some(),
            nacks: nack.is_some(),
            probed: core_flush.is_some(),
            probes_apart: retry.is_some() || core_flush.is_some(),
            restarts: reset.is_some(),
            forgets: evict.is_some(),
            overlaps_writes: ack_more.is_some(),
            performs: found.is_some(),
        }
    }

    /// Whether a cell performs an atomic access.
    pub fn performs(&self, cell: &Cell) -> bool {
        does(cell, self.labels.found)
    }

    /// Whether a cell only fetches the line (`Bring`), by a message of the controller to itself. The message that met
    /// the cell is then not complete, and is delivered to the line again.
    pub fn brings(&self, cell: &Cell) -> bool {
        does(cell, self.labels.bring)
    }

    /// Whether a line in this state is in the write-back queue and can be sent below.
    pub fn drains(&self, state: u8) -> bool {
        self.takes(state, self.labels.drain)
    }

    /// Whether a line in this state has a request that was refused below and can be retried.
    pub fn retries(&self, state: u8) -> bool {
        self.takes(state, self.labels.retry)
    }

    fn takes(&self, state: u8, event: Option<u8>) -> bool {
        event.is_some_and(|event| matches!(self.cell(state, event), Cell::Go(..)))
    }
}

/// Whether a cell includes an action.
fn does(cell: &Cell, action: Option<u8>) -> bool {
    matches!((cell, action), (Cell::Go(_, actions), Some(action)) if actions.contains(&action))
}

#[cfg(test)]
mod tests {
    use crate::{halcone, memory, mesi, nmoesi, vi_l1};

    #[test]
    fn capabilities_follow_from_the_labels_of_a_table() {
        let l2 = mesi::l2::l2::TABLE.capabilities();
        assert!(l2.retries && l2.drains && l2.nacks && l2.probed && l2.probes_apart && !l2.restarts);
        let tsu = halcone::tsu::TABLE.capabilities();
        assert!(tsu.restarts && tsu.forgets && !tsu.nacks && !tsu.probes_apart);
        let smd = nmoesi::smd::smd::TABLE.capabilities();
        assert!(smd.probed && !smd.retries);
        let l1 = vi_l1::l1::TABLE.capabilities();
        assert!(l1.overlaps_writes && l1.forgets && !l1.drains);
        assert!(!memory::memory::TABLE.capabilities().forgets);
    }

    #[test]
    fn a_line_drains_in_the_states_of_the_write_back_queue_only() {
        let table = &mesi::l2::l2::TABLE;
        let drains = |name: &str| {
            let state = table.states.iter().position(|state| *state == name).expect("the table has it");
            table.drains(state as u8)
        };
        assert!(drains("I_WB_Writable") && !drains("M") && !drains("I"));
    }
}
