//! Executes one instruction of a thread; a locked instruction first acquires its line.
//!
//! A locked access that crosses a line ends in SIGBUS, as in Linux with fatal split-lock detection.

use super::{Advanced, Step, TimedProcess, kernel::Entry};
use crate::process::State;
use std::rc::Rc;
use x86::{
    Exception, Exit, Fault, Stop,
    trace::{Branch, Order},
};

impl TimedProcess {
    /// Executes one instruction.
    pub(super) fn execute(&mut self, agent: usize, index: usize, quiet: bool) -> Advanced {
        let process = &mut self.process;
        let thread = &mut process.threads[index];
        let tid = thread.tid;
        let Some(window) = process.space.window() else { return Advanced::Ended };
        window.execute(agent);
        let rip = thread.cpu.rip;
        let outline = process.blocks.outline(&mut process.space, rip).map(Rc::clone);
        let found = outline.and_then(|outline| Ok((outline, process.space.code_place(rip)?)));
        let (outline, code) = match found {
            Ok(found) => found,
            Err(stop) => {
                let exception = fetch_fault(rip, stop);
                thread.exception = Some(exception);
                return self.enter(agent, Entry::Fault(index, exception), quiet, Some(tid));
            }
        };
        // A system call waits for a quiet agent later, when it enters the kernel.
        if outline.order != Order::Any && outline.branch != Branch::Syscall && !quiet {
            return Advanced::Drain;
        }
        if outline.order == Order::Atomic && !thread.locked {
            return self.lock(agent, index);
        }
        thread.locked = false;
        let cpu_number = match thread.cpus.is_any() {
            true => agent as u32,
            false => thread.cpus.first_of(agent, process.agents, process.cpus).unwrap_or(0),
        };
        let cpu = &mut thread.cpu;
        let before = cpu.instructions;
        cpu.tsc_offset = process.clock.time_stamp().wrapping_sub(before);
        cpu.processor = cpu_number;
        let stepped = cpu.step(&mut process.space, &mut process.blocks);
        process.clock.executed(cpu.instructions - before);
        process.region.note(&mut cpu.marks);
        let taken = match stepped {
            Ok(stepped) => stepped.jumped,
            Err(Exit::Syscall) => {
                thread.note_call();
                thread.state = State::Retrying;
                false
            }
            // A string instruction has completed some elements before the one that failed.
            Err(_) if process.space.window().is_some_and(|window| window.touches().iter().any(|touch| touch.store)) => {
                false
            }
            Err(Exit::Wait | Exit::Limit | Exit::Mark) => {
                let missing = process.space.window().and_then(|window| window.missing());
                return Advanced::Missing(missing.expect("an access waits for nothing but a line"));
            }
            Err(Exit::Fault(exception)) => {
                thread.exception = Some(exception);
                return self.enter(agent, Entry::Fault(index, exception), quiet, Some(tid));
            }
        };
        Advanced::Executed(Step { outline, rip, code, next: thread.cpu.rip, taken })
    }

    /// Finds the line that a locked instruction accesses.
    fn lock(&mut self, agent: usize, index: usize) -> Advanced {
        let process = &mut self.process;
        let Some(window) = process.space.window() else { return Advanced::Ended };
        window.peek(agent);
        let thread = &mut process.threads[index];
        let tid = thread.tid;
        let mut cpu = thread.cpu.clone();
        match cpu.step(&mut process.space, &mut process.blocks) {
            Err(Exit::Fault(exception)) => {
                thread.exception = Some(exception);
                self.enter(agent, Entry::Fault(index, exception), true, Some(tid))
            }
            _ => match process.space.window().and_then(|window| window.peeked()) {
                Some((line, true)) => self.enter(agent, Entry::SplitLock(index, line.virt.0), true, Some(tid)),
                Some((line, false)) => {
                    thread.locked = true;
                    Advanced::Lock(line)
                }
                // An instruction without a memory access needs no lock.
                None => {
                    thread.locked = true;
                    self.execute(agent, index, true)
                }
            },
        }
    }
}

/// The exception of an instruction that can't be fetched.
fn fetch_fault(rip: u64, stop: Stop) -> Exception {
    match stop {
        Stop::PageFault { address, access, present } => {
            Exception { rip, fault: Fault::Page { address, access, present } }
        }
        Stop::Wait | Stop::CodeWrite => unreachable!("code is fetched from the image, which others may write"),
    }
}
