//! The scheduler: one host thread runs the guest's threads round-robin, in a deterministic order.
//!
//! A turn is a fixed number of instructions. It is longer while only one thread can run, and ends early when the thread
//! waits or ends, or when a timer is due.

use super::{End, Process, State};
use crate::{calls::Flow, errno::Errno};
use engine::Time;
use x86::{Exit, Reg};

/// The length of a turn in instructions, if several threads can run.
const SHARED_TURN: u64 = 10_000;

/// The length of a turn if only one thread can run.
const LONE_TURN: u64 = 1_000_000;

/// The devices' budget between two turns, in device instructions.
const DEVICE_TURN: u64 = 100_000;

/// The result of a turn of a functional host on a timed machine.
#[derive(Debug)]
pub enum Turn {
    /// Threads ran up to the program's current time.
    Ran,
    /// All threads wait: until this time on the program's clock, or for a device.
    Waits {
        until: Time,
    },
    Ended(End),
}

impl Process {
    /// Runs a turn of one thread: at most `most` instructions, starting at `now` on the program's clock. It ends early
    /// if `stop` returns true after a system call. `attention`: a device has something to report.
    pub fn turn_at(&mut self, now: Time, most: u64, attention: bool, stop: &dyn Fn() -> bool) -> Turn {
        self.clock.skip_to(now);
        if attention {
            self.driver.work(&mut self.space, self.clock.now(), DEVICE_TURN);
            self.retry_driver();
        }
        if let Some(end) = self.end.take() {
            return Turn::Ended(end);
        }
        self.end_waits_that_are_due();
        if let Some(end) = self.limit_reached() {
            return Turn::Ended(end);
        }
        let waits = match self.next_thread() {
            Some(index) => {
                self.take_turn(index, most, stop);
                None
            }
            None if self.next_deadline() == Time::NEVER && !self.driver.is_busy() => {
                self.end = Some(self.deadlock());
                None
            }
            None => Some(self.next_deadline().min(self.time_limit())),
        };
        match (self.over(), waits) {
            (Some(end), _) => Turn::Ended(end),
            (None, Some(until)) => Turn::Waits { until },
            (None, None) => Turn::Ran,
        }
    }

    /// The time on the program's clock.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Runs the process to its end.
    pub fn run(&mut self) -> End {
        if self.forward.is_some() {
            // Kernels that have waited for the switch start at once.
            self.let_devices_work();
        }
        loop {
            if let Some(end) = self.round() {
                return end;
            }
        }
    }

    /// Runs a turn of the next thread or, if none can run, lets devices work or time pass. Returns how the process
    /// ended, if it has.
    pub(super) fn round(&mut self) -> Option<End> {
        if let Some(end) = self.end.take() {
            return Some(end);
        }
        self.end_waits_that_are_due();
        if let Some(end) = self.limit_reached() {
            return Some(end);
        }
        match self.next_thread() {
            Some(index) => self.take_turn(index, u64::MAX, &|| false),
            None if self.let_devices_work() => {}
            None => self.wait_for_something(),
        }
        self.over()
    }

    /// Checks for the end of the process after a turn.
    fn over(&mut self) -> Option<End> {
        self.look_for_point();
        self.tell();
        if let Some(end) = self.end.take() {
            return Some(end);
        }
        if self.monitor.is_stopped() {
            return Some(End::Interrupted { time: self.clock.now() });
        }
        self.driver.broken().map(|report| End::MachineBroken { report })
    }

    fn limit_reached(&self) -> Option<End> {
        if self.clock.instructions() >= self.limits.instructions {
            return Some(End::InstructionLimit { instructions: self.clock.instructions() });
        }
        (self.clock.now() >= self.time_limit()).then_some(End::TimeLimit { time: self.limits.time })
    }

    /// The next thread that can run, after the one that ran last.
    fn next_thread(&self) -> Option<usize> {
        let count = self.threads.len();
        (1..=count).map(|step| (self.turn + step) % count).find(|index| self.threads[*index].can_run())
    }

