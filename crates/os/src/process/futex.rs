//! Futexes: threads that wait at an address until another thread wakes them.
//!
//! A futex is identified by its virtual address, since there is one address space. The longest-waiting thread is woken
//! first.

use super::{Process, State, Wait, What};
use crate::{errno::Errno, guest::GuestMemory};
use engine::Time;
use mem::VirtAddr;

/// The operation of `FUTEX_WAKE_OP` on the second word, in the program's encoding.
#[derive(Clone, Copy, Debug)]
pub struct WakeOp(pub u32);

impl WakeOp {
    fn argument(self) -> u32 {
        let argument = self.0 << 8 >> 20;
        // The highest bit of the operation marks the argument as a shift count.
        if self.0 >> 31 != 0 { 1 << (argument & 31) } else { argument }
    }

    /// The word's new value.
    fn apply(self, old: u32) -> Result<u32, Errno> {
        let argument = self.argument();
        Ok(match self.0 >> 28 & 7 {
            0 => argument,
            1 => old.wrapping_add(argument),
            2 => old | argument,
            3 => old & !argument,
            4 => old ^ argument,
            _ => return Err(Errno::ENOSYS),
        })
    }

    /// Whether waiters on the second word are also woken, depending on its old value.
    fn compare(self, old: u32) -> Result<bool, Errno> {
        let (old, with) = (old as i32, (self.0 << 20) as i32 >> 20);
        Ok(match self.0 >> 24 & 15 {
            0 => old == with,
            1 => old != with,
            2 => old < with,
            3 => old <= with,
            4 => old > with,
            5 => old >= with,
            _ => return Err(Errno::ENOSYS),
        })
    }
}

impl Process {
    /// Makes the thread wait at an address if it holds `expected`.
    pub(crate) fn wait_futex(&mut self, address: u64, expected: u32, bits: u32, deadline: Time) -> Result<Wait, Errno> {
        if bits == 0 {
            return Err(Errno::EINVAL);
        }
        if self.futex_word(address)? != expected {
            return Err(Errno::EAGAIN);
        }
        if deadline <= self.clock.now() {
            return Err(Errno::ETIMEDOUT);
        }
        let turn = self.new_futex_turn();
        Ok(Wait { what: What::Futex { address, bits, turn }, deadline })
    }

    /// Wakes up to `most` threads that wait at an address for one of `bits`; returns how many.
    pub(crate) fn wake_futex(&mut self, address: u64, most: u64, bits: u32) -> u64 {
        let woken: Vec<usize> = self.waiters(address, bits).into_iter().take(clamp(most)).collect();
        for index in &woken {
            self.finish(*index, Ok(0));
        }
        woken.len() as u64
    }

    /// Wakes up to `wake` threads that wait at `from`, and moves up to `requeue` others to `to`; returns both counts.
    pub(crate) fn requeue_futex(&mut self, from: u64, wake: u64, to: u64, requeue: u64) -> Result<(u64, u64), Errno> {
        self.futex_word(to)?;
        let woken = self.wake_futex(from, wake, u32::MAX);
        let moved: Vec<usize> = self.waiters(from, u32::MAX).into_iter().take(clamp(requeue)).collect();
        for index in &moved {
            let turn = self.new_futex_turn();
            if let State::Waiting(wait) = &mut self.threads[*index].state
                && let What::Futex { address, turn: place, .. } = &mut wait.what
            {
                (*address, *place) = (to, turn);
            }
        }
        Ok((woken, moved.len() as u64))
    }

    /// `FUTEX_WAKE_OP`.
    pub(crate) fn wake_futex_op(
        &mut self,
        first: u64,
        wake: u64,
        second: u64,
        also: u64,
        op: WakeOp,
    ) -> Result<u64, Errno> {
        self.futex_word(first)?;
        let old = self.futex_word(second)?;
        let (new, both) = (op.apply(old)?, op.compare(old)?);
        self.space.write_u32(VirtAddr(second), new)?;
        let woken = self.wake_futex(first, wake, u32::MAX);
        Ok(woken + if both { self.wake_futex(second, also, u32::MAX) } else { 0 })
    }

    pub(crate) fn futex_word(&mut self, address: u64) -> Result<u32, Errno> {
        if !address.is_multiple_of(4) {
            return Err(Errno::EINVAL);
        }
        Ok(self.space.read_u32(VirtAddr(address))?)
    }

    /// The threads that wait at an address, longest-waiting first.
    fn waiters(&self, at: u64, wanted: u32) -> Vec<usize> {
        let mut waiters: Vec<(u64, usize)> = Vec::new();
        for (index, thread) in self.threads.iter().enumerate() {
            if let State::Waiting(Wait { what: What::Futex { address, bits, turn }, .. }) = thread.state
                && address == at
                && bits & wanted != 0
            {
                waiters.push((turn, index));
            }
        }
        waiters.sort_unstable();
        waiters.into_iter().map(|(_, index)| index).collect()
    }
}

/// Interprets a count as the kernel does: a negative number stands for unlimited.
fn clamp(count: u64) -> usize {
    let count = count as i32;
    if count < 0 { usize::MAX } else { count as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operation_of_a_wake_is_unpacked_as_the_kernel_does() {
        // As used by older condition variables of glibc: set to 0, wake if the old value was above 1.
        let op = WakeOp(4 << 24 | 1);
        assert_eq!((op.apply(7), op.compare(2), op.compare(1)), (Ok(0), Ok(true), Ok(false)));
        let shifted_or = WakeOp(2 << 28 | 1 << 31 | 3 << 12);
        assert_eq!(shifted_or.apply(1), Ok(9));
        assert_eq!(WakeOp(7 << 28).apply(0), Err(Errno::ENOSYS));
    }
}
