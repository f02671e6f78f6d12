//! The state of a block: an atomic word shared by several threads, some of them inside a signal handler.
//!
//! The word holds the block's state in the protocol's table, a busy bit ("a thread is changing this block") and an
//! awaited bit ("a thread sleeps until the change is over"). A change of state comes with a change of page protection
//! and often with a transfer. The thread that holds the busy bit completes all of it before it clears the bit.
//!
//! **Invariant**: no thread sees a state that disagrees with the protection of the block's pages.
//!
//! Accesses to the word and to the count of calls in flight (`Object::in_flight`) must not be reordered: a call
//! registers itself and then reads the word, a fault locks the word and then checks for calls. Hence `SeqCst`.

use super::wait::{AtomicU32, Ordering, sleep, wake};

const BUSY: u32 = 1 << 31;
const AWAITED: u32 = 1 << 30;
const STATE: u32 = 0xFF;

/// The state of a block.
#[derive(Debug)]
pub struct Word(AtomicU32);

impl Word {
    pub fn new(state: u8) -> Self {
        Self(AtomicU32::new(u32::from(state)))
    }

    /// The state, if no thread is changing the block. Only a hint: it may change at once.
    pub fn peek(&self) -> Option<u8> {
        let word = self.0.load(Ordering::SeqCst);
        (word & BUSY == 0).then_some((word & STATE) as u8)
    }

    /// Locks the block for this thread, waiting if necessary, and returns its state.
    pub fn lock(&self) -> u8 {
        loop {
            let word = self.0.load(Ordering::Relaxed);
            if word & BUSY == 0 {
                if self.0.compare_exchange_weak(word, word | BUSY, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                    return (word & STATE) as u8;
                }
            } else if word & AWAITED != 0
                || self.0.compare_exchange(word, word | AWAITED, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                sleep(&self.0, word | AWAITED);
            }
        }
    }

    /// Locks the block if it is in `state` and not locked.
    pub fn try_lock_in(&self, state: u8) -> bool {
        let idle = u32::from(state);
        self.0.compare_exchange(idle, idle | BUSY, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Unlocks the block in `state`.
    pub fn unlock(&self, state: u8) {
        let before = self.0.swap(u32::from(state), Ordering::Release);
        if before & AWAITED != 0 {
            wake(&self.0);
        }
    }
}
