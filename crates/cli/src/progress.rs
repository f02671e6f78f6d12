//! How far a simulation is, while it runs; and how the user ends it early.
//!
//! On a terminal a bar on standard error: workgroups done of those that are known, simulated time, speed, and what is left of
//! the kernels that are known. Elsewhere nothing, or with `--verbose` a line now and then.

use crate::ui::Ui;
use engine::{Hertz, Monitor, Time};
use indicatif::{ProgressBar, ProgressStyle};
use miette::{IntoDiagnostic, WrapErr};
use std::{
    io::{self, IsTerminal, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Set when the user has asked for the end.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Lets Ctrl-C end runs with what is known so far; a second one ends the command at once.
pub fn catch_interrupts() -> miette::Result<()> {
    let caught = || {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    ctrlc::set_handler(caught).into_diagnostic().wrap_err("Ctrl-C can't be caught")
}

/// Whether the user has asked for the end.
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

/// How often the bar is drawn, and how often a line is written where there is no terminal.
const STEP: Duration = Duration::from_millis(100);
const LINE: Duration = Duration::from_secs(5);

impl Progress {
    /// Watches a run; `clock` is that of the machine, if it has one.
    pub fn start(what: &str, monitor: &Monitor, clock: Option<Hertz>, ui: &Ui) -> Self {
        let terminal = io::stderr().is_terminal() && clock.is_some();
        let bar = if terminal { ProgressBar::new(0) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("=> "));
        bar.set_prefix(what.to_owned());
        let over = Arc::new(AtomicBool::new(false));
        let speaks = ui.verbose && !terminal && clock.is_some();
        let watcher = Watcher { monitor: monitor.clone(), clock, bar: bar.clone(), speaks, what: what.to_owned() };
        let done = Arc::clone(&over);
        let watcher = thread::spawn(move || watcher.watch(&done));
        Self { bar, over, watcher: Some(watcher) }
    }

    /// A stream to the terminal that the bar makes room for.
    pub fn around<W: Write>(&self, stream: W) -> Around<W> {
        Around { bar: self.bar.clone(), stream }
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
    speaks: bool,
    what: String,
}

impl Watcher {
    fn watch(&self, over: &AtomicBool) {
        let start = Instant::now();
        let (mut told, mut before) = (start, (start, Time::ZERO));
        let mut rate = 0.0;
        while !over.load(Ordering::Relaxed) {
            thread::park_timeout(STEP);
            if interrupted() {
                self.monitor.stop();
            }
            let (now, time) = (Instant::now(), self.monitor.time());
            if now - before.0 >= Duration::from_secs(1) {
                rate = time.0.saturating_sub(before.1.0) as f64 / (now - before.0).as_secs_f64();
                before = (now, time);
            }
            let work = self.monitor.work();
            let message =
                message(work, time, self.clock.filter(|_| rate > 0.0).map(|clock| (clock, rate)), now - start);
            self.bar.set_length(work.1);
            self.bar.set_position(work.0);
            self.bar.set_message(message.clone());
            if self.speaks && now - told >= LINE {
                told = now;
                eprintln!("{}: {message}", self.what);
            }
        }
    }
}

/// How long the rest of the known work takes if it goes on as it did.
fn left(done: u64, expected: u64, elapsed: Duration) -> Option<Duration> {
    let rest = expected.saturating_sub(done);
    (done > 0 && rest > 0).then(|| elapsed.mul_f64(rest as f64 / done as f64))
}

/// `speed`: of the clock, with simulated femtoseconds a second.
fn message((done, expected): (u64, u64), time: Time, speed: Option<(Hertz, f64)>, elapsed: Duration) -> String {
    let mut parts = Vec::new();
    if expected > 0 {
        parts.push(format!("{done} of {expected} workgroups"));
    }
    parts.push(format!("{time} simulated"));
    if let Some((clock, rate)) = speed {
        parts.push(format!("{} cycles/s", short(rate * clock.0 as f64 / 1e15)));
    }
    if let Some(left) = left(done, expected, elapsed) {
        parts.push(format!("about {} s left of the kernels known", left.as_secs().max(1)));
    }
    parts.join(", ")
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

    #[test]
    fn a_message_tells_work_time_speed_and_what_is_left() {
        let told = message((10, 40), Time::micros(3), Some((Hertz::giga(1), 2.5e12)), Duration::from_secs(4));
        assert_eq!(told, "10 of 40 workgroups, 3 us simulated, 2.5M cycles/s, about 12 s left of the kernels known");
        assert_eq!(message((0, 0), Time::micros(3), None, Duration::from_secs(4)), "3 us simulated");
    }

    #[test]
    fn what_is_left_is_not_known_before_anything_is_done() {
        assert_eq!(left(0, 40, Duration::from_secs(4)), None);
        assert_eq!(left(40, 40, Duration::from_secs(4)), None);
    }
}
