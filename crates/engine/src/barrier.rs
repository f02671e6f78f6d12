//! The barrier at which the threads of a run meet after each window, and the notices they exchange there.

use crate::time::Time;
use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

/// How often a waiting thread polls before it yields its time slice: some hundred microseconds. With a tenth of that,
/// 16 threads on a 16-core virtual machine were 2.5 times as fast as one instead of 8.7.
const SPINS: u32 = 2_000;

/// What a thread reports to the others when it has finished a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    /// Time of the next event in the thread's partitions, or in partitions to which they sent mail.
    pub(crate) next: Time,
    /// Everything that has run began before this time.
    pub(crate) reached: Time,
    /// When a context last reported progress ([`Context::progress`](crate::Context::progress)).
    pub(crate) progress: Time,
    /// How often contexts have run in the window.
    pub(crate) events: u64,
    /// Whether anything can still happen: a context is due, a message is in flight, or a timed wait is pending.
    pub(crate) live: bool,
    /// Whether an incident happened, such as a control request, a livelock or an interrupt.
    pub(crate) incident: bool,
}

impl Notice {
    /// The notice of a thread without partitions.
    pub(crate) const NOTHING: Notice = Notice {
        next: Time::NEVER,
        reached: Time::ZERO,
        progress: Time::ZERO,
        events: 0,
        live: false,
        incident: false,
    };

    /// Combines two notices.
    pub(crate) fn and(self, other: Notice) -> Notice {
        Notice {
            next: self.next.min(other.next),
            reached: self.reached.max(other.reached),
            progress: self.progress.max(other.progress),
            events: self.events + other.events,
            live: self.live || other.live,
            incident: self.incident || other.incident,
        }
    }
}

/// A posted notice. It shares one cache line with the number of its window, so a thread that polls for the window gets
/// the notice with the same transfer.
#[repr(align(64))]
#[derive(Default)]
struct Posted {
    /// One more than the number of the window.
    finished: AtomicU64,
    next: AtomicU64,
    reached: AtomicU64,
    progress: AtomicU64,
    events: AtomicU64,
    live: AtomicBool,
    incident: AtomicBool,
}

/// A thread's notices, double-buffered: one window's is written while the previous one's is read.
#[repr(align(128))]
#[derive(Default)]
struct Board([Posted; 2]);

pub(crate) struct Barrier {
    boards: Vec<Board>,
    spins: u32,
    broken: AtomicBool,
}

/// A thread has died, so the barrier can't complete any more.
#[derive(Debug)]
pub(crate) struct Broken;

impl Barrier {
    /// A barrier for `threads` threads out of `all` threads of the run.
    pub(crate) fn new(threads: usize, all: usize) -> Barrier {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Barrier {
            boards: (0..threads).map(|_| Board::default()).collect(),
            spins: if all <= cores { SPINS } else { 0 },
            broken: AtomicBool::new(false),
        }
    }

    /// Reports that thread `me` has finished `window`, waits until all threads have, and returns their combined notice.
    /// What a thread wrote before the barrier is visible to all threads after it.
    pub(crate) fn meet(&self, me: usize, window: u64, notice: Notice) -> Result<Notice, Broken> {
        let parity = (window % 2) as usize;
        let own = &self.boards[me].0[parity];
        own.next.store(notice.next.0, Ordering::Relaxed);
        own.reached.store(notice.reached.0, Ordering::Relaxed);
        own.progress.store(notice.progress.0, Ordering::Relaxed);
        own.events.store(notice.events, Ordering::Relaxed);
        own.live.store(notice.live, Ordering::Relaxed);
        own.incident.store(notice.incident, Ordering::Relaxed);
        own.finished.store(window + 1, Ordering::Release);
        let mut together = notice;
        for other in
            self.boards.iter().enumerate().filter(|(thread, _)| *thread != me).map(|(_, board)| &board.0[parity])
        {
            self.wait_for(other, window)?;
            together = together.and(Notice {
                next: Time(other.next.load(Ordering::Relaxed)),
                reached: Time(other.reached.load(Ordering::Relaxed)),
                progress: Time(other.progress.load(Ordering::Relaxed)),
                events: other.events.load(Ordering::Relaxed),
                live: other.live.load(Ordering::Relaxed),
                incident: other.incident.load(Ordering::Relaxed),
            });
        }
        Ok(together)
    }

    fn wait_for(&self, other: &Posted, window: u64) -> Result<(), Broken> {
        let mut looks = 0;
        while other.finished.load(Ordering::Acquire) <= window {
            if looks < self.spins {
                spin_loop();
                looks += 1;
            } else if self.broken.load(Ordering::Relaxed) {
                return Err(Broken);
            } else {
                thread::yield_now();
            }
        }
        Ok(())
    }

    /// Releases all threads that wait here now or later, because a thread has died.
    pub(crate) fn break_up(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }
}
