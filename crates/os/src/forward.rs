//! Fast-forwarding: a program runs functionally (without a timing model) up to a point, and on the timed machine from there on.
//!
//! Everything before the point, such as reading inputs and earlier kernels, runs as fast as it can be executed: host
//! code on the functional CPU, kernels on the functional GPU. Then the run *switches*: the timed machine takes over
//! memory, threads, files and the driver's objects as they are. Its caches are cold, unless the switch happens a
//! *warm-up* before the point. The warm-up is timed, to fill the caches, and is not measured.
//!
//! A run switches once it has reached its switch point and no functional kernel is in flight. Kernels that would start
//! in the meantime wait for the switch.

use std::{cell::Cell, fmt, rc::Rc, str::FromStr};

/// The point at which measurement begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The start of a kernel, counted from 1 over all queues in the order in which kernels start.
    Kernel(u64),
    /// The first marker that begins the program's region of interest.
    RegionOfInterest,
    /// When all threads of the program together have executed this number of instructions.
    Instructions(u64),
}

/// The timed part before the point, which warms the caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WarmUp {
    /// Nothing: caches are empty at the point.
    #[default]
    Cold,
    /// The last kernels before the point, and the host code between them.
    Kernels(u64),
    /// The last instructions before the point.
    Instructions(u64),
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "roi" => Ok(Self::RegionOfInterest),
            Some(("kernel", number)) => match count(number)? {
                0 => Err("kernels are counted from 1: kernel:1 is the first".into()),
                number => Ok(Self::Kernel(number)),
            },
            Some(("instructions", number)) => match count(number)? {
                0 => Err("a run that is timed from its first instruction needs no --fast-forward".into()),
                number => Ok(Self::Instructions(number)),
            },
            _ => Err("write kernel:N, roi or instructions:N".into()),
        }
    }
}

impl FromStr for WarmUp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "cold" => Ok(Self::Cold),
            Some((kind @ ("kernels" | "instructions"), number)) => match (count(number)?, kind) {
                (0, _) => Err("write cold to begin with cold caches".into()),
                (number, "kernels") => Ok(Self::Kernels(number)),
                (number, _) => Ok(Self::Instructions(number)),
            },
            _ => Err("write cold, kernels:N or instructions:N".into()),
        }
    }
}

/// Parses a number, in thousands, millions or billions if it has such a suffix.
fn count(text: &str) -> Result<u64, String> {
    let (digits, times) = match text.char_indices().next_back() {
        Some((end, 'k')) => (&text[..end], 1_000),
        Some((end, 'M')) => (&text[..end], 1_000_000),
        Some((end, 'G')) => (&text[..end], 1_000_000_000),
        _ => (text, 1),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(times));
    number.ok_or_else(|| format!("'{text}' is not a count such as 50000, 100k or 10M"))
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(number) => write!(f, "kernel:{number}"),
            Self::RegionOfInterest => write!(f, "roi"),
            Self::Instructions(number) => write!(f, "instructions:{number}"),
        }
    }
}

impl fmt::Display for WarmUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cold => write!(f, "cold"),
            Self::Kernels(number) => write!(f, "kernels:{number}"),
            Self::Instructions(number) => write!(f, "instructions:{number}"),
        }
    }
}

/// The plan of a fast-forwarded run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastForward {
    to: Point,
    warm_up: WarmUp,
    /// The point at which the timed machine takes over: `to` less the warm-up.
    switch: Point,
}

impl FastForward {
    /// Fails if the warm-up is not counted in the unit of the point, or would begin before the program.
    pub fn new(to: Point, warm_up: WarmUp) -> Result<Self, String> {
        let too_long = || format!("a warm-up of {warm_up} begins before the program: {to} has fewer before it");
        let switch = match (to, warm_up) {
            (_, WarmUp::Cold) => to,
            (Point::Kernel(number), WarmUp::Kernels(before)) => {
                Point::Kernel(number.checked_sub(before).filter(|number| *number > 0).ok_or_else(too_long)?)
            }
            (Point::Instructions(number), WarmUp::Instructions(before)) => {
                Point::Instructions(number.checked_sub(before).ok_or_else(too_long)?)
            }
            (Point::Kernel(_), _) => return Err("before a kernel, kernels warm the caches: kernels:N".into()),
            (Point::Instructions(_), _) => {
                return Err("before a number of instructions, instructions warm the caches: instructions:N".into());
            }
            (Point::RegionOfInterest, _) => {
                return Err("caches can't be warmed before roi, because the program reaches it without notice: \
                            fast-forward to kernel:N or instructions:N instead"
                    .into());
            }
        };
        Ok(Self { to, warm_up, switch })
    }

