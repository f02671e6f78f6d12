//! The barrier at which threads meet once per window.

use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

/// How often to look before the time slice is given away.
const SPINS: u32 = 2_000;

/// A counter on a cache line (and its neighbour, which is fetched with it) of its own.
#[repr(align(128))]
struct Padded(AtomicU64);

pub(crate) struct Barrier {
    /// How many windows each thread has finished.
    finished: Vec<Padded>,
    spins: u32,
    broken: AtomicBool,
}

/// A thread has died: nobody will come any more.
#[derive(Debug)]
pub(crate) struct Broken;

impl Barrier {
    pub(crate) fn new(threads: usize) -> Barrier {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Barrier {
            finished: (0..threads).map(|_| Padded(AtomicU64::new(0))).collect(),
            spins: if threads <= cores { SPINS } else { 0 },
            broken: AtomicBool::new(false),
        }
    }

    /// Says that thread `me` has finished window `window`, and waits until all have. What was written before is seen after.
    pub(crate) fn wait(&self, me: usize, window: u64) -> Result<(), Broken> {
        self.finished[me].0.store(window + 1, Ordering::Release);
        for (other, finished) in self.finished.iter().enumerate() {
            let mut looks = 0;
            while other != me && finished.0.load(Ordering::Acquire) <= window {
                if looks < self.spins {
                    spin_loop();
                    looks += 1;
                } else {
                    if self.broken.load(Ordering::Relaxed) {
                        return Err(Broken);
                    }
                    thread::yield_now();
                }
            }
        }
        Ok(())
    }

    /// Lets everybody go who waits, or ever will: a thread has died.
    pub(crate) fn break_up(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }
}
