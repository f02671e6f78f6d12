//! A process that is [fast-forwarded](crate::forward).

use super::Process;
use crate::forward::Forward;
use engine::Time;

impl Process {
    /// Runs functionally up to the switch point or to the program's end; the timed run finds out which. The process's
    /// GPUs must be the [`Forwarding`](crate::opencl::Forwarding) ones of this run.
    ///
    /// The program's clock advances one nanosecond per instruction here, and continues in the timed run from where it
    /// stands.
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
        // Without a warm-up, the run is at its point now.
        self.look_for_point();
    }

    fn heed_marks(&mut self, heed: bool) {
        self.threads.iter_mut().for_each(|thread| thread.cpu.stops_at_mark = heed);
    }

    /// Called when a thread is about to pass the begin marker of the region of interest.
    pub(super) fn stop_at_mark(&mut self) {
        if let Some(forward) = &self.forward {
            forward.stop();
        }
        // If kernels are in flight, threads continue until these have ended.
        self.heed_marks(false);
    }

    /// Whether the timed machine may take over now.
    pub(super) fn can_switch(&self) -> bool {
        self.forward.as_ref().is_some_and(Forward::can_switch)
    }

    /// The number of instructions that can execute before the switch or the point may be reached.
    pub(super) fn instructions_to_point(&self) -> u64 {
        let next = self.forward.as_ref().and_then(Forward::next_change);
        next.map_or(u64::MAX, |next| next.saturating_sub(self.clock.instructions()).max(1))
    }

    /// Checks whether the point has been passed, and begins the measurement there. Returns whether it was passed since
    /// the last check.
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

    /// The limit on simulated time; there is none while the program is fast-forwarded.
    pub(super) fn time_limit(&self) -> Time {
        match &self.forward {
            Some(forward) if !forward.is_in_time() => Time::NEVER,
            _ => self.limits.time,
        }
    }
}
