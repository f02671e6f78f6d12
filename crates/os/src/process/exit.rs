//! The end of a thread.

use super::{End, Process};
use crate::guest::GuestMemory;
use mem::VirtAddr;

/// The number of robust-list entries that are followed, as in Linux; a broken list may be circular.
const MOST_ROBUST: usize = 2048;

/// Bits of a robust lock's word.
const OWNER: u32 = 0x3fff_ffff;
const OWNER_DIED: u32 = 0x4000_0000;
const WAITERS: u32 = 0x8000_0000;

impl Process {
    /// Ends one thread; the process ends with its last thread.
    pub(crate) fn end_thread(&mut self, index: usize, code: u8) {
        self.release_robust_locks(index);
        let thread = self.threads.remove(index);
        if self.turn >= index && self.turn > 0 {
            self.turn -= 1;
        }
        if thread.clear_at_exit != 0 && self.space.write_u32(VirtAddr(thread.clear_at_exit), 0).is_ok() {
            self.wake_futex(thread.clear_at_exit, 1, u32::MAX);
        }
        if self.threads.is_empty() && self.end.is_none() {
            self.end = Some(End::Exited { code });
        }
    }

    /// Marks the locks that a thread held as abandoned, and wakes a waiter of each.
    fn release_robust_locks(&mut self, index: usize) {
        let thread = &self.threads[index];
        let (head, tid) = (thread.robust_list, thread.tid.0);
        if head == 0 {
            return;
        }
        // An unreadable entry ends the list, as in Linux.
        let mut word = |at: u64| self.space.read_u64(VirtAddr(at)).ok();
        let (Some(first), Some(offset), Some(pending)) =
            (word(head), word(head.wrapping_add(8)), word(head.wrapping_add(16)))
        else {
            return;
        };
        let mut entries = Vec::new();
        let mut at = first;
        while at & !1 != head && entries.len() < MOST_ROBUST {
            entries.push(at & !1);
            match word(at & !1) {
                Some(next) => at = next,
                None => break,
            }
        }
        if pending & !1 != 0 {
            entries.push(pending & !1);
        }
        for entry in entries {
            let lock = entry.wrapping_add(offset);
            let Ok(value) = self.space.read_u32(VirtAddr(lock)) else { continue };
            if value & OWNER != tid {
                continue;
            }
            if self.space.write_u32(VirtAddr(lock), value & WAITERS | OWNER_DIED).is_ok() && value & WAITERS != 0 {
                self.wake_futex(lock, 1, u32::MAX);
            }
        }
    }
}
