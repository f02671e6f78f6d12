//! Clocks, sleeping and timers, all in simulated time.

use super::{DONE, Flow, Outcome, value};
use crate::{
    errno::Errno,
    guest::GuestMemory,
    process::{Alarm, Process, TimeSpec, Wait, What},
};
use engine::Time;
use mem::VirtAddr;

mod clock {
    pub const REAL: u64 = 0;
    pub const MONOTONIC: u64 = 1;
    pub const PROCESS: u64 = 2;
    pub const THREAD: u64 = 3;
    pub const RAW: u64 = 4;
    pub const REAL_COARSE: u64 = 5;
    pub const MONOTONIC_COARSE: u64 = 6;
    pub const BOOT: u64 = 7;
    pub const TAI: u64 = 11;
}

const SECOND: u64 = 1_000_000_000;

impl Process {
    fn clock_time(&self, index: usize, clock: u64) -> Result<TimeSpec, Errno> {
        Ok(match clock {
            clock::REAL | clock::REAL_COARSE | clock::TAI => self.clock.real(),
            clock::MONOTONIC | clock::RAW | clock::MONOTONIC_COARSE | clock::BOOT => self.clock.monotonic(),
            // A timed run does not attribute CPU time to the process or its threads; the monotonic clock stands in for
            // it.
            clock::PROCESS | clock::THREAD if self.clock.is_followed() => self.clock.monotonic(),
            // One nanosecond per instruction: the time of the nominal core, without time slept.
            clock::PROCESS => nanoseconds(self.clock.instructions()),
            clock::THREAD => nanoseconds(self.threads[index].cpu.instructions),
            _ => return Err(Errno::EINVAL),
        })
    }

    pub(super) fn clock_gettime(&mut self, index: usize, clock: u64, at: u64) -> Outcome {
        let time = self.clock_time(index, clock)?;
        self.write_timespec(at, time)?;
        DONE
    }

    pub(super) fn clock_getres(&mut self, index: usize, clock: u64, at: u64) -> Outcome {
        self.clock_time(index, clock)?;
        if at != 0 {
            self.write_timespec(at, TimeSpec { seconds: 0, nanoseconds: 1 })?;
        }
        DONE
    }

    pub(super) fn gettimeofday(&mut self, at: u64, zone: u64) -> Outcome {
        let now = self.clock.real();
        if at != 0 {
            self.write_timespec(at, TimeSpec { nanoseconds: now.nanoseconds / 1_000, ..now })?;
        }
        if zone != 0 {
            self.space.write_u64(VirtAddr(zone), 0)?;
        }
        DONE
    }

    pub(super) fn time(&mut self, at: u64) -> Outcome {
        let seconds = self.clock.real().seconds;
        if at != 0 {
            self.space.write_u64(VirtAddr(at), seconds)?;
        }
        value(Ok(seconds))
    }

    pub(super) fn times(&mut self, at: u64) -> Outcome {
        const TICK: u64 = 10_000_000;
        let user = self.clock.instructions() / TICK;
        if at != 0 {
            for (place, ticks) in [user, 0, 0, 0].into_iter().enumerate() {
                self.space.write_u64(VirtAddr(at.wrapping_add(place as u64 * 8)), ticks)?;
            }
        }
        value(Ok(self.clock.time_stamp() / TICK))
    }

    pub(super) fn getrusage(&mut self, who: u64, at: u64) -> Outcome {
        if !matches!(who as i32, -1..=1) {
            return Err(Errno::EINVAL);
        }
        let microseconds = self.clock.instructions() / 1_000;
        let mut words = [0; 18];
        if who as i32 != -1 {
            words[0] = microseconds / 1_000_000;
            words[1] = microseconds % 1_000_000;
            words[4] = self.space.used().0 / 1024;
            words[6] = self.space.faults();
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
        self.space.write(VirtAddr(at), &bytes)?;
        DONE
    }

    pub(super) fn nanosleep(&mut self, length: u64, remaining: u64) -> Outcome {
        let deadline = self.clock.now() + self.read_timespec(length)?.length();
        self.sleep(deadline, remaining)
    }

    pub(super) fn clock_nanosleep(
        &mut self,
        index: usize,
        clock: u64,
        flags: u64,
        time: u64,
        remaining: u64,
    ) -> Outcome {
        const ABSOLUTE: u64 = 1;
        if matches!(clock, clock::THREAD) || flags > ABSOLUTE {
            return Err(Errno::EINVAL);
        }
        self.clock_time(index, clock)?;
        let time = self.read_timespec(time)?;
        if flags == ABSOLUTE {
            let real = matches!(clock, clock::REAL | clock::TAI);
            return self.sleep(self.clock.moment(time, real), 0);
        }
        self.sleep(self.clock.now() + time.length(), remaining)
    }

    fn sleep(&mut self, deadline: Time, remaining: u64) -> Outcome {
        if remaining != 0 {
            self.check_writable(remaining, 16)?;
        }
        if deadline <= self.clock.now() {
            return DONE;
        }
        Ok(Flow::Wait(Wait { what: What::Sleep { remaining }, deadline }))
    }

    pub(super) fn set_alarm(&mut self, seconds: u64) -> Outcome {
        let left =
            self.alarm.map_or(0, |alarm| alarm.at.0.saturating_sub(self.clock.now().0).div_ceil(Time::nanos(SECOND).0));
        let length = TimeSpec { seconds: u64::from(seconds as u32), nanoseconds: 0 }.length();
        self.alarm = (length > Time::ZERO).then(|| Alarm { at: self.clock.now() + length, every: Time::ZERO });
        value(Ok(left))
    }

    pub(super) fn setitimer(&mut self, which: u64, new: u64, old: u64) -> Outcome {
        // ITIMER_VIRTUAL and ITIMER_PROF count processor time and are not supported.
        if which != 0 {
            return Err(Errno::EINVAL);
        }
        let mut lengths = [Time::ZERO; 2];
        if new != 0 {
            for (place, length) in lengths.iter_mut().enumerate() {
                let at = new.wrapping_add(place as u64 * 16);
                *length = self.read_timeval(at)?.length();
            }
        }
        if old != 0 {
            self.getitimer(which, old)?;
        }
        let [every, first] = lengths;
        self.alarm = (first > Time::ZERO).then(|| Alarm { at: self.clock.now() + first, every });
        DONE
    }

    pub(super) fn getitimer(&mut self, which: u64, at: u64) -> Outcome {
        if which != 0 {
            return Err(Errno::EINVAL);
        }
        let now = self.clock.now();
        let (every, left) =
            self.alarm.map_or((Time::ZERO, Time::ZERO), |alarm| (alarm.every, Time(alarm.at.0.saturating_sub(now.0))));
        for (place, time) in [every, left].into_iter().enumerate() {
            let time = TimeSpec::of(time);
            let at = at.wrapping_add(place as u64 * 16);
            self.write_timespec(at, TimeSpec { nanoseconds: time.nanoseconds / 1_000, ..time })?;
        }
        DONE
    }
}

fn nanoseconds(count: u64) -> TimeSpec {
    TimeSpec { seconds: count / SECOND, nanoseconds: count % SECOND }
}
