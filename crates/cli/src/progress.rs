//! Shows the progress of a simulation while it runs, and lets the user end it early.
//!
//! On a terminal, a bar on standard error shows the instructions of host code and kernels, the number of workgroups
//! done and enqueued, simulated time, speed, and the estimated time for the enqueued kernels. If standard error is not
//! a terminal, one such line is printed every ten seconds.

use crate::ui::Ui;
use engine::{Headway, Hertz, Monitor, Time};
use indicatif::{ProgressBar, ProgressStyle};
use miette::{IntoDiagnostic, WrapErr, miette};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use std::{
    io::{self, IsTerminal, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Set when the user has interrupted the command.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Makes Ctrl-C, SIGTERM and SIGHUP end a run early, with the results so far; a second one ends the command at once.
/// What the command was started to ignore (`nohup`) is still ignored.
pub fn catch_interrupts() -> miette::Result<()> {
    let ignored = ignored();
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let signals = Signals::new(wanted).into_diagnostic().wrap_err("Ctrl-C can't be caught");
    let mut signals = signals?;
    let caught = move || {
        for signal in signals.forever() {
            if INTERRUPTED.swap(true, Ordering::Relaxed) {
                os::compiler::abandon();
                std::process::exit(128 + signal);
            }
        }
    };
    let refused = |error| {
        miette!(
            help = "the limit of threads and processes may be reached: see `ulimit -u`",
            "no thread can be started that waits for Ctrl-C: {error}"
        )
    };
    thread::Builder::new().name("signals".into()).spawn(caught).map_err(refused)?;
    Ok(())
}

/// The signals that are ignored, as bits: the first is signal 1.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Whether the user has interrupted the command.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// A run that is watched until this is dropped.
pub struct Progress {
    bar: ProgressBar,
    over: Arc<AtomicBool>,
    watcher: Option<JoinHandle<()>>,
}

const TEMPLATE: &str = "{prefix} [{bar:24}] {msg}";

/// How often the bar is drawn, and how often a line is written where there is no terminal: also with `--verbose`.
const STEP: Duration = Duration::from_millis(100);
const LINE: Duration = Duration::from_secs(10);
const VERBOSE_LINE: Duration = Duration::from_secs(5);

impl Progress {
    /// Watches a run; `clock` is that of the machine, if it has one and is the only one that is watched.
    pub fn start(what: &str, monitor: &Monitor, clock: Option<Hertz>, ui: &Ui) -> Self {
        let terminal = io::stderr().is_terminal();
        let bar = if terminal { ProgressBar::new(0) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("=> "));
        bar.set_prefix(what.to_owned());
        let over = Arc::new(AtomicBool::new(false));
        let every = if ui.verbose { VERBOSE_LINE } else { LINE };
        let line = (!terminal).then_some(every);
        let watcher = Watcher { monitor: monitor.clone(), clock, bar: bar.clone(), line, what: what.to_owned() };
        let done = Arc::clone(&over);
        // If no thread can be started, the run continues without a progress display.
        let watcher = thread::Builder::new().spawn(move || watcher.watch(&done)).ok();
        Self { bar, over, watcher }
    }

    /// A stream to the terminal that the bar makes room for.
    pub fn around<W: Write>(&self, stream: W) -> Around<W> {
        self.streams().around(stream)
    }

    /// Makes such streams, as long as it lives.
    pub fn streams(&self) -> Streams {
        Streams(self.bar.clone())
    }

    /// Does something that writes to the terminal.
    pub fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            watcher.thread().unpark();
            _ = watcher.join();
        }
        self.bar.finish_and_clear();
    }
}

struct Watcher {
    monitor: Monitor,
    clock: Option<Hertz>,
    bar: ProgressBar,
    /// How often a line is written.
    line: Option<Duration>,
    what: String,
}

impl Watcher {
    fn watch(&self, over: &AtomicBool) {
        let start = Instant::now();
        let (mut told, mut before) = (start, (start, self.look()));
        let mut rates = Rates::default();
        while !over.load(Ordering::Relaxed) {
            thread::park_timeout(STEP);
            if interrupted() {
                self.monitor.stop();
            }
            let (now, seen) = (Instant::now(), self.look());
            let passed = (now - before.0).as_secs_f64();
            if passed >= 1.0 {
                rates = Rates::between(&before.1, &seen, passed);
                before = (now, seen);
            }
            let message = seen.message(rates, now - start);
            self.bar.set_length(seen.work.1);
            self.bar.set_position(seen.work.0);
            self.bar.set_message(message.clone());
            if self.line.is_some_and(|line| now - told >= line) {
                told = now;
                eprintln!("{}: {} s: {message}", self.what, (now - start).as_secs());
            }
        }
    }

    fn look(&self) -> Seen {
        let (work, time, headway) = (self.monitor.work(), self.monitor.time(), self.monitor.headway());
        let idle_until = self.monitor.idle_until();
        Seen { work, headway, simulated: self.clock.map(|clock| (clock, time)), idle_until }
    }
}

/// A snapshot of a run's progress.
#[derive(Clone, Copy)]
struct Seen {
    /// Workgroups: done, and enqueued so far.
    work: (u64, u64),
    headway: Headway,
    /// The machine's clock, and its simulated time.
    simulated: Option<(Hertz, Time)>,
    /// The time until which the machine is idle.
    idle_until: Option<Time>,
}

/// Progress per second.
#[derive(Clone, Copy, Default)]
struct Rates {
    instructions: f64,
    wave_instructions: f64,
    cycles: f64,
}

