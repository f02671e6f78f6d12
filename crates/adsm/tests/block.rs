//! A block's word with real threads; `loom.rs` checks all interleavings of two.

use adsm::memory::Word;
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