    pub fn to(&self) -> Point {
        self.to
    }

    pub fn warm_up(&self) -> WarmUp {
        self.warm_up
    }
}

/// The result of a fast-forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forwarded {
    pub plan: FastForward,
    /// Whether the program reached the point.
    pub reached: bool,
    /// Instructions of the program and kernels that ran functionally.
    pub instructions: u64,
    pub kernels: u64,
}

/// The progress of a fast-forwarded run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Running functionally.
    Skipping,
    /// The switch point has been reached; functional kernels are still in flight.
    Stopping,
    /// Timed, before the point.
    WarmUp,
    /// Timed, after the point.
    Measured,
}

/// The state of a fast-forwarded run. Clones share it: the process, its GPUs and the machine each have one.
#[derive(Clone)]
pub struct Forward(Rc<State>);

struct State {
    plan: FastForward,
    stage: Cell<Stage>,
    /// Kernels that have been started, and those of them that are in flight functionally.
    launched: Cell<u64>,
    in_flight: Cell<usize>,
    /// The work that ran functionally.
    instructions: Cell<u64>,
    kernels: Cell<u64>,
    /// Whether the point has been passed without the process having noticed yet.
    passed: Cell<bool>,
}

impl Forward {
    pub fn new(plan: FastForward) -> Self {
        Self(Rc::new(State {
            plan,
            stage: Cell::new(Stage::Skipping),
            launched: Cell::new(0),
            in_flight: Cell::new(0),
            instructions: Cell::new(0),
            kernels: Cell::new(0),
            passed: Cell::new(false),
        }))
    }

    pub fn plan(&self) -> FastForward {
        self.0.plan
    }

    pub fn stage(&self) -> Stage {
        self.0.stage.get()
    }

    /// Whether the timed machine has taken over.
    pub fn is_in_time(&self) -> bool {
        matches!(self.stage(), Stage::WarmUp | Stage::Measured)
    }

    /// The result so far.
    pub fn outcome(&self) -> Forwarded {
        Forwarded {
            plan: self.0.plan,
            reached: self.stage() == Stage::Measured,
            instructions: self.0.instructions.get(),
            kernels: self.0.kernels.get(),
        }
    }

    /// Whether the run switches at the marker of a region of interest.
    pub(crate) fn waits_for_mark(&self) -> bool {
        self.0.plan.switch == Point::RegionOfInterest && self.stage() == Stage::Skipping
    }

    /// Called when the switch point has been reached.
    pub(crate) fn stop(&self) {
        if self.stage() == Stage::Skipping {
            self.0.stage.set(Stage::Stopping);
        }
    }

    /// Called with the number of instructions that the program has executed.
    pub(crate) fn executed(&self, instructions: u64) {
        if !self.is_in_time() {
            self.0.instructions.set(instructions);
        }
        match (self.stage(), self.0.plan.switch, self.0.plan.to) {
            (Stage::Skipping, Point::Instructions(n), _) if instructions >= n => self.stop(),
            (Stage::WarmUp, _, Point::Instructions(n)) if instructions >= n => self.pass(),
            _ => {}
        }
    }

    /// The instruction count at which the stage changes next, if it is known.
    pub(crate) fn next_change(&self) -> Option<u64> {
        match (self.stage(), self.0.plan.switch, self.0.plan.to) {
            (Stage::Skipping, Point::Instructions(n), _) | (Stage::WarmUp, _, Point::Instructions(n)) => Some(n),
            _ => None,
        }
    }

    /// Whether the timed machine may take over now.
    pub(crate) fn can_switch(&self) -> bool {
        self.stage() == Stage::Stopping && self.0.in_flight.get() == 0
    }

