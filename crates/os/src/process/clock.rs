//! The program's clock in simulated time.
//!
//! In a functional run, time is what a nominal core would need: one nanosecond per instruction, for all threads
//! together. When every thread waits, time jumps to the next event. In a timed run the clock follows the machine's
//! clock.

use crate::state::state;
use engine::Time;

/// The nominal core's time per instruction.
const INSTRUCTION: Time = Time::nanos(1);

/// CLOCK_REALTIME at the start of every run: 2000-01-01 00:00:00 UTC.
const START_OF_RUN: u64 = 946_684_800;

const NANOSECONDS: u64 = 1_000_000_000;

/// Seconds and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSpec {
    pub seconds: u64,
    pub nanoseconds: u64,
}

#[derive(Default)]
pub struct Clock {
    instructions: u64,
    /// Time that passed while no thread ran.
    idle: Time,
    /// The machine's time, in a timed run.
    followed: Option<Time>,
    /// When the measurement began.
    origin: Time,
}

state!(struct Clock { instructions, idle, followed, origin });

impl Clock {
    pub fn now(&self) -> Time {
        self.followed.unwrap_or_else(|| Time(self.instructions.saturating_mul(INSTRUCTION.0)) + self.idle)
    }

    /// Begins the measurement.
    pub fn measure(&mut self) {
        self.origin = self.now();
    }

    /// The time since the measurement began.
    pub fn measured(&self) -> Time {
        Time(self.now().0.saturating_sub(self.origin.0))
    }

    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// The value of `rdtsc`: nanoseconds.
    pub fn time_stamp(&self) -> u64 {
        nanoseconds(self.now())
    }

    pub fn executed(&mut self, instructions: u64) {
        self.instructions = self.instructions.saturating_add(instructions);
    }

    /// Sets the time; from now on the clock follows the machine's clock.
    pub fn follow(&mut self, now: Time) {
        self.followed = Some(now);
    }

    /// Whether the clock follows the machine's clock.
    pub fn is_followed(&self) -> bool {
        self.followed.is_some()
    }

    /// Advances to `time` without executing anything.
    pub fn skip_to(&mut self, time: Time) {
        let now = self.now();
        if time > now && time != Time::NEVER {
            self.idle = self.idle + Time(time.0 - now.0);
        }
    }

    /// The number of instructions that can execute before `time`, at least one.
    pub fn instructions_until(&self, time: Time) -> u64 {
        (time.0.saturating_sub(self.now().0) / INSTRUCTION.0).max(1)
    }

    /// Time since the start of the run.
    pub fn monotonic(&self) -> TimeSpec {
        let nanoseconds = nanoseconds(self.now());
        TimeSpec { seconds: nanoseconds / NANOSECONDS, nanoseconds: nanoseconds % NANOSECONDS }
    }

    /// Time since 1970.
    pub fn real(&self) -> TimeSpec {
        let TimeSpec { seconds, nanoseconds } = self.monotonic();
        TimeSpec { seconds: seconds + START_OF_RUN, nanoseconds }
    }

    /// The simulated time of a point on one of the two clocks; points before the run count as its start.
    pub fn moment(&self, point: TimeSpec, real: bool) -> Time {
        let seconds = if real { point.seconds.saturating_sub(START_OF_RUN) } else { point.seconds };
        TimeSpec { seconds, ..point }.length()
    }
}

impl TimeSpec {
    /// Converts to a duration; a value out of range becomes endless.
    pub fn length(self) -> Time {
        let nanoseconds = self.seconds.saturating_mul(NANOSECONDS).saturating_add(self.nanoseconds);
        Time(nanoseconds.saturating_mul(Time::nanos(1).0))
    }

    pub fn of(time: Time) -> TimeSpec {
        let nanoseconds = nanoseconds(time);
        TimeSpec { seconds: nanoseconds / NANOSECONDS, nanoseconds: nanoseconds % NANOSECONDS }
    }
}

fn nanoseconds(time: Time) -> u64 {
    time.0 / Time::nanos(1).0
}

/// The program's region of interest: from the first begin marker to the last end marker, in nanoseconds.
#[derive(Default)]
pub struct Marked {
    begin: Option<u64>,
    end: Option<u64>,
    /// Markers passed since the last call of `take_passed`.
    passed: [bool; 2],
}

state!(struct Marked { begin, end, passed });

impl Marked {
    /// Records the markers that a CPU has passed.
    pub fn note(&mut self, marks: &mut [Option<u64>; 2]) {
        let [begin, end] = std::mem::take(marks);
        self.begin = self.begin.or(begin);
        self.end = end.or(self.end);
        self.passed[0] |= begin.is_some();
        self.passed[1] |= end.is_some();
    }

    /// Returns which markers have been passed since the last call.
    pub fn take_passed(&mut self) -> [bool; 2] {
        std::mem::take(&mut self.passed)
    }

    /// Begins the measurement at this nanosecond: a region that is open now counts from here on, earlier ones are
    /// dropped.
    pub fn measure(&mut self, now: u64) {
        self.begin = (self.begin.is_some() && self.end.is_none()).then_some(now);
        self.end = None;
    }

    pub fn length(&self) -> Option<Time> {
        Some(Time::nanos(self.end?.checked_sub(self.begin?)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_instructions_and_what_was_slept() {
        let mut clock = Clock::default();
        clock.executed(1_500);
        assert_eq!(clock.now(), Time::nanos(1_500));
        clock.skip_to(Time::micros(3));
        clock.executed(1);
        assert_eq!(clock.now(), Time::nanos(3_001));
        assert_eq!(clock.real(), TimeSpec { seconds: START_OF_RUN, nanoseconds: 3_001 });
    }

    #[test]
    fn points_in_time_convert_to_either_clock_and_back() {
        let mut clock = Clock::default();
        clock.executed(123);
        assert_eq!(clock.moment(clock.real(), true), clock.now());
        assert_eq!(clock.moment(clock.monotonic(), false), clock.now());
        assert_eq!(clock.moment(TimeSpec { seconds: u64::MAX, nanoseconds: 0 }, false), Time::NEVER);
    }
}
