//! How much faster several threads could be: counted in events, window by window, so that it is the same on any computer.
//!
//! In each window a thread runs the events of its partitions, and all wait for the one that has most. Work divided by the sum of
//! what the busiest threads have is a bound of the speedup with so many threads, as far as events are equally long and meeting costs
//! nothing.

use crate::deal::{Share, Teams, deal};
use serde::{Deserialize, Serialize};
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

/// What so many threads would have to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scaling {
    /// The number of threads.
    pub threads: usize,
    /// Events of all threads.
    pub work: u64,
    /// Events that have to run one after the other: in each window, those of the thread that has most.
    pub longest: u64,
}

impl Scaling {
    /// How many times as fast as one thread so many could be at most.
    pub fn bound(&self) -> f64 {
        if self.longest == 0 { 1.0 } else { self.work as f64 / self.longest as f64 }
    }
}

/// Counts for several numbers of threads at once.
pub(crate) struct Counts {
    /// Events of each partition in a window: one window's are written while the last one's are read.
    board: [Box<[AtomicU64]>; 2],
    /// Only the first thread takes it while the run goes on.
    bounds: Mutex<Vec<Bound>>,
}

struct Bound {
    teams: Teams,
    /// What each team's busiest threads have had in this round.
    loads: Vec<u64>,
    scaling: Scaling,
}

impl Counts {
    /// For these numbers of threads; `None`: nothing is to be counted.
    pub(crate) fn new(shares: &[Share], threads: &[usize]) -> Option<Counts> {
        let board = || shares.iter().map(|_| AtomicU64::new(0)).collect();
        let bound = |threads: usize| {
            let teams = deal(shares, threads);
            Bound { loads: vec![0; teams.len()], teams, scaling: Scaling { threads, work: 0, longest: 0 } }
        };
        let bounds: Vec<Bound> = threads.iter().map(|threads| bound((*threads).max(1))).collect();
        (!bounds.is_empty()).then(|| Counts { board: [board(), board()], bounds: Mutex::new(bounds) })
    }

    /// So much ran in a partition in a window.
    pub(crate) fn put(&self, window: u64, partition: usize, events: u64) {
        self.board[(window % 2) as usize][partition].store(events, Ordering::Relaxed);
    }

    /// Adds up a window that all have finished. At the end of a round, teams have waited for each other.
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
