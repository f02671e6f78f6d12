//! Draining the driver, and its state while it is drained.
//!
//! Before a given kernel is enqueued, the driver holds back all calls that enqueue kernels, until everything enqueued
//! before has ended. Then only objects are left: no command is in any queue, no transfer is in flight, and no thread of
//! the program works for the driver. So a saved state has no commands, and a program that is restored finds what it
//! would find after `clFinish` on all its queues.

use super::{
    call::Outcome,
    cl,
    driver::{Driver, Pending},
    event::Event,
    function::Function,
    kernel::Kernel,
    program::Program,
};
use crate::state::{Read, Reader, State, Unreadable};
use std::collections::VecDeque;

/// Whether calls are to be held back.
#[derive(Debug, Default)]
pub struct Drain {
    /// The number of the kernel from which on calls are held back.
    pub before: Option<u64>,
    /// Whether a call has been held back.
    begun: bool,
    /// Kernels that have been enqueued.
    enqueued: u64,
}

impl Driver {
    /// Called when a kernel has been enqueued.
    pub(super) fn count_kernel(&mut self) {
        self.drain.enqueued += 1;
    }

    /// Whether a call of this function must wait until the driver is drained.
    pub(super) fn holds_back(&mut self, function: u32) -> bool {
        let function = Function::by_number(function);
        let enqueues = matches!(function, Some(Function::EnqueueNDRangeKernel | Function::EnqueueTask));
        let holds = enqueues && self.drain.before.is_some_and(|before| self.drain.enqueued + 1 >= before);
        self.drain.begun |= holds;
        holds
    }

    /// Whether calls are held back and nothing is in flight.
    pub(super) fn is_at_rest(&self) -> bool {
        let over = |event: &Event| event.status <= 0 || event.kind == cl::COMMAND_USER;
        let idle = |call: &Pending| call.work.is_none() && call.actions.is_empty();
        self.drain.begun
            && self.broken.is_none()
            && !self.gpus.is_busy()
            && self.running.is_empty()
            && self.postponed.is_empty()
            && self.transfers.is_empty()
            && self.numbered.is_empty()
            && self.in_transfer.is_empty()
            && self.ready.is_empty()
            && self.work.is_empty()
            && self.events.all().all(over)
            && self.calls.values().all(idle)
            && self.pager.as_ref().is_none_or(|pager| pager.is_at_rest())
    }

    /// The properties of the GPUs that must equal those of the machine on which the state was saved.
    fn facts(&self) -> String {
        let (settings, memories) = (&self.settings, &self.tables.memories);
        format!(
            "memory policy {}, {} GPUs ({}), memories {memories:?}, buffers {:?} {:?}",
            settings.policy,
            settings.gpus,
            if settings.device_per_gpu { "a device each" } else { "one device" },
            settings.spread,
            settings.blocks,
        )
    }

    pub(super) fn save_state(&self, to: &mut Vec<u8>) -> Result<(), String> {
        debug_assert!(self.is_at_rest(), "only a drained driver is saved");
        if self.tables.memories.copies.is_some() {
            return Err("memories of GPUs hold copies of the host's memory on this machine".into());
        }
        self.facts().save(to);
        self.drain.enqueued.save(to);
        self.contexts.save(to);
        self.queues.save(to);
        self.memories.save(to);
        self.samplers.save(to);
        self.programs.save_with(to, Program::save);
        self.kernels.save_with(to, Kernel::save);
        self.events.save(to);
        self.svm.save(to);
        self.slots.save(to);
        self.descriptors.save(to);
        self.tables.save(to);
        self.policy.save(to);
        self.pager.is_some().save(to);
        if let Some(pager) = &self.pager {
            pager.save(to)?;
        }
        self.last_number.save(to);
        self.svm_written.save(to);
        self.svm_maps.save(to);
        (self.has_launched, self.serving).save(to);
        self.arena.save(to);
        self.touched.save(to);
        self.usage.borrow().save(to);
        (self.wire_free, self.engine_free).save(to);
        self.let_go.save(to);
        self.let_go_programs.save(to);
        self.warned.save(to);
        self.calls.save(to);
        self.entering.save(to);
        self.last_call.save(to);
        self.waiting.save(to);
        Ok(())
    }

