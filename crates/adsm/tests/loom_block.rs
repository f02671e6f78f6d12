//! Every interleaving of a block's word: `RUSTFLAGS="--cfg loom" cargo test -p adsm --test loom_block --release`.
#![cfg(loom)]

#[path = "../src/memory/block.rs"]
mod block;

use block::Word;
use loom::{cell::UnsafeCell, sync::Arc, thread};

/// States as rolling-update has them, as far as these models go.
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
fn two_faults_and_a_call_agree() {
    loom::model(|| {
        let block = Block::new(READ_ONLY);
        let faults: Vec<_> = (0..2)
            .map(|_| {
                let block = Arc::clone(&block);
                thread::spawn(move || block.change(|state| if state == READ_ONLY { DIRTY } else { state }))
            })
            .collect();
        let (met, _) = block.change(|_| 0);
        let dirtied = faults.into_iter().filter(|_| true).map(|fault| fault.join().unwrap());
        let dirtied = dirtied.filter(|&(before, after)| before != after).count();
        assert!(dirtied <= 1, "one fault opens the block, the other finds it open");
        assert_eq!(met == DIRTY, dirtied == 1 && block.word.peek() == Some(0));
    });
}