    /// Called when the timed machine takes over.
    pub(crate) fn switch(&self) {
        self.0.stage.set(Stage::WarmUp);
        if self.0.plan.warm_up == WarmUp::Cold {
            self.pass();
        }
    }

    fn pass(&self) {
        self.0.stage.set(Stage::Measured);
        self.0.passed.set(true);
    }

    /// Whether the point has been passed since the last call.
    pub(crate) fn take_passed(&self) -> bool {
        self.0.passed.take()
    }

    /// Called when the next kernel is about to start; returns its number, from 1. Afterwards the run is in the stage in
    /// which that kernel runs or, while functional kernels are in flight, waits.
    pub(crate) fn launch(&self) -> u64 {
        let number = self.0.launched.get() + 1;
        self.0.launched.set(number);
        if matches!(self.0.plan.switch, Point::Kernel(first) if number >= first) {
            self.stop();
        }
        match self.stage() {
            Stage::Skipping => {
                self.0.kernels.set(self.0.kernels.get() + 1);
                self.0.in_flight.set(self.0.in_flight.get() + 1);
            }
            Stage::Stopping => {}
            Stage::WarmUp | Stage::Measured => self.launch_in_time(number),
        }
        number
    }

    /// Called when a kernel starts in the timed machine.
    pub(crate) fn launch_in_time(&self, number: u64) {
        if self.stage() == Stage::WarmUp && matches!(self.0.plan.to, Point::Kernel(first) if number >= first) {
            self.pass();
        }
    }

    /// Called when functional kernels have ended.
    pub(crate) fn ended(&self, kernels: usize) {
        self.0.in_flight.set(self.0.in_flight.get() - kernels);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(to: &str, warm_up: &str) -> Result<FastForward, String> {
        FastForward::new(to.parse()?, warm_up.parse()?)
    }

    #[test]
    fn points_and_warm_ups_are_written_as_they_are_read() {
        for text in ["kernel:3", "roi", "instructions:28000000"] {
            assert_eq!(text.parse::<Point>().unwrap().to_string(), text);
        }
        for text in ["cold", "kernels:2", "instructions:5"] {
            assert_eq!(text.parse::<WarmUp>().unwrap().to_string(), text);
        }
        assert_eq!("instructions:28M".parse(), Ok(Point::Instructions(28_000_000)));
    }

    #[test]
    fn a_point_that_can_not_be_is_refused_with_what_would_be_right() {
        let refused = |to: &str, warm_up: &str| plan(to, warm_up).unwrap_err();
        assert!(refused("kernel:0", "cold").contains("counted from 1"));
        assert!(refused("kernel:-1", "cold").contains("'-1' is not a count"));
        assert!(refused("kernel:99999999999999999999", "cold").contains("is not a count"));
        assert!(refused("kernel", "cold").contains("kernel:N, roi or instructions:N"));
        assert!(refused("instructions:0", "cold").contains("needs no --fast-forward"));
        assert!(refused("kernel:3", "kernels:0").contains("cold"));
        assert!(refused("kernel:3", "kernels:3").contains("begins before the program"));
        assert!(refused("instructions:3", "instructions:4").contains("begins before the program"));
        assert!(refused("kernel:3", "instructions:4").contains("kernels:N"));
        assert!(refused("instructions:3", "kernels:1").contains("instructions:N"));
        assert!(refused("roi", "kernels:1").contains("reaches it without notice"));
    }

    #[test]
    fn a_run_switches_when_no_kernel_is_in_flight_and_is_measured_from_the_point_on() {
        let run = Forward::new(plan("kernel:4", "kernels:2").unwrap());
        assert_eq!((run.launch(), run.stage()), (1, Stage::Skipping));
        assert_eq!((run.launch(), run.stage(), run.can_switch()), (2, Stage::Stopping, false));
        run.ended(1);
        assert!(run.can_switch());
        run.switch();
        run.launch_in_time(2);
        assert_eq!((run.stage(), run.launch(), run.stage()), (Stage::WarmUp, 3, Stage::WarmUp));
        assert!(!run.take_passed());
        assert_eq!((run.launch(), run.stage(), run.take_passed()), (4, Stage::Measured, true));
        assert_eq!((run.outcome().kernels, run.outcome().reached), (1, true));
    }
}
