//! A process that is [fast-forwarded](crate::forward).

use super::Process;
use crate::forward::Forward;
use engine::Time;

impl Process {
    /// Runs without time until the run is to go on in time, or to the end; whoever runs it in time finds out which it was. Its
    /// GPUs must be [`Forwarding`](crate::opencl::Forwarding) ones of this run.
    ///
    /// The program's clock goes on as it does without time, an instruction a nanosecond, and in time from where it stands then.
    pub fn fast_forward(&mut self, forward: &Forward) {
        self.forward = Some(forward.clone());
        self.heed_marks(forward.waits_for_mark());
        self.look_for_point();
        while !forward.can_switch() {
            if let Some(end) = self.round() {
                self.end = Some(end);
                break;
            }
        }
        self.heed_marks(false);
        if forward.can_switch() && self.end.is_none() {
            forward.switch();
        }
        // A run without a warm-up is at its point now.
        self.look_for_point();
    }

    fn heed_marks(&mut self, heed: bool) {
        self.threads.iter_mut().for_each(|thread| thread.cpu.stops_at_mark = heed);
    }

    /// A thread is about to pass the mark of a region's begin.
    pub(super) fn stop_at_mark(&mut self) {
        if let Some(forward) = &self.forward {
            forward.stop();
        }
        // If kernels are in flight, threads go on until those have ended.
        self.heed_marks(false);
    }

    /// Whether the machine in time may take over now.
    pub(super) fn can_switch(&self) -> bool {
        self.forward.as_ref().is_some_and(Forward::can_switch)
    }

    /// How many instructions may be executed before the switch or the point may come.
    pub(super) fn instructions_to_point(&self) -> u64 {
        let next = self.forward.as_ref().and_then(Forward::next_change);
        next.map_or(u64::MAX, |next| next.saturating_sub(self.clock.instructions()).max(1))
    }

    /// Looks whether the point has been passed; what is measured begins there. Says whether it is the first to notice.
    pub(super) fn look_for_point(&mut self) -> bool {
        let Some(forward) = &self.forward else { return false };
        forward.executed(self.clock.instructions());
        let passed = forward.take_passed();
        if passed {
            self.clock.measure();
            self.region.measure(self.clock.time_stamp());
        }
        passed
    }

    /// When time is up: not while a program is fast-forwarded, which takes none.
    pub(super) fn time_limit(&self) -> Time {
        match &self.forward {
            Some(forward) if !forward.is_in_time() => Time::NEVER,
            _ => self.limits.time,
        }
    }
}