    pub(super) fn load_state(&mut self, from: &mut Reader) -> Read<()> {
        let (saved, own) = (String::load(from)?, self.facts());
        if saved != own {
            return Err(Unreadable(format!("it was made with {saved}; this run has {own}")));
        }
        self.drain.enqueued = State::load(from)?;
        self.contexts.load(from)?;
        self.queues.load(from)?;
        self.memories.load(from)?;
        self.samplers.load(from)?;
        self.programs.load_with(from, |from| Program::load(from, &self.compiler))?;
        self.kernels.load_with(from, |from| Kernel::load(from, &self.programs))?;
        self.events.load(from)?;
        self.svm = State::load(from)?;
        self.slots = State::load(from)?;
        self.descriptors = State::load(from)?;
        self.tables.load(from)?;
        self.policy.load(from)?;
        if bool::load(from)? != self.pager.is_some() {
            return Err(Unreadable::new("it was made with another memory policy"));
        }
        if let Some(pager) = &mut self.pager {
            pager.load(from)?;
        }
        self.last_number = State::load(from)?;
        self.svm_written = State::load(from)?;
        self.svm_maps = State::load(from)?;
        (self.has_launched, self.serving) = State::load(from)?;
        self.arena = State::load(from)?;
        self.touched = State::load(from)?;
        *self.usage.borrow_mut() = State::load(from)?;
        (self.wire_free, self.engine_free) = State::load(from)?;
        self.let_go = State::load(from)?;
        self.let_go_programs = State::load(from)?;
        self.warned = State::load(from)?;
        self.calls = State::load(from)?;
        self.entering = State::load(from)?;
        self.last_call = State::load(from)?;
        self.waiting = State::load(from)?;
        Ok(())
    }
}

/// An event of a drained driver has no steps left, and waits for nothing.
impl State for Event {
    fn save(&self, to: &mut Vec<u8>) {
        let Self { context, queue, kind, status, steps, waits, doomed, dependents, times, .. } = self;
        let Self { callbacks, memories, program, samplers, .. } = self;
        debug_assert!(*status <= 0 || steps.is_empty() && dependents.is_empty(), "it is over, or a user event");
        (*context, *queue).save(to);
        (*kind, *status).save(to);
        waits.save(to);
        doomed.save(to);
        dependents.save(to);
        times.save(to);
        callbacks.save(to);
        memories.save(to);
        program.save(to);
        samplers.save(to);
    }

    fn load(from: &mut Reader) -> Read<Self> {
        let (context, queue) = State::load(from)?;
        let (kind, status) = State::load(from)?;
        Ok(Self {
            context,
            queue,
            kind,
            status,
            steps: VecDeque::new(),
            waits: State::load(from)?,
            doomed: State::load(from)?,
            dependents: State::load(from)?,
            times: State::load(from)?,
            callbacks: State::load(from)?,
            memories: State::load(from)?,
            program: State::load(from)?,
            samplers: State::load(from)?,
        })
    }
}

/// A call of a drained driver has nothing left to do but to wait or to return.
impl State for Pending {
    fn save(&self, to: &mut Vec<u8>) {
        let Self { function, outcome, status_at, actions, work, touches } = self;
        debug_assert!(actions.is_empty() && work.is_none(), "the driver is drained");
        function.map(|function| function as u32).save(to);
        outcome.save(to);
        status_at.save(to);
        touches.save(to);
    }

    fn load(from: &mut Reader) -> Read<Self> {
        let function: Option<u32> = State::load(from)?;
        let outcome: Outcome = State::load(from)?;
        Ok(Self {
            function: function.and_then(Function::by_number),
            outcome,
            status_at: State::load(from)?,
            actions: VecDeque::new(),
            work: None,
            touches: State::load(from)?,
        })
    }
}
