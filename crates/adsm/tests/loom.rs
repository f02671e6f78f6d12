//! All interleavings of two threads at a block's word.

/// Loom's atomics in place of the library's. Sleeping only yields: the thread runs again when it is scheduled.
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

/// The states of rolling-update that these models use.
const INVALID: u8 = 0;
const READ_ONLY: u8 = 1;
const DIRTY: u8 = 2;
const ROLLING: u8 = 6;

/// A block with what its word guards: the protection of its pages (whether they are open for stores).
struct Block {
    word: Word,
    open: UnsafeCell<bool>,
}

impl Block {
    fn new(state: u8) -> Arc<Self> {
        Arc::new(Self { word: Word::new(state), open: UnsafeCell::new(state == DIRTY) })
    }

    /// Changes the state and the matching protection under the lock.
    fn change(&self, step: impl Fn(u8) -> u8) -> (u8, u8) {
        let state = self.word.lock();
        self.open.with(|open| {
            // SAFETY: locked; loom would report any other use at the same time.
            assert_eq!(unsafe { *open }, state == DIRTY, "no thread sees a state whose pages don't agree with it");
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
        // Either the call finds the block that the fault made dirty, or the fault finds the block handed over.
        assert_eq!(
            (met, found, left),
            if met == DIRTY { (DIRTY, READ_ONLY, DIRTY) } else { (READ_ONLY, INVALID, INVALID) }
        );
        assert_eq!(block.word.peek(), Some(INVALID));
    });
}

/// A call registers as in flight and then checks the block. A thread that starts an early download locks the block and
/// then checks for calls. One of them must see the other, or a kernel would write bytes that are being fetched.
#[test]
fn an_early_download_and_a_call_never_miss_each_other() {
    const FETCHING: u8 = 4;
    loom::model(|| {
        let block = Block::new(INVALID);
        // A mutex in place of the counter: loom does not model the order that `SeqCst` gives.
        let in_flight = Arc::new(loom::sync::Mutex::new(false));
        let (other, seen) = (Arc::clone(&block), Arc::clone(&in_flight));
        let early = thread::spawn(move || {
            if !other.word.try_lock_in(INVALID) {
                return false;
            }
            let fetches = !*seen.lock().unwrap();
            other.word.unlock(if fetches { FETCHING } else { INVALID });
            fetches
        });
        *in_flight.lock().unwrap() = true;
        // Like a call, leaves an invalid block unchanged unless another thread is changing it.
        let met = match block.word.peek() {
            Some(INVALID) => INVALID,
            _ => {
                let state = block.word.lock();
                block.word.unlock(INVALID);
                state
            }
        };
        let fetched = early.join().unwrap();
        assert_eq!(met == FETCHING, fetched, "a download under way is met by the call, which waits for it");
    });
}
