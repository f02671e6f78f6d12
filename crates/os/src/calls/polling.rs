//! `poll` and `select`: waiting for several descriptors at once.

use super::{Flow, Outcome};
use crate::{
    errno::Errno,
    files::Kind,
    guest::GuestMemory,
    process::{Process, TimeSpec, Wait, What},
};
use engine::Time;
use mem::VirtAddr;

const READABLE: u16 = 1;
const WRITABLE: u16 = 4;
const ERROR: u16 = 8;
const HUNG_UP: u16 = 16;
const NOT_OPEN: u16 = 32;

const MOST: u64 = 1024;

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub enum Timeout {
    /// Milliseconds; a negative value waits without limit.
    Milliseconds(i32),
    /// The address of a `timespec`; 0 waits without limit.
    Spec(u64),
}

/// The unit of the fraction in the timeout of `select`.
#[derive(Clone, Copy, Debug)]
pub enum Unit {
    Microseconds,
    Nanoseconds,
}

impl Process {
    pub(super) fn poll(&mut self, index: usize, list: u64, count: u64, timeout: Timeout) -> Outcome {
        if count > MOST {
            return Err(Errno::EINVAL);
        }
        let length = match timeout {
            Timeout::Milliseconds(time) if time < 0 => None,
            Timeout::Milliseconds(time) => {
                let (seconds, rest) = (time as u64 / 1_000, time as u64 % 1_000);
                Some(TimeSpec { seconds, nanoseconds: rest * 1_000_000 }.length())
            }
            Timeout::Spec(0) => None,
            Timeout::Spec(at) => Some(self.read_timespec(at)?.length()),
        };
        let mut ready = 0;
        for place in 0..count {
            let at = list.wrapping_add(place * 8);
            let fd = self.space.read_u32(VirtAddr(at))? as i32;
            let wanted = self.space.read_u32(VirtAddr(at.wrapping_add(4)))? as u16;
            let found = if fd < 0 { 0 } else { self.readiness(fd as u64) & (wanted | ERROR | HUNG_UP | NOT_OPEN) };
            self.space.write(VirtAddr(at.wrapping_add(6)), &found.to_le_bytes())?;
            ready += u64::from(found != 0);
        }
        self.ready_or_wait(index, ready, length)
    }

    pub(super) fn select(&mut self, index: usize, count: u64, sets: [u64; 3], timeout: u64, unit: Unit) -> Outcome {
        if count > MOST {
            return Err(Errno::EINVAL);
        }
        let length = match timeout {
            0 => None,
            at => Some(self.select_timeout(at, unit)?),
        };
        let words = count.div_ceil(64);
        let mut found = vec![[0_u64; 3]; words as usize];
        let mut ready = 0;
        for (which, set) in sets.iter().enumerate().filter(|(_, set)| **set != 0) {
            for word in 0..words {
                let bits = self.space.read_u64(VirtAddr(set.wrapping_add(word * 8)))?;
                for bit in (0..64).filter(|bit| bits >> bit & 1 != 0 && word * 64 + bit < count) {
                    let state = self.readiness(word * 64 + bit);
                    if state & NOT_OPEN != 0 {
                        return Err(Errno::EBADF);
                    }
                    let wanted = [READABLE | HUNG_UP | ERROR, WRITABLE | ERROR, 0][which];
                    if state & wanted != 0 {
                        found[word as usize][which] |= 1 << bit;
                        ready += 1;
                    }
                }
            }
        }
        let outcome = self.ready_or_wait(index, ready, length)?;
        if matches!(outcome, Flow::Return(_)) {
            for (which, set) in sets.iter().enumerate().filter(|(_, set)| **set != 0) {
                for (word, bits) in found.iter().enumerate() {
                    self.space.write_u64(VirtAddr(set.wrapping_add(word as u64 * 8)), bits[which])?;
                }
            }
        }
        Ok(outcome)
    }

    fn select_timeout(&mut self, at: u64, unit: Unit) -> Result<Time, Errno> {
        let time = match unit {
            Unit::Microseconds => self.read_timeval(at)?,
            Unit::Nanoseconds => self.read_timespec(at)?,
        };
        Ok(time.length())
    }

    /// Returns the number of ready descriptors, or makes the thread wait until a descriptor changes or the timeout
    /// expires.
    fn ready_or_wait(&mut self, index: usize, ready: u64, length: Option<Time>) -> Outcome {
        let now = self.clock.now();
        let call = &mut self.threads[index].call;
        let deadline = *call.deadline.get_or_insert(length.map_or(Time::NEVER, |length| now + length));
        if ready > 0 || deadline <= now {
            return Ok(Flow::Return(ready));
        }
        Ok(Flow::Wait(Wait { what: What::Files { restart: false }, deadline }))
    }

    /// The operations that a descriptor can do without blocking.
    fn readiness(&self, fd: u64) -> u16 {
        let Ok(file) = self.files.get(fd) else { return NOT_OPEN };
        match &file.kind {
            Kind::Pipe(pipe) if pipe.writes() => {
                let room = if pipe.has_room() { WRITABLE } else { 0 };
                if pipe.hung_up() { room | ERROR } else { room }
            }
            Kind::Pipe(pipe) => {
                let bytes = if pipe.waiting() > 0 { READABLE } else { 0 };
                if pipe.hung_up() { bytes | HUNG_UP } else { bytes }
            }
            // Files and streams of the host never block.
            _ => READABLE | WRITABLE,
        }
    }
}
