//! Sleeping on a word, for threads that wait for a block.
//!
//! A fault is served inside a signal handler, where a condition variable may not be used; a futex may.

use std::sync::atomic::AtomicU32;

/// Sleeps while `word` holds `expected`. May wake spuriously.
pub fn futex_wait(word: &AtomicU32, expected: u32) {
    // SAFETY: the word lives as long as the borrow; without a timeout the kernel reads nothing else.
    unsafe {
        let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, std::ptr::null::<libc::timespec>());
    }
}

/// Wakes all threads that sleep on `word`.
pub fn futex_wake(word: &AtomicU32) {
    // SAFETY: the word lives as long as the borrow; waking reads nothing.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, i32::MAX);
    }
}