impl Rates {
    fn between(before: &Seen, after: &Seen, seconds: f64) -> Self {
        let rate = |before: u64, after: u64| after.saturating_sub(before) as f64 / seconds;
        let cycles = before
            .simulated
            .zip(after.simulated)
            .map_or(0.0, |((clock, before), (_, after))| rate(before.0, after.0) * clock.0 as f64 / 1e15);
        let (before, after) = (&before.headway, &after.headway);
        Self {
            instructions: rate(before.instructions, after.instructions),
            wave_instructions: rate(before.wave_instructions, after.wave_instructions),
            cycles,
        }
    }
}

impl Seen {
    /// The progress line after this much time; parts that have not begun are left out.
    fn message(&self, rates: Rates, elapsed: Duration) -> String {
        let mut parts = Vec::new();
        let counted = |count: u64, rate: f64, what: &str| {
            let rate = if rate > 0.0 { format!(" ({}/s)", short(rate)) } else { String::new() };
            (count > 0).then(|| format!("{} {what}{rate}", short(count as f64)))
        };
        let Headway { instructions, wave_instructions, kernels } = self.headway;
        let (done, expected) = self.work;
        parts.extend(counted(instructions, rates.instructions, "instructions"));
        parts.extend((kernels > 0).then(|| format!("{kernels} kernel{}", if kernels == 1 { "" } else { "s" })));
        parts.extend(counted(wave_instructions, rates.wave_instructions, "functional wavefront instructions"));
        if expected > 0 {
            parts.push(format!("{done} of {expected} workgroups"));
        }
        if let Some((_, time)) = self.simulated.filter(|(_, time)| *time > Time::ZERO) {
            parts.push(format!("{time} simulated"));
            // A gap between two events is nothing to speak of.
            if let Some(idle_until) = self.idle_until.filter(|until| *until > time + Time::micros(1)) {
                parts.push(format!("idle until {idle_until}"));
            }
        }
        if rates.cycles > 0.0 {
            parts.push(format!("{} cycles/s", short(rates.cycles)));
        }
        if let Some(left) = left(done, expected, elapsed) {
            parts.push(format!("about {} s left of the kernels known", left.as_secs().max(1)));
        }
        if parts.is_empty() { "begins".to_owned() } else { parts.join(", ") }
    }
}

/// Estimated time for the rest of the enqueued work, at the speed so far.
fn left(done: u64, expected: u64, elapsed: Duration) -> Option<Duration> {
    let rest = expected.saturating_sub(done);
    (done > 0 && rest > 0).then(|| elapsed.mul_f64(rest as f64 / done as f64))
}

/// `about 12 s`, `about 3 min`.
pub fn about(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds < 120 => format!("about {seconds} s"),
        seconds if seconds < 7200 => format!("about {} min", seconds / 60),
        seconds => format!("about {} h", seconds / 3600),
    }
}

/// `950`, `12k`, `3.4M`.
fn short(number: f64) -> String {
    match number {
        n if n >= 1e7 => format!("{:.0}M", n / 1e6),
        n if n >= 1e6 => format!("{:.1}M", n / 1e6),
        n if n >= 1e3 => format!("{:.0}k", n / 1e3),
        n => format!("{n:.0}"),
    }
}

/// Makes streams that write past the bar.
#[derive(Clone)]
pub struct Streams(ProgressBar);

impl Streams {
    pub fn around<W: Write>(&self, stream: W) -> Around<W> {
        Around { bar: self.0.clone(), stream }
    }
}

/// A stream that writes past the bar.
pub struct Around<W> {
    bar: ProgressBar,
    stream: W,
}

impl<W: Write> Write for Around<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bar.suspend(|| self.stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(instructions: u64, work: (u64, u64), time: Time) -> Seen {
        let headway = Headway { instructions, kernels: u64::from(work.1 > 0), ..Headway::default() };
        Seen { work, headway, simulated: Some((Hertz::giga(1), time)), idle_until: None }
    }

    #[test]
    fn a_message_has_instructions_work_time_speed_and_the_remaining_time() {
        let (before, after) = (seen(0, (0, 0), Time::ZERO), seen(12_300_000, (10, 40), Time::micros(3)));
        let told = after.message(Rates::between(&before, &after, 2.0), Duration::from_secs(4));
        assert_eq!(
            told,
            "12M instructions (6.2M/s), 1 kernel, 10 of 40 workgroups, 3 us simulated, 2k cycles/s, \
             about 12 s left of the kernels known"
        );
    }

    #[test]
    fn a_machine_in_which_nothing_happens_is_idle() {
        let idle = |until| {
            let seen = Seen { idle_until: Some(until), ..seen(0, (0, 0), Time::micros(3)) };
            seen.message(Rates::default(), Duration::from_secs(4))
        };
        assert_eq!(idle(Time::micros(2000)), "3 us simulated, idle until 2 ms");
        assert_eq!(idle(Time::nanos(3001)), "3 us simulated");
    }

    #[test]
    fn progress_before_a_machine_begins_is_counted_in_instructions_of_host_code() {
        let message = |seen: Seen| seen.message(Rates::default(), Duration::from_secs(4));
        assert_eq!(message(seen(950, (0, 0), Time::ZERO)), "950 instructions");
        assert_eq!(message(seen(0, (0, 0), Time::ZERO)), "begins");
    }

    #[test]
    fn what_is_left_is_not_known_before_anything_is_done() {
        assert_eq!(left(0, 40, Duration::from_secs(4)), None);
        assert_eq!(left(40, 40, Duration::from_secs(4)), None);
    }
}
