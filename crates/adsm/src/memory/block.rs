//! The state of a block: a word that several threads, some of them inside a signal handler, agree on.
//!
//! It holds the block's state in the protocol's table, a bit for "somebody is changing this block" and one for "somebody
//! sleeps until that is over". A change of state comes with a change of page protection and often with a transfer; whoever has
//! the busy bit does all of it before it lets go, so nobody sees a state whose pages don't agree with it.
//!
//! Looking at the word and at whether a call is in flight (`Object::in_flight`) must not change places: a call announces itself
//! and then looks at the word, a fault locks the word and then looks for calls. Hence `SeqCst`.

use super::wait::{AtomicU32, Ordering, sleep, wake};

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
        let word = self.0.load(Ordering::SeqCst);
        (word & BUSY == 0).then_some((word & STATE) as u8)
    }

    /// Makes this thread the only one that may change the block, waiting if need be, and answers with its state.
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

    /// The same if the block is in `state` and nobody is changing it.
    pub fn try_lock_in(&self, state: u8) -> bool {
        let idle = u32::from(state);
        self.0.compare_exchange(idle, idle | BUSY, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Lets go of the block, in `state`.
    pub fn unlock(&self, state: u8) {
        let before = self.0.swap(u32::from(state), Ordering::Release);
        if before & AWAITED != 0 {
            wake(&self.0);
        }
    }
}
