//! Time, and the clocks that cut it into cycles.
//!
//! Time is a whole number of femtoseconds. Edge n of a clock of `f` hertz is at floor(n * 10^15 / f). It is computed
//! from n each time and never by adding up periods, so a 700 MHz clock and a 1 GHz clock never drift apart.

use serde::{Deserialize, Serialize};
use std::{fmt, ops::Add};

const FEMTOSECONDS_PER_SECOND: u64 = 1_000_000_000_000_000;

/// A point in simulated time, or a duration, in femtoseconds. 2^64 of them last five hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

impl Time {
    /// The start of every run.
    pub const ZERO: Time = Time(0);
    /// Later than everything that can happen.
    pub const NEVER: Time = Time(u64::MAX);

    /// A time in picoseconds.
    pub const fn picos(n: u64) -> Time {
        Time(n * 1_000)
    }

    /// A time in nanoseconds.
    pub const fn nanos(n: u64) -> Time {
        Time(n * 1_000_000)
    }

    /// A time in microseconds.
    pub const fn micros(n: u64) -> Time {
        Time(n * 1_000_000_000)
    }
}

impl Add for Time {
    type Output = Time;

    /// Saturates at [`Time::NEVER`].
    fn add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Time {
    /// In the largest unit that leaves a digit before the point: `1.25 us`, `800 ps`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Time::NEVER {
            return write!(f, "never");
        }
        let (scale, unit) = match self.0 {
            0..1_000 => (1, "fs"),
            1_000..1_000_000 => (1_000, "ps"),
            1_000_000..1_000_000_000 => (1_000_000, "ns"),
            1_000_000_000..1_000_000_000_000 => (1_000_000_000, "us"),
            1_000_000_000_000..FEMTOSECONDS_PER_SECOND => (1_000_000_000_000, "ms"),
            _ => (FEMTOSECONDS_PER_SECOND, "s"),
        };
        // Thousandths, truncated rather than rounded: a time never prints as later than it is.
        let (whole, rest) = (self.0 / scale, (self.0 % scale) as u128 * 1_000 / scale as u128);
        match rest {
            0 => write!(f, "{whole} {unit}"),
            _ => write!(f, "{whole}.{} {unit}", format!("{rest:03}").trim_end_matches('0')),
        }
    }
}

/// The frequency of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hertz(pub u64);

impl Hertz {
    /// A frequency in megahertz.
    pub const fn mega(n: u64) -> Hertz {
        Hertz(n * 1_000_000)
    }

    /// A frequency in gigahertz.
    pub const fn giga(n: u64) -> Hertz {
        Hertz(n * 1_000_000_000)
    }
}

impl fmt::Display for Hertz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            hertz if hertz >= 1_000_000_000 => write!(f, "{} GHz", hertz as f64 / 1e9),
            hertz if hertz >= 1_000_000 => write!(f, "{} MHz", hertz as f64 / 1e6),
            hertz => write!(f, "{hertz} Hz"),
        }
    }
}

/// A number of cycles of some clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cycles(pub u64);

impl From<u64> for Cycles {
    fn from(n: u64) -> Cycles {
        Cycles(n)
    }
}

impl fmt::Display for Cycles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => write!(f, "1 cycle"),
            n => write!(f, "{n} cycles"),
        }
    }
}

/// A clock: the map between cycles and time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    hertz: u64,
    /// 10^15 / hertz, and the remainder of that division.
    period: u64,
    rest: u64,
}

impl Clock {
    pub(crate) fn new(rate: Hertz) -> Clock {
        assert!(
            (1..=FEMTOSECONDS_PER_SECOND).contains(&rate.0),
            "a clock of {rate} can't be simulated: its rate must lie between 1 Hz and 10^15 Hz"
        );
        Clock { hertz: rate.0, period: FEMTOSECONDS_PER_SECOND / rate.0, rest: FEMTOSECONDS_PER_SECOND % rate.0 }
    }