    fn take_turn(&mut self, index: usize, most: u64, stop: &dyn Fn() -> bool) {
        self.turn = index;
        let tid = self.threads[index].tid;
        let alone = self.threads.iter().filter(|thread| thread.can_run()).count() == 1;
        let mut left = if alone { LONE_TURN } else { SHARED_TURN }.min(most);
        left = left.min(self.limits.instructions.saturating_sub(self.clock.instructions()));
        while left > 0 && self.end.is_none() && self.driver.broken().is_none() && !self.can_switch() && !stop() {
            // The thread may have set a deadline that comes before the end of its turn.
            left = left.min(self.clock.instructions_until(self.next_deadline().min(self.time_limit())));
            left = left.min(self.instructions_to_point());
            // The list changes when threads start and end.
            let Some(index) = self.thread_index(tid) else { return };
            self.turn = index;
            if !self.threads[index].can_run() || std::mem::take(&mut self.yielded) {
                break;
            }
            if self.threads[index].state == State::Retrying {
                self.threads[index].state = State::Running;
                self.clock.executed(1);
                left -= 1;
                self.do_call(index);
                continue;
            }
            if self.has_signal(index) {
                self.deliver_signals(index);
                continue;
            }
            left -= self.execute(index, left).min(left);
            self.look_for_point();
        }
        self.let_devices_work();
    }

    /// Runs a thread until an exit of the CPU; returns the number of instructions executed.
    fn execute(&mut self, index: usize, budget: u64) -> u64 {
        let thread = &mut self.threads[index];
        let cpu = &mut thread.cpu;
        let before = cpu.instructions;
        cpu.tsc_offset = self.clock.time_stamp().wrapping_sub(before);
        let exit = cpu.run(&mut self.space, &mut self.blocks, budget);
        let executed = cpu.instructions - before;
        self.clock.executed(executed);
        self.region.note(&mut cpu.marks);
        match exit {
            Exit::Limit => {}
            Exit::Wait => unreachable!("an address space never waits for lines"),
            Exit::Mark => {
                self.stop_at_mark();
                return executed;
            }
            Exit::Syscall => {
                thread.note_call();
                self.do_call(index);
            }
            Exit::Fault(exception) => self.fault(index, exception),
        }
        // Time always advances, so that a fault that is repaired and repeated forever still reaches the instruction
        // limit.
        if executed == 0 {
            self.clock.executed(1);
        }
        executed.max(1)
    }

    pub(super) fn do_call(&mut self, index: usize) {
        self.calls += 1;
        let tid = self.threads[index].tid;
        self.space.take_guarded();
        let flow = self.call(index);
        if let (Err(Errno::EFAULT), Some(fault)) = (&flow, self.space.take_guarded())
            && let Some(index) = self.thread_index(tid)
            && self.repair(index, fault.address.0, fault.write, true)
        {
            return;
        }
        if self.space.exhausted() && self.end.is_none() {
            self.end = Some(End::OutOfMemory { limit: self.space.limit() });
        }
        let Some(index) = self.thread_index(tid) else { return };
        let thread = &mut self.threads[index];
        match flow {
            Ok(Flow::Return(value)) => thread.cpu.gpr[Reg::Rax] = value,
            Ok(Flow::Wait(wait)) => {
                thread.state = State::Waiting(wait);
                self.notice_signals(index);
            }
            Ok(Flow::Resumed) => {}
            Err(error) => thread.cpu.gpr[Reg::Rax] = error.to_rax(),
        }
    }

    /// The time of the next timeout, alarm or driver event.
    pub(super) fn next_deadline(&self) -> Time {
        let waits = self.threads.iter().map(|thread| thread.deadline()).min().unwrap_or(Time::NEVER);
        let waits = waits.min(self.driver.next_event());
        self.alarm.map_or(waits, |alarm| waits.min(alarm.at))
    }

    /// No thread can run: advances time to the next deadline, or reports a deadlock.
    fn wait_for_something(&mut self) {
        match self.next_deadline() {
            Time::NEVER => self.end = Some(self.deadlock()),
            time => self.clock.skip_to(time.min(self.time_limit())),
        }
    }

    /// Lets the driver's devices work; returns whether they did anything.
    pub(super) fn let_devices_work(&mut self) -> bool {
        let all_wait = !self.threads.iter().any(|thread| thread.can_run());
        let done = self.driver.work(&mut self.space, self.clock.now(), DEVICE_TURN);
        if done == 0 {
            return false;
        }
        if all_wait {
            self.clock.skip_to(self.clock.now() + Time::nanos(done));
        }
        self.retry_driver();
        true
    }

    pub(super) fn end_waits_that_are_due(&mut self) {
        let now = self.clock.now();
        if let Some(alarm) = self.alarm
            && alarm.at <= now
        {
            self.ring(alarm);
        }
        for index in 0..self.threads.len() {
            if let State::Waiting(wait) = self.threads[index].state
                && wait.deadline <= now
            {
                self.time_out(index, wait.what);
            }
        }
    }
}
