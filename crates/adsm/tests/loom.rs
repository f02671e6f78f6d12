//! Every interleaving of two threads at a block's word.

/// Loom's atomics in place of the library's. A sleeper is woken when it is its turn again.
mod wait {
    pub use loom::sync::atomic::{AtomicU32, Ordering};

    pub fn sleep(_: &AtomicU32, _: u32) {
        loom::thread::yield_now();
    }

    pub fn wake(_: &AtomicU32) {}
}

#[path = "../src/memory/block.rs"]
mod block;

use block::Word;
use loom::{cell::UnsafeCell, sync::Arc, thread};

/// States as rolling-update has them, as far as these models go.
const INVALID: u8 = 0;
const READ_ONLY: u8 = 1;
const DIRTY: u8 = 2;
const ROLLING: u8 = 6;

/// A block with what its word guards: the protection of its pages (whether stores are open).
struct Block {
    word: Word,
    open: UnsafeCell<bool>,
}

impl Block {
    fn new(state: u8) -> Arc<Self> {
        Arc::new(Self { word: Word::new(state), open: UnsafeCell::new(state == DIRTY) })
    }

    /// A state and the protection that goes with it, under the lock.
    fn change(&self, step: impl Fn(u8) -> u8) -> (u8, u8) {
        let state = self.word.lock();
        self.open.with(|open| {
            // SAFETY: locked; loom would report any other use at the same time.
            assert_eq!(unsafe { *open }, state == DIRTY, "nobody sees a state whose pages don't agree with it");
        });
        let next = step(state);
        self.open.with_mut(|open| {
            // SAFETY: as above.
            unsafe { *open = next == DIRTY }
        });
        self.word.unlock(next);
        (state, next)
    }
}

#[test]
fn a_store_and_an_eviction_meet() {
    loom::model(|| {
        let block = Block::new(READ_ONLY);
        let other = Arc::clone(&block);
        let store = thread::spawn(move || other.change(|state| if state == READ_ONLY { DIRTY } else { state }));
        let evicted = block.word.try_lock_in(DIRTY);
        if evicted {
            block.open.with_mut(|open| {
                // SAFETY: locked.
                unsafe { *open = false }
            });
            block.word.unlock(ROLLING);
        }
        store.join().unwrap();
        assert_eq!(block.word.peek(), Some(if evicted { ROLLING } else { DIRTY }));
    });
}

#[test]
fn a_fault_and_a_call_agree() {
    loom::model(|| {
        let block = Block::new(READ_ONLY);
        let other = Arc::clone(&block);
        let fault = thread::spawn(move || other.change(|state| if state == READ_ONLY { DIRTY } else { state }));
        let (met, _) = block.change(|_| INVALID);
        let (found, left) = fault.join().unwrap();
        // Either the call meets what the fault made dirty, or the fault finds the block handed over.
        assert_eq!(
            (met, found, left),
            if met == DIRTY { (DIRTY, READ_ONLY, DIRTY) } else { (READ_ONLY, INVALID, INVALID) }
        );
        assert_eq!(block.word.peek(), Some(INVALID));
    });
}
