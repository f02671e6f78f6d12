//! The state of a block: a word that several threads, some of them inside a signal handler, agree on.
//!
//! It holds the block's state in the protocol's table, a bit for "somebody is changing this block" and one for "somebody
//! sleeps until that is over". A change of state comes with a change of page protection and often with a transfer; whoever has
//! the busy bit does all of it before it lets go, so nobody sees a state whose pages don't agree with it.

#[cfg(not(loom))]
use crate::os::{futex_wait, futex_wake};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, Ordering};

const BUSY: u32 = 1 << 31;
const AWAITED: u32 = 1 << 30;
const STATE: u32 = 0xFF;

/// See the module.
#[derive(Debug)]
pub struct Word(AtomicU32);

impl Word {
    pub fn new(state: u8) -> Self {
        Self(AtomicU32::new(u32::from(state)))
    }

    /// The state, if nobody is changing the block. A hint: it may change at once.
    pub fn peek(&self) -> Option<u8> {
        let word = self.0.load(Ordering::Acquire);
        (word & BUSY == 0).then_some((word & STATE) as u8)
    }

    /// Makes this thread the only one that may change the block, waiting if need be, and answers with its state.
    pub fn lock(&self) -> u8 {
        loop {
            let word = self.0.load(Ordering::Relaxed);
            if word & BUSY == 0 {
                if self.0.compare_exchange_weak(word, word | BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    return (word & STATE) as u8;
                }
            } else if word & AWAITED != 0
                || self.0.compare_exchange(word, word | AWAITED, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                self.sleep(word | AWAITED);
            }
        }
    }

    /// The same if the block is in `state` and nobody is changing it.
    pub fn try_lock_in(&self, state: u8) -> bool {
        let idle = u32::from(state);
        self.0.compare_exchange(idle, idle | BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Lets go of the block, in `state`.
    pub fn unlock(&self, state: u8) {
        let before = self.0.swap(u32::from(state), Ordering::Release);
        if before & AWAITED != 0 {
            self.wake();
        }
    }

    #[cfg(not(loom))]
    fn sleep(&self, word: u32) {
        futex_wait(&self.0, word);
    }

    #[cfg(not(loom))]
    fn wake(&self) {
        futex_wake(&self.0);
    }

    #[cfg(loom)]
    fn sleep(&self, _: u32) {
        loom::thread::yield_now();
    }

    #[cfg(loom)]
    fn wake(&self) {}
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::{cell::UnsafeCell, thread};

    struct Guarded(Word, UnsafeCell<u64>);
    // SAFETY: the cell is used only by the thread that has locked the word.
    unsafe impl Sync for Guarded {}

    #[test]
    fn only_one_thread_at_a_time_changes_a_block() {
        let block = Guarded(Word::new(0), UnsafeCell::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                let block = &block;
                scope.spawn(move || {
                    for _ in 0..10_000 {
                        let state = block.0.lock();
                        // SAFETY: locked.
                        unsafe { *block.1.get() += 1 };
                        block.0.unlock(state);
                    }
                });
            }
        });
        assert_eq!(block.1.into_inner(), 40_000);
    }

    #[test]
    fn a_block_in_another_state_or_busy_is_left_alone() {
        let word = Word::new(1);
        assert!(!word.try_lock_in(2));
        assert!(word.try_lock_in(1));
        assert_eq!(word.peek(), None);
        assert!(!word.try_lock_in(1));
        word.unlock(2);
        assert_eq!(word.peek(), Some(2));
    }
}