    /// When cycle `n` begins; [`Time::NEVER`] if that does not fit into a [`Time`].
    #[inline]
    pub(crate) fn edge(&self, n: u64) -> Time {
        if self.rest == 0 {
            return Time(n.saturating_mul(self.period));
        }
        let edge = n as u128 * FEMTOSECONDS_PER_SECOND as u128 / self.hertz as u128;
        Time(u64::try_from(edge).unwrap_or(u64::MAX))
    }

    /// The first cycle that begins at `time` or later; none begins at [`Time::NEVER`].
    #[inline]
    pub(crate) fn first_at(&self, time: Time) -> u64 {
        if time == Time::NEVER {
            return u64::MAX;
        }
        if self.rest == 0 {
            return time.0.div_ceil(self.period);
        }
        // floor(n * 10^15 / f) >= t exactly when n * 10^15 / f >= t, as t is whole.
        let cycle = (time.0 as u128 * self.hertz as u128).div_ceil(FEMTOSECONDS_PER_SECOND as u128);
        u64::try_from(cycle).unwrap_or(u64::MAX)
    }

    /// The first cycle that begins later than `time`.
    pub(crate) fn first_after(&self, time: Time) -> u64 {
        self.first_at(time + Time(1))
    }

    /// The duration of `cycles`, rounded up to a whole femtosecond.
    pub(crate) fn span(&self, cycles: Cycles) -> Time {
        let span = (cycles.0 as u128 * FEMTOSECONDS_PER_SECOND as u128).div_ceil(self.hertz as u128);
        Time(u64::try_from(span).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RATES: [Hertz; 8] = [
        Hertz::mega(700),
        Hertz::mega(800),
        Hertz::giga(1),
        Hertz::mega(1200),
        Hertz::mega(1700),
        Hertz::giga(2),
        Hertz::giga(3),
        Hertz::giga(4),
    ];

    #[test]
    fn no_clock_drifts_over_a_million_million_cycles() {
        for rate in RATES {
            let clock = Clock::new(rate);
            // 10^12 cycles of f Hz take 10^27 / f femtoseconds exactly.
            let exact = 10u128.pow(27) / rate.0 as u128;
            assert_eq!(clock.edge(10u64.pow(12)).0 as u128, exact, "{rate}");
            // And n seconds of it are n seconds, whatever the frequency.
            assert_eq!(clock.edge(rate.0 * 1_000), Time(1_000 * FEMTOSECONDS_PER_SECOND), "{rate}");
        }
    }

    proptest! {
        #[test]
        fn the_first_cycle_at_a_time_is_the_first(rate in 0..RATES.len(), time in 0..10u64.pow(18)) {
            let clock = Clock::new(RATES[rate]);
            let cycle = clock.first_at(Time(time));
            prop_assert!(clock.edge(cycle).0 >= time);
            prop_assert!(cycle == 0 || clock.edge(cycle - 1).0 < time);
        }

        #[test]
        fn a_cycle_begins_at_its_own_edge(rate in 0..RATES.len(), cycle in 0..10u64.pow(12)) {
            let clock = Clock::new(RATES[rate]);
            prop_assert_eq!(clock.first_at(clock.edge(cycle)), cycle);
            prop_assert_eq!(clock.first_after(clock.edge(cycle)), cycle + 1);
        }
    }

    #[test]
    fn time_ends_without_overflow() {
        let clock = Clock::new(Hertz::mega(700));
        assert_eq!(clock.edge(u64::MAX), Time::NEVER);
        assert_eq!(Clock::new(Hertz::giga(1)).edge(u64::MAX), Time::NEVER);
        assert_eq!(clock.first_at(Time::NEVER), u64::MAX);
    }

    #[test]
    fn times_print_in_a_unit_that_can_be_read() {
        assert_eq!(Time::nanos(1250).to_string(), "1.25 us");
        assert_eq!(Time::picos(800).to_string(), "800 ps");
        assert_eq!(Time(1_428_571).to_string(), "1.428 ns");
        assert_eq!(Time::NEVER.to_string(), "never");
        assert_eq!(Hertz::mega(700).to_string(), "700 MHz");
        assert_eq!(Hertz::mega(1700).to_string(), "1.7 GHz");
    }
}
