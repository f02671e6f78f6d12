//! Upper bounds of the speedup with several threads. They are counted in events, window by window, so they are the same
//! on any computer.
//!
//! In each window a thread runs the events of its partitions, and all wait for the thread with the most. All events,
//! divided by the sum over windows of the busiest thread's events, bound the speedup, assuming that events take equally
//! long and synchronisation is free.

use crate::deal::{Share, Teams, deal};
use serde::{Deserialize, Serialize};
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

/// The work with a given number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scaling {
    /// The number of threads.
    pub threads: usize,
    /// Events of all threads.
    pub work: u64,
    /// Events on the critical path: in each window, those of the thread with the most.
    pub longest: u64,
}

impl Scaling {
    /// The maximum speedup over one thread.
    pub fn bound(&self) -> f64 {
        if self.longest == 0 { 1.0 } else { self.work as f64 / self.longest as f64 }
    }
}

/// Counts for several numbers of threads at the same time.
pub(crate) struct Counts {
    /// Events of each partition in a window, double-buffered: one window's are written while the previous one's are
    /// read.
    board: [Box<[AtomicU64]>; 2],
    /// Locked only by the first thread during the run.
    bounds: Mutex<Vec<Bound>>,
}

struct Bound {
    teams: Teams,
    /// For each team, the sum over the windows of this round of its busiest thread's events.
    loads: Vec<u64>,
    scaling: Scaling,
}

impl Counts {
    /// For these numbers of threads; `None` if there are none.
    pub(crate) fn new(shares: &[Share], threads: &[usize]) -> Option<Counts> {
        let board = || shares.iter().map(|_| AtomicU64::new(0)).collect();
        let bound = |threads: usize| {
            let teams = deal(shares, threads);
            Bound { loads: vec![0; teams.len()], teams, scaling: Scaling { threads, work: 0, longest: 0 } }
        };
        let bounds: Vec<Bound> = threads.iter().map(|threads| bound((*threads).max(1))).collect();
        (!bounds.is_empty()).then(|| Counts { board: [board(), board()], bounds: Mutex::new(bounds) })
    }

    /// Records the events of a partition in a window.
    pub(crate) fn put(&self, window: u64, partition: usize, events: u64) {
        self.board[(window % 2) as usize][partition].store(events, Ordering::Relaxed);
    }

    /// Adds up a window that all threads have finished. At the end of a round, all teams wait for the busiest team.
    pub(crate) fn add_up(&self, window: u64, ends_round: bool) {
        let board = &self.board[(window % 2) as usize];
        let events = |partition: &usize| board[*partition].load(Ordering::Relaxed);
        for bound in self.bounds.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            for (team, load) in bound.teams.iter().zip(&mut bound.loads) {
                let hands = team.iter().map(|hand| hand.iter().map(events).sum::<u64>());
                let (work, most) = hands.fold((0, 0), |(work, most), hand| (work + hand, most.max(hand)));
                bound.scaling.work += work;
                *load += most;
            }
            if ends_round {
                bound.scaling.longest += bound.loads.iter().max().copied().unwrap_or(0);
                bound.loads.fill(0);
            }
        }
    }

    pub(crate) fn scaling(self) -> Vec<Scaling> {
        let bounds = self.bounds.into_inner().unwrap_or_else(PoisonError::into_inner);
        bounds.into_iter().map(|bound| bound.scaling).collect()
    }
}
