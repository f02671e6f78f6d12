//! The barrier at which threads meet once per window, and what they tell each other there.

use crate::time::Time;
use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

/// How often to look before the time slice is given away: some hundred microseconds. With a tenth of
/// that, 16 threads on a 16-core virtual machine were 2.5 times as fast as one instead of 8.7.
const SPINS: u32 = 2_000;

/// What a thread tells the others when it has finished a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    /// When there is something to do again in its partitions, or wherever they sent mail.
    pub(crate) next: Time,
    /// All that has run began before this time.
    pub(crate) reached: Time,
    /// When the model last said that it gets on.
    pub(crate) progress: Time,
    /// How often contexts have run in the window.
    pub(crate) events: u64,
    /// Whether anything can still happen: a context or a message is on its way, or a wait has a limit.
    pub(crate) live: bool,
    /// Something out of the ordinary happened.
    pub(crate) incident: bool,
}

impl Notice {
    /// What a thread without partitions would say.
    pub(crate) const NOTHING: Notice = Notice {
        next: Time::NEVER,
        reached: Time::ZERO,
        progress: Time::ZERO,
        events: 0,
        live: false,
        incident: false,
    };

    /// What two together say.
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

/// A notice where others can read it. It fills a cache line with the number of its window, so that whoever waits for the
/// window has the notice as well.
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

/// A thread's notices: one window's is written while the last one's is read.
#[repr(align(128))]
#[derive(Default)]
struct Board([Posted; 2]);

pub(crate) struct Barrier {
    boards: Vec<Board>,
    spins: u32,
    broken: AtomicBool,
}

/// A thread has died: nobody will come any more.
#[derive(Debug)]
pub(crate) struct Broken;

impl Barrier {
    /// For so many of all threads.
    pub(crate) fn new(threads: usize, all: usize) -> Barrier {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Barrier {
            boards: (0..threads).map(|_| Board::default()).collect(),
            spins: if all <= cores { SPINS } else { 0 },
            broken: AtomicBool::new(false),
        }
    }

    /// Says that thread `me` has finished `window`, waits until all have, and says what all say together. What a thread
    /// wrote before, all see after.
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

    /// Lets everybody go who waits, or ever will: a thread has died.
    pub(crate) fn break_up(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }
}
